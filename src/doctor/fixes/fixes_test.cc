#include "doctor/fixes/fixes.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/fields.h"
#include "doctor/diagnosis/for_test.h"
#include "doctor/fixes/cost.h"
#include "doctor/torch/replay.h"

namespace snug::doctor::fixes {
namespace {

// A question to torch_fixes() and its answer.
struct Asked {
  config::LoadedConfig config;
  torch::TorchRun run;
  fit::Fixes fixes;

  // What a fix's config is modelled as.
  torch::TorchRun run_of(const fit::Fix& fix) const {
    return TorchCost(config, run, nullptr, 0).run_after(fix.config);
  }
};

Asked ask(std::string_view settings, std::string_view card_name = "rtx3060",
          std::string_view log_text = "", const diagnosis::Diagnosis* diagnosis = nullptr) {
  Asked asked;
  asked.config = config::load_config(config::Command::kPlan, diagnosis::arguments_of(settings));
  const log::LogSummary log = log::read_text(log_text);
  const std::int64_t vocabulary = asked.config.values.vocab_size > 0
                                      ? asked.config.values.vocab_size
                                      : config::kPaddedGpt2Vocabulary;
  asked.run = diagnosis::torch_run_of(asked.config.values, vocabulary, &log);
  const fit::Card* const card = card_name.empty() ? nullptr : &fit::card_named(card_name);
  const std::int64_t bytes = card == nullptr ? 0 : card->reported_mib * kMiB;
  asked.fixes = torch_fixes(asked.config, asked.run, bytes, card, diagnosis);
  return asked;
}

const fit::Fix* find_fix(const fit::Fixes& fixes, fit::FixKind kind) {
  for (const fit::Fix& fix : fixes.ranked) {
    if (fix.kind == kind) return &fix;
  }
  return nullptr;
}

constexpr std::string_view kQuestions[] = {
    "batch_size=64 gradient_accumulation_steps=8 compile=False",
    "batch_size=16 dtype=float32",
    "batch_size=64 effective_batch=512",
    "batch_size=64 eval_batch_size=8 gradient_accumulation_steps=8",
    "batch_size=32 grad_checkpoint=False checkpoint_blocks=2",
    "init_from=gpt2-xl batch_size=2",
    "init_from=resume batch_size=24",
};

TEST(TorchFixes, ChangesHaveTheValuesOfTheConfig) {
  for (const std::string_view question : kQuestions) {
    const Asked asked = ask(question);
    const nlohmann::json before =
        nlohmann::json::parse(config::config_to_json(asked.config.values));
    for (const fit::Fix& fix : asked.fixes.ranked) {
      SCOPED_TRACE(fmt::format("{}: {}", question, fit::name_of(fix.kind)));
      const nlohmann::json after = nlohmann::json::parse(config::config_to_json(fix.config));
      for (const config::Change& change : fix.changes) {
        const config::Field& field = *config::find_field(change.key);
        EXPECT_EQ(change.after, config::python_repr(config::field_value(fix.config, field)))
            << change.key;
        EXPECT_NE(after[change.key], before[change.key]) << change.key;
      }
      EXPECT_EQ(fix.effective_batch,
                fix.config.batch_size * fix.config.gradient_accumulation_steps);
    }
    EXPECT_EQ(asked.fixes.ranked.back().config.device, "cpu");
  }
}

// Set on top of the config, the keys of a fix that takes no edit make the run that it was computed
// from; the config of one that does makes it too.
TEST(TorchFixes, ConfigAndKeysMakeTheRunOfTheFix) {
  for (const std::string_view question : kQuestions) {
    const Asked asked = ask(question);
    for (const fit::Fix& fix : asked.fixes.ranked) {
      SCOPED_TRACE(fmt::format("{}: {}", question, fit::name_of(fix.kind)));
      if (fix.need.high_bytes == 0 || fix.kind == fit::FixKind::kEightBitAdam) continue;
      const std::int64_t vocabulary = asked.run.vocab_size;
      const std::int64_t card_bytes = fit::card_named("rtx3060").reported_mib * kMiB;
      const auto vram_of = [&](const config::Config& config) {
        return torch_need(torch::torch_memory(torch::torch_run(config, vocabulary)), card_bytes)
            .high_bytes;
      };
      EXPECT_EQ(vram_of(fix.config), fix.need.high_bytes);
      if (fix.needs_edit) continue;
      std::vector<std::string> arguments = diagnosis::arguments_of(question);
      for (const config::Change& change : fix.changes) {
        arguments.push_back(fmt::format("--{}={}", change.key, change.after));
      }
      EXPECT_EQ(vram_of(config::load_config(config::Command::kPlan, arguments).values),
                fix.need.high_bytes)
          << fmt::format("{}", fmt::join(arguments, " "));
    }
  }
}

diagnosis::Diagnosis failed_in(torch::TorchPhase phase) {
  diagnosis::Diagnosis diagnosis;
  diagnosis.cause = diagnosis::Cause::kCapacity;
  diagnosis.phase = phase;
  return diagnosis;
}

// A smaller evaluation is a row where it saves something or has failed, not where it changes
// nothing.
TEST(TorchFixes, EvaluationsAreRowsWhereTheyMatter) {
  const auto has = [](const Asked& asked, fit::FixKind kind) {
    return find_fix(asked.fixes, kind) != nullptr;
  };
  const Asked trains_most = ask("batch_size=12");
  EXPECT_FALSE(has(trains_most, fit::FixKind::kEvalBatch));
  EXPECT_FALSE(has(trains_most, fit::FixKind::kEvalContext));
  const Asked evaluates_most =
      ask("n_layer=2 batch_size=2 eval_batch_size=64 checkpoint_blocks=2 compile=False");
  const fit::Fix* const batch = find_fix(evaluates_most.fixes, fit::FixKind::kEvalBatch);
  const fit::Fix* const length = find_fix(evaluates_most.fixes, fit::FixKind::kEvalContext);
  ASSERT_TRUE(batch && length);
  EXPECT_GT(batch->saved_bytes, kGiB);
  EXPECT_GT(length->saved_bytes, kGiB);
}

TEST(TorchFixes, AnEditIsCarriedByConfigAndRun) {
  const diagnosis::Diagnosis in_evaluation = failed_in(torch::TorchPhase::kEvaluateFirst);
  const Asked asked =
      ask("batch_size=64 gradient_accumulation_steps=8", "rtx3060", "", &in_evaluation);
  const fit::Fix* const evaluation = find_fix(asked.fixes, fit::FixKind::kEvalBatch);
  ASSERT_NE(evaluation, nullptr);
  EXPECT_TRUE(evaluation->needs_edit);
  EXPECT_TRUE(evaluation->changes.empty());
  EXPECT_EQ(evaluation->config.eval_batch_size, 16);
  EXPECT_EQ(asked.run_of(*evaluation).eval_batch_size, 16);
  const fit::Fix* const shorter = find_fix(asked.fixes, fit::FixKind::kEvalContext);
  ASSERT_NE(shorter, nullptr);
  EXPECT_TRUE(shorter->needs_edit);
  EXPECT_TRUE(shorter->changes.empty());
  EXPECT_EQ(shorter->effect, fit::Effect::kEvaluation);
  EXPECT_EQ(asked.run_of(*shorter).eval_block_size, 256);
  const fit::Fix* const checkpoint = find_fix(asked.fixes, fit::FixKind::kCheckpoint);
  ASSERT_NE(checkpoint, nullptr);
  EXPECT_TRUE(checkpoint->needs_edit);
  EXPECT_EQ(checkpoint->config.checkpoint_blocks, 12);
  EXPECT_EQ(asked.run_of(*checkpoint).checkpoint_blocks, 12);
  // Where the user's copy of nanoGPT has the key, it is set.
  const Asked forked = ask("batch_size=64 eval_batch_size=8 gradient_accumulation_steps=8",
                           "rtx3060", "", &in_evaluation);
  const fit::Fix* const keyed = find_fix(forked.fixes, fit::FixKind::kEvalBatch);
  ASSERT_NE(keyed, nullptr);
  EXPECT_FALSE(keyed->needs_edit);
  ASSERT_EQ(keyed->changes.size(), 1U);
  EXPECT_EQ(keyed->changes[0].key, "eval_batch_size");
}

// Where they are on, every row is tried with them: the run of eight sequences, which an RTX 3060
// carries only so, fits.
TEST(TorchFixes, ExpandableSegmentsStayOn) {
  const fit::Card& card = fit::card_named("rtx3060");
  const std::int64_t bytes = card.reported_mib * kMiB;
  const auto need_with = [&](std::string_view log) {
    const Asked asked = ask("batch_size=8 gradient_accumulation_steps=64 compile=False", "", log);
    EXPECT_EQ(asked.run.expandable_segments, !log.empty());
    EXPECT_EQ(asked.run_of(asked.fixes.ranked.front()).expandable_segments, !log.empty());
    return TorchCost(asked.config, asked.run, &card, bytes).now().need;
  };
  const ByteRange plain = need_with("");
  const ByteRange expandable = need_with("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n");
  EXPECT_GT(plain.high_bytes, bytes);
  EXPECT_LE(expandable.high_bytes, bytes);
  EXPECT_EQ(expandable.low_bytes, plain.low_bytes) << "the tensors are the same";
}

// Before PyTorch 2.1 the large blocks can be kept whole: what that needs is counted, too.
TEST(TorchFixes, BlocksKeptWholeAreCounted) {
  diagnosis::Diagnosis diagnosis;
  diagnosis.cause = diagnosis::Cause::kFragmentation;
  diagnosis.allocator_advice = diagnosis::AllocatorAdvice::kMaxSplit;
  const std::string_view settings = "batch_size=8 gradient_accumulation_steps=5 compile=False";
  const Asked asked = ask(settings, "rtx3060", "", &diagnosis);
  const fit::Fix* const whole = find_fix(asked.fixes, fit::FixKind::kAllocator);
  ASSERT_NE(whole, nullptr);
  EXPECT_TRUE(whole->concerns_device());
  torch::TorchAllocatorSettings kept;
  kept.max_split_bytes = diagnosis::kAdvisedMaxSplitMib * kMiB;
  const torch::TorchReplay replay(asked.run);
  EXPECT_GE(whole->need.high_bytes, replay.smallest_card(kept).bytes);
  EXPECT_EQ(whole->asked_for, whole->fits);
  diagnosis.allocator_advice = diagnosis::AllocatorAdvice::kExpandable;
  const Asked other = ask(settings, "rtx3060", "", &diagnosis);
  const fit::Fix* const expandable = find_fix(other.fixes, fit::FixKind::kAllocator);
  ASSERT_NE(expandable, nullptr);
  EXPECT_TRUE(expandable->asked_for);
  EXPECT_LE(expandable->need.high_bytes, whole->need.high_bytes);
}

TEST(TorchFixes, FewerSequencesAreTheNewEffectiveBatch) {
  const Asked asked = ask("batch_size=64 effective_batch=512");
  const fit::Fix* const fewer = find_fix(asked.fixes, fit::FixKind::kFewerSequences);
  ASSERT_NE(fewer, nullptr);
  EXPECT_EQ(fewer->effective_batch, 256);
  EXPECT_EQ(fewer->config.effective_batch, 256);
  EXPECT_EQ(fewer->config.batch_size, 32);
}

// nanoGPT asserts gradient_accumulation_steps % world_size == 0.
TEST(TorchFixes, SplitsDivideAmongTheProcesses) {
  const Asked asked = ask("batch_size=12 gradient_accumulation_steps=8", "rtx3060",
                          "torchrun --standalone --nproc_per_node=8 train.py\n");
  ASSERT_EQ(asked.run.world_size, 8);
  int count = 0;
  for (const fit::Fix& fix : asked.fixes.ranked) {
    if (fix.kind != fit::FixKind::kSplit) continue;
    ++count;
    const std::int64_t steps = fix.config.gradient_accumulation_steps;
    EXPECT_EQ(steps % 8, 0) << fix.config.batch_size;
    EXPECT_EQ(steps * fix.config.batch_size, 96);
    EXPECT_EQ(asked.run_of(fix).accumulation_steps, steps / 8);
  }
  EXPECT_GE(count, 2);  // of 8, 6, 4, 3, 2 and 1 all but 8
}

TEST(TorchFixes, HalfPrecisionIsOneThatTheCardHas) {
  const std::pair<std::string_view, std::string_view> kCards[] = {
      {"t4", "float16"}, {"v100-16gb", "float16"}, {"rtx3060", "bfloat16"}, {"", "bfloat16"}};
  for (const auto& [card, dtype] : kCards) {
    const Asked asked = ask("batch_size=16 dtype=float32", card);
    const fit::Fix* const fix = find_fix(asked.fixes, fit::FixKind::kDtype16);
    ASSERT_NE(fix, nullptr) << card;
    EXPECT_EQ(fix->config.dtype, dtype) << card;
    EXPECT_LT(fix->time_ratio, 0.75) << card;
  }
  // Eight times as many operations per second on a T4's tensor cores, twice as many on a 3060's.
  const auto ratio = [](std::string_view card) {
    return find_fix(ask("batch_size=16 dtype=float32", card).fixes, fit::FixKind::kDtype16)
        ->time_ratio;
  };
  EXPECT_LT(ratio("t4"), ratio("rtx3060") - 0.1);
}

// One forward pass more of the blocks: 24 C² + 4 C T of 6 N + 12 L C T operations per token.
TEST(TorchFixes, CheckpointingTakesAForwardPass) {
  const double flops = 6 * 123587328.0 + 12.0 * 12 * 768 * 1024;
  const double again = 12 * (24 * 768.0 * 768 + 4 * 768.0 * 1024);
  for (const char* card : {"rtx3060", "a100-80gb"}) {
    const Asked asked = ask("batch_size=16 compile=False", card);
    const double ratio = find_fix(asked.fixes, fit::FixKind::kCheckpoint)->time_ratio;
    EXPECT_NEAR(ratio, 1 + again / flops, 0.08) << card;
  }
}

TEST(TorchFixes, CompilingNeedsPyTorch2) {
  const std::string_view settings = "batch_size=16 compile=False";
  EXPECT_NE(find_fix(ask(settings).fixes, fit::FixKind::kCompileOn), nullptr);
  const Asked old = ask(settings, "rtx3060", "PyTorch version: 1.13.1\n");
  ASSERT_FALSE(old.run.flash);
  EXPECT_EQ(find_fix(old.fixes, fit::FixKind::kCompileOn), nullptr);
}

TEST(TorchFixes, SmallerSplitsTakeLonger) {
  const Asked asked = ask("batch_size=64 gradient_accumulation_steps=8 compile=False");
  double last = 1;
  for (std::int64_t batch = 32; batch >= 1; batch /= 2) {
    for (const fit::Fix& fix : asked.fixes.ranked) {
      if (fix.kind != fit::FixKind::kSplit || fix.config.batch_size != batch) continue;
      EXPECT_GE(fix.time_ratio, last) << batch;
      last = fix.time_ratio;
    }
  }
  EXPECT_GT(last, 1.01);
  EXPECT_LT(last, 2);
}

TEST(TorchFixes, ASmallerModelFitsOrIsHalf) {
  const Asked fits = ask("batch_size=8 compile=False");
  EXPECT_TRUE(find_fix(fits.fixes, fit::FixKind::kFewerLayers)->fits);
  EXPECT_TRUE(find_fix(fits.fixes, fit::FixKind::kNarrower)->fits);
  const Asked none = ask("batch_size=64 compile=False");
  const fit::Fix* const layers = find_fix(none.fixes, fit::FixKind::kFewerLayers);
  EXPECT_FALSE(layers->fits);
  EXPECT_EQ(layers->config.n_layer, 6);
  const fit::Fix* const narrower = find_fix(none.fixes, fit::FixKind::kNarrower);
  EXPECT_EQ(narrower->config.n_embd, 384);
  EXPECT_EQ(narrower->config.n_head, 6);
  // A checkpoint has its sizes, and moments of its context; a pretrained model has none yet.
  const Asked resumed = ask("init_from=resume batch_size=64");
  EXPECT_EQ(find_fix(resumed.fixes, fit::FixKind::kFewerLayers), nullptr);
  EXPECT_EQ(find_fix(resumed.fixes, fit::FixKind::kShorterContext), nullptr);
  EXPECT_NE(find_fix(ask("init_from=gpt2 batch_size=64").fixes, fit::FixKind::kShorterContext),
            nullptr);
}

TEST(TorchFixes, StatesThatExceedTheCard) {
  const Asked asked = ask("init_from=gpt2-xl batch_size=1", "rtx3090");
  EXPECT_EQ(find_fix(asked.fixes, fit::FixKind::kFewerLayers), nullptr);
  const fit::Fix* const smaller = find_fix(asked.fixes, fit::FixKind::kSmallerPretrained);
  ASSERT_NE(smaller, nullptr);
  EXPECT_EQ(smaller->config.init_from, "gpt2-large");
  EXPECT_TRUE(smaller->fits);
  ASSERT_EQ(smaller->changes.size(), 1U);
  EXPECT_EQ(smaller->changes[0].key, "init_from");
  // Two moments in one byte each instead of four: 8.7 GiB of XL's.
  const fit::Fix* const eight_bit = find_fix(asked.fixes, fit::FixKind::kEightBitAdam);
  ASSERT_NE(eight_bit, nullptr);
  EXPECT_TRUE(eight_bit->needs_edit);
  EXPECT_FALSE(eight_bit->same_result());
  EXPECT_NEAR(static_cast<double>(eight_bit->saved_bytes), 8.7 * kGiB, 0.1 * kGiB);
  EXPECT_EQ(find_fix(ask("batch_size=64").fixes, fit::FixKind::kEightBitAdam), nullptr);
}

TEST(TorchFixes, RecommendsWhatFits) {
  const Asked asked = ask("batch_size=64 gradient_accumulation_steps=8 compile=False");
  EXPECT_FALSE(asked.fixes.fits_as_is);
  ASSERT_TRUE(asked.fixes.chosen);
  EXPECT_TRUE(asked.fixes.chosen->fits);
  EXPECT_FALSE(asked.fixes.chosen->needs_edit);
  ASSERT_TRUE(asked.fixes.safest);
  EXPECT_LE(asked.fixes.safest->need.high_bytes,
            fit::card_named("rtx3060").reported_mib * kMiB / 2);
  const Asked fits = ask("batch_size=2 compile=False");
  EXPECT_TRUE(fits.fixes.fits_as_is);
  EXPECT_FALSE(fits.fixes.chosen);
  // With no split in half of the card, the smallest one with checkpoints, which takes an edit.
  const Asked large = ask("init_from=gpt2-large batch_size=4 compile=False", "rtx3090");
  ASSERT_TRUE(large.fixes.safest);
  EXPECT_TRUE(large.fixes.safest->needs_edit);
  EXPECT_EQ(large.fixes.safest->config.checkpoint_blocks, 36);
  EXPECT_TRUE(large.fixes.safest->fits);
  EXPECT_FALSE(ask("init_from=gpt2-large batch_size=4", "rtx3080ti").fixes.safest);
}

}  // namespace
}  // namespace snug::doctor::fixes
