// Fetching, with programs of the test's own in the place of curl and wget.
#include "prepare/fetch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <chrono>
#include <csignal>
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

TEST_F(FetchTest, WhereNobodyIsToldOfAProgramsEnd) {
  install("curl", send());
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  fetch(file(), path("data/input.txt"));
  std::signal(SIGCHLD, before);
  EXPECT_EQ(folder_.read("data/input.txt"), kText);
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

// More than a pipe holds, on the one that could be forgotten.
TEST_F(FetchTest, AProgramThatComplainsAtLengthIsHeardOut) {
  folder_.write("noise", std::string(200'000, 'x') + "\n");
  const std::string complain = "/bin/cat " + path("noise").string() + " >&2";
  for (const std::string& script :
       {complain + "; " + send(), send() + "; " + complain, send() + "; exec >&-; " + complain}) {
    install("curl", script);
    fetch(file(), path("data/input.txt"));
    EXPECT_EQ(folder_.read("data/input.txt"), kText) << script;
    fs::remove_all(path("data"));
  }
  install("curl", "echo 'curl: (56) reset' >&2; " + complain + "; exit 56");
  expect_holds(refusal(), {"exit code 56 of curl): curl: (56) reset\nget "});
}

TEST_F(FetchTest, AProgramThatCannotBeStartedIsNotCalledMissing) {
  install("curl", send());
  ::chmod(path("bin/curl").c_str(), 0644);
  expect_holds(refusal(), {"curl could not be started: Permission denied\nget "});
  install("wget", send());
  fetch(file(), path("data/input.txt"));
  EXPECT_EQ(folder_.read("data/input.txt"), kText);
}

// No further file can be opened while this lives. A test reads the error after its end: the
// sanitizers themselves open a pipe to look at an object.
class NoFurtherFile {
 public:
  NoFurtherFile() {
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_GE(next, 0);
    ::close(next);
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none = {static_cast<rlim_t>(next), before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoFurtherFile() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoFurtherFile(const NoFurtherFile&) = delete;
  NoFurtherFile& operator=(const NoFurtherFile&) = delete;

 private:
  rlimit before_{};
};

// It would write to where Snug's own output goes.
TEST_F(FetchTest, WithoutAPipeNothingIsStarted) {
  install("curl", ": > " + path("started").string() + "; " + send());
  const std::string message = message_of<DeviceError>([&] {
    const NoFurtherFile full;
    fetch(file(), path("data/input.txt"));
  });
  expect_holds(message, {"cannot open a pipe", "Too many open files", "ulimit -n"});
  EXPECT_FALSE(fs::exists(path("started")));
}

TEST_F(FetchTest, ADownloadWithoutEndIsGivenUp) {
  const auto late = [&] {
    return message_of<DataError>(
        [&] { fetch(file(), path("data/input.txt"), std::chrono::milliseconds(100)); });
  };
  install("wget", "while :; do echo -n .; /bin/sleep 0.04; done");
  expect_holds(late(), {"could not be fetched: wget was not done after 0.1 seconds\nget "});
  // One that says nothing, and one that does not even listen.
  install("wget", "exec >&- 2>&-; exec /bin/sleep 100");
  expect_holds(late(), {"wget was not done after 0.1 seconds"});
  install("curl", "trap '' TERM; while :; do :; done");
  expect_holds(late(), {"curl was not done after 0.1 seconds"});
  EXPECT_FALSE(fs::exists(path("data")));
}

}  // namespace
}  // namespace snug::prepare
