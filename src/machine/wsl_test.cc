#include "machine/wsl.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"

namespace snug::machine {
namespace {

TEST(Wsl, IsKnownByTheNameOfItsKernel) {
  const TemporaryFolder proc;
  std::filesystem::create_directories(proc.path("sys/kernel"));
  const auto with_release = [&](const char* release) {
    std::ofstream(proc.path("sys/kernel/osrelease")) << release << "\n";
    return is_wsl(proc.path(""));
  };
  EXPECT_TRUE(with_release("5.15.153.1-microsoft-standard-WSL2"));
  EXPECT_TRUE(with_release("4.4.0-19041-Microsoft"));
  EXPECT_FALSE(with_release("6.1.0-18-amd64"));
  EXPECT_FALSE(is_wsl(proc.path("nothing/here")));
}

}  // namespace
}  // namespace snug::machine
