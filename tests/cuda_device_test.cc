// Whole training runs on the fake card: what they compute is what the CPU computes, what they take
// is what was planned, and trouble ends them by name.
#include "device/cuda_device.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "card_run.h"
#include "emulator/card.h"
#include "emulator/faults.h"
#include "emulator/launch.h"
#include "gpt2/spec.h"
#include "train/generate.h"

namespace snug {
namespace {

struct Trained {
  std::vector<double> losses, norms;
  std::string bytes;
};

template <class Run>
Trained train(Run& run, std::int64_t first, std::int64_t end) {
  Trained trained;
  for (std::int64_t iteration = first; iteration < end; ++iteration) {
    trained.losses.push_back(*run.engine().evaluate(train::Split::kVal, iteration));
    const train::StepResult step = run.engine().step(iteration);
    EXPECT_TRUE(step.updated);
    trained.losses.push_back(step.loss);
    trained.norms.push_back(step.gradient_norm);
  }
  trained.bytes = run.bytes();
  return trained;
}

// The same batches and masks; sums in another order. Losses are of order 4: a float's last place is
// 5e-7 there. AdamW's step is at most the learning rate: where a gradient is near zero its sign may
// differ, which moves a weight by twice the rate at most; elsewhere far less.
TEST(CudaDevice, TrainsInFloat32AsTheCpuDoes) {
  const config::Config config = float_config();
  SmallRun here(config, TestDevice::kCpu);
  CardRun card(on_card(config));
  constexpr int kIterations = 4;
  const Trained expected = train(here, 0, kIterations), found = train(card, 0, kIterations);
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(found.losses[i], expected.losses[i], 2e-5) << i;
  }
  for (std::size_t i = 0; i < expected.norms.size(); ++i) {
    EXPECT_NEAR(found.norms[i], expected.norms[i], 1e-4 * expected.norms[i]) << i;
  }
  EXPECT_LE(largest_difference(found.bytes, expected.bytes),
            2 * kIterations * config.learning_rate);
  EXPECT_TRUE(emulator::take_faults().empty());
}

// What a setting saves costs nothing of the result: the same bits.
TEST(CudaDevice, MemorySettingsChangeNoBit) {
  const config::Config config = on_card(float_config());
  CardRun plain(config);
  const Trained expected = train(plain, 0, 2);
  const auto expect_same = [&](config::Config changed, const char* what) {
    CardRun run(changed);
    const Trained found = train(run, 0, 2);
    EXPECT_TRUE(found.bytes == expected.bytes) << what;
    EXPECT_EQ(found.losses, expected.losses) << what;
  };
  expect_same(config, "the same run again");
  config::Config changed = config;
  changed.checkpoint_blocks = 2;
  expect_same(changed, "checkpointing");
  changed = config;
  changed.loss_chunk = 2 * config.block_size;
  expect_same(changed, "loss chunks");
  changed = config;
  changed.eval_batch_size = 3;
  expect_same(changed, "evaluation sizes");
  changed = config;
  changed.recompute_light = false;
  expect_same(changed, "recomputation");
}

// A split of the batch may change what cuBLASLt chooses, and the order of sums over rows; nothing
// else. AdamW's first steps have about the learning rate's size whatever the gradient's, so that
// the bound on weights is that of a sign that flips.
TEST(CudaDevice, AnotherSplitStaysWithinRounding) {
  config::Config config = on_card(float_config());
  CardRun whole(config);
  const Trained expected = train(whole, 0, 2);
  config.batch_size = 2;
  config.eval_iters *= 2;  // as many sequences
  config.gradient_accumulation_steps = 4;
  CardRun split(config);
  const Trained found = train(split, 0, 2);
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5);
  }
  EXPECT_LE(largest_difference(found.bytes, expected.bytes), 4 * config.learning_rate);
}

class OrderOfWork : public testing::TestWithParam<const char*> {
 protected:
  OrderOfWork() { config_.dtype = GetParam(); }
  ~OrderOfWork() override {
    emulator::set_stream_mode(emulator::StreamMode::kEager);
    emulator::set_lane_order(emulator::LaneOrder::kUp);
  }
  config::Config config_ = on_card(float_config());
};

