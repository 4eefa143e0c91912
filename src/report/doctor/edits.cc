// What to type where nanoGPT has no key: lines to change as a diff without words, and commands.
#include <fmt/format.h>

#include <string_view>

#include "report/doctor/content.h"

namespace snug::report {
namespace {

std::vector<std::string> eval_batch_lines(std::int64_t rows) {
  return {"train.py",
          fmt::format("+ eval_batch_size = {}", rows),
          "  get_batch:",
          "- def get_batch(split):",
          "+ def get_batch(split, rows=batch_size):",
          "-     ix = torch.randint(len(data) - block_size, (batch_size,))",
          "+     ix = torch.randint(len(data) - block_size, (rows,))",
          "  estimate_loss:",
          "-             X, Y = get_batch(split)",
          "+             X, Y = get_batch(split, eval_batch_size)"};
}

std::vector<std::string> eval_context_lines(std::int64_t tokens) {
  return {"train.py",
          fmt::format("+ eval_block_size = {}", tokens),
          "  estimate_loss:",
          "              X, Y = get_batch(split)",
          "+             X = X[:, :eval_block_size].contiguous()",
          "+             Y = Y[:, :eval_block_size].contiguous()"};
}

std::vector<std::string> checkpoint_lines(std::int64_t blocks, std::int64_t layers) {
  std::vector<std::string> lines = {"model.py", "+ from torch.utils.checkpoint import checkpoint",
                                    "  GPT.forward:"};
  if (blocks >= layers) {
    lines.push_back("-             x = block(x)");
    lines.push_back("+             x = checkpoint(block, x, use_reentrant=False)");
    return lines;
  }
  lines.push_back("-         for block in self.transformer.h:");
  lines.push_back("-             x = block(x)");
  lines.push_back("+         for i, block in enumerate(self.transformer.h):");
  lines.push_back(fmt::format(
      "+             x = checkpoint(block, x, use_reentrant=False) if i < {} else block(x)",
      blocks));
  return lines;
}

std::vector<std::string> eight_bit_lines() {
  return {"pip install bitsandbytes",
          "model.py",
          "+ import bitsandbytes",
          "  GPT.configure_optimizers:",
          "- optimizer = torch.optim.AdamW(optim_groups, ...)",
          "+ optimizer = bitsandbytes.optim.AdamW8bit(",
          "+     optim_groups, lr=learning_rate, betas=betas)"};
}

std::vector<std::string> allocator_lines(const DoctorReport& report) {
  using doctor::diagnosis::AllocatorAdvice;
  constexpr std::string_view kVariable = "PYTORCH_CUDA_ALLOC_CONF";
  const std::string max_split =
      fmt::format("max_split_size_mb:{}", doctor::diagnosis::kAdvisedMaxSplitMib);
  switch (report.diagnosis ? report.diagnosis->allocator_advice : AllocatorAdvice::kExpandable) {
    case AllocatorAdvice::kMaxSplit:
      return {fmt::format("export {}={}", kVariable, max_split)};
    case AllocatorAdvice::kMaxSplitWindows:  // cmd, PowerShell
      return {fmt::format("set {}={}", kVariable, max_split),
              fmt::format("$env:{} = \"{}\"", kVariable, max_split)};
    default:
      return {fmt::format("export {}=expandable_segments:True", kVariable),
              "export PYTORCH_ALLOC_CONF=expandable_segments:True"};
  }
}

std::vector<std::string> free_lines(const DoctorReport& report) {
  std::vector<std::string> lines = {
      "nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv", "fuser -v /dev/nvidia*"};
  if (report.diagnosis) {
    for (const doctor::log::LogProcess& process : report.diagnosis->other_processes) {
      lines.push_back(fmt::format("ps -fp {}", process.pid));
    }
  }
  lines.push_back("kill PID");
  return lines;
}

}  // namespace

std::vector<std::string> fix_code(const DoctorReport& report, const fit::Fix& fix) {
  switch (fix.kind) {
    case fit::FixKind::kEvalBatch:
      if (!fix.needs_edit) return {};
      return eval_batch_lines(fix.config.eval_batch_size);
    case fit::FixKind::kEvalContext:
      if (!fix.needs_edit) return {};
      return eval_context_lines(fix.config.eval_block_size);
    case fit::FixKind::kCheckpoint:
    case fit::FixKind::kSplit:
      if (!fix.needs_edit) return {};
      return checkpoint_lines(fix.config.checkpoint_blocks, fix.config.n_layer);
    case fit::FixKind::kEightBitAdam:
      return eight_bit_lines();
    case fit::FixKind::kAllocator:
      return allocator_lines(report);
    case fit::FixKind::kFreeOthers:
      return free_lines(report);
    default:
      return {};
  }
}

}  // namespace snug::report
