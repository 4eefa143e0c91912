// The doctor as a library: one case from texts to fixes.
#include "doctor/case.h"

#include <gtest/gtest.h>

#include "doctor/diagnosis/for_test.h"
#include "doctor/log/reader.h"
#include "fit/budget.h"

namespace snug::doctor {
namespace {

CaseInputs inputs_of(std::string_view log, std::vector<std::string> config) {
  CaseInputs inputs;
  if (!log.empty()) inputs.log = log::read_text(log);
  inputs.config = std::move(config);
  return inputs;
}

log::LogProblem problem_of(CaseInputs inputs) {
  try {
    examine(std::move(inputs));
  } catch (const log::LogError& error) {
    return error.problem;
  }
  ADD_FAILURE() << "examined";
  return log::LogProblem::kMissing;
}

std::string batch_of_64() {
  return diagnosis::new_message("6.14 GiB", "11.69 GiB", "2.68 GiB", diagnosis::own_use("7.04 GiB"),
                                "6.78 GiB", "31.42 MiB");
}

TEST(DoctorCase, LogsThatGiveNoAnswer) {
  EXPECT_EQ(problem_of(inputs_of("hello\n", {})), log::LogProblem::kSaysNothing);
  EXPECT_EQ(problem_of(inputs_of("iter 5: loss 2.31, time 9.50ms\n", {})),
            log::LogProblem::kShowsNoFailure);
  EXPECT_THROW(log::read_log_file("/nowhere/log.txt"), log::LogError);
}

// The message goes with a compiled run: model, config and fixes follow.
TEST(DoctorCase, AllIsOfTheRunThatGoesWithTheMessage) {
  CaseInputs inputs = inputs_of(batch_of_64(), {"--batch_size=64", "--compile=False"});
  inputs.depth = CaseDepth::kModel;
  const DoctorCase c = examine(std::move(inputs));
  ASSERT_TRUE(c.memory && c.diagnosis);
  EXPECT_TRUE(c.memory->run.compiled);
  EXPECT_TRUE(c.config.values.compile);
  EXPECT_EQ(c.diagnosis->worst_peak_bytes, c.memory->worst().allocated_bytes);
  ASSERT_TRUE(c.diagnosis->trial);
  EXPECT_EQ(c.card_bytes, c.diagnosis->trial->given_bytes + c.memory->context_range.high_bytes);
  EXPECT_FALSE(c.fixes);
}

// One card has one limit: that of `snug plan`, unless a log has told what there was.
TEST(DoctorCase, OneLimitWithAndWithoutALog) {
  const auto given = [](std::string_view log, const std::string& card) {
    CaseInputs inputs = inputs_of(log, {"--batch_size=16", "--compile=False", card});
    inputs.depth = CaseDepth::kModel;
    const DoctorCase c = examine(std::move(inputs));
    return c.card_bytes - c.memory->context_range.high_bytes;
  };
  for (const char* name : {"rtx3060", "rtx4090", "t4", "a100-80gb"}) {
    const std::string card = fmt::format("--card={}", name);
    const std::int64_t limit = fit::card_budget(fit::card_named(name), "auto", "0%").usable_bytes;
    EXPECT_EQ(given("", card), limit) << name;
    // Figures of the card that a message leaves out do not change it.
    EXPECT_EQ(
        given("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.07 GiB.\n", card),
        limit)
        << name;
    EXPECT_EQ(given("RuntimeError: CUDA error: out of memory\n", card), limit) << name;
  }
  // What was free then, and what this process held, is what it can have.
  const std::string message =
      diagnosis::new_message("3.07 GiB", "11.63 GiB", "1.00 GiB", diagnosis::own_use("8.63 GiB"),
                             "8.00 GiB", "300.00 MiB");
  EXPECT_NEAR(static_cast<double>(given(message, "--card=rtx3060")), 9.3 * kGiB, 0.02 * kGiB);
}

TEST(DoctorCase, DepthAndLayersAreLimited) {
  CaseInputs shallow = inputs_of(batch_of_64(), {"--batch_size=64"});
  shallow.depth = CaseDepth::kDiagnosis;
  const DoctorCase log_alone = examine(std::move(shallow));
  EXPECT_TRUE(log_alone.diagnosis && !log_alone.memory && !log_alone.fixes);
  CaseInputs flat = inputs_of("", {"--init_from=gpt2-xl", "--card=rtx3060"});
  flat.max_layers = 2;
  const DoctorCase small = examine(std::move(flat));
  ASSERT_TRUE(small.memory && small.prediction && small.fixes);
  EXPECT_EQ(small.memory->run.n_layer, 2);
}

TEST(DoctorCase, TheVocabularyIsTheCallers) {
  CaseInputs inputs = inputs_of("", {"--n_layer=1", "--card=rtx3060"});
  inputs.depth = CaseDepth::kModel;
  inputs.vocabulary_of = [](const config::Config&) { return std::int64_t{1000}; };
  EXPECT_EQ(examine(std::move(inputs)).memory->run.vocab_size, 1000);
  config::Config config;
  EXPECT_EQ(known_vocabulary(config), config::kPaddedGpt2Vocabulary);
  config.dataset = "shakespeare_char";
  EXPECT_EQ(known_vocabulary(config), 65);
  config.vocab_size = 128;
  EXPECT_EQ(known_vocabulary(config), 128);
}

}  // namespace
}  // namespace snug::doctor
