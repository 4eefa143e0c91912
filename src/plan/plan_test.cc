#include "plan/plan.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "base/error.h"
#include "gpt2/spec.h"
#include "program/sampling_program.h"
#include "program/training_program.h"

namespace snug::plan {
namespace {

// Scratch of a made-up backend: enough to see that the plan books it.
class FakeTarget : public program::Target {
 public:
  std::int64_t scratch_bytes(const ops::Op& op, const ops::Shapes&) const override {
    return op.is<ops::Attention>() || op.is<ops::Linear>() ? 10000 : 0;
  }
  std::int64_t overhead_bytes(const program::Program&) const override { return 0; }
  DType compute_dtype(DType wanted) const override { return wanted; }
};

struct NamedShape {
  const char* name;
  std::int64_t layers, width, vocab;
  program::TrainingShape shape;
};

std::vector<NamedShape> shapes() {
  std::vector<NamedShape> all = {
      {"gpt2", 12, 768, 50304, {12, 40, 1024, 12, 1024, 0, 0, 0.1}},
      {"gpt2 checkpointed", 12, 768, 50304, {64, 8, 1024, 64, 1024, 12, 0, 0.1}},
      {"gpt2 partial", 12, 768, 50304, {16, 1, 1024, 4, 512, 5, 0, 0.1}},
      {"gpt2 xl", 48, 1600, 50304, {1, 512, 1024, 1, 1024, 48, 128, 0.1}},
      {"shakespeare", 6, 384, 65, {64, 1, 256, 64, 256, 0, 0, 0.1}},
      {"large evaluation", 2, 64, 65, {2, 1, 64, 64, 64, 0, 0, 0.1}},
      {"tiny", 1, 8, 11, {1, 1, 3, 1, 3, 0, 0, 0.1}},
  };
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(all[i]);  // the same in 16 bits, keeping all
    all.back().shape.compute = DType::kBF16;
    all.back().shape.recompute_light = false;
  }
  return all;
}

model::ModelSpec model_of(const NamedShape& s) {
  config::Config config;
  config.n_layer = s.layers;
  config.n_embd = s.width;
  config.n_head = s.width / 8;
  config.block_size = s.shape.block_size;
  config.dropout = 0.1;
  config.bias = true;
  return gpt2::make_model_spec(config, s.vocab);
}

TEST(Plan, PacksOurProgramsWithinTwoPercentOfTheLowerBound) {
  for (const NamedShape& s : shapes()) {
    const model::ModelSpec model = model_of(s);
    const program::Program program = program::build_training_program(model, s.shape, FakeTarget());
    const Plan plan = make_plan(program);
    verify_plan(program, plan);
    EXPECT_LE(plan.packing_ratio(), 1.02) << s.name;
    RecordProperty(s.name, std::to_string(plan.packing_ratio()));
    const program::Program sampling =
        program::build_sampling_program(model, s.shape.block_size, DType::kF32, FakeTarget());
    const Plan sampling_plan = make_plan(sampling);
    verify_plan(sampling, sampling_plan);
    EXPECT_LE(sampling_plan.packing_ratio(), 1.02) << s.name;
  }
}

// What is planned does not grow with the batch: planning takes milliseconds at every size.
TEST(Plan, ALargeBatchIsAsManyOpsAsASmallOne) {
  NamedShape s = shapes()[0];
  const auto op_count = [&] {
    std::size_t count = 0;
    const program::Program program =
        program::build_training_program(model_of(s), s.shape, FakeTarget());
    for (const program::Phase& phase : program.phases) count += phase.ops.size();
    return count;
  };
  s.shape.batch_size = 1;
  const std::size_t small = op_count();
  s.shape.batch_size = s.shape.eval_batch_size = 16384;
  EXPECT_EQ(op_count(), small);
}

TEST(Plan, CheckpointedBlocksKeepOneTensorEach) {
  NamedShape s = shapes()[0];
  s.shape = {2, 1, 1024, 1, 64, 0, 0, 0.1};
  const model::ModelSpec model = model_of(s);
  const std::int64_t unit = 2 * 1024 * 768 * 4;  // one (B, T, C)
  const auto peak = [&](std::int64_t blocks) {
    s.shape.checkpoint_blocks = blocks;
    return make_plan(program::build_training_program(model, s.shape, FakeTarget()))
        .lower_bound_bytes;
  };
  // A block keeps 10 units and its statistics; checkpointed, its input only.
  const std::int64_t saved = peak(0) - peak(6);
  EXPECT_GE(saved, 6 * 9 * unit);
  EXPECT_LE(saved, 6 * 9 * unit + 6 * unit / 2);
  EXPECT_LT(peak(12), peak(6));
}

// What one more layer adds at the peak, in bytes of activations.
std::int64_t per_layer(NamedShape s) {
  const auto peak = [&](std::int64_t layers) {
    s.layers = layers;
    s.shape.checkpoint_blocks = s.shape.checkpoint_blocks > 0 ? layers : 0;
    const model::ModelSpec model = model_of(s);
    const Plan plan = make_plan(program::build_training_program(model, s.shape, FakeTarget()));
    const RoleBytes& roles = plan.steps[plan.peak_step].by_role;
    return roles[static_cast<std::size_t>(Role::kActivations)];
  };
  return peak(12) - peak(11);
}

// The bounds of the design, with 16-bit arithmetic: 24 BTC bytes per layer, 2 BTC if checkpointed.
TEST(Plan, SixteenBitLayersKeepWhatTheDesignAllows) {
  NamedShape s = shapes()[0];
  s.shape = {16, 32, 1024, 16, 1024, 0, 0, 0.1};
  const std::int64_t unit = std::int64_t{16} * 1024 * 768;          // BTC
  EXPECT_EQ(per_layer(s), 40 * unit + unit / 768 * (16 + 4 * 96));  // float32, for comparison
  s.shape.compute = DType::kBF16;
  const std::int64_t statistics = unit / 768 * (16 + 4 * 96);  // 96 heads of 8 in model_of
  EXPECT_EQ(per_layer(s), 20 * unit + statistics);
  EXPECT_LE(per_layer(s), 24 * unit);
  s.shape.recompute_light = false;
  EXPECT_EQ(per_layer(s), 32 * unit + statistics);
  s.shape.checkpoint_blocks = 12;
  EXPECT_EQ(per_layer(s), 2 * unit);
}

TEST(Plan, SixteenBitArithmeticKeepsFloat32WeightsBesideItsCopies) {
  NamedShape s = shapes()[0];
  const model::ModelSpec model = model_of(s);
  const auto role = [&](Role wanted) {
    const program::Program program = program::build_training_program(model, s.shape, FakeTarget());
    std::int64_t bytes = 0;
    for (const Tensor& tensor : program.tensors) {
      if (tensor.role == wanted) bytes += tensor.byte_count();
    }
    return bytes;
  };
  const std::int64_t count = model.parameter_count();
  EXPECT_EQ(role(Role::kWeights), 4 * count);
  EXPECT_EQ(role(Role::kOptimizerState), 8 * count);
  s.shape.compute = DType::kBF16;
  s.shape.moments = DType::kBF16;
  std::int64_t matrices = 0;
  for (const model::ParameterSpec& p : model.parameters) {
    if (p.shape.rank() == 2) matrices += p.shape.element_count();
  }
  EXPECT_EQ(role(Role::kWeights), 4 * count + 2 * matrices);
  EXPECT_EQ(role(Role::kOptimizerState), 4 * count);
  // Without training there is nothing to be exact for: matrices once, in 16 bits.
  s.shape.eval_only = true;
  EXPECT_EQ(role(Role::kWeights), 4 * (count - matrices) + 2 * matrices);
}

TEST(Plan, EvaluationAloneNeedsNoTrainingState) {
  NamedShape s = shapes()[0];
  const model::ModelSpec model = model_of(s);
  s.shape.eval_only = true;
  const program::Program program = program::build_training_program(model, s.shape, FakeTarget());
  const Plan plan = make_plan(program);
  verify_plan(program, plan);
  const RoleBytes& roles = plan.steps[plan.peak_step].by_role;
  EXPECT_EQ(roles[static_cast<std::size_t>(Role::kGradients)], 0);
  EXPECT_EQ(roles[static_cast<std::size_t>(Role::kOptimizerState)], 0);
  EXPECT_GE(plan.arena_bytes, 4 * model.parameter_count());
}

TEST(Plan, EvaluationMayUseTheGradientsBytes) {
  NamedShape s = shapes()[0];
  s.shape = {1, 1, 64, 1, 64, 0, 64, 0.1};
  const Plan plan = make_plan(program::build_training_program(model_of(s), s.shape, FakeTarget()));
  s.shape.eval_batch_size = 16;
  const Plan larger =
      make_plan(program::build_training_program(model_of(s), s.shape, FakeTarget()));
  EXPECT_EQ(plan.arena_bytes, larger.arena_bytes);
}

TEST(Plan, NoTensorIsLargerThanItsChunkOfLogits) {
  const NamedShape s = shapes()[1];
  const program::Program program =
      program::build_training_program(model_of(s), s.shape, FakeTarget());
  for (const Tensor& tensor : program.tensors) {
    EXPECT_TRUE(tensor.role != Role::kLossHead || tensor.byte_count() <= 64 * kMiB) << tensor.name;
  }
}

// A random program: every op writes a new tensor and reads some that are older.
program::Program random_program(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return random() % n; };
  program::Program program;
  for (int p = 0; p < 3; ++p) {
    program::Phase phase;
    phase.kind = static_cast<program::PhaseKind>(p);
    phase.in_iteration = p > 0;
    const std::size_t first = program.tensors.size();
    const std::size_t op_count = 1 + below(30);
    for (std::size_t o = 0; o < op_count; ++o) {
      const auto lifetime = static_cast<Lifetime>(p > 0 ? below(4) : 2 + below(2));
      program.tensors.push_back({"t" + std::to_string(program.tensors.size()),
                                 {static_cast<std::int64_t>(1 + below(5000))},
                                 DType::kU8,
                                 static_cast<Role>(below(kRoleCount)),
                                 lifetime});
      const auto id = static_cast<TensorId>(program.tensors.size() - 1);
      ops::Cast cast;  // any op with lists of operands
      cast.copies.ids = {id};
      for (std::size_t r = below(4); r > 0; --r) {
        cast.weights.ids.push_back(
            static_cast<TensorId>(first + below(program.tensors.size() - first)));
      }
      phase.ops.push_back({"op", cast, static_cast<std::int64_t>(below(3) * below(3000))});
    }
    program.phases.push_back(phase);
  }
  return program;
}

