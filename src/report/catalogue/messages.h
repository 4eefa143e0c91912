// The message catalogue: every sentence in English, Chinese, Japanese and German.
// Texts have placeholders {0}, {1}...; parameters, keys, commands and units are never translated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/diagnosis/diagnosis.h"
#include "doctor/fixes/fixes.h"

namespace snug::report {

enum class Language : std::uint8_t { kEnglish, kChinese, kJapanese, kGerman };
constexpr std::size_t kLanguageCount = 4;

// Its characters take two columns, and no space stands between words.
constexpr bool is_wide_script(Language language) {
  return language == Language::kChinese || language == Language::kJapanese;
}

std::string_view code_of(Language language) noexcept;       // "en", "zh", "ja", "de"
std::string_view html_lang_of(Language language) noexcept;  // "zh-Hans" where script matters

// What --lang says, else the locale's prefix ("zh_CN.UTF-8"), else English. The Chinese is in
// simplified characters, so locales of the traditional script (zh_TW, zh_Hant) get English.
// `env_lang` may be null. Throws ConfigError on an unknown --lang, in the locale's language.
Language language_of(const std::string& lang_option, const char* env_lang);

// The locale that messages follow: LC_ALL, else LC_MESSAGES, else LANG; null when none is set.
const char* locale_of_environment();

// One text per language, indexed by Language.
using Texts = std::array<const char*, kLanguageCount>;

// Titles, labels and sentences of the report that belong to no enum of the doctor.
enum class TextId : std::uint8_t {
  // Titles and labels.
  kPageTitle,
  kWhatItWas,
  kWhen,
  kNotTheCause,
  kHeldByMessage,
  kHeldByModel,
  kHeldByModelThen,
  kNeedsTitle,
  kPhasesTitle,
  kCandidatesTitle,
  kReadingsTitle,
  kWouldTrain,
  kNotesTitle,
  kFixesTitle,
  kRecommendedTitle,
  kSafestTitle,
  kHowToTitle,
  kMythsTitle,
  kInSnug,
  kWriteIt,
  kRunIt,
  kGiveConfig,
  kGiveLog,
  kExplainTitle,
  kTimesOfCard,
  kTimesWithoutCard,
  kTheMessage,
  // Headings of the tables.
  kHeadFix,
  kHeadVram,
  kHeadBatch,
  kHeadTime,
  kHeadEffect,
  kHeadHow,
  kHeadPhase,
  kHeadAllocated,
  kHeadReserved,
  kHeadPeakAt,
  // Parts of the card.
  kPartWeights,
  kPartGradients,
  kPartOptimizer,
  kPartBuckets,
  kPartResume,
  kPartHalfCopies,
  kPartActivations,
  kPartLossHead,
  kPartTransients,
  kPartPreviousLogits,
  kPartRest,
  kPartAllocated,
  kPartUnallocated,
  kPartContext,
  kPartOthers,
  kPartOthersEstimated,
  kPartFree,
  kPartUnknown,
  kPartTotal,
  kPartSum,
  // The parts of a run that have a peak of their own.
  kPeakStart,
  kPeakEvaluateFirst,
  kPeakTrainFirst,
  kPeakTrain,
  kPeakEvaluateLater,
  // What is said of the request and of the whole.
  kAskedWhereFree,
  kAsked,
  kNeedsFits,
  kNeedsTight,
  kNeedsDoesNotFit,
  kNeedsUnknownCard,
  kPeakAt,
  kCompiledRange,
  kContextRange,
  kWhatCounts,
  kCardGives,
  kCardGivesBesideDisplay,
  kOfTheCard,
  kTrainNo,
  kTrainTight,
  kTrainYes,
  kNothingOfThatSize,
  kAlike,
  kByOperator,
  kNotFragmentation,
  kNotOthersNone,
  kNotOthersSome,
  kProcessHolds,
  kProcessUnknown,
  // Shapes, read.
  kReadBatch,
  kReadTokens,
  kReadVocabulary,
  kReadWidth,
  kReadHeads,
  kReadHeadSize,
  kReadTiedCopies,
  kTensorOf,
  // Confidence and evidence.
  kCertain,
  kVeryLikely,
  kLikely,
  kPossible,
  kUnlikely,
  kByShape,
  kBySizeAndAllocated,
  kBySizeAndFrame,
  kBySize,
  kByReading,
  kConfidence,
  // What a fix does to the training.
  kEffectSame,
  kEffectEvaluation,
  kEffectRounding,
  kEffectEightBit,
  kEffectFewerSequences,
  kEffectShorterContext,
  kEffectSmallerModel,
  // How a fix is made.
  kHowKey,
  kHowEdit,
  kHowVariable,
  kHowByHand,
  kMaxSplitName,
  kMaxSplitAction,
  kMoreFixes,
  kNoneFits,
  kFitsAsItIs,
  kAgainstLog,          // {limit}: what the log shows that PyTorch could have
  kAgainstLogHeadless,  // {limit} {the limit where a display is assumed}
  kVramAfter,
  kProofLine,  // {phase} {spare} {of} {tolerance}
  kProofResume,
  kSafestIsRecommended,
  // What Snug would need.
  kSnugFits,
  kSnugFitsWith,
  kSnugDoesNotFit,
  kSnugDoesNotFitWith,
  // The same where no card is named.
  kSnugFitsIn,
  kSnugFitsInWith,
  kSnugDoesNotFitIn,
  kSnugDoesNotFitInWith,
  // Errors of the command: what is wrong, and what to do.
  kErrorNothingToDo,
  kErrorNothingInLog,
  kErrorNoFailureInLog,
  kErrorCannotReadLog,
  kErrorLogMissing,
  kErrorLogIsFolder,
  kErrorLogEmpty,
  kNotWrittenNoConfig,
  kNotWrittenNotMemory,
  kNotWrittenNothingFits,
  kNotWrittenFits,
  kErrorWriteOntoConfig,
  kErrorCannotWrite,
  kErrorOptionNeedsValue,
  kErrorUnknownTorch,
  kWrote,
  kUnknownLanguage,
};
constexpr std::size_t kTextIdCount = static_cast<std::size_t>(TextId::kUnknownLanguage) + 1;

std::string_view name_of(doctor::diagnosis::NoteId note) noexcept;  // "only_a_warning", as in JSON

// The texts of the values of each enum.
const Texts& texts_of(TextId id);
const Texts& texts_of(doctor::diagnosis::NoteId note);
const Texts& texts_of_plain(
    doctor::diagnosis::NoteId note);  // for when an argument is missing; texts_of() if none
const Texts& headline_texts(doctor::diagnosis::Cause cause);
const Texts& explanation_texts(doctor::diagnosis::Cause cause);
const Texts& texts_of(doctor::torch::TorchPhase phase);
// Of the kinds that fixes for PyTorch have.
const Texts& name_texts(fit::FixKind kind);
const Texts& action_texts(fit::FixKind kind);
const Texts& texts_of(doctor::torch::TorchAssumptionId assumption);

// By a tensor's label (Candidate::label); null: no such label.
const Texts* tensor_texts(std::string_view label);

// Placeholders replaced; one without an argument becomes "?".
std::string filled(std::string_view text, std::span<const std::string> arguments);

// A text in a language, with its placeholders filled.
std::string text_in(Language language, const Texts& texts,
                    std::span<const std::string> arguments = {});
std::string text_in(Language language, const Texts& texts,
                    std::initializer_list<std::string> arguments);
std::string text_in(Language language, TextId id,
                    std::initializer_list<std::string> arguments = {});
std::string text_in(Language language, const doctor::diagnosis::Note& note);
std::string text_in(Language language, const doctor::torch::TorchAssumption& assumption);

// "gradient of h.3.mlp.c_fc input", "exp_avg of transformer.wte.weight": a label and its owner,
// which may be empty. A label that is not in the catalogue stays.
std::string describe_tensor(Language language, std::string_view label, const std::string& owner);

// Two sentences one after the other, and items of a list, as the language writes them.
std::string sentences(Language language, const std::string& first, const std::string& second);
std::string listed(Language language, std::span<const std::string> items);

// Every message of every table, for tests: "note.12", "text.3".
struct CatalogueRow {
  std::string name;
  Texts texts;
};
std::vector<CatalogueRow> whole_catalogue();

}  // namespace snug::report
