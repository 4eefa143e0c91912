#include "backend/cuda/card.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>

#include "backend/cuda/cuda_executor.h"
#include "backend/cuda/errors.h"
#include "backend/cuda/insert_card.h"
#include "backend/cuda/nvml.h"
#include "base/error.h"

namespace snug::cuda {
namespace {

std::string version_text(std::int64_t version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

struct Versions {
  int driver = 0, runtime = 0;  // driver 0: none is installed

  // The same major version is enough: minor ones are compatible.
  bool fit_together() const { return driver / 1000 >= runtime / 1000; }
  std::string problem() const {
    if (driver == 0) return "no NVIDIA driver is installed";
    return fmt::format("the driver knows CUDA {}, this build needs {}", version_text(driver),
                       version_text(runtime));
  }
};

Versions versions() {
  Versions found;
  require(cudaDriverGetVersion(&found.driver), "asking for the driver");
  require(cudaRuntimeGetVersion(&found.runtime), "asking for the runtime");
  return found;
}

void require_new_enough_driver(OpenCard& card) {
  const Versions found = versions();
  card.driver = found.driver;
  card.runtime = found.runtime;
  if (found.fit_together()) return;
  throw DeviceError(
      fmt::format("{}\ninstall {} driver, or train on the processor with --device=cpu",
                  found.problem(), found.driver == 0 ? "the" : "a newer"));
}

}  // namespace

int card_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

std::string why_no_card() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return "";
  cudaGetLastError();
  if (const Versions found = versions(); !found.fit_together()) return found.problem();
  if (error == cudaSuccess || error == cudaErrorNoDevice) return "the driver finds none";
  return fmt::format("the driver answers: {}", cudaGetErrorString(error));
}

std::int64_t free_bytes_now(const OpenCard& card) {
  require(cudaSetDevice(card.index), fmt::format("choosing card {}", card.index));
  std::size_t free = 0, total = 0;
  require(cudaMemGetInfo(&free, &total), "asking for free memory");
  return static_cast<std::int64_t>(free);
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
  card.pci_address = pci_address(static_cast<unsigned>(properties.pciDomainID),
                                 static_cast<unsigned>(properties.pciBusID),
                                 static_cast<unsigned>(properties.pciDeviceID));
  card.capability = properties.major * 10 + properties.minor;
  card.total_bytes = static_cast<std::int64_t>(total);
  card.free_bytes = std::max<std::int64_t>(0, static_cast<std::int64_t>(free) - kLoadedLaterBytes);
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
  return std::make_unique<CudaExecutor>(program, plan,
                                        ExecutorSettings{.capability = card.capability,
                                                         .tf32 = settings.tf32 && card.has_tf32(),
                                                         .refuses_late = settings.refuses_late});
}

void run_op(backend::Executor& executor, const program::Phase& phase, std::size_t op,
            const backend::StepContext& context, backend::RowRange rows) {
  auto& on_card = dynamic_cast<CudaExecutor&>(executor);
  on_card.run_one(phase, op, context, rows.first, rows.end);
  on_card.wait();
}

void read_bytes(backend::Executor& executor, TensorId id, std::int64_t offset,
                std::span<std::byte> bytes) {
  const auto& on_card = dynamic_cast<CudaExecutor&>(executor);
  require(cudaMemcpy(bytes.data(), on_card.address(id) + offset, bytes.size(), cudaMemcpyDefault),
          "reading a tensor");
}

void write_bytes(backend::Executor& executor, TensorId id, std::int64_t offset,
                 std::span<const std::byte> bytes) {
  // On the executor's stream: cudaMemcpy may return before the card has what it was given, and that
  // stream waits for no other.
  const auto& on_card = dynamic_cast<CudaExecutor&>(executor);
  require(cudaMemcpyAsync(on_card.address(id) + offset, bytes.data(), bytes.size(),
                          cudaMemcpyDefault, on_card.stream()),
          "writing a tensor");
  require(cudaStreamSynchronize(on_card.stream()), "writing a tensor");
}

bool is_lost() { return ends_context(cudaStreamQuery(nullptr)); }

}  // namespace snug::cuda
