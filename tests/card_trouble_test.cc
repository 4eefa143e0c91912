// When reality differs from the plan: what a run on a card says and does when memory, driver or
// card are not what was expected. On the fake card, through the same functions as `snug train`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/cuda/card.h"
#include "backend/cuda/cuda_target.h"
#include "base/error.h"
#include "base/temporary_folder.h"
#include "checkpoint/checkpoint_store.h"
#include "device/choose.h"
#include "emulator/card.h"
#include "plan/run_plan.h"
#include "report/catalogue/error_texts.h"
#include "report/doctor/english_for_test.h"
#include "train/random_run.h"
#include "train/train_loop.h"

namespace snug {
namespace {

// An environment variable as long as it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

// What cuBLASLt may answer for a product that it has none for.
constexpr cublasStatus_t kWaysToSayNone[] = {
    CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_ARCH_MISMATCH};

// Runs of a small model on the card that a test has put into the machine.
class CardTrouble : public ::testing::Test {
 protected:
  CardTrouble() {
    std::filesystem::create_directories(folder_.path("data"));
    for (const char* name : {"train.bin", "val.bin"}) {
      train::write_random_tokens(folder_.path("data/") + name, 3000, 61, 1);
    }
    emulator::insert_card(card_);
  }
  ~CardTrouble() override { emulator::insert_card(emulator::CardSettings{}); }

  config::LoadedConfig config(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"--device=emulated",
                                          "--dtype=float32",
                                          "--dataset=" + folder_.path("data"),
                                          "--out_dir=" + out(),
                                          "--vocab_size=61",
                                          "--n_layer=2",
                                          "--n_head=2",
                                          "--n_embd=32",
                                          "--block_size=32",
                                          "--batch_size=4",
                                          "--gradient_accumulation_steps=1",
                                          "--eval_iters=1",
                                          "--eval_interval=1",
                                          "--max_iters=2",
                                          "--warmup_iters=0",
                                          "--lr_decay_iters=10"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return config::load_config(config::Command::kTrain, arguments);
  }
  std::string out() const { return folder_.path("out"); }

  // Large enough that fixes make a difference beside the workspace of products.
  config::LoadedConfig wide_config(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--n_embd=64", "--batch_size=16", "--block_size=64",
                               "--eval_batch_size=1", "--eval_sequences=1", "--max_iters=0"});
    return config(std::move(more));
  }
  std::int64_t planned_bytes(const config::LoadedConfig& config) const {
    return plan::plan_training(config.values, 61, cuda::CudaTarget())->plan.arena_bytes;
  }
  // Of the card only so much is free for a run.
  void leave_free(std::int64_t bytes) {
    const auto wanted = static_cast<std::size_t>(bytes + cuda::kLoadedLaterBytes);
    card_.held_bytes = card_.capacity_bytes - card_.context_bytes - wanted;
    emulator::insert_card(card_);
  }

  // What was printed; an error's text in `error`, its exit code in `code`.
  std::string run(config::LoadedConfig loaded) {
    ::testing::internal::CaptureStdout();
    error = "";
    try {
      console::Console console(console::Progress::kNone);
      code = train::train(std::move(loaded), console);
    } catch (const Error& thrown) {
      error = thrown.what();
      code = static_cast<int>(thrown.code());
    }
    return ::testing::internal::GetCapturedStdout();
  }

  static void expect_in(const std::string& text, std::initializer_list<const char*> words) {
    for (const char* word : words)
      EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  }

  // The error's lines have rows in the catalogue; names of cards, keys and commands stay.
  void expect_translated() const {
    for (const auto language :
         {report::Language::kChinese, report::Language::kJapanese, report::Language::kGerman}) {
      const std::string text = report::translated(language, error);
      EXPECT_FALSE(report::has_english(text)) << text;
    }
  }

  emulator::CardSettings card_ = *emulator::card_by_name("rtx3060");
  TemporaryFolder folder_;
  std::string error;
  int code = 0;
};

