#include "fit/cards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <regex>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "config/nearest.h"

namespace snug::fit {
namespace {

// What a name says: "NVIDIA A100-SXM4-80GB" is model "a100", form "sxm", 80 GiB.
struct Name {
  std::string model;
  std::string_view form;        // "pcie", "sxm", "nvl", "laptop"; empty: not said
  std::int64_t memory_gib = 0;  // 0: not said
};

Name name_of(std::string_view text) {
  constexpr std::size_t kLongestName = 200;  // the patterns below take their time
  if (text.size() > kLongestName) return {};
  static const std::regex memory(R"(\b([0-9]{1,4})[ -]?(gib|gb|g)\b)");
  static const std::regex sxm(R"(\b(sxm[0-9]?|hbm3)\b)");  // the driver's "H100 80GB HBM3"
  static const std::regex pcie(R"(\bpcie\b)");
  static const std::regex nvl(R"(\bnvl\b)");
  static const std::regex laptop(R"(\b(laptop|mobile|notebook|max-q)\b)");
  static const std::regex silent(
      "[^0-9a-z]|nvidia|geforce|tesla|quadro|generation|blackwell|workstation|edition|gpu");
  std::string rest;
  for (const char c : text) {
    rest += c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  Name name;
  std::smatch found;
  if (std::regex_search(rest, found, memory)) name.memory_gib = std::stoll(found[1]);
  if (std::regex_search(rest, pcie)) name.form = "pcie";
  if (std::regex_search(rest, sxm)) name.form = "sxm";
  if (std::regex_search(rest, nvl)) name.form = "nvl";
  if (std::regex_search(rest, laptop)) name.form = "laptop";
  for (const std::regex* said : {&memory, &sxm, &pcie, &nvl, &laptop, &silent}) {
    rest = std::regex_replace(rest, *said, "");
  }
  name.model = rest;
  return name;
}

bool is_named(const Card& card, const Name& name) {
  const std::string_view model = card.key.substr(0, card.key.find('-'));
  const bool has_form =
      card.key.ends_with("-pcie") || card.key.ends_with("-sxm") || card.key.ends_with("-nvl");
  if (has_form && !card.key.ends_with(name.form)) return false;
  if (card.key.ends_with("-laptop") != (name.form == "laptop")) return false;
  if (name.memory_gib != 0 && name.memory_gib != card.memory_mib / 1024) return false;
  const std::string in_one_word = fmt::format("{}{}gb", model, card.memory_mib / 1024);
  for (const std::string_view brand : {"", "rtx", "gtx"}) {
    const std::string full = fmt::format("{}{}", brand, name.model);
    if (full == model || full == in_one_word) return true;
  }
  return false;
}

// "rtx3060", "rtx3080-laptop", but not "rtx3080-16gb-laptop" or "h100-sxm".
bool is_usual_variant(std::string_view key) {
  const std::size_t dash = key.find('-');
  return dash == std::string_view::npos || key.substr(dash) == "-laptop";
}

// Several only where no variant is the usual one.
std::vector<const Card*> cards_named(const Name& name) {
  std::vector<const Card*> found;
  for (const Card& card : all_cards()) {
    if (!is_named(card, name)) continue;
    if (is_usual_variant(card.key)) return {&card};
    found.push_back(&card);
  }
  return found;
}

std::string nearest_key(const std::string& model) {
  std::vector<std::string> keys;
  keys.reserve(all_cards().size());
  for (const Card& card : all_cards()) keys.emplace_back(card.key);
  const bool bare = !model.empty() && model[0] >= '0' && model[0] <= '9';  // "3061"
  const std::string word = bare ? "rtx" + model : model;
  return config::nearest_word(word, keys, config::suggestion_reach(word));
}

constexpr std::int64_t kMaxGibibytes = 1024;

// Cards that only their memory is known of, by whole GiB. Rates and family are those of the card
// that most users have; of the memory the driver keeps as much as of that one.
class SizedCards {
 public:
  SizedCards() {
    const Card& like = *cards_named(name_of("rtx3060")).front();
    for (std::int64_t gib = 1; gib <= kMaxGibibytes; ++gib) {
      names_.push_back({fmt::format("{}gib", gib), fmt::format("{} GiB card", gib)});
    }
    for (std::int64_t gib = 1; gib <= kMaxGibibytes; ++gib) {
      const auto& [key, name] = names_[static_cast<std::size_t>(gib - 1)];
      Card card = like;
      card.key = key;
      card.name = name;
      card.memory_mib = gib * 1024;
      card.reported_mib = card.memory_mib * like.reported_mib / like.memory_mib;
      cards_.push_back(card);
    }
  }
  const Card* of(std::int64_t gib) const {
    if (gib < 1 || gib > kMaxGibibytes) return nullptr;
    return &cards_[static_cast<std::size_t>(gib - 1)];
  }

 private:
  std::vector<std::pair<std::string, std::string>> names_;
  std::vector<Card> cards_;  // their texts are those of names_
};

// "12GiB", "12 GB"; null: the text is not an amount alone, or not of whole GiB.
const Card* card_of_size(std::string_view text) {
  static const std::regex amount(R"(\s*([0-9]{1,4})[ ]?g(i?b)?\s*)", std::regex::icase);
  static const SizedCards cards;
  std::cmatch found;
  if (text.size() > 32 ||
      !std::regex_match(text.data(), text.data() + text.size(), found, amount)) {
    return nullptr;
  }
  return cards.of(std::stoll(found[1]));
}

}  // namespace

const Card* find_card(std::string_view text) {
  if (const Card* sized = card_of_size(text)) return sized;
  const std::vector<const Card*> found = cards_named(name_of(text));
  return found.size() == 1 ? found.front() : nullptr;
}

const Card& card_named(std::string_view text) {
  if (const Card* sized = card_of_size(text)) return *sized;
  const Name name = name_of(text);
  const std::vector<const Card*> found = cards_named(name);
  if (found.size() == 1) return *found.front();
  if (found.size() > 1) {
    std::vector<std::string_view> keys;
    for (const Card* card : found) keys.push_back(card->key);
    throw ConfigError(
        fmt::format("'{}' is more than one card\nwrite {}", text, fmt::join(keys, " or ")));
  }
  const std::string near = nearest_key(name.model);
  throw ConfigError(
      fmt::format("there is no card '{}' in the list\n{}"
                  "`snug cards` lists all; --card=12GiB plans for any other with that much memory",
                  text, near.empty() ? "" : fmt::format("did you mean {}?\n", near)));
}

bool is_card_of_size(const Card& card) { return card.key.ends_with("gib"); }

// In use by the process less what PyTorch had, in real messages of single-GPU runs, GiB. It grows
// with the number of multiprocessors: the ends are a family's small and large cards. Eager loading
// of kernels, the default before CUDA 12.2, takes more (PyTorch PR #86509: 287 MB lazy, 667 eager).
ContextRange cuda_context(const Card& card) {
  struct Family {
    int first_capability;
    std::int64_t low_mib, high_mib;
  };
  static constexpr Family kFamilies[] = {
      {120, 220, 630},  // bare context 0.22; RTX 5090 0.60 (TrajectoryCrafter #20), 0.61
      {90, 590, 670},   // H100 0.58, 0.65
      {89, 270, 530},   // RTX 4060 0.27 (minimind #48), RTX 6000 Ada 0.42, RTX 4090 0.51
      {86, 170, 320},   // RTX 3070 0.17 (codellama #82), A4000 0.20, RTX 3090 0.31 (litgpt #459)
      {80, 410, 510},   // A100 0.41, 0.49 (CoSeR #10)
      {75, 140, 290},   // T4 0.14, bare 0.25 to 0.28 (trl #5207); RTX 2080 Ti 0.19
      {70, 270, 390},   // V100 0.37; below that the lazy figure
      {0, 190, 320},    // TITAN X (Pascal) 0.19, P100 0.31; K80 not seen
  };
  const Family* family = kFamilies;
  while (card.compute_capability < family->first_capability) ++family;
  return {family->low_mib * kMiB, family->high_mib * kMiB};
}

// Seen in GiB: 0.27 (minimind #48), 0.29 of bare X, 0.56 with GNOME and a browser, 0.96 with a busy
// one. Half a GiB stands for a desktop with little open: the rest can be closed before a run.
std::int64_t display_bytes(const Card& card) { return card.desktop ? 512 * kMiB : 0; }

std::int64_t process_bytes(const Card& card) {
  return card.reported_mib * kMiB - display_bytes(card);
}

const Card& assumed_card() { return card_named("rtx3060"); }

}  // namespace snug::fit
