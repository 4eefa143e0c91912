// The catalogue's tables, each in the order of its enum. Internal to messages.cc.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "report/catalogue/messages.h"
#include "report/catalogue/plan_texts.h"

namespace snug::report {

template <typename Id>
struct MessageRow {
  Id id;
  Texts texts;
};

template <typename Id>
struct MessagePairRow {
  Id id;
  Texts first, second;  // a cause: headline, explanation; a fix: name, what to do
};

constexpr std::size_t kCauseCount =
    static_cast<std::size_t>(doctor::diagnosis::Cause::kUnknown) + 1;
constexpr std::size_t kTorchPhaseCount =
    static_cast<std::size_t>(doctor::torch::TorchPhase::kEvaluateLater) + 1;
// Those of PyTorch stand first.
constexpr std::size_t kTorchFixKindCount = static_cast<std::size_t>(fit::FixKind::kOnProcessor) + 1;

// A row is missing, doubled or out of place: does not compile.
template <typename Table>
constexpr bool in_order(const Table& table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].id) != i) return false;
  }
  return true;
}

std::span<const MessageRow<TextId>, kTextIdCount> text_table();
std::span<const MessageRow<PlanTextId>> plan_text_table();
std::span<const MessageRow<doctor::diagnosis::NoteId>, doctor::diagnosis::kNoteCount> note_table();
std::span<const MessageRow<doctor::diagnosis::NoteId>> plain_note_table();
std::span<const Texts> tensor_table();
std::span<const MessagePairRow<doctor::diagnosis::Cause>, kCauseCount> cause_table();
std::span<const MessageRow<doctor::torch::TorchPhase>, kTorchPhaseCount> phase_table();
std::span<const MessagePairRow<fit::FixKind>, kTorchFixKindCount> fix_table_texts();
std::span<const MessageRow<doctor::torch::TorchAssumptionId>, doctor::torch::kTorchAssumptionCount>
assumption_table();

}  // namespace snug::report
