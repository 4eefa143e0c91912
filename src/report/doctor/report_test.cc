#include "report/doctor/report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "report/columns.h"
#include "report/doctor/content.h"
#include "report/doctor/for_test.h"

namespace snug::report {
namespace {

using Json = nlohmann::json;

class DoctorReportTest : public testing::Test {
 protected:
  DoctorReport report(Language language) const {
    return report_for_test(language, memory_, fixes_);
  }

  doctor::torch::TorchMemory memory_ = doctor::torch::torch_memory(run_for_test());
  fit::Fixes fixes_ = fixes_for_test();
};

// Commands and code are to be copied and stay whole.
std::set<std::string> lines_to_copy(const DoctorReport& report) {
  std::set<std::string> lines;
  for (const DoctorBlock& block : doctor_content(report).blocks) {
    if (const auto* code = std::get_if<DoctorCode>(&block)) {
      for (const std::string& line : code->code) lines.insert(fmt::format("      {}", line));
    }
  }
  return lines;
}

void expect_narrow(const DoctorReport& report) {
  const std::set<std::string> to_copy = lines_to_copy(report);
  std::istringstream lines(doctor_text(report));
  for (std::string line; std::getline(lines, line);) {
    if (to_copy.contains(line)) continue;
    EXPECT_LE(columns_of(line), 80u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST_F(DoctorReportTest, EveryLanguageStaysWithinEightyColumns) {
  for (const Language language : kAllLanguages) {
    DoctorReport r = report(language);
    r.explain = true;
    expect_narrow(r);
    r.diagnosis = diagnosis_with_all_notes();
    expect_narrow(r);
    r.diagnosis.reset();
    expect_narrow(r);
  }
}

TEST_F(DoctorReportTest, FixesWithLargeFiguresStayWithinEightyColumns) {
  for (const Language language : kAllLanguages) {
    for (const double gibs : {99.996, 123.45, 999.96, 1063.2, 123456.7}) {
      for (fit::Fix& fix : fixes_.ranked) {
        fix.need = {gib(gibs - 7), gib(gibs)};
        fix.effective_batch = 123456789;
        fix.time_ratio = gibs * 20;
        fix.parameters = 123456789012;
        fix.config.init_from = "gpt2-medium";
        fix.config.n_embd = 16384;
      }
      expect_narrow(report(language));
    }
  }
}

TEST_F(DoctorReportTest, EveryCauseHasAReportWithAndWithoutConfig) {
  for (const Language language : kAllLanguages) {
    for (int cause = 0; cause <= static_cast<int>(doctor::diagnosis::Cause::kUnknown); ++cause) {
      DoctorReport r = report(language);
      r.diagnosis->cause = static_cast<doctor::diagnosis::Cause>(cause);
      expect_narrow(r);
      r.memory = nullptr;
      r.fixes = nullptr;
      r.snug.reset();
      r.diagnosis->candidates.clear();
      expect_narrow(r);
      EXPECT_TRUE(Json::accept(doctor_json(r)));
    }
  }
}

TEST_F(DoctorReportTest, TheAnswerIsFirstAndTheCommandLast) {
  const std::string text = doctor_text(report(Language::kEnglish));
  EXPECT_TRUE(text.starts_with(
      "\n  The card is full. One tensor asked for 6.14 GiB where 2.68 GiB was free.\n"));
  EXPECT_NE(text.find("  What it was       logits, (65536, 50304) bfloat16, 6.14 GiB\n"
                      "                    batch 64 × 1024 tokens × vocabulary 50304\n"),
            std::string::npos);
  EXPECT_NE(text.find("  Not the cause     fragmentation (31.00 MiB), other processes (none)\n"),
            std::string::npos);
  const std::string last =
      "snug doctor config/train_gpt2.py --log=oom.txt \\\n"
      "                      --write=config/fits.py\n"
      "  Run it            python train.py config/fits.py\n";
  EXPECT_TRUE(text.ends_with(last)) << text;
}

TEST_F(DoctorReportTest, WithoutALogItSaysWhatPyTorchNeeds) {
  DoctorReport r = report(Language::kEnglish);
  r.diagnosis.reset();
  const std::string text = doctor_text(r);
  EXPECT_TRUE(text.starts_with("\n  Does not fit. PyTorch needs ")) << text;
  for (const char* part :
       {"weights", "optimizer state", "loss head", "later iterations", "nll_loss"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  r.card_bytes = 0;
  EXPECT_NE(doctor_text(r).find("PyTorch needs"), std::string::npos);
  EXPECT_EQ(doctor_text(r).find("✘"), std::string::npos);
}

TEST_F(DoctorReportTest, WithoutAConfigTheReadingsAreListedInTheLanguage) {
  DoctorReport r = report(Language::kChinese);
  r.memory = nullptr;
  r.fixes = nullptr;
  r.diagnosis->candidates.resize(1);
  r.diagnosis->candidates[0].evidence = doctor::diagnosis::Evidence::kGuess;
  r.diagnosis->candidates[0].shape = {32, 1024, 50304};
  r.diagnosis->candidates[0].tensor = r.diagnosis->candidates[0].label = "gradient of logits";
  r.diagnosis->candidates[0].guess = doctor::diagnosis::TensorGuess{
      doctor::diagnosis::CommonTensor::kLogits, {{64, 512}}, "GPT-2"};
  const std::string text = doctor_text(r);
  EXPECT_NE(text.find("logits 的梯度, (32, 1024, 50304)"), std::string::npos) << text;
  EXPECT_NE(
      text.find("批次大小 32 × 1024 个 token × 词表 50304、批次大小 64 × 512 个 token、GPT-2"),
      std::string::npos)
      << text;
}

// The name is surer than any of its shapes.
TEST_F(DoctorReportTest, WhatTheTracebackNamesStandsAboveItsReadings) {
  DoctorReport r = report(Language::kEnglish);
  r.memory = nullptr;
  r.fixes = nullptr;
  for (doctor::diagnosis::Candidate& c : r.diagnosis->candidates) {
    c.tensor = c.label = "attention scores";
    c.op.clear();
    c.guess =
        doctor::diagnosis::TensorGuess{doctor::diagnosis::CommonTensor::kAttention, {}, "GPT-2"};
    c.evidence = doctor::diagnosis::Evidence::kSizeAndFrame;
    c.confidence = 0.3;
  }
  const std::string text = doctor_text(r);
  EXPECT_NE(text.find("  What it was       attention scores, 6.14 GiB\n"
                      "                    likely (60%): its size and the line"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("What the number can be"), std::string::npos) << text;
}

TEST_F(DoctorReportTest, SaysThatItFitsAsItIsWhateverTheLogSays) {
  fixes_.chosen.reset();
  fixes_.safest.reset();
  const std::string fits = "It fits as it is: no setting has to change.";
  const std::string none = "Nothing that keeps the training certainly fits.";
  EXPECT_NE(doctor_text(report(Language::kEnglish)).find(none), std::string::npos);
  fixes_.fits_as_is = true;
  const std::string text = doctor_text(report(Language::kEnglish));
  EXPECT_NE(text.find(fits), std::string::npos) << text;
  EXPECT_EQ(text.find(none), std::string::npos) << text;
}

TEST_F(DoctorReportTest, WritesTheSizesOfTheFixIntoItsEdit) {
  fit::Fix fix = fix_for_test(fit::FixKind::kEvalBatch, 64, 30, 60);
  fix.needs_edit = true;
  fix.config.eval_batch_size = 5;
  const DoctorReport r = report(Language::kEnglish);
  EXPECT_EQ(fix_code(r, fix).at(1), "+ eval_batch_size = 5");
  fix = fix_for_test(fit::FixKind::kSplit, 1, 3, 6);
  EXPECT_TRUE(fix_code(r, fix).empty());
  fix.needs_edit = true;
  fix.config.checkpoint_blocks = 7;
  EXPECT_EQ(fix_code(r, fix).back(),
            "+             x = checkpoint(block, x, use_reentrant=False) if i < 7 else block(x)");
}

TEST_F(DoctorReportTest, TheAllocatorsSettingIsCalledByItsName) {
  using doctor::diagnosis::AllocatorAdvice;
  const fit::Fix fix = fix_for_test(fit::FixKind::kAllocator, 64, 3, 6);
  DoctorReport r = report(Language::kEnglish);
  ASSERT_TRUE(r.diagnosis);
  EXPECT_EQ(fix_name(r, fix), "expandable_segments:True");
  r.diagnosis->allocator_advice = AllocatorAdvice::kMaxSplit;
  EXPECT_EQ(fix_name(r, fix), "max_split_size_mb:256");
  EXPECT_EQ(fix_code(r, fix),
            std::vector<std::string>{"export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:256"});
  r.diagnosis->allocator_advice = AllocatorAdvice::kMaxSplitWindows;
  EXPECT_EQ(fix_name(r, fix), "max_split_size_mb:256");
  EXPECT_EQ(fix_code(r, fix).front(), "set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:256");
  r.diagnosis->cause = doctor::diagnosis::Cause::kFragmentation;
  const std::string text = doctor_text(r);
  EXPECT_EQ(text.find("=expandable_segments"), std::string::npos) << text;
  EXPECT_NE(text.find("How: max_split_size_mb:256"), std::string::npos) << text;
}

TEST_F(DoctorReportTest, TheWrittenFileIsToRun) {
  DoctorReport r = report(Language::kEnglish);
  r.written = "my configs/fits.py";
  const std::string text = doctor_text(r);
  EXPECT_NE(text.find("wrote my configs/fits.py\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("python train.py 'my configs/fits.py'\n")) << text;
}

TEST_F(DoctorReportTest, WhatIsNotAboutMemoryHasNoFixes) {
  DoctorReport r = report(Language::kEnglish);
  r.diagnosis->cause = doctor::diagnosis::Cause::kNotMemory;
  const std::string text = doctor_text(r);
  EXPECT_EQ(text.find("best first"), std::string::npos);
  EXPECT_EQ(text.find("--write"), std::string::npos);
}

TEST_F(DoctorReportTest, LongCommandsGoOnInTheNextLine) {
  for (const Language language : kAllLanguages) {
    DoctorReport r = report(language);
    r.arguments = {"config/train_gpt2.py", "--batch_size=64", "--gradient_accumulation_steps=8",
                   "--block_size=2048", "--log=a folder/oom.txt"};
    expect_narrow(r);
    r.memory = nullptr;
    expect_narrow(r);
    EXPECT_NE(doctor_text(r).find(" \\\n"), std::string::npos);
    EXPECT_EQ(doctor_page(r).find(" \\"), std::string::npos);
  }
}

TEST_F(DoctorReportTest, WithoutANamedCardSnugSaysOfWhatItNeeds) {
  DoctorReport r = report(Language::kEnglish);
  r.snug = SnugNeed{gib(5.2), true, "", ""};
  EXPECT_NE(doctor_text(r).find("the same config needs 5.20 GiB of the 11.05 GiB that"),
            std::string::npos);
  for (const Language language : kAllLanguages) {
    for (const bool fits : {true, false}) {
      for (const char* changes : {"", "--checkpoint_blocks=9"}) {
        r.language = language;
        r.snug = SnugNeed{gib(5.2), fits, changes, ""};
        const std::string text = doctor_text(r);
        EXPECT_NE(text.find(language == Language::kGerman ? "11,05 GiB" : "11.05 GiB"),
                  std::string::npos)
            << text;
        expect_narrow(r);
      }
    }
  }
}

// The bars and the sentence say the same of other processes.
TEST_F(DoctorReportTest, OthersHaveOneAmount) {
  DoctorReport r = report(Language::kEnglish);
  r.diagnosis->others_bytes = 51 * kMiB;
  std::string text = doctor_text(r);
  EXPECT_NE(text.find("other processes (51.00 MiB)"), std::string::npos) << text;
  EXPECT_EQ(text.find("other processes (none)"), std::string::npos) << text;
  r.diagnosis->others_bytes = 0;
  text = doctor_text(r);
  EXPECT_NE(text.find("other processes (none)"), std::string::npos) << text;
}

TEST_F(DoctorReportTest, ColourOnlyWhenAsked) {
  DoctorReport r = report(Language::kEnglish);
  EXPECT_EQ(doctor_text(r).find('\033'), std::string::npos);
  r.color = true;
  EXPECT_NE(doctor_text(r).find("\033[1;31m"), std::string::npos);
}

TEST_F(DoctorReportTest, ALogCannotSendTerminalCodes) {
  DoctorReport r = report(Language::kEnglish);
  r.diagnosis->candidates[0].label = "x\033[2J\xFF";
  r.diagnosis->notes = {{doctor::diagnosis::NoteId::kOtherError, {"Bad\033]0;title\a"}}};
  EXPECT_EQ(doctor_text(r).find('\033'), std::string::npos);
}

}  // namespace
}  // namespace snug::report
