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

void observe(backend::Executor&, OpObserver) { refuse(); }

}  // namespace snug::cuda
