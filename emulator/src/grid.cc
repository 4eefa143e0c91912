// A launch: its blocks handed out to the OS threads of a pool that lives as long as the process.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "block.h"
#include "emulator/launch.h"
#include "watcher.h"

namespace emulator {
namespace {

std::atomic<unsigned> g_order_version = 1;

LaneOrder order_of_environment() {
  const char* wanted = std::getenv("EMULATOR_LANES");
  const std::string_view name = wanted == nullptr ? "" : wanted;
  if (name == "down") return LaneOrder::kDown;
  return name == "shuffled" ? LaneOrder::kShuffled : LaneOrder::kUp;
}

LaneOrder g_order = order_of_environment();
unsigned g_order_seed = 0;
unsigned g_workers = 0;

// One launch as the workers see it.
struct Grid {
  const KernelCall& call;
  const LaunchShape& shape;
  std::uint64_t blocks;
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> failed = false;

  void work(Block& block) {
    const dim3 grid = shape.grid;
    while (!failed) {
      const std::uint64_t i = next++;
      if (i >= blocks) return;
      const uint3 index = {static_cast<unsigned>(i % grid.x),
                           static_cast<unsigned>(i / grid.x % grid.y),
                           static_cast<unsigned>(i / grid.x / grid.y)};
      if (!block.run(call, shape, index)) failed = true;
    }
  }
};

class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // The caller works too.
  void run(Grid& grid, unsigned helpers) {
    std::unique_lock lock(mutex_);
    while (threads_.size() < helpers) threads_.emplace_back([this] { serve(); });
    grid_ = &grid;
    wanted_ = helpers;
    lock.unlock();
    if (helpers > 0) wake_.notify_all();
    grid.work(own_);
    lock.lock();
    wanted_ = 0;  // who has not begun need not
    done_.wait(lock, [this] { return working_ == 0; });
    grid_ = nullptr;
  }

 private:
  void serve() {
    Block block;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stopping_ || wanted_ > 0; });
      if (stopping_) return;
      --wanted_;
      ++working_;
      Grid& grid = *grid_;
      lock.unlock();
      grid.work(block);
      lock.lock();
      if (--working_ == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  Block own_;
  Grid* grid_ = nullptr;
  unsigned wanted_ = 0, working_ = 0;
  bool stopping_ = false;
};

}  // namespace

bool run_grid(const KernelCall& call, const LaunchShape& shape) {
  static std::mutex one_launch;
  const std::lock_guard lock(one_launch);
  static Pool pool;
  const std::uint64_t blocks =
      static_cast<std::uint64_t>(shape.grid.x) * shape.grid.y * shape.grid.z;
  Grid grid{call, shape, blocks};
  // The checked build's shadow is of one OS thread.
  unsigned workers = g_watcher ? 1 : g_workers;
  if (workers == 0) workers = std::max(1U, std::thread::hardware_concurrency());
  if (g_watcher) g_watcher->launch_begins(call, shape);
  pool.run(grid, static_cast<unsigned>(std::min<std::uint64_t>(workers, blocks)) - 1);
  if (g_watcher) g_watcher->launch_ends();
  return !grid.failed;
}

void set_lane_order(LaneOrder order, unsigned seed) {
  g_order = order;
  g_order_seed = seed;
  ++g_order_version;
}

unsigned lane_order_version() { return g_order_version; }

std::vector<unsigned> lane_order(unsigned count) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0U);
  if (g_order == LaneOrder::kDown) std::reverse(order.begin(), order.end());
  if (g_order == LaneOrder::kShuffled) {
    std::shuffle(order.begin(), order.end(), std::mt19937(g_order_seed));
  }
  return order;
}

void set_worker_threads(unsigned count) { g_workers = count; }

}  // namespace emulator