TEST_F(CardTrouble, LessIsFreeThanNeeded) {
  const Environment nvml("SNUG_NVML", SNUG_FAKE_NVML);
  leave_free(planned_bytes(wide_config()) - 1);
  run(wide_config());
  EXPECT_EQ(code, static_cast<int>(ExitCode::kDoesNotFit));
  expect_in(error, {"others are on the card: ", "(pid 1) 7.00 GiB", "checkpoint all blocks",
                    "summed otherwise", "--fit"});
  EXPECT_FALSE(std::filesystem::exists(out())) << "nothing was begun";
}

TEST_F(CardTrouble, FitFitsWhatIsLeft) {
  leave_free(planned_bytes(wide_config()) - 1);
  const std::string text = run(wide_config({"--fit=True"}));
  EXPECT_EQ(code, 0) << error;
  expect_in(text, {"fit: ", "iter 0: loss"});
  EXPECT_LT(emulator::card_use().high_water_bytes,
            static_cast<std::size_t>(planned_bytes(wide_config())));
}

TEST_F(CardTrouble, ExactlyEnoughIsEnough) {
  leave_free(planned_bytes(wide_config()));
  run(wide_config());
  EXPECT_EQ(code, 0) << error;
}

TEST_F(CardTrouble, AllocationIsRefusedAlthoughThePlanFits) {
  emulator::fail_malloc_after(0);
  run(wide_config());
  EXPECT_EQ(code, static_cast<int>(ExitCode::kDoesNotFit));
  expect_in(error,
            {"the card refused ", "although the plan fits", "checkpoint all blocks", "--fit"});
}

TEST_F(CardTrouble, FitFitsAgainAfterARefusal) {
  emulator::fail_malloc_after(0);
  const std::string text = run(wide_config({"--fit=True"}));
  EXPECT_EQ(code, 0) << error;
  expect_in(text, {"the card refused ", "fit: ", "iter 0: loss"});
}

// Pinned memory is the host's: no other settings for the card would help, so none are told.
TEST_F(CardTrouble, PinnedMemoryIsRefused) {
  emulator::fail_pinned_after(0);
  run(wide_config({"--fit=True"}));
  EXPECT_EQ(code, static_cast<int>(ExitCode::kDevice));
  expect_in(error, {" of pinned memory were refused", "`ulimit -l`"});
  EXPECT_EQ(emulator::card_use().live_bytes, 0u) << "what was taken of the card is given back";
  run(wide_config());
  EXPECT_EQ(code, 0) << "the next run goes: " << error;
}

// A product that cuBLASLt has nothing for is named before anything is trained or written.
TEST_F(CardTrouble, CublasltKnowsNoProduct) {
  for (const cublasStatus_t status : kWaysToSayNone) {
    emulator::set_known_products(emulator::KnownProducts::kNone, status);
    run(config());
    EXPECT_EQ(code, static_cast<int>(ExitCode::kDevice));
    expect_in(error, {"cuBLASLt has no product for 'h.0.attn.c_attn': 32 rows, 96 by 32, float32",
                      "--device=cpu"});
    expect_translated();
    EXPECT_FALSE(std::filesystem::exists(out() + "/latest")) << "nothing was saved";
  }
}

TEST_F(CardTrouble, CublasltWithoutEpiloguesTrains) {
  const auto trained = [this] {
    std::filesystem::remove_all(out());
    run(config({"--dtype=bfloat16"}));
    EXPECT_EQ(code, 0) << error;
    std::ifstream weights(out() + "/latest/model.safetensors", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(weights), {});
  };
  const std::string expected = trained();
  ASSERT_FALSE(expected.empty());
  for (const cublasStatus_t status : kWaysToSayNone) {
    emulator::set_known_products(emulator::KnownProducts::kWithoutEpilogue, status);
    EXPECT_TRUE(trained() == expected) << "the bias is added before the one rounding, as before";
  }
}

