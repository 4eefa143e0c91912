// What the tests of this folder share: config files that live as long as a test, and errors as
// text.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/config.h"

namespace snug::config {

// A file in the tests' temporary folder, removed with the object.
class TestFile {
 public:
  explicit TestFile(const std::string& content) {
    static std::atomic<int> count = 0;
    path_ = ::testing::TempDir() + "snug_" + std::to_string(::getpid()) + "_" +
            std::to_string(count++) + ".py";
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TestFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline LoadedConfig load(Command command, const std::vector<std::string>& arguments) {
  return load_config(command, arguments);
}

// Loads a file of this content, then the arguments.
inline LoadedConfig load_text(const std::string& content,
                              const std::vector<std::string>& arguments = {},
                              Command command = Command::kTrain) {
  const TestFile file(content);
  std::vector<std::string> all = {file.path()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return load_config(command, all);
}

// The message of the ConfigError that `act` throws, "" if it throws none.
template <typename Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// The error of a file of this content, with the file's name replaced by mine.py.
inline std::string text_error(const std::string& content,
                              const std::vector<std::string>& arguments = {},
                              Command command = Command::kTrain) {
  const TestFile file(content);
  std::vector<std::string> all = {file.path()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::string message = error_of([&] { load_config(command, all); });
  const std::size_t at = message.find(file.path());
  return at == message.npos ? message : message.replace(at, file.path().size(), "mine.py");
}

inline std::string argument_error(const std::vector<std::string>& arguments,
                                  Command command = Command::kTrain) {
  return error_of([&] { load_config(command, arguments); });
}

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace snug::config
