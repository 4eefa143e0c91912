// What PyTorch needs by the model: the parts, the peaks, the verdict against a card.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/bytes.h"
#include "report/doctor/content.h"

namespace snug {
namespace {

bool is_before_training(const DoctorReport& report) {
  if (!report.diagnosis || !report.diagnosis->phase) return false;
  return *report.diagnosis->phase == TorchPhase::kStart ||
         *report.diagnosis->phase == TorchPhase::kEvaluateFirst;
}

// What was allocated when the run asked for the tensor that is most likely: of its moments the one
// nearest to what the message says. 0: not known.
std::int64_t allocated_before_candidate(const DoctorReport& report) {
  const Diagnosis& d = *report.diagnosis;
  if (d.candidates.empty()) return 0;
  const Candidate& c = d.candidates.front();
  const std::int64_t said = d.allocated_bytes.value_or(0);
  std::int64_t nearest = 0;
  for (const TorchTensor& tensor : report.memory->tensors) {
    if (tensor.phase != d.phase || tensor.bytes != c.bytes ||
        torch_tensor_name(*report.memory, tensor) != c.tensor) {
      continue;
    }
    const std::int64_t bytes = tensor.allocated_before_bytes;
    if (nearest == 0 || std::abs(bytes - said) < std::abs(nearest - said)) nearest = bytes;
  }
  return nearest;
}

void add_total(Language language, DoctorBars& bars) {
  std::int64_t total = 0;
  for (const DoctorBar& bar : bars.bars) total += bar.bytes;
  bars.whole_bytes = total;
  bars.bars.push_back({text_in(language, TextId::kPartTotal), total});
}

// Before iteration 0 there are no gradients, no optimizer state and nothing is saved.
DoctorBars held_before_training(const DoctorReport& report) {
  const Language language = report.language;
  const TorchMemory& m = *report.memory;
  DoctorBars bars{text_in(language, TextId::kHeldByModelThen), {}, 0, {}};
  bars.bars.push_back({text_in(language, TextId::kPartWeights), m.params_bytes});
  const bool evaluates = *report.diagnosis->phase == TorchPhase::kEvaluateFirst;
  if (evaluates && m.half_copies_bytes > 0) {
    bars.bars.push_back({text_in(language, TextId::kPartHalfCopies), m.half_copies_bytes});
  }
  std::int64_t known = 0;
  for (const DoctorBar& bar : bars.bars) known += bar.bytes;
  const std::int64_t rest = allocated_before_candidate(report) - known;
  if (rest > 0) bars.bars.push_back({text_in(language, TextId::kPartRest), rest});
  add_total(language, bars);
  return bars;
}

Tone tone_against(const ByteRange& vram, std::int64_t card_bytes) {
  if (card_bytes <= 0) return Tone::kPlain;
  if (vram.high_bytes <= card_bytes) return Tone::kGood;
  return vram.low_bytes <= card_bytes ? Tone::kWarn : Tone::kBad;
}

std::string need_headline(const DoctorReport& report, Tone tone, const ByteRange& vram) {
  const Language language = report.language;
  const std::string need = range_text(language, vram);
  const std::string card = format_bytes(report.card_bytes);
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
  const TorchPeak& worst = report.memory->worst();
  return text_in(report.language, TextId::kPeakAt,
                 {std::string(worst.op), text_in(report.language, texts_of(worst.phase))});
}

std::vector<std::string> range_sentences(const DoctorReport& report) {
  const TorchMemory& m = *report.memory;
  const Language language = report.language;
  std::vector<std::string> lines;
  if (m.train_range.low_bytes != m.train_range.high_bytes) {
    lines.push_back(
        text_in(language, TextId::kCompiledRange,
                {format_bytes(m.train_range.low_bytes), format_bytes(m.train_range.high_bytes)}));
  }
  if (m.context_range.high_bytes > 0) {
    lines.push_back(text_in(
        language, TextId::kContextRange,
        {format_bytes(m.context_range.low_bytes), format_bytes(m.context_range.high_bytes)}));
  }
  return lines;
}

}  // namespace

std::string range_text(Language language, std::int64_t low_bytes, std::int64_t high_bytes) {
  const std::string low = format_bytes(low_bytes), high = format_bytes(high_bytes);
  return low == high ? low : text_in(language, TextId::kOfTheCard, {low, high});
}

std::string range_text(Language language, const ByteRange& range) {
  return range_text(language, range.low_bytes, range.high_bytes);
}

DoctorBars held_by_model(const DoctorReport& report) {
  if (is_before_training(report)) return held_before_training(report);
  const Language language = report.language;
  const TorchMemory& m = *report.memory;
  DoctorBars bars;
  bars.title = text_in(language, report.diagnosis ? TextId::kHeldByModel : TextId::kNeedsTitle);
  const std::pair<TextId, std::int64_t> parts[] = {
      {TextId::kPartWeights, m.params_bytes},
      {TextId::kPartGradients, m.gradient_bytes},
      {TextId::kPartOptimizer, m.optimizer_bytes},
      {TextId::kPartHalfCopies, m.half_copies_bytes},
      {TextId::kPartActivations, m.saved_bytes - m.loss_bytes},
      {TextId::kPartLossHead, m.loss_bytes}};
  for (const auto& [part, bytes] : parts) {
    if (bytes > 0) bars.bars.push_back({text_in(language, part), bytes});
  }
  add_total(language, bars);
  bars.lines.push_back(peak_sentence(report));
  return bars;
}

DoctorTable phase_table_of(const DoctorReport& report) {
  const Language language = report.language;
  const TorchMemory& m = *report.memory;
  DoctorTable table;
  table.title = text_in(language, TextId::kPhasesTitle);
  table.columns = {{text_in(language, TextId::kHeadPhase), 22, false},
                   {text_in(language, TextId::kHeadAllocated), 11, true},
                   {text_in(language, TextId::kHeadReserved), 11, true},
                   {text_in(language, TextId::kHeadPeakAt), 29, false}};
  const std::pair<TextId, const TorchPeak*> peaks[] = {
      {TextId::kPeakStart, &m.start},
      {TextId::kPeakEvaluateFirst, &m.evaluate_first},
      {TextId::kPeakTrainFirst, &m.train_first},
      {TextId::kPeakTrain, &m.train},
      {TextId::kPeakEvaluateLater, &m.evaluate_later}};
  for (const auto& [name, peak] : peaks) {
    table.rows.push_back({Tone::kPlain,
                          {text_in(language, name), format_bytes(peak->allocated_bytes),
                           format_bytes(peak->reserved_bytes), std::string(peak->op)}});
  }
  table.lines = range_sentences(report);
  return table;
}

void add_need(const DoctorReport& report, DoctorContent& content) {
  const ByteRange vram = torch_vram(*report.memory);
  content.tone = tone_against(vram, report.card_bytes);
  content.headline = need_headline(report, content.tone, vram);
  content.blocks.push_back(held_by_model(report));
  content.blocks.push_back(phase_table_of(report));
}

}  // namespace snug
