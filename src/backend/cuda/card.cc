#include "backend/cuda/card.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>

#include "backend/cuda/cuda_executor.h"
#include "backend/cuda/errors.h"
#include "backend/cuda/insert_card.h"
#include "base/bytes.h"
#include "base/error.h"

namespace snug::cuda {
namespace {

// What cuBLASLt loads of its kernels when products first run, after memory was looked at. An
// estimate: no card has been asked yet.
constexpr std::int64_t kLoadedLater = 64 * kMiB;

void require_new_enough_driver(OpenCard& card) {
  int driver = 0, runtime = 0;
  require(cudaDriverGetVersion(&driver), "asking for the driver");
  require(cudaRuntimeGetVersion(&runtime), "asking for the runtime");
  card.driver = driver;
  card.runtime = runtime;
  // The same major version is enough: minor ones are compatible.
  if (driver / 1000 >= runtime / 1000) return;
  throw DeviceError(
      fmt::format("the driver knows CUDA {}.{}, this build needs {}.{}\n"
                  "install a newer driver, or train on the processor with --device=cpu",
                  driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10));
}

}  // namespace

int card_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

OpenCard open_card(int index, const std::string& model) {
  insert_card(model);
  OpenCard card;
  card.index = index;
  require_new_enough_driver(card);
  require(cudaSetDevice(index), fmt::format("choosing card {}", index));
  require(cudaFree(nullptr), "making the context");
  cudaDeviceProp properties = {};
  require(cudaGetDeviceProperties(&properties, index), "asking for the card's properties");
  std::size_t free = 0, total = 0;
  require(cudaMemGetInfo(&free, &total), "asking for free memory");
  card.name = properties.name;
  card.capability = properties.major * 10 + properties.minor;
  card.total_bytes = static_cast<std::int64_t>(total);
  card.free_bytes = std::max<std::int64_t>(0, static_cast<std::int64_t>(free) - kLoadedLater);
  if (card.capability < 75) {
    throw DeviceError(
        fmt::format("{} has compute capability {}.{}: the kernels need 7.5 or newer\n"
                    "train on the processor with --device=cpu",
                    card.name, properties.major, properties.minor));
  }
  return card;
}

std::unique_ptr<backend::Executor> make_executor(const OpenCard& card,
                                                 const program::Program& program,
                                                 const plan::Plan& plan,
                                                 const RunSettings& settings) {
  require(cudaSetDevice(card.index), fmt::format("choosing card {}", card.index));
  return std::make_unique<CudaExecutor>(
      program, plan, ExecutorSettings{.capability = card.capability, .tf32 = settings.tf32});
}

void observe(backend::Executor& executor, OpObserver observer) {
  auto& on_card = dynamic_cast<CudaExecutor&>(executor);
  on_card.observe([&on_card, observer = std::move(observer)](const program::Phase& phase,
                                                             const ops::Op& op, std::int64_t,
                                                             std::int64_t end_row) {
    on_card.wait();
    observer(phase, op, end_row, [&](TensorId id, std::span<std::byte> bytes) {
      require(cudaMemcpy(bytes.data(), on_card.address(id), bytes.size(), cudaMemcpyDefault),
              op.label);
    });
  });
}

}  // namespace snug::cuda
