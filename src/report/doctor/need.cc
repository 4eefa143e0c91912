// What PyTorch needs by the model: the parts, the peaks, the verdict against a card.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/bytes.h"
#include "report/doctor/content.h"
#include "report/numbers.h"

namespace snug::report {
namespace {

bool is_before_training(const DoctorReport& report) {
  if (!report.diagnosis || !report.diagnosis->phase) return false;
  return *report.diagnosis->phase == doctor::torch::TorchPhase::kStart ||
         *report.diagnosis->phase == doctor::torch::TorchPhase::kEvaluateFirst;
}

// What was allocated when the run asked for the tensor that is most likely: of its moments the one
// nearest to what the message says. 0: not known.
std::int64_t allocated_before_candidate(const DoctorReport& report) {
  const doctor::diagnosis::Diagnosis& d = *report.diagnosis;
  if (d.candidates.empty()) return 0;
  const doctor::diagnosis::Candidate& c = d.candidates.front();
  const std::int64_t said = d.allocated_bytes.value_or(0);
  std::int64_t nearest = 0;
  for (const doctor::torch::TorchTensor& tensor : report.memory->tensors) {
    if (tensor.phase != d.phase || tensor.bytes != c.bytes ||
        doctor::torch::torch_tensor_name(*report.memory, tensor) != c.tensor) {
      continue;
    }
    const std::int64_t bytes = tensor.allocated_before_bytes;
    if (nearest == 0 || std::abs(bytes - said) < std::abs(nearest - said)) nearest = bytes;
  }
  return nearest;
}

void add_total(Language language, TextId label, DoctorBars& bars) {
  std::int64_t total = 0;
  for (const DoctorBar& bar : bars.bars) total += bar.bytes;
  bars.whole_bytes = total;
  bars.bars.push_back({text_in(language, label), total});
}

// Before iteration 0 there are no gradients, no optimizer state and nothing is saved.
DoctorBars held_before_training(const DoctorReport& report) {
  const Language language = report.language;
  const doctor::torch::TorchMemory& m = *report.memory;
  DoctorBars bars{language, text_in(language, TextId::kHeldByModelThen), {}, 0, {}};
  bars.bars.push_back(
      {text_in(language, TextId::kPartWeights), m.params_bytes, false, Band::kWeights});
  const bool evaluates = *report.diagnosis->phase == doctor::torch::TorchPhase::kEvaluateFirst;
  if (evaluates && m.half_copies_bytes > 0) {
    bars.bars.push_back({text_in(language, TextId::kPartHalfCopies), m.half_copies_bytes, false,
                         Band::kHalfCopies});
  }
  std::int64_t known = 0;
  for (const DoctorBar& bar : bars.bars) known += bar.bytes;
  std::int64_t rest = allocated_before_candidate(report) - known;
  // From the second batch on, estimate_loss's name still holds the last one's.
  const doctor::torch::TorchRun& run = m.run;
  const std::int64_t logits = run.eval_batch_size * run.eval_block_size * run.vocab_size *
                              doctor::torch::compute_bytes(run);
  if (evaluates && rest > logits) {
    bars.bars.push_back(
        {text_in(language, TextId::kPartPreviousLogits), logits, false, Band::kLossHead});
    rest -= logits;
  }
  if (rest > 0) {
    bars.bars.push_back({text_in(language, TextId::kPartRest), rest, false, Band::kActivations});
  }
  add_total(language, TextId::kPartTotal, bars);
  return bars;
}

Tone tone_against(const ByteRange& vram, std::int64_t card_bytes) {
  if (card_bytes <= 0) return Tone::kPlain;
  if (vram.high_bytes <= card_bytes) return Tone::kGood;
  return vram.low_bytes <= card_bytes ? Tone::kWarn : Tone::kBad;
}

std::string need_headline(const DoctorReport& report, Tone tone, const ByteRange& vram) {
  const Language language = report.language;
  const std::string need = range_text(language, without_context(report.memory, vram));
  const std::string card = bytes_in(language, report.given_bytes());
  switch (tone) {
    case Tone::kGood:
      return text_in(language, TextId::kNeedsFits, {need, card});
    case Tone::kWarn:
      return text_in(language, TextId::kNeedsTight, {need, card});
    case Tone::kBad:
      return text_in(language, TextId::kNeedsDoesNotFit, {need, card});
    case Tone::kPlain:
      break;
  }
  return text_in(language, TextId::kNeedsUnknownCard, {need});
}

std::string peak_sentence(const DoctorReport& report) {
  const doctor::torch::TorchPeak& worst = report.memory->worst();
  return text_in(report.language, TextId::kPeakAt,
                 {std::string(worst.op), text_in(report.language, texts_of(worst.phase))});
}

std::vector<std::string> range_sentences(const DoctorReport& report) {
  const doctor::torch::TorchMemory& m = *report.memory;
  const Language language = report.language;
  std::vector<std::string> lines;
  if (m.train_range.low_bytes != m.train_range.high_bytes) {
    lines.push_back(text_in(language, TextId::kCompiledRange,
                            {bytes_in(language, m.train_range.low_bytes),
                             bytes_in(language, m.train_range.high_bytes)}));
  }
  lines.push_back(text_in(language, TextId::kWhatCounts,
                          {range_text(language, without_context(report.memory, report.need))}));
  const std::string context =
      range_text(language, m.context_range.low_bytes, m.context_range.high_bytes);
  if (report.card == nullptr || report.diagnosis) {
    lines.push_back(text_in(language, TextId::kContextRange, {context}));
    return lines;
  }
  const std::int64_t display = fit::display_bytes(*report.card);
  const std::string reported = bytes_in(language, report.card->reported_mib * kMiB);
  lines.push_back(display > 0
                      ? text_in(language, TextId::kCardGivesBesideDisplay,
                                {bytes_in(language, report.given_bytes()), reported,
                                 bytes_in(language, display), context})
                      : text_in(language, TextId::kCardGives,
                                {bytes_in(language, report.given_bytes()), reported, context}));
  return lines;
}

}  // namespace

ByteRange without_context(const doctor::torch::TorchMemory* memory, const ByteRange& need) {
  if (memory == nullptr) return need;
  const ByteRange& context = memory->context_range;
  return {std::max<std::int64_t>(0, need.low_bytes - context.low_bytes),
          std::max<std::int64_t>(0, need.high_bytes - context.high_bytes)};
}

std::string range_text(Language language, std::int64_t low_bytes, std::int64_t high_bytes) {
  const std::string low = bytes_in(language, low_bytes), high = bytes_in(language, high_bytes);
  return low == high ? low : text_in(language, TextId::kOfTheCard, {low, high});
}

std::string range_text(Language language, const ByteRange& range) {
  return range_text(language, range.low_bytes, range.high_bytes);
}

DoctorBars held_by_model(const DoctorReport& report) {
  if (is_before_training(report)) return held_before_training(report);
  const Language language = report.language;
  const doctor::torch::TorchMemory& m = *report.memory;
  // With one micro-step the peak may come before there are gradients.
  const std::int64_t without_gradients = m.params_bytes + m.optimizer_bytes + m.bucket_bytes +
                                         (m.run.resumed ? m.params_bytes : 0) +
                                         m.half_copies_bytes + m.saved_bytes;
  const bool has_gradients =
      without_gradients + m.gradient_bytes <= m.worst().allocated_bytes + kMiB;
  DoctorBars bars;
  bars.language = language;
  bars.title = text_in(language, report.diagnosis ? TextId::kHeldByModel : TextId::kNeedsTitle);
  const struct {
    TextId name;
    std::int64_t bytes;
    Band band;
  } parts[] = {{TextId::kPartWeights, m.params_bytes, Band::kWeights},
               {TextId::kPartGradients, has_gradients ? m.gradient_bytes : 0, Band::kGradients},
               {TextId::kPartOptimizer, m.optimizer_bytes, Band::kOptimizer},
               {TextId::kPartBuckets, m.bucket_bytes, Band::kGradients},
               {TextId::kPartResume, m.run.resumed ? m.params_bytes : 0, Band::kWeights},
               {TextId::kPartHalfCopies, m.half_copies_bytes, Band::kHalfCopies},
               {TextId::kPartActivations, m.saved_bytes - m.loss_bytes, Band::kActivations},
               {TextId::kPartLossHead, m.loss_bytes, Band::kLossHead}};
  for (const auto& [part, bytes, band] : parts) {
    if (bytes > 0) bars.bars.push_back({text_in(language, part), bytes, false, band});
  }
  std::int64_t known = 0;
  for (const DoctorBar& bar : bars.bars) known += bar.bytes;
  // What the worst moment adds to what stands: gradients of activations, scratch.
  const std::int64_t transients = m.worst().allocated_bytes - known;
  if (transients > kMiB) {
    bars.bars.push_back(
        {text_in(language, TextId::kPartTransients), transients, false, Band::kWorkspace});
  }
  add_total(language, TextId::kPartSum, bars);
  bars.lines.push_back(peak_sentence(report));
  return bars;
}

DoctorTable phase_table_of(const DoctorReport& report) {
  const Language language = report.language;
  const doctor::torch::TorchMemory& m = *report.memory;
  DoctorTable table;
  table.title = text_in(language, TextId::kPhasesTitle);
  table.columns = {{text_in(language, TextId::kHeadPhase), 22, false},
                   {text_in(language, TextId::kHeadAllocated), 11, true},
                   {text_in(language, TextId::kHeadReserved), 11, true},
                   {text_in(language, TextId::kHeadPeakAt), 29, false}};
  const std::pair<TextId, const doctor::torch::TorchPeak*> peaks[] = {
      {TextId::kPeakStart, &m.start},
      {TextId::kPeakEvaluateFirst, &m.evaluate_first},
      {TextId::kPeakTrainFirst, &m.train_first},
      {TextId::kPeakTrain, &m.train},
      {TextId::kPeakEvaluateLater, &m.evaluate_later}};
  for (const auto& [name, peak] : peaks) {
    table.rows.push_back({Tone::kPlain,
                          {text_in(language, name), bytes_in(language, peak->allocated_bytes),
                           bytes_in(language, peak->reserved_bytes), std::string(peak->op)}});
  }
  table.lines = range_sentences(report);
  return table;
}

void add_need(const DoctorReport& report, DoctorContent& content) {
  const ByteRange vram = report.need;
  content.tone = tone_against(vram, report.card_bytes);
  content.headline = need_headline(report, content.tone, vram);
  content.blocks.push_back(held_by_model(report));
  content.blocks.push_back(phase_table_of(report));
}

}  // namespace snug::report
