// A folder with a small data set in it, and the program run there: for the tests of the program as
// a whole.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/test_directory.h"
#include "program_runner.h"

namespace snug {

// A sanitizer's own memory is part of what a process holds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// A small English-like text with about thirty different characters, the same every time.
std::string small_text();

// Of a text without wide characters.
inline std::size_t columns_of(const std::string& utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// A model that trains in milliseconds. What is given comes last and wins.
inline Words tiny(const Words& more = {}) {
  return Words{"--dataset=small",      "--device=cpu",
               "--n_layer=2",          "--n_head=2",
               "--n_embd=16",          "--block_size=16",
               "--batch_size=4",       "--eval_iters=2",
               "--max_iters=10",       "--eval_interval=4",
               "--warmup_iters=2",     "--lr_decay_iters=10",
               "--learning_rate=1e-2", "--gradient_accumulation_steps=1"} +
         more;
}

// Every line that matches, in order.
Words lines_like(const std::string& text, const std::string& pattern);

// JSON, or a discarded value if it is none. Kept out of the tests, as its parser compiles for
// seconds.
nlohmann::json parsed_json(const std::string& text);

// The bytes of files, compared as they are and told by their number: a failing test does not print
// them.
struct FileBytes {
  std::string bytes;
  bool operator==(const FileBytes&) const = default;
  friend void PrintTo(const FileBytes& file, std::ostream* out) {
    *out << file.bytes.size() << " bytes, hash " << std::hash<std::string>()(file.bytes);
  }
};

// Starts with data/small made by `snug prepare char`.
class CliTest : public ::testing::Test {
 protected:
  CliTest() {
    folder_.write("small.txt", small_text());
    const ProgramResult made = run({"prepare", "char", "small.txt", "data/small"});
    if (made.exit_code != 0) throw std::runtime_error("prepare failed: " + made.err);
  }

  ProgramResult run(const Words& arguments) const { return run_program(arguments, settings()); }
  ProgramResult train(const Words& more = {}) const { return run(Words{"train"} + tiny(more)); }
  ProgramSettings settings() const {
    ProgramSettings settings;
    settings.folder = folder_.path().string();
    return settings;
  }

  // The program must end with that code and say each of these.
  void expect_error(const ProgramResult& result, int exit_code,
                    std::initializer_list<const char*> parts) const {
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    EXPECT_EQ(result.signal, 0);
    expect_holds(result.err, parts);
    EXPECT_EQ(result.err.rfind("snug: ", 0), 0u) << result.err;
    EXPECT_EQ(result.err.find("a bug of ours"), std::string::npos) << result.err;
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string read(const std::string& name) const { return folder_.read(name); }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }

  // The newest model (and optimizer) of a run, which must be there.
  FileBytes model(const std::string& out_dir) const {
    const std::string bytes = read(out_dir + "/latest/model.safetensors");
    EXPECT_FALSE(bytes.empty()) << out_dir;
    return {bytes};
  }
  FileBytes weights_and_optimizer(const std::string& out_dir) const {
    const std::string optimizer = read(out_dir + "/latest/optimizer.safetensors");
    EXPECT_FALSE(optimizer.empty()) << out_dir;
    return {model(out_dir).bytes + optimizer};
  }

  // metrics.jsonl, a line each; fails the test when one is not JSON.
  std::vector<nlohmann::json> metrics(const std::string& out_dir) const {
    std::vector<nlohmann::json> entries;
    std::istringstream stream(read(out_dir + "/metrics.jsonl"));
    for (std::string line; std::getline(stream, line);) {
      entries.push_back(parsed_json(line));
      EXPECT_FALSE(entries.back().is_discarded()) << line;
    }
    return entries;
  }

  TestDirectory folder_;
};

}  // namespace snug
