// Fix: one way to make a run need less of a device, with what it costs. Data only, and the same for
// runs of Snug and of nanoGPT on PyTorch: cost models (cost_model.h) give the figures, reports the
// words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_range.h"
#include "config/config.h"
#include "program/program.h"

namespace snug::fit {

// What a fix does to the trained weights, the mildest first.
enum class Effect : std::uint8_t {
  kSame,        // the same bits; on cards as emulation shows it
  kEvaluation,  // the same weights; the printed losses are of shorter contexts
  kReordered,   // the same training in the same precision, summed in another order
  kRounding,    // the same training, rounded otherwise
  kFewerSequences,
  kShorterContext,
  kSmallerModel,
  kMoreSequences,  // what spare memory buys, as below
  kLongerContext,
  kLargerModel,
};
constexpr int kEffectCount = static_cast<int>(Effect::kLargerModel) + 1;
std::string_view name_of(Effect effect) noexcept;  // "same", as in JSON

// What is changed. In this order, unless their effects or needs differ, fixes for PyTorch are
// shown.
enum class FixKind : std::uint8_t {
  kSplit,           // smaller micro-batch, more accumulation, the same product
  kAllocator,       // PyTorch: expandable_segments:True
  kFreeOthers,      // PyTorch: other processes on the card
  kEvalBatch,       // evaluation with a batch of its own
  kEvalContext,     // evaluation with shorter sequences
  kCompileOn,       // PyTorch: torch.compile lowers the step's peak
  kCheckpoint,      // blocks are computed again in backward
  kDtype16,         // float32 -> bfloat16 or float16
  kEightBitAdam,    // PyTorch: AdamW's moments in one byte each
  kFewerSequences,  // a smaller effective batch
  kShorterContext,
  kFewerLayers,
  kNarrower,
  kSmallerPretrained,  // another of OpenAI's models in init_from
  kOnProcessor,        // PyTorch: device='cpu'
  kRecomputeLight,     // Snug, as all below: norm outputs and GELU kept or made again
  kLossChunk,          // fewer rows of logits at once
  kOptimizer16,        // AdamW's moments in bfloat16
  kCombination,        // what the search found: any of the keys that keep the effective batch
  kSmallest,           // the setting with the fewest bytes at the same result
  kLessRecomputing,    // spare memory, as below: less is computed again in backward
  kLargerBatch,
  kLongerContext,
  kMoreLayers,
};
constexpr int kFixKindCount = static_cast<int>(FixKind::kMoreLayers) + 1;
std::string_view name_of(FixKind kind) noexcept;  // "split", as in JSON

struct Fix {
  FixKind kind = FixKind::kCombination;
  Effect effect = Effect::kSame;
  bool asked_for = false;    // the cause of a failure itself asks for it
  bool on_smallest = false;  // made on top of the smallest setting, not of the config as it is
  // Keys to set, against the config as it is. Their values are those of `config`.
  std::vector<config::Change> changes;
  bool needs_edit = false;  // PyTorch: nanoGPT has no key for all of it
  config::Config config;    // after the fix, with what takes an edit too
  std::int64_t effective_batch = 0;
  ByteRange need;  // of the device; exact: both ends are equal; both 0: the device is not concerned
  std::int64_t saved_bytes = 0;  // of the middle, against the config as it is; may be negative
  double time_ratio = 1;         // seconds per token against the config as it is
  std::int64_t parameters = 0, reported_parameters = 0;  // reported: as nanoGPT counts them
  bool fits = false;                                     // by the need's upper end

  std::int64_t total_bytes() const { return need.high_bytes; }
  bool concerns_device() const { return need.high_bytes > 0; }
  // Saves bytes or time.
  bool helps() const { return saved_bytes > 0 || time_ratio < 0.99; }
  // The same training: the same sequences per update, in the same precision.
  bool same_result() const { return effect <= Effect::kReordered; }
};

// A part of what a run needs at its peak.
struct LargestPart {
  std::optional<Role> role;  // nothing: the program itself, outside of the arena
  std::int64_t bytes = 0;
};

struct Fixes {
  config::Config before;    // the config as it is
  bool fits_as_is = false;  // by the need's upper end
  // Snug: it does not by the budget, but by the device, within the headroom that nobody asked for.
  bool barely_as_is = false;
  // What to take. Snug: see find_fixes(); PyTorch: see torch_fixes().
  std::optional<Fix> chosen;
  // What leaves the most room at the same result. Snug: always there, fitting or not.
  std::optional<Fix> safest;
  LargestPart safest_largest;  // Snug: of what `safest` needs
  std::vector<Fix> ranked;     // the best first
  std::vector<Fix> spare;  // Snug, where it fits: what the memory that is left could be used for
  std::optional<std::size_t> chosen_at;  // Snug: in `ranked`
};

}  // namespace snug::fit
