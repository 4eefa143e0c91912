#include "report/plan/browser_words.h"

#include "report/plan/words.h"

namespace snug::report {
namespace {

struct PageText {
  const char* name;
  PlanTextId text;
};

constexpr PageText kWords[] = {
    {"fits", PlanTextId::kFits},
    {"barely", PlanTextId::kBarelyFits},
    {"no", PlanTextId::kDoesNotFit},
    {"fits_short", PlanTextId::kPageFits},
    {"barely_short", PlanTextId::kPageBarely},
    {"no_short", PlanTextId::kPageDoesNotFit},
    {"too_much", PlanTextId::kPageTooMuch},
    {"to_spare", PlanTextId::kPageToSpare},
    {"barely_spare", PlanTextId::kPageBarelySpare},
    {"needs", PlanTextId::kPageNeeds},
    {"with", PlanTextId::kPageWith},
    {"config_as_is", PlanTextId::kPageConfigAsIs},
    {"copy", PlanTextId::kPageCopy},
    {"copied", PlanTextId::kPageCopied},
    {"display", PlanTextId::kPageDisplay},
    {"context", PlanTextId::kPageContext},
    {"headroom", PlanTextId::kPageHeadroom},
    {"usable", PlanTextId::kPageUsable},
    {"kept", PlanTextId::kPageKept},
    {"peak", PlanTextId::kPagePeak},
    {"range", PlanTextId::kRange},
    {"may_be_used", PlanTextId::kPageMayBeUsed},
    {"at_peak", PlanTextId::kPageAtPeak},
    {"op_of", PlanTextId::kPageOpOf},
    {"largest", PlanTextId::kPageLargest},
    {"largest_of", PlanTextId::kPageLargestOf},
    {"gaps", PlanTextId::kPageGaps},
    {"program", PlanTextId::kPageProgram},
    {"scratch", PlanTextId::kPageScratch},
    {"memory", PlanTextId::kPageMemory},
    {"batch", PlanTextId::kPageBatch},
    {"saved", PlanTextId::kPageSaved},
    {"time", PlanTextId::kPageTimeHead},
    {"speed", PlanTextId::kPageSpeed},
    {"result", PlanTextId::kPageResult},
    {"fits_head", PlanTextId::kPageFitsHead},
};

}  // namespace

nlohmann::ordered_json browser_words(Language language) {
  nlohmann::ordered_json words;
  // With their placeholders: the script fills them.
  for (const PageText& word : kWords) {
    words[word.name] = texts_of(word.text)[static_cast<std::size_t>(language)];
  }
  words["decimal"] = language == Language::kGerman ? "," : ".";
  words["translated"] = language != Language::kEnglish;
  nlohmann::ordered_json& roles = words["roles"];
  for (int role = 0; role < kRoleCount; ++role) {
    const auto r = static_cast<Role>(role);
    roles[std::string(name_of(r))] = role_name(language, r);
  }
  roles["outside the arena"] = text_in(language, PlanTextId::kOutside);
  nlohmann::ordered_json& phases = words["phases"];
  for (int kind = 0; kind <= static_cast<int>(program::PhaseKind::kDecode); ++kind) {
    const auto k = static_cast<program::PhaseKind>(kind);
    phases[std::string(program::name_of(k))] = phase_name(language, k);
  }
  phases["forward"] = text_in(language, PlanTextId::kPageForward);
  phases["loss"] = text_in(language, PlanTextId::kPageLoss);
  phases["backward"] = text_in(language, PlanTextId::kPageBackward);
  return words;
}

}  // namespace snug::report