TEST(Plan, RandomProgramsNeverOverlapAndNeverBeatTheLowerBound) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const program::Program program = random_program(seed);
    const Plan plan = make_plan(program);
    ASSERT_NO_THROW(verify_plan(program, plan)) << seed;
    EXPECT_GE(plan.arena_bytes, plan.lower_bound_bytes);
    EXPECT_EQ(plan.steps[plan.peak_step].live_bytes, plan.lower_bound_bytes);
  }
}

TEST(Plan, VerifierSeesAnOverlapAndAnEscape) {
  const program::Program program = random_program(7);
  Plan plan = make_plan(program);
  ASSERT_NO_THROW(verify_plan(program, plan));
  Plan escaped = plan;
  escaped.arena_bytes -= alignment_in(escaped.space);
  EXPECT_THROW(verify_plan(program, escaped), InternalError);
  Plan forgotten = plan, greedy = plan;
  for (std::vector<ScratchPlace>& of_phase : forgotten.scratch) {
    for (ScratchPlace& place : of_phase) place = {};
  }
  EXPECT_THROW(verify_plan(program, forgotten), InternalError);
  for (std::vector<ScratchPlace>& of_phase : greedy.scratch) {
    for (ScratchPlace& place : of_phase) place.byte_count *= 1000;
  }
  EXPECT_THROW(verify_plan(program, greedy), InternalError);
  // Everything at byte 0: whatever is alive together now overlaps.
  for (std::int64_t& offset : plan.tensor_offset) offset = offset < 0 ? offset : 0;
  EXPECT_THROW(verify_plan(program, plan), InternalError);
}

