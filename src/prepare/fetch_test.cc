// Fetching, with programs of the test's own in the place of curl and wget.
#include "prepare/fetch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdlib>

#include "prepare/prepare_for_test.h"

namespace snug::prepare {
namespace {

namespace fs = std::filesystem;

class FetchTest : public PrepareTest {
 protected:
  FetchTest() : path_before_(std::getenv("PATH")) {
    fs::create_directory(path("bin"));
    ::setenv("PATH", path("bin").c_str(), 1);
    folder_.write("remote", kText);
  }
  ~FetchTest() override { ::setenv("PATH", path_before_.c_str(), 1); }

  fs::path path(const std::string& name) const { return folder_.path() / name; }
  void install(const std::string& program, const std::string& script) {
    folder_.write("bin/" + program, "#!/bin/sh\n" + script + "\n");
    ::chmod(path("bin/" + program).c_str(), 0755);
  }
  std::string send() const { return "/bin/cat " + path("remote").string(); }
  RemoteFile file() const {
    return {"http://example.org/text", std::ssize(kText), XXH64(kText.data(), kText.size(), 0)};
  }
  // The message of fetching, after which nothing may be left.
  std::string refusal() {
    const std::string message =
        message_of<DataError>([&] { fetch(file(), path("data/input.txt")); });
    EXPECT_FALSE(fs::exists(path("data")));
    expect_holds(message, {"http://example.org/text", "put it at", "data/input.txt"});
    return message;
  }

  const std::string kText = "First Citizen:\nBefore we proceed any further, hear me speak.\n";
  const std::string path_before_;
};

TEST_F(FetchTest, TheWholeText) {
  install("curl", send());
  fetch(file(), path("data/input.txt"));
  EXPECT_EQ(folder_.read("data/input.txt"), kText);
  EXPECT_TRUE(is_intact(path("data/input.txt"), file()));
}

TEST_F(FetchTest, ByWgetWhereThereIsNoCurl) {
  expect_holds(refusal(), {"neither curl nor wget"});
  install("wget", send());
  fetch(file(), path("data/input.txt"));
  EXPECT_EQ(folder_.read("data/input.txt"), kText);
}

TEST_F(FetchTest, WhatTheProgramSaysIsToldOn) {
  install("curl", "echo 'curl: (22) The requested URL returned error: 404' >&2; exit 22");
  install("wget", send());
  expect_holds(refusal(), {"exit code 22 of curl", "returned error: 404"});
  install("curl", "echo 'curl: (60) self-signed certificate\nMore details here: x' >&2; exit 60");
  expect_holds(refusal(), {"exit code 60 of curl): curl: (60) self-signed certificate\nget "});
  // A connection that broke off: what came is not taken.
  install("curl", send() + "; echo 'curl: (18) transfer closed' >&2; exit 18");
  expect_holds(refusal(), {"exit code 18", "transfer closed"});
}

TEST_F(FetchTest, AnotherText) {
  install("curl", "echo '<html>log in</html>'");
  expect_holds(refusal(), {"not the text", "20 bytes instead of 61"});
  folder_.write("remote", std::string(kText.size(), 'x'));
  install("curl", send());
  expect_holds(refusal(), {"not the text", "checksum"});
}

TEST_F(FetchTest, ATextWithoutEndIsCut) {
  install("curl", "while :; do echo more; done");
  expect_holds(refusal(), {"not the text", "62 bytes or more instead of 61"});
}

}  // namespace
}  // namespace snug::prepare
