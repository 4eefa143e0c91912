// The catalogue's tables, each in the order of its enum. Internal to messages.cc.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "report/catalogue/messages.h"

namespace snug {

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

constexpr std::size_t kCauseCount = static_cast<std::size_t>(Cause::kUnknown) + 1;
constexpr std::size_t kTorchPhaseCount = static_cast<std::size_t>(TorchPhase::kEvaluateLater) + 1;
// Those of PyTorch stand first.
constexpr std::size_t kTorchFixKindCount = static_cast<std::size_t>(FixKind::kOnProcessor) + 1;

// A row is missing, doubled or out of place: does not compile.
template <typename Table>
constexpr bool in_order(const Table& table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].id) != i) return false;
  }
  return true;
}

std::span<const MessageRow<TextId>, kTextIdCount> text_table();
std::span<const MessageRow<NoteId>, kNoteCount> note_table();
std::span<const MessageRow<NoteId>> plain_note_table();
std::span<const Texts> tensor_table();
std::span<const MessagePairRow<Cause>, kCauseCount> cause_table();
std::span<const MessageRow<TorchPhase>, kTorchPhaseCount> phase_table();
std::span<const MessagePairRow<FixKind>, kTorchFixKindCount> fix_table_texts();
std::span<const MessageRow<TorchAssumptionId>, kTorchAssumptionCount> assumption_table();

}  // namespace snug
