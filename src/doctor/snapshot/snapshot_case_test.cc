#include "doctor/snapshot/snapshot_case.h"

#include <gtest/gtest.h>

#include "doctor/snapshot/for_test.h"
#include "doctor/snapshot/reader.h"
#include "doctor/torch/for_test.h"

namespace snug::doctor::snapshot {
namespace {

using torch::TorchPhase;

SnapshotCase examined(const std::string& pickle, std::vector<std::string> config = {},
                      bool with_fixes = false) {
  SnapshotInputs inputs;
  inputs.snapshot = read_snapshot(pickle, "test");
  inputs.config = std::move(config);
  inputs.with_fixes = with_fixes;
  return examine_snapshot(std::move(inputs));
}

const torch::TorchRun kRun = torch::sized_torch_run(2, 4, 256, 128, 50304, 4);

TEST(SnapshotCase, TheModelIsToldTensorByTensor) {
  TapeSnapshot maker(kRun);
  const SnapshotCase found = examined(maker.make(maker.end_of(TorchPhase::kForward)).pickle);
  ASSERT_TRUE(found.comparison);
  EXPECT_GT(found.comparison->tensors.size(), 12u);
  for (const ComparedTensor& tensor : found.comparison->tensors) {
    if (tensor.label == "loss") continue;  // two scalars of one size
    EXPECT_EQ(tensor.model_bytes, tensor.here_bytes) << tensor.label;
  }
  EXPECT_EQ(found.comparison->here_layer_bytes, found.comparison->model_layer_bytes);
  EXPECT_EQ(found.comparison->here_layer_bytes / found.comparison->stream_elements, 36);
  EXPECT_FALSE(found.has_config);
}

TEST(SnapshotCase, AConfigOfAnotherRunIsNoticed) {
  TapeSnapshot maker(kRun);
  const SnapshotCase found = examined(maker.make(maker.end_of(TorchPhase::kForward)).pickle,
                                      {"--n_layer=2", "--n_head=4", "--n_embd=512",
                                       "--block_size=128", "--batch_size=8", "--vocab_size=50304"});
  ASSERT_TRUE(found.comparison);
  std::vector<std::string_view> keys;
  for (const OtherSetting& other : found.comparison->others) keys.push_back(other.key);
  EXPECT_EQ(keys, (std::vector<std::string_view>{"n_embd", "batch_size"}));
  EXPECT_EQ(found.comparison->others[0].here, 256);
  EXPECT_EQ(found.comparison->others[1].here, 4);
}

TEST(SnapshotCase, TheMomentOfTheFailure) {
  TapeSnapshot maker(kRun);
  TestOptions options;
  options.oom_bytes = 4ll * 4 * 128 * 50304;
  options.device_free_bytes = 1 << 20;
  const std::size_t end = maker.end_of(TorchPhase::kForward);
  const SnapshotCase found = examined(maker.make(end, options).pickle, {}, true);
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->request_bytes, options.oom_bytes);
  EXPECT_EQ(found.failure->tensor.label, "log-probabilities in fp32");
  EXPECT_EQ(found.failure->phase, TorchPhase::kForward);
  EXPECT_EQ(found.failure->cause, FailureCause::kCapacity);
  EXPECT_EQ(found.failure->held.total_bytes(), found.now.total_bytes());
  ASSERT_TRUE(found.doctor && found.doctor->fixes);
  EXPECT_FALSE(found.doctor->fixes->fits_as_is);
  EXPECT_GT(found.doctor->card_bytes, found.failure->reserved_bytes);
  options.oom_in_backward = true;  // the bytes of a tensor, no multiple of a segment's
  const SnapshotCase backward = examined(maker.make(end, options).pickle, {}, true);
  ASSERT_TRUE(backward.failure);
  EXPECT_EQ(backward.failure->tensor.label, "gradient of log-probabilities in fp32");
  EXPECT_EQ(backward.failure->phase, TorchPhase::kBackward);
}

TEST(SnapshotCase, EnoughButInPiecesIsFragmentation) {
  TapeSnapshot maker(kRun);
  TestOptions options;
  options.oom_bytes = 4 << 20;
  options.device_free_bytes = 8 << 20;  // more than asked for
  const SnapshotCase found =
      examined(maker.make(maker.end_of(TorchPhase::kForward), options).pickle);
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->cause, FailureCause::kFragmentation);
}

TEST(SnapshotCase, TheTimelineHasThePeakAndAddsUp) {
  TapeSnapshot maker(kRun);
  const std::size_t end = maker.end_of(TorchPhase::kOptimizer, 1);
  for (const std::size_t first : {std::size_t{0}, end / 3}) {
    TestOptions options;
    options.first_recorded = first;
    const SnapshotCase found = examined(maker.make(end, options).pickle);
    std::int64_t held = 0, peak = 0;
    for (std::size_t i = 0; i < end; ++i) {
      const torch::TorchEvent& event = maker.tape().events()[i];
      const std::int64_t bytes =
          maker.tape().tensors()[static_cast<std::size_t>(event.tensor)].bytes;
      held += event.allocates ? bytes : -bytes;
      if (i >= first) peak = std::max(peak, held);
    }
    ASSERT_FALSE(found.timeline.points.empty());
    EXPECT_LE(found.timeline.points.size(), kTimelinePoints);
    std::int64_t total = 0;
    for (const std::int64_t role : found.timeline.points[found.timeline.peak].bytes) total += role;
    EXPECT_EQ(total, peak);
    total = 0;
    for (const std::int64_t role : found.timeline.points.back().bytes) total += role;
    EXPECT_GE(total, found.now.total_bytes());
  }
}

}  // namespace
}  // namespace snug::doctor::snapshot