// One phase whose ops have so much scratch, and a tensor of so many bytes each that is alive in its
// op alone.
program::Program program_with_scratch(
    const std::vector<std::array<std::int64_t, 2>>& scratch_and_tensor) {
  program::Program program;
  program::Phase phase{}, without_ops{};
  phase.kind = program::PhaseKind::kEvaluate;
  without_ops.kind = program::PhaseKind::kSave;
  for (const auto& [scratch, bytes] : scratch_and_tensor) {
    const auto id = static_cast<TensorId>(program.tensors.size());
    program.tensors.push_back({"t", {bytes}, DType::kU8});
    phase.ops.push_back({"op", ops::Zero{.tensors = {{id}}}, scratch});
  }
  program.phases = {phase, without_ops};
  return program;
}

TEST(Plan, OpsOfAPhaseShareScratchWhereThatIsFree) {
  const program::Program program =
      program_with_scratch({{64, 640}, {0, 64}, {256, 640}, {128, 640}});
  const Plan plan = make_plan(program);
  verify_plan(program, plan);
  EXPECT_EQ(plan.arena_bytes, 896);
  const std::vector<ScratchPlace>& places = plan.scratch[0];
  for (const std::size_t op : {0, 2, 3}) {
    EXPECT_EQ(places[op].offset, places[0].offset);
    EXPECT_EQ(places[op].byte_count, 256);
  }
  EXPECT_EQ(places[1].byte_count, 0);
}