// The card is well, its last error clean: only the library's answer tells.
TEST_F(CardTrouble, CublasltFailsWhileTheCardIsWell) {
  for (const auto& [status, advice] :
       {std::pair{CUBLAS_STATUS_EXECUTION_FAILED, "--init_from=resume"},
        std::pair{CUBLAS_STATUS_ALLOC_FAILED, "--headroom"}}) {
    std::filesystem::remove_all(out());
    emulator::insert_card(card_);
    emulator::fail_matmul_after(150, status);
    run(config());
    EXPECT_EQ(code, static_cast<int>(ExitCode::kDevice));
    expect_in(error, {"cuBLASLt failed in h.", advice, " of the ", "\n  weight: ", "float32"});
    EXPECT_EQ(error.find("the card failed"), std::string::npos) << error;
    emulator::insert_card(card_);
    run(config());
    EXPECT_EQ(code, 0) << "the card is well: " << error;
  }
}

// Operations of a run that goes well, to lose the card at a part of them.
TEST_F(CardTrouble, ALostCardNamesTheLastCheckpointAndKeepsIt) {
  run(config());
  ASSERT_EQ(code, 0) << error;
  const emulator::CardUse use = emulator::card_use();
  const std::uint64_t all = use.launches + use.copies + use.matmuls;
  bool lost_after_saving = false;
  for (const double part : {0.3, 0.6, 0.75, 0.9, 0.98}) {
    std::filesystem::remove_all(out());
    emulator::insert_card(card_);
    emulator::lose_card_after(static_cast<std::uint64_t>(part * static_cast<double>(all)));
    run(config());
    ASSERT_EQ(code, static_cast<int>(ExitCode::kDevice)) << part << error;
    expect_in(error, {"the card failed: ", "cudaErrorUnknown"});
    checkpoint::CheckpointStore store(out(), 1);
    const auto kept = store.peek(checkpoint::Parts::kWeights);
    if (!kept) {
      expect_in(error, {"no checkpoint had been saved yet"});
      continue;
    }
    lost_after_saving = true;
    expect_in(error, {"the checkpoint of iteration ", " is untouched"});
    emulator::insert_card(card_);
    run(config({"--init_from=resume"}));
    EXPECT_EQ(code, 0) << part << error;
  }
  EXPECT_TRUE(lost_after_saving);
}

TEST_F(CardTrouble, AFailedKernelIsOneOfThoseUnderWay) {
  emulator::lose_card_after(600, cudaErrorIllegalAddress);
  run(config());
  EXPECT_EQ(code, static_cast<int>(ExitCode::kDevice));
  expect_in(error, {"cudaErrorIllegalAddress", "CUDA_LAUNCH_BLOCKING=1"});
}

TEST_F(CardTrouble, AFailedKernelIsNamedWithItsTensorsWhereLaunchesBlock) {
  const Environment blocking("CUDA_LAUNCH_BLOCKING", "1");
  emulator::lose_card_after(600, cudaErrorIllegalAddress);
  run(config());
  expect_in(error, {"cudaErrorIllegalAddress", "' (", " of the ", "\n  ", "float32"});
  EXPECT_EQ(error.find("one of the"), std::string::npos) << error;
}

TEST_F(CardTrouble, AnOldDriverIsNamed) {
  card_.driver_version = 12080;
  emulator::insert_card(card_);
  run(config());
  EXPECT_EQ(code, static_cast<int>(ExitCode::kDevice));
  expect_in(error, {"the driver knows CUDA 12.8, this build needs 13.0", "newer driver"});
  expect_translated();
  EXPECT_EQ(cuda::card_count(), 0);
  EXPECT_EQ(cuda::why_no_card(), "the driver knows CUDA 12.8, this build needs 13.0");
}

TEST_F(CardTrouble, NoDriverIsNamed) {
  emulator::insert_card(std::nullopt);
  run(config());
  EXPECT_EQ(code, static_cast<int>(ExitCode::kDevice));
  expect_in(error, {"no NVIDIA driver is installed", "--device=cpu"});
  expect_translated();
  EXPECT_EQ(cuda::why_no_card(), "no NVIDIA driver is installed");
}

}  // namespace
}  // namespace snug
