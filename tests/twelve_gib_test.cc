// A card of 12 GiB, emulated, and the configs that people bring to it: what the plan says is what
// the card's memory sees, to the byte, and what does not fit is refused before training. Memory is
// committed when it is touched, so that allocating and binding a large model costs nothing here;
// training is shown on a small model and a card that is small in proportion.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/cuda/limits.h"
#include "base/error.h"
#include "device/cuda_device.h"
#include "emulator/card.h"
#include "fit/fixes.h"
#include "fit/outcome.h"
#include "train/random_run.h"
#include "train/start.h"

namespace snug {
namespace {

constexpr std::int64_t kVocabulary = 50304;
constexpr std::size_t kTwelve = std::size_t{12} << 30;

struct Sizes {
  const char* name;
  std::int64_t layers, heads, width;
};
constexpr Sizes k124M{"124M", 12, 12, 768}, k77M{"77M", 12, 9, 576}, k62M{"62M", 12, 8, 512},
    k53M{"53M", 12, 7, 448}, kNineLayers{"9 layers", 9, 12, 768}, kMedium{"medium", 24, 16, 1024},
    kLarge{"large", 36, 20, 1280};

config::Config config_of(const Sizes& sizes, std::int64_t B, std::int64_t T,
                         std::int64_t accumulation = 1) {
  config::Config config;
  config.n_layer = sizes.layers;
  config.n_head = sizes.heads;
  config.n_embd = sizes.width;
  config.batch_size = config.eval_batch_size = B;
  config.block_size = config.eval_block_size = T;
  config.gradient_accumulation_steps = accumulation;
  config.vocab_size = kVocabulary;
  config.dtype = "bfloat16";
  config.device = "emulated";  // the card that is in the machine
  return config;
}

struct Named {
  std::string name;
  config::Config config;
};
// What the issue tracker's people run.
std::vector<Named> named_configs() {
  std::vector<Named> all;
  const auto add = [&](const Sizes& sizes, std::int64_t B, std::int64_t T, std::int64_t steps = 1) {
    all.push_back({std::string(sizes.name) + " " + std::to_string(B) + "x" + std::to_string(T) +
                       (steps > 1 ? " x" + std::to_string(steps) : ""),
                   config_of(sizes, B, T, steps)});
  };
  for (const std::int64_t T : {1024, 512}) {
    for (std::int64_t B = 1; B <= 64; B *= 2) add(k124M, B, T);
  }
  for (const std::int64_t B : {8, 4, 2}) add(k124M, B, 512, 512 / B);  // 512 sequences in all
  for (const Sizes& sizes : {k77M, k62M, k53M, kNineLayers}) {
    for (const std::int64_t B : {8, 12, 32}) add(sizes, B, 1024);
  }
  for (const Sizes& sizes : {kMedium, kLarge}) {
    for (const std::int64_t B : {1, 2, 4, 8}) add(sizes, B, 1024);
  }
  return all;
}

void insert_card_of(std::size_t bytes) {
  emulator::CardSettings card = emulator::card_by_name("rtx3060").value();
  card.capacity_bytes = bytes;
  emulator::insert_card(card);
}

// The smallest card on which `total` bytes are within the budget.
std::size_t smallest_card(const config::Config& config, std::int64_t total) {
  insert_card_of(kTwelve);
  const device::CudaDevice device(config);
  return kTwelve - static_cast<std::size_t>(device.budget().usable_bytes) +
         static_cast<std::size_t>(total);
}

TEST(TwelveGibibytes, TheHighWaterMarkIsThePlan) {
  int fitting = 0, refused = 0;
  for (const auto& [name, config] : named_configs()) {
    SCOPED_TRACE(name);
    insert_card_of(kTwelve);
    const device::CudaDevice device(config);
    const auto run = plan::plan_training(config, kVocabulary, device.target());
    if (run->total_bytes() > device.budget().usable_bytes) {
      ++refused;
      EXPECT_GT(smallest_card(config, run->total_bytes()), kTwelve);
      continue;
    }
    ++fitting;
    const auto executor = device.make_executor(run->program, run->plan);
    const emulator::CardUse use = emulator::card_use();
    EXPECT_EQ(use.high_water_bytes, static_cast<std::size_t>(run->plan.arena_bytes));
    EXPECT_EQ(use.pinned_high_water_bytes,
              static_cast<std::size_t>(run->plan.arena_bytes_in(Space::kPinned)));
    EXPECT_EQ(use.allocations_ever, 1u);
  }
  std::printf("%d fit 12 GiB, %d do not\n", fitting, refused);
  EXPECT_GT(fitting, 25);
  EXPECT_GT(refused, 3);
}

// A card with exactly the budget takes the plan; one byte less and the plan is over the budget.
TEST(TwelveGibibytes, FitsExactlyWhereThePlanSays) {
  for (const auto& [name, config] : named_configs()) {
    SCOPED_TRACE(name);
    insert_card_of(kTwelve);
    const auto run = plan::plan_training(config, kVocabulary, device::CudaDevice(config).target());
    const std::size_t smallest = smallest_card(config, run->total_bytes());
    insert_card_of(smallest);
    const device::CudaDevice exact(config);
    EXPECT_EQ(exact.budget().usable_bytes, run->total_bytes());
    EXPECT_NO_THROW(exact.make_executor(run->program, run->plan));
    insert_card_of(smallest - 1);
    EXPECT_LT(device::CudaDevice(config).budget().usable_bytes, run->total_bytes());
  }
}

// The program's own way in, with data of its own.
class Started {
 public:
  explicit Started(const config::Config& config) {
    for (const char* name : {"train.bin", "val.bin"}) {
      train::write_random_tokens(folder_.path(name), 20000, config.vocab_size, name[0]);
    }
  }
  train::StartedRun start(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"--dataset=" + folder_.path().string(),
                                    "--out_dir=" + folder_.path("out"), "--device=emulated",
                                    "--lang=en"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    console::Console console(console::Progress::kNone);
    return train::start_training(config::load_config(config::Command::kTrain, all), console);
  }
  bool has_written() const { return std::filesystem::exists(folder_.path("out")); }

