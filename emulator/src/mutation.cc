#include "emulator/mutation.h"

#include <atomic>
#include <mutex>
#include <set>

#include "barrier_deleted.h"

namespace emulator {
namespace {

std::mutex g_mutex;
std::set<BarrierSite> g_reached, g_deleted;
std::atomic<bool> g_recording = false, g_deleting = false;

BarrierSite barrier_site(const Site& site) {
  return {site.file_name(), site.line(), site.column(), site.function_name()};
}

// Whatever the function: one place in a template is one barrier.
bool is_deleted(const Site& site) {
  for (const BarrierSite& deleted : g_deleted) {
    if (deleted.line == site.line() && deleted.column == site.column() &&
        deleted.file == site.file_name()) {
      return true;
    }
  }
  return false;
}

}  // namespace

void record_barriers() {
  const std::lock_guard lock(g_mutex);
  g_reached.clear();
  g_recording = true;
}

std::vector<BarrierSite> take_barriers() {
  const std::lock_guard lock(g_mutex);
  g_recording = false;
  return {g_reached.begin(), g_reached.end()};
}

void delete_barrier(const BarrierSite& site) {
  const std::lock_guard lock(g_mutex);
  g_deleted.insert(site);
  g_deleting = true;
}

void restore_barriers() {
  const std::lock_guard lock(g_mutex);
  g_deleted.clear();
  g_deleting = false;
}

bool barrier_deleted(const Site& site) {
  if (!g_recording && !g_deleting) return false;
  const std::lock_guard lock(g_mutex);
  if (g_recording) g_reached.insert(barrier_site(site));
  return g_deleting && is_deleted(site);
}

}  // namespace emulator
