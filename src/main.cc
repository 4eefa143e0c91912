#include <malloc.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/cli.h"

namespace {

// True when the variable had to be set.
bool set_if_missing(const char* name, const char* value) {
  if (std::getenv(name) != nullptr) return false;
  return setenv(name, value, 1) == 0;
}

// GNU's OpenMP reads its settings once, when it is loaded, so the program starts itself again with:
//  - short spinning: on a machine that also does other things, threads that spin while they wait
//    take the cores from the threads that are waited for (docs/decisions/0007);
//  - stacks of 2 MiB instead of 8, so that what the plan states is also the address space
//    (docs/decisions/0009).
void start_with_openmp_settings(char** argv) {
  const bool waits_as_told = std::getenv("OMP_WAIT_POLICY") != nullptr;
  bool changed = !waits_as_told && set_if_missing("GOMP_SPINCOUNT", "3000");
  changed = set_if_missing("OMP_STACKSIZE", "2M") || changed;
  if (changed) execv("/proc/self/exe", argv);  // returns only on failure: nothing is lost but speed
}

}  // namespace

int main(int argc, char** argv) {
  start_with_openmp_settings(argv);
  // One heap for all threads: each further one would reserve 64 MiB of address space.
  mallopt(M_ARENA_MAX, 1);
  return snug::cli::run_cli(argc, argv);
}
