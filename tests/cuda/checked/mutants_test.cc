// Every barrier of every kernel, deleted in turn: the checks notice, or the barrier is listed here
// with the reason why nothing needs it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "checked/workouts.h"
#include "emulator/card.h"
#include "emulator/faults.h"
#include "emulator/mutation.h"

namespace snug::cuda {
namespace {

// A barrier that no access of that kernel needs: a part of its line of source, and why.
struct Redundant {
  std::string workout, line, reason;
};
const std::vector<Redundant> kRedundant = {};

constexpr char kKernels[] = "/src/backend/cuda/kernels/";

// Within the folder of the kernels; compilers may know it by another path.
std::string path_of(const emulator::BarrierSite& site) {
  return site.file.substr(site.file.rfind(kKernels) + sizeof kKernels - 1);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(std::string(SNUG_SOURCE) + kKernels + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string line_of(const emulator::BarrierSite& site) {
  return lines_of(path_of(site)).at(site.line - 1);
}

using Places = std::set<std::pair<std::string, unsigned>>;  // file, line

// Every barrier that stands in a kernel's source.
Places barriers_in_sources() {
  Places places;
  const std::filesystem::path root = std::string(SNUG_SOURCE) + kKernels;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string path = std::filesystem::relative(entry.path(), root).string();
    if (!path.ends_with(".cu") && !path.ends_with(".cuh")) continue;
    if (path.starts_with("device/")) continue;  // where they are defined
    const std::vector<std::string> lines = lines_of(path);
    for (unsigned i = 0; i < lines.size(); ++i) {
      for (const char* word : {"__syncthreads()", "__syncwarp()", "copy_async_wait<"}) {
        if (lines[i].find(word) != std::string::npos) places.insert({path, i + 1});
      }
    }
  }
  return places;
}

// Whether the checks found something wrong. The card is a new one afterwards.
bool is_noticed(const Workout& workout) {
  workout.run();
  const bool noticed = !emulator::take_faults().empty();
  if (noticed) emulator::insert_card(emulator::card_by_name("rtx3060"));
  return noticed;
}

std::set<emulator::BarrierSite> barriers_of(const Workout& workout) {
  emulator::record_barriers();
  EXPECT_FALSE(is_noticed(workout)) << workout.name;
  std::set<emulator::BarrierSite> places;  // one per place, whatever the template's arguments
  for (emulator::BarrierSite site : emulator::take_barriers()) {
    site.function.clear();
    places.insert(site);
  }
  return places;
}

TEST(BarrierMutants, EveryOneIsNoticed) {
  emulator::print_faults(false);
  Places reached;
  std::size_t mutants = 0, redundant = 0;
  for (const Workout& workout : workouts()) {
    for (const emulator::BarrierSite& site : barriers_of(workout)) {
      reached.insert({path_of(site), site.line});
      ++mutants;
      emulator::delete_barrier(site);
      const bool noticed = is_noticed(workout);
      emulator::restore_barriers();
      const std::string line = line_of(site);
      const bool is_listed = std::any_of(kRedundant.begin(), kRedundant.end(), [&](const auto& r) {
        return r.workout == workout.name && line.find(r.line) != std::string::npos;
      });
      redundant += is_listed;
      EXPECT_NE(noticed, is_listed) << workout.name << ", " << site.file << ":" << site.line
                                    << (noticed ? " is needed" : " is not missed") << ":\n"
                                    << line;
    }
  }
  emulator::print_faults(true);
  std::printf("%zu mutants at %zu places, %zu of them redundant\n", mutants, reached.size(),
              redundant);
  EXPECT_EQ(reached, barriers_in_sources()) << "a barrier that no workout reaches";
  EXPECT_EQ(redundant, kRedundant.size());
}

}  // namespace
}  // namespace snug::cuda
