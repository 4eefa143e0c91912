#include "backend/cuda/started_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace snug::cuda {
namespace {

bool is_blocking() {
  const char* wanted = std::getenv("CUDA_LAUNCH_BLOCKING");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

}  // namespace

StartedOps::StartedOps(const program::Program& program)
    : program_(program), one_by_one_(is_blocking()) {}

void StartedOps::add(const program::Phase& phase, const ops::Op& op) {
  if (one_by_one_) done_ = last_;
  ++last_;
  ops_[static_cast<std::size_t>(last_ % kRemembered)] = {&phase, &op};
}

void StartedOps::done_until(std::int64_t number) { done_ = std::max(done_, number); }

std::string StartedOps::named(const Started& started) const {
  return fmt::format("'{}' ({})", started.op->label, ops::name_of(*started.op));
}

std::string StartedOps::describe_last() const {
  if (last_ == 0) return "";
  const Started& started = at(last_);
  std::string text = fmt::format("{} of the {}", named(started), name_of(started.phase->kind));
  ops::for_each_operand(*started.op, [&](std::string_view operand, TensorId id, ops::Access) {
    if (id == kNoTensor) return;
    const Tensor& tensor = program_.tensor(id);
    text += fmt::format("\n  {}: {} {} {}", operand, tensor.name, to_string(tensor.shape),
                        name_of(tensor.dtype));
  });
  return text;
}

std::string StartedOps::describe() const {
  const std::int64_t count = std::min(last_ - done_, kRemembered);
  if (count <= 0) return "";
  if (count == 1) return describe_last();
  const Started &first = at(last_ - count + 1), &last = at(last_);
  return fmt::format("one of the {} ops from {} of the {} to {} of the {}", count, named(first),
                     name_of(first.phase->kind), named(last), name_of(last.phase->kind));
}

}  // namespace snug::cuda
