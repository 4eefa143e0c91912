// Roles by frames, sizes and time order, over models of many shapes: at least 95% of the live bytes
// are what the run itself says they are.
#include "doctor/snapshot/names.h"

#include <gtest/gtest.h>

#include "doctor/snapshot/for_test.h"
#include "doctor/snapshot/reader.h"
#include "doctor/snapshot/snapshot_case.h"
#include "doctor/torch/for_test.h"

namespace snug::doctor::snapshot {
namespace {

using torch::TorchPhase;
using torch::TorchRole;

// What the truth beside the samples tells apart; all else is one.
Role coarse(Role role) {
  return role == Role::kWeights || role == Role::kGradients || role == Role::kOptimizer
             ? role
             : Role::kActivations;
}

Role truth_of(const torch::TorchTensor& tensor) {
  if (tensor.role == TorchRole::kParameter || tensor.role == TorchRole::kBuffer)
    return Role::kWeights;
  if (tensor.role == TorchRole::kGradient) return Role::kGradients;
  if (tensor.role == TorchRole::kOptimizer) return Role::kOptimizer;
  return Role::kActivations;
}

struct Score {
  std::int64_t total = 0, right = 0, known = 0;
};

Score score_of(const TestSnapshot& made) {
  const Snapshot snapshot = read_snapshot(made.pickle, "test");
  const Names names = name_all(snapshot, infer_model(snapshot));
  Score score;
  for (std::size_t i = 0; i < snapshot.blocks.size(); ++i) {
    const Block& block = snapshot.blocks[i];
    const Role role = names.of_block(i).role;
    score.total += block.requested_bytes;
    if (role == Role::kUnknown) continue;
    score.known += block.requested_bytes;
    if (coarse(role) == truth_of(made.live.at(block.address))) score.right += block.requested_bytes;
  }
  return score;
}

std::vector<torch::TorchRun> shapes() {
  std::vector<torch::TorchRun> runs = {torch::sized_torch_run(2, 4, 256, 128, 50304, 5),
                                       torch::sized_torch_run(6, 6, 384, 256, 65, 8),
                                       torch::sized_torch_run(3, 8, 512, 512, 50257, 5),
                                       torch::sized_torch_run(4, 4, 128, 64, 8000, 12)};
  runs[1].bias = true;
  runs[2].accumulation_steps = 2;
  runs[3].compute = DType::kF32;
  return runs;
}

void expect_right(const TestSnapshot& made, const std::string& what) {
  const Score score = score_of(made);
  EXPECT_GE(static_cast<double>(score.right), 0.95 * static_cast<double>(score.total)) << what;
  EXPECT_GE(static_cast<double>(score.known), 0.95 * static_cast<double>(score.total)) << what;
}

TEST(SnapshotNames, AtTheEndOfEveryPhaseOfEveryShape) {
  for (const torch::TorchRun& run : shapes()) {
    TapeSnapshot maker(run);
    for (const TorchPhase phase :
         {TorchPhase::kStart, TorchPhase::kEvaluateFirst, TorchPhase::kForward,
          TorchPhase::kBackward, TorchPhase::kOptimizer}) {
      for (const int iteration : {0, 1}) {
        const std::size_t end = maker.end_of(phase, iteration);
        if (end == 0) continue;
        TestOptions late;
        late.first_recorded = end / 2;
        const std::string what = std::string(torch::name_of(phase)) + " of iteration " +
                                 std::to_string(iteration) + ", n_embd " +
                                 std::to_string(run.n_embd);
        expect_right(maker.make(end), what);
        expect_right(maker.make(end, late), what + ", recorded from the middle on");
      }
    }
  }
}

TEST(SnapshotNames, AnEditedModelFileReadsTheSame) {
  TapeSnapshot maker(shapes()[0]);
  TestOptions edited;
  edited.line_shift = 1000;
  expect_right(maker.make(maker.end_of(TorchPhase::kForward), edited), "shifted lines");
}

// A context that equals the width, and a batch that gives activations the sizes of weights.
TEST(SnapshotNames, WithoutFramesBySize) {
  std::vector<torch::TorchRun> runs = shapes();
  runs.pop_back();  // in fp32 the table of so short a context is not told from other tensors
  runs.push_back(torch::sized_torch_run(4, 4, 256, 256, 50304, 2));
  runs.push_back(torch::sized_torch_run(3, 6, 384, 384, 65, 8));
  runs.back().dropout = 0.2;
  for (const torch::TorchRun& run : runs) {
    TapeSnapshot maker(run);
    TestOptions bare;
    bare.frames = bare.trace = false;
    const TestSnapshot made = maker.make(maker.end_of(TorchPhase::kForward, 1), bare);
    const std::string what =
        "n_embd " + std::to_string(run.n_embd) + ", block_size " + std::to_string(run.block_size);
    const ModelSizes sizes = infer_model(read_snapshot(made.pickle, "bare")).sizes;
    EXPECT_EQ(sizes.width, run.n_embd) << what;
    EXPECT_EQ(sizes.layers, run.n_layer) << what;
    EXPECT_EQ(sizes.vocabulary, run.vocab_size) << what;
    EXPECT_EQ(sizes.block, run.block_size) << what;
    EXPECT_EQ(sizes.batch(), run.batch_size) << what;
    expect_right(made, what);
  }
}

TEST(SnapshotNames, LayersByTheirOrderInTime) {
  const torch::TorchRun run = shapes()[1];
  TapeSnapshot maker(run);
  const TestSnapshot made = maker.make(maker.end_of(TorchPhase::kForward));
  const Snapshot snapshot = read_snapshot(made.pickle, "test");
  const Names names = name_all(snapshot, infer_model(snapshot));
  std::int64_t of_layers = 0;
  for (std::size_t i = 0; i < snapshot.blocks.size(); ++i) {
    const torch::TorchTensor& truth = made.live.at(snapshot.blocks[i].address);
    const Name& name = names.of_block(i);
    if (truth.role != TorchRole::kActivation) continue;
    EXPECT_EQ(name.layer, truth.layer) << truth.what;
    of_layers += truth.layer >= 0;
    // Mean and rstd have one name here, scalars of the loss another.
    if (truth.what != "layer norm's rstd" && truth.bytes > 4) {
      EXPECT_EQ(name.label, truth.what);
    }
  }
  EXPECT_GT(of_layers, run.n_layer * 10);
}

TEST(SnapshotNames, TheSizesOfTheModel) {
  for (const torch::TorchRun& run : shapes()) {
    TapeSnapshot maker(run);
    const Snapshot snapshot =
        read_snapshot(maker.make(maker.end_of(TorchPhase::kForward)).pickle, "test");
    const InferredModel inferred = infer_model(snapshot);
    const ModelSizes& sizes = inferred.sizes;
    EXPECT_TRUE(inferred.model.is_gpt);
    EXPECT_EQ(sizes.width, run.n_embd);
    EXPECT_EQ(sizes.layers, run.n_layer);
    EXPECT_EQ(sizes.vocabulary, run.vocab_size);
    EXPECT_EQ(sizes.block, run.block_size);
    EXPECT_EQ(sizes.batch(), run.batch_size);
    EXPECT_EQ(sizes.bias, run.bias);
    EXPECT_EQ(sizes.half, run.compute != DType::kF32);
    if (sizes.half) {
      EXPECT_EQ(sizes.heads, run.n_head);
    }
  }
}

}  // namespace
}  // namespace snug::doctor::snapshot