 private:
  TemporaryFolder folder_;
};

std::string refusal(Started& started, const std::vector<std::string>& arguments) {
  try {
    started.start(arguments);
  } catch (const CapacityError& error) {
    return error.what();
  }
  return "";
}

TEST(TwelveGibibytes, OneByteLessIsRefusedBeforeTrainingWithFixes) {
  const config::Config config = config_of(k124M, 8, 1024);
  insert_card_of(kTwelve);
  const auto run = plan::plan_training(config, kVocabulary, device::CudaDevice(config).target());
  insert_card_of(smallest_card(config, run->total_bytes()) - 1);
  Started started(config);
  const std::string text =
      refusal(started, {"--vocab_size=50304", "--batch_size=8", "--gradient_accumulation_steps=1"});
  EXPECT_NE(text.find("batch_size"), std::string::npos) << text;
  EXPECT_NE(text.find("--fit"), std::string::npos) << text;
  EXPECT_EQ(emulator::card_use().allocations_ever, 0u) << "refused before anything was taken";
}

// nanoGPT's own settings with 64 sequences: the fit finds others that need no more than the card
// has, and the card gives exactly that.
TEST(TwelveGibibytes, SixtyFourSequencesAreFitted) {
  insert_card_of(kTwelve);
  config::LoadedConfig loaded = config::load_config(
      config::Command::kTrain,
      std::vector<std::string>{"--batch_size=64", "--device=emulated", "--dtype=bfloat16", "--fit",
                               "--vocab_size=50304"});
  const device::CudaDevice device(loaded.values);
  const fit::Planner planner(device.target(), kVocabulary,
                             device.rates(loaded.values, kVocabulary));
  EXPECT_GT(planner.plan(loaded.values)->total_bytes(), device.budget().usable_bytes);
  const std::int64_t sequences = config::effective_batch_of(loaded.values);
  const fit::Fixes fixes = fit::find_fixes(planner, loaded, device.budget());
  fit::apply_fix(loaded, fixes, device.budget().usable_bytes);
  EXPECT_EQ(config::effective_batch_of(loaded.values), sequences) << "the same training";
  const auto run = planner.plan(loaded.values);
  ASSERT_LE(run->total_bytes(), device.budget().usable_bytes);
  const auto executor = device.make_executor(run->program, run->plan);
  EXPECT_EQ(emulator::card_use().high_water_bytes, static_cast<std::size_t>(run->plan.arena_bytes));
  std::printf("--fit: batch_size %lld, checkpoint_blocks %lld, %.2f GiB\n",
              static_cast<long long>(loaded.values.batch_size),
              static_cast<long long>(loaded.values.checkpoint_blocks),
              static_cast<double>(run->total_bytes()) / (1 << 30));
}

// The same in small, with all of the arithmetic: a card that is too small for the batch.
TEST(TwelveGibibytes, AFittedRunTrains) {
  const std::vector<std::string> arguments = {
      "--n_layer=2",        "--n_head=2",
      "--n_embd=32",        "--block_size=32",
      "--vocab_size=64",    "--batch_size=64",
      "--dropout=0",        "--gradient_accumulation_steps=1",
      "--eval_iters=1",     "--dtype=bfloat16",
      "--eval_batch_size=4"};
  config::Config config = config::load_config(config::Command::kTrain, arguments).values;
  config.device = "emulated";
  insert_card_of(kTwelve);
  const auto run =
      plan::plan_training(config, config.vocab_size, device::CudaDevice(config).target());
  // The products' workspace is the same for every batch; of the rest three quarters.
  const std::int64_t least = cuda::kGemmWorkspaceBytes;
  insert_card_of(smallest_card(config, least + (run->total_bytes() - least) * 3 / 4));
  Started started(config);
  EXPECT_NE(refusal(started, arguments), "");
  std::vector<std::string> fitted = arguments;
  fitted.push_back("--fit");
  train::StartedRun trained = started.start(fitted);
  EXPECT_LT(trained.plan->total_bytes(), run->total_bytes());
  for (std::int64_t iteration = 0; iteration < 2; ++iteration) {
    const train::StepResult step = trained.engine->step(iteration);
    EXPECT_TRUE(step.updated);
    EXPECT_NEAR(step.loss, std::log(64.0), 0.3);
  }
  EXPECT_EQ(emulator::card_use().high_water_bytes,
            static_cast<std::size_t>(trained.plan->plan.arena_bytes));
}

}  // namespace
}  // namespace snug
