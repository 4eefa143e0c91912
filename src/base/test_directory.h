// For tests only: a folder that goes away with the test, small files in it, and the checking of
// error messages.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/temporary_folder.h"

namespace snug {

class TestDirectory {
 public:
  // Open to every user, for WithoutRoot.
  TestDirectory() { std::filesystem::permissions(folder_.path(), std::filesystem::perms::all); }

  const std::filesystem::path& path() const { return folder_.path(); }

  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  std::string read(const std::string& name) const {
    std::ifstream file(folder_.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  // Names in the folder, subfolders included, sorted.
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
      names.push_back(std::filesystem::relative(entry.path(), path()).string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  TemporaryFolder folder_;
};

// While it lives, file permissions hold even if the tests run as root.
class WithoutRoot {
 public:
  WithoutRoot() : user_(::geteuid()) {
    if (user_ == 0 && ::seteuid(kNobody) != 0) throw DeviceError("cannot leave root");
  }
  ~WithoutRoot() {
    if (user_ == 0 && ::seteuid(0) != 0) std::abort();
  }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  uid_t user_;
};

template <typename Number>
std::string little_endian_bytes(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

// The message of the `Expected` error that `action` throws; fails the test when it does not.
template <typename Expected, typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline void expect_holds(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "no '" << part << "' in: " << message;
  }
}

}  // namespace snug
