// Runs a grid of a kernel that was compiled for the CPU. Threads of a block are fibers of one OS
// thread; blocks are spread over OS threads. A kernel allocates nothing and throws nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda_shim/vector_types.h"

namespace emulator {

// What every card grants a block in static shared memory, and what most grant in all on demand.
inline constexpr std::size_t kStaticSharedLimit = 48 << 10;

struct LaunchShape {
  dim3 grid, block;
  std::size_t dynamic_shared_bytes = 0;
  std::size_t shared_limit_bytes = 99 << 10;
};

// A kernel with its arguments, as the card's queue holds it.
class KernelCall {
 public:
  struct Argument {
    const void* address;
    std::size_t bytes;
  };

  virtual ~KernelCall() = default;
  // Runs the body of one thread.
  virtual void run_thread() const = 0;
  virtual const void* function() const = 0;
  // The object itself, which holds the arguments: kernels may read it.
  virtual std::size_t object_bytes() const = 0;
  virtual std::vector<Argument> arguments() const = 0;
};

template <typename... Params>
class KernelCallOf final : public KernelCall {
 public:
  KernelCallOf(void (*kernel)(Params...), Params... args)
      : kernel_(kernel), args_(std::move(args)...) {}
  void run_thread() const override { std::apply(kernel_, args_); }
  const void* function() const override { return reinterpret_cast<const void*>(kernel_); }
  std::size_t object_bytes() const override { return sizeof *this; }
  std::vector<Argument> arguments() const override {
    return std::apply(
        [](const auto&... args) {
          return std::vector<Argument>{{&args, sizeof args}...};
        },
        args_);
  }

 private:
  void (*kernel_)(Params...);
  std::tuple<Params...> args_;
};

// Runs all blocks before it returns. False if a fault was found; see faults.h.
bool run_grid(const KernelCall& call, const LaunchShape& shape);

// Order in which a block's lanes get their turn.
enum class LaneOrder { kUp, kDown, kShuffled };
void set_lane_order(LaneOrder order, unsigned seed = 0);

// OS threads that blocks are spread over; 0: as many as the machine has cores.
void set_worker_threads(unsigned count);

// "softmax_forward<float>(float const*, float*)" for a kernel's address, or "kernel at 0x...".
std::string kernel_name(const void* function);
// The same as the linker has it.
std::string kernel_symbol(const void* function);

// What the card calls for a launch instead of run_grid(), if not null.
extern bool (*g_launch_runner)(const KernelCall& call, const LaunchShape& shape);

}  // namespace emulator
