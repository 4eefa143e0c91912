#include "doctor/torch/memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "base/error.h"
#include "doctor/torch/for_test.h"

namespace snug::doctor::torch {
namespace {

// The closed forms of the saved tensors and of the usual peak, at random sizes with a head size
// that flash takes as it is.
class ClosedForms {
 public:
  explicit ClosedForms(const TorchRun& run)
      : B(run.batch_size),
        T(run.block_size),
        C(run.n_embd),
        H(run.n_head),
        L(run.n_layer),
        V(run.vocab_size),
        drops(run.dropout > 0) {}

  std::int64_t half_saved() const {
    return L * (36 * B * T * C + 16 * B * T + 4 * B * H * T + 24) + 6 * B * T * C + 8 * B * T +
           8 * T + 8 + 8 * B * T * V + masks();
  }
  std::int64_t full_saved() const {
    const std::int64_t rng = drops ? 0 : 16;
    return L * (64 * B * T * C + 16 * B * T + 4 * B * H * ((T + 31) / 32 * 32) + rng) +
           8 * B * T * C + 8 * B * T + 8 * T + 8 + 8 * B * T * V + masks();
  }
  std::int64_t compiled_half_saved() const {
    const bool parts = B > (drops ? 4 : 1);
    return L * (36 * B * T * C + 4 * B * H * T + 8 * B * T + 24) + 6 * B * T * C + 2 * B * T * V +
           12 * B * T + 8 * T + 8 + (parts ? 4 * T * C + 4 * B * T : 0) + masks();
  }
  std::int64_t checkpointed_saved() const {
    return L * 4 * B * T * C + (drops ? B * T * C : 0) + 6 * B * T * C + 8 * B * T + 8 * T + 8 +
           8 * B * T * V;
  }
  std::int64_t copies() const { return 2 * (V * C + 12 * L * C * C); }
  std::int64_t masks() const { return drops ? (2 * L + 1) * B * T * C : 0; }
  std::int64_t logits() const { return B * T * V; }

