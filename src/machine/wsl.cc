#include "machine/wsl.h"

#include <fstream>

namespace snug::machine {

// Its kernels are called "5.15.153.1-microsoft-standard-WSL2".
bool is_wsl(const std::string& proc) {
  std::ifstream file(proc + "/sys/kernel/osrelease");
  std::string release;
  std::getline(file, release);
  return release.find("icrosoft") != std::string::npos;
}

}  // namespace snug::machine
