// What the executor refuses to bind or run, and the ops that no program of the CPU emits yet.
#include "backend/cpu/cpu_executor.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backend/cpu/cpu_target.h"
#include "backend/cpu/kernels/bf16.h"
#include "base/error.h"
#include "gpt2/spec.h"
#include "program/builder.h"

namespace snug::cpu {
namespace {

constexpr std::int64_t kCount = 5;
constexpr float kValues[kCount] = {1.0f, -2.00390625f, 3.0117188f, 1e-40f, 65535.0f};

// One phase of one op over float32 "w" and bfloat16 "copy", both of kCount elements.
struct OneOp {
  explicit OneOp(ops::AnyOp definition, program::PhaseKind kind = program::PhaseKind::kLoad) {
    program.threads = 1;
    program.tensors = {{"w", {kCount}, DType::kF32, Role::kWeights, Lifetime::kRun},
                       {"copy", {kCount}, DType::kBF16, Role::kWeights, Lifetime::kRun}};
    program.phases.push_back({.kind = kind, .in_iteration = true});
    program.phases[0].ops.push_back({"an op", std::move(definition)});
  }
  void bind() {
    plan = plan::make_plan(program);
    executor.emplace(program, plan);
  }

  program::Program program;
  plan::Plan plan;
  std::optional<CpuExecutor> executor;
};

void expect_rounded(OneOp& run) {
  const std::uint16_t* copy = run.executor->view(1).bf16();
  for (std::int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(copy[i], nearest_bf16(run.executor->view(0).f32()[i])) << i;
  }
}

TEST(CpuExecutor, CastsToTheNearestBfloat16) {
  OneOp run(ops::Cast{.weights = {{0}}, .copies = {{1}}});
  run.bind();
  run.executor->write(0, 0, std::as_bytes(std::span(kValues)));
  run.executor->run(run.program.phases[0], {});
  expect_rounded(run);
  // Ties go to the even neighbour, in both directions.
  EXPECT_EQ(nearest_bf16(1.00390625f), 0x3F80);
  EXPECT_EQ(nearest_bf16(1.01171875f), 0x3F82);
}

TEST(CpuExecutor, AnUpdateRenewsTheWeightsCopy) {
  OneOp run(ops::AdamW{.weight = 0, .gradient = 2, .m = 3, .v = 4, .norm = 5, .compute_copy = 1},
            program::PhaseKind::kUpdate);
  for (const char* name : {"gradient", "m", "v"}) {
    run.program.tensors.push_back({name, {kCount}, DType::kF32, Role::kGradients, Lifetime::kRun});
  }
  run.program.tensors.push_back({"norm", {1}, DType::kF64, Role::kIo, Lifetime::kRun});
  run.bind();
  run.executor->write(0, 0, std::as_bytes(std::span(kValues)));
  run.executor->write(2, 0, std::as_bytes(std::span(kValues)));
  backend::StepContext context;
  context.learning_rate = 0.5;
  context.beta1 = context.beta2 = 0.9;
  context.update_count = 1;
  run.executor->run(run.program.phases[0], context);
  EXPECT_NE(run.executor->view(0).f32()[0], kValues[0]);
  expect_rounded(run);
}

TEST(CpuExecutor, RefusesAnOpInALoopThatKnowsNoChunks) {
  OneOp run(ops::Gelu{.x = 0, .y = 0});
  run.program.phases[0].loops.push_back({0, 1, 1, 1});
  EXPECT_THROW(run.bind(), InternalError);
}

TEST(CpuExecutor, RefusesATransferWithoutAHostAndAForeignPhase) {
  OneOp run(ops::CheckpointRead{.tensors = {{0}}});
  run.bind();
  EXPECT_THROW(run.executor->run(run.program.phases[0], {}), InternalError);
  const program::Phase foreign = run.program.phases[0];
  EXPECT_THROW(run.executor->run(foreign, {}), InternalError);
}

TEST(ProgramBuilder, RefusesAMissingOperandByNameAndAnOpenLoop) {
  const model::ModelSpec model = gpt2::make_model_spec(
      config::GptSizes{.n_layer = 1, .n_head = 1, .n_embd = 8, .block_size = 4, .vocab_size = 5});
  const CpuTarget target(1);
  program::ProgramBuilder builder(model, target, DType::kF32);
  builder.begin_phase(program::PhaseKind::kEvaluate, false, 1, 4);
  const TensorId x = builder.activation("x", {1, 4, 8});
  try {
    builder.emit("h.0.mlp.gelu", ops::Gelu{.x = x, .y = kNoTensor});
    FAIL() << "y is missing";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("has no y"), std::string::npos) << error.what();
  }
  builder.begin_loop(4, 4);
  EXPECT_THROW(builder.begin_loop(4, 4), InternalError);
  EXPECT_THROW(builder.begin_phase(program::PhaseKind::kSave, false), InternalError);
  EXPECT_THROW(builder.take(), InternalError);
}

}  // namespace
}  // namespace snug::cpu
