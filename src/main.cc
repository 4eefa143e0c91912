#include <unistd.h>

#include <cstdlib>

#include "cli/cli.h"

namespace {

// GNU's OpenMP lets a thread that waits spin for milliseconds. On a machine that also does other
// things the spinning takes the cores from the threads that are waited for. It reads the setting
// once, when it is loaded, so the program starts itself again (docs/decisions/0007).
void start_with_short_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);
  execv("/proc/self/exe", argv);  // returns only on failure, and then nothing is lost but speed
}

}  // namespace

int main(int argc, char** argv) {
  start_with_short_spinning(argv);
  return snug::run_cli(argc, argv);
}
