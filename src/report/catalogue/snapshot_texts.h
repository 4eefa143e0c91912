// The words of the report on a memory snapshot, in the languages of the catalogue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "doctor/snapshot/names.h"
#include "report/catalogue/messages.h"

namespace snug::report {

enum class SnapshotTextId : std::uint8_t {
  // The roles, in their own order.
  kWeights,
  kOptimizer,
  kGradients,
  kWeightCopies,
  kActivations,
  kLogits,
  kInputs,
  kTemporary,
  kWorkspace,
  kCommunication,
  kLoaded,
  kUnknown,
  // The answer.
  kPageTitle,
  kFailed,
  kHolds,
  kHoldsNothing,
  kCapacity,
  kFragmented,
  kNothingFailed,
  // Facts.
  kWhere,
  kRecord,
  kRecordText,
  kRecordCut,
  kNoRecord,
  kNoFrames,
  kModelSeen,
  kModelText,
  kModelOfFile,
  kNotGpt,
  kNamed,
  kNamedText,
  kCacheFree,
  kCacheFreeText,
  kCacheFreeAsked,
  kExpandable,
  kPeak,
  kPeakText,
  kDevices,
  // What holds it.
  kHeldTitle,
  kHeldThenTitle,
  kPartCached,
  kPartReserved,
  kTensorsTitle,
  kHeadTensor,
  kHeadWhere,
  kHeadMemory,
  kHeadNumber,
  kHeadLayers,
  kMoreTensors,
  kBackward,
  kBefore,
  // Beside the model.
  kCompareTitle,
  kHeadModel,
  kHeadHere,
  kLayerSame,
  kLayerOther,
  kLayerNone,
  kAllAlike,
  kPerLayer,
  kOthersTitle,
  kOtherSetting,
  // Advice for any model.
  kAdviceTitle,
  kAdviceFragmented,
  kAdviceLogits,
  kAdviceActivations,
  kAdviceOptimizer,
  kAdviceStates,
  kAdviceRecord,
  // The page.
  kTimelineTitle,
  kTimelineCaption,
  kTimelineHint,
  kTimelineEvent,
  kTimelineTotal,
  kTimelineLargest,
  kTimelineFailure,
  kTimelinePeak,
  // Errors.
  kErrorWithLog,
  kErrorWithWrite,
};
constexpr std::size_t kSnapshotTextCount =
    static_cast<std::size_t>(SnapshotTextId::kErrorWithWrite) + 1;

// Every row, for tests.
std::vector<CatalogueRow> snapshot_catalogue();

const Texts& texts_of(SnapshotTextId id);
std::string text_in(Language language, SnapshotTextId id,
                    std::initializer_list<std::string> arguments = {});
std::string role_name(Language language, doctor::snapshot::Role role);

}  // namespace snug::report