// Work that waits until somebody waits for it: a missing event would show as NaN.
TEST_P(OrderOfWork, LazyStreamsChangeNoBit) {
  CardRun plain(config_);
  const Trained expected = train(plain, 0, 2);
  CardRun lazy(config_);
  emulator::set_stream_mode(emulator::StreamMode::kLazy);
  const Trained found = train(lazy, 0, 2);
  EXPECT_EQ(found.losses, expected.losses);
  EXPECT_EQ(found.norms, expected.norms);
  EXPECT_TRUE(found.bytes == expected.bytes);
}

// The threads of a block in another order: what relies on theirs without a barrier would show.
TEST_P(OrderOfWork, LanesInAnyOrderChangeNoBit) {
  CardRun plain(config_);
  const Trained expected = train(plain, 0, 2);
  for (const emulator::LaneOrder order :
       {emulator::LaneOrder::kDown, emulator::LaneOrder::kShuffled}) {
    emulator::set_lane_order(order, 11);
    CardRun permuted(config_);
    const Trained found = train(permuted, 0, 2);
    EXPECT_EQ(found.losses, expected.losses);
    EXPECT_TRUE(found.bytes == expected.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, OrderOfWork,
                         testing::Values("float32", "bfloat16", "float16"));

// Where cuBLASLt has no product that adds a bias, the bias lies in the result first, and the
// product is added to it: rounded once, as before. Nothing more is planned or taken.
TEST(CudaDevice, ABiasNeedsNoEpilogue) {
  for (const char* dtype : {"float32", "bfloat16"}) {
    config::Config config = on_card(float_config());
    config.dtype = dtype;
    CardRun with(config);  // which puts the card in
    const Trained expected = train(with, 0, 2);
    const std::uint64_t launches = emulator::card_use().launches;
    emulator::insert_card(*emulator::card_by_name(config.card));
    config.card = "";
    emulator::set_known_products(emulator::KnownProducts::kWithoutEpilogue);
    CardRun without(config);
    const Trained found = train(without, 0, 2);
    EXPECT_GT(emulator::card_use().launches, launches) << "no bias was spread";
    EXPECT_EQ(emulator::card_use().high_water_bytes,
              static_cast<std::size_t>(without.plan().plan.arena_bytes));
    // Another product may sum in another order.
    const double bound = config.dtype == "float32" ? 2e-5 : 0x1p-8;
    for (std::size_t i = 0; i < expected.losses.size(); ++i) {
      EXPECT_NEAR(found.losses[i], expected.losses[i], bound) << dtype << i;
    }
    emulator::insert_card(emulator::CardSettings{});
  }
}

// The number of the op that hands `tensor` to the host, and of the first op of a kind.
std::size_t handed_out_at(const program::Phase& phase, TensorId tensor) {
  return static_cast<std::size_t>(std::ranges::find_if(phase.ops,
                                                       [&](const ops::Op& op) {
                                                         const auto* copy = op.as<ops::Copy>();
                                                         return copy != nullptr &&
                                                                copy->to.id == tensor;
                                                       }) -
                                  phase.ops.begin());
}
template <class Definition>
std::size_t first_of(const program::Phase& phase) {
  return static_cast<std::size_t>(
      std::ranges::find_if(phase.ops, [](const ops::Op& op) { return op.is<Definition>(); }) -
      phase.ops.begin());
}

// What the host reads of a step is on its way before the long rest of the phase: it need not wait
// for backward, nor for AdamW.
TEST(CudaDevice, TheHostIsToldBeforeThePhaseIsDone) {
  const config::Config config = on_card(float_config());
  const device::CudaDevice device(config);
  const auto run = plan::plan_training(config, config.vocab_size, device.target());
  const program::Phase& step = run->program.phase(program::PhaseKind::kMicroStep);
  EXPECT_LT(handed_out_at(step, step.host.losses), first_of<ops::AttentionBackward>(step));
  const program::Phase& update = run->program.phase(program::PhaseKind::kUpdate);
  EXPECT_LT(handed_out_at(update, update.host.norm), first_of<ops::AdamW>(update));
}

// TF32 keeps 10 bits of a product's operands: a loss of order 4 moves, and by little.
TEST(CudaDevice, Tf32IsFloat32WithRoundedOperands) {
  config::Config config = on_card(float_config());
  CardRun exact(config);
  const double expected = *exact.engine().evaluate(train::Split::kVal, 0);
  config.dtype = "tf32";
  CardRun rounded(config);
  const double found = *rounded.engine().evaluate(train::Split::kVal, 0);
  EXPECT_NE(found, expected);
  EXPECT_NEAR(found, expected, 4e-3);
}

TEST(CudaDevice, TakesWhatWasPlannedAndNothingMore) {
  const config::Config config = on_card(float_config());
  CardRun run(config);
  const auto planned = static_cast<std::size_t>(run.plan().plan.arena_bytes);
  EXPECT_EQ(emulator::card_use().live_bytes, planned);
  const auto pinned = static_cast<std::size_t>(run.plan().plan.arena_bytes_in(Space::kPinned));
  EXPECT_EQ(emulator::card_use().pinned_bytes, pinned);
  train(run, 0, 2);
  EXPECT_EQ(emulator::card_use().high_water_bytes, planned);
  EXPECT_EQ(emulator::card_use().pinned_high_water_bytes, pinned);
}

TEST(CudaDevice, RefusesByNameWhatItCannotGet) {
  const config::Config config = on_card(float_config());
  const device::CudaDevice device(config);
  const auto planned = plan::plan_training(config, config.vocab_size, device.target());
  emulator::fail_malloc_after(0);
  EXPECT_THROW(device.make_executor(planned->program, planned->plan), CapacityError);
  EXPECT_NO_THROW(device.make_executor(planned->program, planned->plan));
  emulator::set_held_bytes(std::size_t{12} << 30);
  EXPECT_THROW(device.make_executor(planned->program, planned->plan), CapacityError);
  emulator::set_held_bytes(0);
}

TEST(CudaDevice, ALostCardIsADeviceError) {
  CardRun run(on_card(float_config()));
  run.engine().step(0);
  emulator::lose_card_after(20);
  try {
    run.engine().step(1);
    run.engine().executor().wait();
    FAIL() << "nobody noticed";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ExitCode::kDevice);
    EXPECT_NE(std::string(error.what()).find("what is saved is safe"), std::string::npos)
        << error.what();
  }
}

std::vector<std::int32_t> text_of(const checkpoint::CheckpointStore& store,
                                  const config::Config& config, const device::Device& device) {
  const auto plan = plan::plan_sampling(gpt2::make_model_spec(config, config.vocab_size),
                                        config.block_size, DType::kF32, device.target());
  train::Generator generator(*plan, device);
  generator.load(store);
  std::vector<std::int32_t> tokens = {3, 1, 4};
  train::Generator::Settings settings;
  settings.max_new_tokens = 60;  // more than the window: prefill and decode both run
  generator.generate(settings, 0, tokens, [](std::int32_t) { return true; });
  return tokens;
}

// A CPU's checkpoint goes on on the card and the card's on the CPU, to the same text.
TEST(CudaDevice, CheckpointsGoBackAndForth) {
  const config::Config config = float_config();
  const TemporaryFolder folder;
  checkpoint::CheckpointStore first(folder.path("cpu"), 1), second(folder.path("card"), 1);
  checkpoint::TrainingState state;
  state.config_json = "{}";
  SmallRun here(config, TestDevice::kCpu);
  here.engine().step(0);
  state.iteration = 1;
  here.engine().save(first, state, false);
  CardRun card(on_card(config));
  EXPECT_EQ(card.engine().load(first).state.iteration, 1);
  EXPECT_TRUE(card.bytes() == here.bytes()) << "what was saved is what was loaded";
  card.engine().step(1);
  state.iteration = 2;
  card.engine().save(second, state, false);
  SmallRun back(config, TestDevice::kCpu);
  EXPECT_EQ(back.engine().load(second).state.iteration, 2);
  EXPECT_TRUE(back.bytes() == card.bytes());
  EXPECT_EQ(text_of(second, config, card.device()), text_of(second, config, back.device()));
}

}  // namespace
}  // namespace snug
