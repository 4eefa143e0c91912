// A build without cards.
#include "backend/cuda/card.h"
#include "base/error.h"

namespace snug::cuda {
namespace {

[[noreturn]] void refuse() {
  throw DeviceError(
      "this build has no CUDA backend\n"
      "./scripts/build cuda makes one that has; train on the processor with --device=cpu");
}

}  // namespace

std::string_view card_device() { return ""; }
int card_count() { return 0; }
std::string why_no_card() { return "this build has no CUDA backend"; }
std::int64_t free_bytes_now(const OpenCard&) { refuse(); }
OpenCard open_card(int, const std::string&) { refuse(); }
std::unique_ptr<backend::Executor> make_executor(const OpenCard&, const program::Program&,
                                                 const plan::Plan&, const RunSettings&) {
  refuse();
}

void run_op(backend::Executor&, const program::Phase&, std::size_t, const backend::StepContext&,
            backend::RowRange) {
  refuse();
}
void read_bytes(backend::Executor&, TensorId, std::int64_t, std::span<std::byte>) { refuse(); }
void write_bytes(backend::Executor&, TensorId, std::int64_t, std::span<const std::byte>) {
  refuse();
}
bool is_lost() { return false; }

}  // namespace snug::cuda