  std::int64_t B, T, C, H, L, V;
  bool drops;
};

TorchRun random_run(std::mt19937& random) {
  const auto from = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  const std::int64_t heads = from(1, 7), width = 8 * from(1, 16);
  TorchRun run =
      sized_torch_run(from(1, 6), heads, heads * width, from(2, 700), from(2, 60000), from(1, 9));
  run.dropout = random() % 2 == 0 ? 0.0 : 0.1;
  run.accumulation_steps = from(1, 3);
  return run;
}

TEST(TorchMemory, SavedTensorsFollowTheClosedForms) {
  std::mt19937 random(1337);
  for (int i = 0; i < 25; ++i) {
    TorchRun run = random_run(random);
    const ClosedForms forms(run);
    SCOPED_TRACE(testing::Message() << "run " << i);
    EXPECT_EQ(torch_memory(run).saved_bytes, forms.half_saved());
    EXPECT_EQ(torch_memory(run).half_copies_bytes, forms.copies());
    EXPECT_EQ(torch_memory(run).loss_bytes, 8 * forms.logits());
    run.bias = true;  // adds nothing
    EXPECT_EQ(torch_memory(run).saved_bytes, forms.half_saved());
    run.compute = DType::kF32;
    EXPECT_EQ(torch_memory(run).saved_bytes, forms.full_saved());
    EXPECT_EQ(torch_memory(run).half_copies_bytes, 0);
    run.compute = DType::kF16;
    run.checkpoint_blocks = run.n_layer;
    EXPECT_EQ(torch_memory(run).saved_bytes, forms.checkpointed_saved());
    EXPECT_EQ(torch_memory(run).half_copies_bytes, 2 * run.vocab_size * run.n_embd);
    run.checkpoint_blocks = 0;
    run.compiled = true;
    EXPECT_EQ(torch_memory(run).saved_bytes, forms.compiled_half_saved());
  }
}

// 12 N + W + saved + 4 B T V + 32 B T, and 4 N once there is accumulation: where the vocabulary is
// large, at nll_loss_backward. AdamW's step counters and two scalars make it exact.
TEST(TorchMemory, ThePeakFollowsTheClosedForm) {
  std::mt19937 random(4711);
  for (int i = 0; i < 15; ++i) {
    TorchRun run = random_run(random);
    run.batch_size = run.eval_batch_size = std::max<std::int64_t>(run.batch_size, 4);
    run.block_size = run.eval_block_size = std::max<std::int64_t>(run.block_size, 256);
    run.vocab_size = 50304;
    const ClosedForms forms(run);
    const TorchMemory memory = torch_memory(run);
    const std::int64_t accumulated = run.accumulation_steps > 1 ? memory.params_bytes : 0;
    const auto tensors = static_cast<std::int64_t>(memory.parameter_names.size());
    EXPECT_EQ(memory.train.requested_bytes, 3 * memory.params_bytes + 4 * tensors + accumulated +
                                                forms.copies() + forms.half_saved() +
                                                4 * forms.logits() +
                                                32 * run.batch_size * run.block_size + 8);
    EXPECT_EQ(memory.train.op, "nll_loss_backward");
    EXPECT_EQ(memory.train.phase, TorchPhase::kBackward);
    EXPECT_EQ(memory.evaluate_later.requested_bytes - memory.sections.back().end_requested_bytes,
              forms.copies() + 10 * forms.logits() + 8 * forms.B * forms.T * forms.C +
                  4 * forms.T * forms.C + 16 * forms.B * forms.T + 8 * forms.T + 12);
  }
}

TEST(TorchMemory, SlowAttentionKeepsSquares) {
  TorchRun run = sized_torch_run(3, 4, 128, 100, 1000, 2);
  const std::int64_t pairs = 2 * 4 * 100 * 100;
  const auto saved = [&](bool flash, double dropout) {
    TorchRun one = run;
    one.flash = flash;
    one.dropout = dropout;
    return torch_memory(one).saved_bytes;
  };
  // Probabilities in fp32 and bf16, a mask of T x T; no log-sum-exp and rng state.
  const std::int64_t per_layer = 6 * pairs + 100 * 100 - 4 * 2 * 4 * 100 - 24;
  EXPECT_EQ(saved(false, 0) - saved(true, 0), 3 * per_layer);
  EXPECT_EQ(saved(false, 0.1) - saved(true, 0.1), 3 * (per_layer + pairs));
  run.flash = false;
  const TorchMemory slow = torch_memory(run);
  const auto is_mask = [](const TorchTensor& t) { return t.role == TorchRole::kBuffer; };
  EXPECT_EQ(std::count_if(slow.tensors.begin(), slow.tensors.end(), is_mask), 3);
}

// The path of before: bf16 needs 14 B T V in backward instead of 12, the workspaces stay.
TEST(TorchMemory, OlderLossIsLarger) {
  TorchRun run = sized_torch_run(12, 12, 768, 1024, 50304, 8);
  const std::int64_t logits = std::int64_t{8} * 1024 * 50304;
  const std::int64_t workspaces = 2 * run.cublas_workspace_bytes;
  const TorchMemory now = torch_memory(run);
  run.version = TorchVersion::kOlder;
  const TorchMemory older = torch_memory(run);
  EXPECT_EQ(older.train.op, "_log_softmax_backward_data");
  EXPECT_NEAR(static_cast<double>(older.train.requested_bytes - now.train.requested_bytes),
              static_cast<double>(2 * logits + workspaces), 1e5);
  EXPECT_EQ(older.loss_bytes, 6 * logits);  // logits in bf16, log-probabilities in fp32
  run.compute = DType::kF16;
  EXPECT_LT(torch_memory(run).train.requested_bytes, older.train.requested_bytes);
}

// nanoGPT issue 88, batch 32 on PyTorch 1.13: "Tried to allocate 6.14 GiB (...; 10.16 GiB already
// allocated". The doctor's question: which tensor was it?
TEST(TorchMemory, FindsTheTensorOfARealMessage) {
  TorchRun run = sized_torch_run(12, 12, 768, 1024, 50304, 32);
  run.version = TorchVersion::kOlder;
  run.flash = false;
  const TorchMemory memory = torch_memory(run);
  const auto near = [](std::int64_t bytes, double gib) {
    return std::fabs(static_cast<double>(bytes) / static_cast<double>(kGiB) - gib) < 0.01;
  };
  std::set<std::string> found;
  for (const TorchTensor& tensor : memory.tensors) {
    if (!near(allocator_segment_bytes(tensor.bytes), 6.14)) continue;
    if (!near(tensor.allocated_before_bytes, 10.16)) continue;
    found.insert(torch_tensor_name(memory, tensor));
    EXPECT_EQ(tensor.phase, TorchPhase::kEvaluateFirst);
    EXPECT_EQ(tensor.shape, (Shape{32, 1024, 50304}));
  }
  EXPECT_EQ(found, std::set<std::string>{"log-probabilities"});
}

TEST(TorchMemory, ResumeDdpAndForeachAddCopiesOfTheWeights) {
  TorchRun run = sized_torch_run(4, 4, 256, 64, 5003, 4);
  run.accumulation_steps = 2;
  const TorchMemory plain = torch_memory(run);
  const std::int64_t weights = plain.params_bytes;

  TorchRun resumed = run;
  resumed.resumed = true;
  const TorchMemory after = torch_memory(resumed);
  EXPECT_EQ(after.train.requested_bytes, plain.train.requested_bytes + weights);
  EXPECT_EQ(after.evaluate_first.requested_bytes - plain.evaluate_first.requested_bytes,
            3 * weights + 4 * static_cast<std::int64_t>(after.parameter_names.size()));

  TorchRun parallel = run;
  parallel.ddp = true;
  const TorchMemory ddp = torch_memory(parallel);
  EXPECT_EQ(ddp.train.requested_bytes, plain.train.requested_bytes + weights);
  EXPECT_GT(ddp.context_range.high_bytes, plain.context_range.high_bytes);
  std::int64_t rebuilt = 0;
  for (const TorchTensor& tensor : ddp.tensors) {
    if (tensor.op == "rebuild_buckets") rebuilt += tensor.bytes;
  }
  EXPECT_EQ(rebuilt, weights);

  TorchRun foreach = run;
  foreach
    .fused_adam = false;
  const TorchMemory unfused = torch_memory(foreach);
  const auto step_peak = [](const TorchMemory& memory) {
    std::int64_t peak = 0;
    for (const TorchSection& section : memory.sections) {
      const bool last = section.phase == TorchPhase::kOptimizer && section.iteration == 1;
      if (last) peak = section.peak_requested_bytes;
    }
    return peak;
  };
  // The group of decayed tensors at a time: nearly all of the weights.
  EXPECT_NEAR(static_cast<double>(step_peak(unfused) - step_peak(plain)),
              static_cast<double>(weights), 2e4);
}

TEST(TorchMemory, MoreOfAnythingNeedsMore) {
  const TorchRun base = sized_torch_run(3, 4, 256, 128, 3000, 4);
  const auto needs = [](const TorchRun& run) { return torch_memory(run).worst().allocated_bytes; };
  const std::int64_t minimum = needs(base);
  using Size = std::int64_t TorchRun::*;
  using Option = bool TorchRun::*;
  for (const Size size : std::initializer_list<Size>{
           &TorchRun::n_layer, &TorchRun::n_embd, &TorchRun::vocab_size, &TorchRun::batch_size,
           &TorchRun::block_size, &TorchRun::accumulation_steps}) {
    std::int64_t before = minimum;
    for (int doubling = 0; doubling < 3; ++doubling) {
      TorchRun larger = base;
      larger.*size <<= doubling + 1;
      const std::int64_t bytes = needs(larger);
      if (size == &TorchRun::accumulation_steps && doubling > 0) {
        EXPECT_EQ(bytes, before);  // more than two micro-steps are like two
      } else {
        EXPECT_GT(bytes, before);
      }
      before = bytes;
    }
  }
  for (const Option option :
       std::initializer_list<Option>{&TorchRun::bias, &TorchRun::ddp, &TorchRun::resumed}) {
    TorchRun with = base;
    with.*option = true;
    EXPECT_GT(needs(with), minimum);
  }
}

TEST(TorchMemory, EveryCheckpointedBlockNeedsLess) {
  TorchRun run = sized_torch_run(4, 4, 256, 256, 5003, 16);
  std::int64_t before = torch_memory(run).train.allocated_bytes;
  while (run.checkpoint_blocks < run.n_layer) {
    ++run.checkpoint_blocks;
    const std::int64_t bytes = torch_memory(run).train.allocated_bytes;
    EXPECT_LT(bytes, before);
    before = bytes;
  }
}

TEST(TorchMemory, CompiledIsARangeAroundItsPeak) {
  TorchRun run = sized_torch_run(12, 12, 768, 1024, 50304, 8);
  const TorchMemory eager = torch_memory(run);
  EXPECT_EQ(eager.train_range.low_bytes, eager.train.allocated_bytes);
  EXPECT_EQ(eager.train_range.high_bytes, eager.train.allocated_bytes);
  run.compiled = true;
  const TorchMemory compiled = torch_memory(run);
  EXPECT_LT(compiled.train_range.low_bytes, compiled.train.allocated_bytes);
  EXPECT_GT(compiled.train_range.low_bytes, compiled.resident_bytes);
  EXPECT_LT(compiled.train_range.high_bytes, eager.train.allocated_bytes);
  EXPECT_NEAR(static_cast<double>(compiled.train_range.high_bytes),
              1.03 * static_cast<double>(compiled.train.allocated_bytes), kMiB);
}

// Iteration 0 ends with optimizer state, every iteration without gradients; what is saved is gone
// after backward, and the tape's own sums agree with its tensors.
TEST(TorchMemory, SectionsAddUp) {
  TorchRun run = sized_torch_run(2, 3, 96, 50, 500, 3);
  run.bias = true;
  run.dropout = 0.1;
  run.accumulation_steps = 2;
  const TorchMemory memory = torch_memory(run);
  ASSERT_EQ(memory.sections.size(), 13U);
  const TorchSection& start = memory.sections.front();
  const TorchSection& end = memory.sections.back();
  const std::int64_t tokens = 2 * 8 * 3 * 50;
  EXPECT_EQ(start.end_requested_bytes, memory.params_bytes + tokens);
  const std::int64_t steps = 4 * static_cast<std::int64_t>(memory.parameter_names.size());
  const std::int64_t logits = 2 * 3 * 50 * 500;
  EXPECT_EQ(end.end_requested_bytes, 3 * memory.params_bytes + steps + tokens + logits + 4);
  EXPECT_EQ(memory.resident_bytes, end.end_allocated_bytes);
  for (const TorchSection& section : memory.sections) {
    EXPECT_GE(section.peak_requested_bytes, section.end_requested_bytes);
    EXPECT_GE(section.peak_allocated_bytes, section.peak_requested_bytes);
    EXPECT_GE(section.peak_reserved_bytes, section.peak_allocated_bytes);
  }
}

TEST(TorchMemory, TensorsAreNamed) {
  TorchRun run = sized_torch_run(5, 2, 64, 32, 100, 2);
  const TorchMemory memory = torch_memory(run);
  int count = 0;
  for (const TorchTensor& tensor : memory.tensors) {
    const bool wanted = tensor.what == "mlp.gelu output" && tensor.phase == TorchPhase::kForward &&
                        tensor.iteration == 1 && tensor.micro_step == 0;
    if (!wanted) continue;
    EXPECT_EQ(torch_tensor_name(memory, tensor), fmt::format("h.{}.mlp.gelu output", count++));
    EXPECT_EQ(tensor.shape, (Shape{2, 32, 256}));
    EXPECT_EQ(tensor.dtype, TorchDType::kBF16);
    EXPECT_EQ(tensor.op, "gelu");
    EXPECT_TRUE(tensor.saved);
  }
  EXPECT_EQ(count, 5);
  EXPECT_EQ(torch_tensor_name(memory, memory.tensors[0]), "transformer.wte.weight");
}

TEST(TorchMemory, ReadsANanoGptConfig) {
  config::Config config;
  config.dtype = "float16";
  config.eval_batch_size = 3;
  config.grad_checkpoint = true;
  config.init_from = "resume";
  config.grad_clip = 0;
  config.compile = false;
  const TorchRun run = torch_run(config, 50304);
  EXPECT_EQ(run.compute, DType::kF16);
  EXPECT_EQ(run.eval_batch_size, 3);
  EXPECT_EQ(run.eval_block_size, 1024);
  EXPECT_EQ(run.checkpoint_blocks, 12);
  EXPECT_EQ(run.accumulation_steps, 40);
  EXPECT_TRUE(run.resumed);
  EXPECT_FALSE(run.clips_gradients);
  EXPECT_FALSE(run.compiled);
  config.n_embd = 512;  // 12 heads: nanoGPT's assertion
  EXPECT_THROW(torch_run(config, 50304), ConfigError);
}

TEST(TorchMemory, RefusesImpossibleRuns) {
  TorchRun huge = sized_torch_run(1, 1, 8, 1 << 20, std::int64_t{1} << 40, std::int64_t{1} << 20);
  EXPECT_THROW(torch_memory(huge), ConfigError);
  TorchRun empty = sized_torch_run(1, 1, 8, 8, 8, 0);
  EXPECT_THROW(torch_memory(empty), ConfigError);
}

TEST(TorchMemory, AssumptionsHaveStableKeys) {
  TorchRun run = sized_torch_run(2, 2, 64, 32, 100, 2);
  const auto keys = [&] {
    std::set<std::string_view> result;
    for (const TorchAssumption& one : torch_assumptions(run)) {
      EXPECT_TRUE(result.insert(name_of(one.id)).second) << name_of(one.id);
    }
    return result;
  };
  EXPECT_FALSE(keys().contains("ddp"));
  EXPECT_TRUE(keys().contains("logits_name"));
  run.ddp = run.resumed = run.compiled = true;
  run.checkpoint_blocks = 1;
  for (const std::string_view key : {"ddp", "resume", "compiled", "checkpoint"}) {
    EXPECT_TRUE(keys().contains(key)) << key;
  }
}

}  // namespace
}  // namespace snug::doctor::torch