TEST(Plan, NoByteIsSpentOnSharedScratch) {
  const program::Program program = program_with_scratch({{64, 1024}, {256, 128}});
  const Plan plan = make_plan(program);
  verify_plan(program, plan);
  EXPECT_EQ(plan.arena_bytes, 1088);
  EXPECT_EQ(plan.scratch[0][0].byte_count, 64);
  EXPECT_EQ(plan.scratch[0][1].byte_count, 256);
}

// Every third tensor on the host's side of a device.
TEST(Plan, EverySpaceHasAnArenaOfItsOwn) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    program::Program program = random_program(seed);
    const Plan together = make_plan(program);
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
      program.tensors[t].space = t % 3 == 0 ? Space::kPinned : Space::kDevice;
    }
    Plan plan = make_plan(program);
    ASSERT_NO_THROW(verify_plan(program, plan)) << seed;
    EXPECT_EQ(plan.space, Space::kDevice);
    ASSERT_EQ(plan.shared_arenas.size(), 1u);
    EXPECT_EQ(plan.shared_arenas[0].space, Space::kPinned);
    EXPECT_GT(plan.arena_bytes_in(Space::kPinned), 0);
    EXPECT_EQ(plan.arena_bytes_in(Space::kHost), 0);
    EXPECT_LE(plan.lower_bound_bytes, together.lower_bound_bytes);
    EXPECT_EQ(peak_live_bytes(program), plan.lower_bound_bytes);
    plan.shared_arenas[0].byte_count -= alignment_in(plan.shared_arenas[0].space);
    EXPECT_THROW(verify_plan(program, plan), InternalError) << seed;
  }
}

TEST(Plan, RefusesTensorsTouchedOutsideTheirLifetime) {
  program::Program program = random_program(1);
  for (Tensor& tensor : program.tensors) tensor.lifetime = Lifetime::kOps;
  const auto cast_of = [&](std::size_t phase) -> ops::Cast& {
    return std::get<ops::Cast>(program.phases[phase].ops[0].definition);
  };
  cast_of(1).weights.ids.push_back(cast_of(0).copies.ids[0]);
  EXPECT_THROW(make_plan(program), InternalError);
}

}  // namespace
}  // namespace snug::plan
