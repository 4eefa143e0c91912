// Every tensor that the doctor can name has a name in every language.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "doctor/log/for_test.h"
#include "report/doctor/content.h"
#include "report/doctor/english_for_test.h"
#include "report/doctor/for_test.h"

namespace snug::report {
namespace {

doctor::torch::TorchRun small_run() {
  doctor::torch::TorchRun run;
  run.n_layer = 2;
  run.n_head = 2;
  run.n_embd = 128;
  run.block_size = run.eval_block_size = 64;
  run.batch_size = run.eval_batch_size = 2;
  run.accumulation_steps = 2;
  run.vocab_size = 5003;
  return run;
}

// With the kinds of attention, loss, optimizer and precision that keep other tensors.
std::vector<doctor::torch::TorchRun> runs_of_all_kinds() {
  std::vector<doctor::torch::TorchRun> runs;
  for (const DType compute : {DType::kBF16, DType::kF16, DType::kF32}) {
    for (const doctor::torch::TorchVersion version :
         {doctor::torch::TorchVersion::kCurrent, doctor::torch::TorchVersion::kOlder}) {
      for (const int kind : {0, 1, 2, 3, 4, 5, 6, 7}) {
        doctor::torch::TorchRun run = small_run();
        run.compute = compute;
        run.version = version;
        run.flash = kind != 1;
        run.compiled = kind == 2 || kind == 3;
        run.checkpoint_blocks = kind == 3 ? 1 : 0;
        run.bias = run.ddp = run.resumed = kind == 4 || kind == 1;
        run.dropout = kind % 2 == 0 ? 0.1 : 0;
        run.fused_adam = kind != 5;
        if (kind == 5) run.n_embd = 2 * 63;                         // padded heads
        if (kind == 6) run.n_head = 1, run.n_embd = 7;              // no fused kernel
        if (kind == 7) run.block_size = run.eval_block_size = 512;  // split attention
        runs.push_back(run);
      }
    }
  }
  return runs;
}

void expect_named(std::string_view label, const std::string& owner) {
  ASSERT_NE(tensor_texts(label), nullptr) << "no text for '" << label << "'";
  for (const Language language : {Language::kChinese, Language::kJapanese, Language::kGerman}) {
    const std::string name = describe_tensor(language, label, owner);
    EXPECT_FALSE(has_english(name)) << name;
    EXPECT_NE(name.find(owner), std::string::npos) << name << ", " << owner;
    EXPECT_EQ(name.find('{'), std::string::npos) << name;
  }
}

TEST(MessagesTensors, EveryLabelOfTheModelHasATextInEveryLanguage) {
  std::set<std::string_view> seen;
  for (const doctor::torch::TorchRun& run : runs_of_all_kinds()) {
    const doctor::torch::TorchMemory memory = doctor::torch::torch_memory(run);
    for (const doctor::torch::TorchTensor& tensor : memory.tensors) {
      if (tensor.what.empty() || !seen.insert(tensor.what).second) continue;
      expect_named(tensor.what, doctor::torch::torch_tensor_owner(memory, tensor));
    }
  }
  EXPECT_GT(seen.size(), 100u);
}

TEST(MessagesTensors, NamesAreComposedByTheLanguage) {
  const auto name = [](Language language, const char* label, const char* owner) {
    return describe_tensor(language, label, owner);
  };
  EXPECT_EQ(name(Language::kEnglish, "mlp.c_fc output (GELU input)", "h.7"),
            "h.7.mlp.c_fc output (GELU input)");
  EXPECT_EQ(name(Language::kGerman, "mlp.c_fc output (GELU input)", "h.7"),
            "Ausgabe von h.7.mlp.c_fc (Eingabe von GELU)");
  EXPECT_EQ(name(Language::kChinese, "gradient of attn.c_proj input", "h.7"),
            "h.7.attn.c_proj 输入的梯度");
  EXPECT_EQ(name(Language::kJapanese, "exp_avg", "transformer.wte.weight"),
            "transformer.wte.weight の exp_avg");
  EXPECT_EQ(name(Language::kEnglish, "gradient", "transformer.wte.weight"),
            "gradient of transformer.wte.weight");
  EXPECT_EQ(name(Language::kGerman, "dropout mask", "h.3"), "Dropout-Maske von h.3");
  EXPECT_EQ(name(Language::kGerman, "gradient of MLP hidden activation", ""),
            "Gradient der verborgenen MLP-Aktivierung");
  EXPECT_EQ(name(Language::kGerman, "", "transformer.wte.weight"), "transformer.wte.weight");
}

// What the diagnosis says without a config: guesses, frames, shapes.
TEST(MessagesTensors, EveryReadingHasAText) {
  const auto message = [](std::string_view line, std::string_view request) {
    return fmt::format(
        "  File \"model.py\", line 60, in forward\n    {}\n"
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate {} (GPU 0; 23.68 GiB "
        "total capacity; 21.67 GiB already allocated; 11.06 MiB free; 21.70 GiB reserved in total "
        "by PyTorch)\n",
        line, request);
  };
  for (const char* line : {"x = y", "loss = F.cross_entropy(a, b)", "logits = self.lm_head(x)",
                           "y = softmax(x)", "att = q @ k", "x = self.gelu(x)", "x = self.wte(idx)",
                           "optimizer.step()", "model.to(device)", "loss.backward()"}) {
    for (const char* request : {"148.00 MiB", "512.00 MiB", "86.00 MiB", "6.14 GiB", "2.00 MiB"}) {
      const doctor::log::LogSummary log = doctor::log::read_text(message(line, request));
      for (const doctor::diagnosis::Candidate& candidate :
           doctor::diagnosis::diagnose(log, nullptr, nullptr).diagnosis.candidates) {
        EXPECT_EQ(candidate.tensor, candidate.label);
        expect_named(candidate.label, "");
      }
    }
  }
}

// All that people read of a report, without what is to be copied.
std::vector<std::string> texts_of(const DoctorContent& content) {
  std::vector<std::string> texts{content.headline, content.explanation};
  for (const DoctorBlock& block : content.blocks) {
    if (const auto* facts = std::get_if<DoctorFacts>(&block)) {
      for (const DoctorFact& fact : facts->facts) {
        texts.push_back(fact.label);
        if (!fact.is_command) texts.insert(texts.end(), fact.lines.begin(), fact.lines.end());
      }
    } else if (const auto* points = std::get_if<DoctorPoints>(&block)) {
      texts.push_back(points->title);
      texts.insert(texts.end(), points->points.begin(), points->points.end());
    } else if (const auto* bars = std::get_if<DoctorBars>(&block)) {
      for (const DoctorBar& bar : bars->bars) texts.push_back(bar.label);
      texts.insert(texts.end(), bars->lines.begin(), bars->lines.end());
    }
  }
  return texts;
}

TEST(MessagesTensors, AReportInALanguageHasNoEnglish) {
  const doctor::torch::TorchMemory memory = doctor::torch::torch_memory(small_run());
  const fit::Fixes fixes = fixes_for_test();
  for (const Language language : {Language::kChinese, Language::kJapanese, Language::kGerman}) {
    DoctorReport report = report_for_test(language, memory, fixes);
    report.diagnosis = diagnosis_with_all_notes();
    const doctor::diagnosis::Candidate first = report.diagnosis->candidates.front();
    std::set<std::string_view> seen;
    for (const doctor::torch::TorchTensor& tensor : memory.tensors) {
      if (!seen.insert(tensor.what).second) continue;
      doctor::diagnosis::Candidate candidate = first;
      candidate.label = tensor.what;
      candidate.owner = doctor::torch::torch_tensor_owner(memory, tensor);
      candidate.tensor = doctor::torch::torch_tensor_name(memory, tensor);
      report.diagnosis->candidates = {candidate, candidate};
      for (const std::string& text : texts_of(doctor_content(report))) {
        EXPECT_FALSE(has_english(text)) << text;
      }
    }
  }
}

}  // namespace
}  // namespace snug::report
