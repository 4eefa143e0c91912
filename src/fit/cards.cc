#include "fit/cards.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <regex>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "config/nearest.h"

namespace snug {
namespace {

struct Row {
  std::string_view key, name;
  std::int64_t memory_gib, reported_mib;
  double tensor, fp32, bandwidth;  // tensor: fp16 with fp32 sums, dense; 0: no tensor cores
  int capability;
};

// Rates: fp32 is 2 * lanes * boost clock of the reference card. Tensor cores do 2 times that on
// GeForce 30 to 50 and 4 on 20; on cards for work 4 (L40, A10G: 2), 8 on Volta and Turing, 16 on
// A100, as NVIDIA's sheets have it.
// Reported memory: the least published for the card by name under Linux, in out-of-memory messages
// or by llama.cpp ("VRAM: 11906 MiB"); of GiB with two decimals the lower end. New drivers keep
// 0.13 GiB more than old ones; Windows and WSL report what is sold. "~": not found, so that of a
// sibling with the same memory, or an old driver's less 0.13 GiB. Data-centre cards with GDDR have
// ECC on, workstation cards off: with it RTX 6000 Ada reports 45,490.
// clang-format off
constexpr Row kDesktopRows[] = {
    // key             name                        GiB  rep.MiB tensor    fp32   GB/s  cc
    // Pascal and Volta
    {"gtx1060",        "GeForce GTX 1060 6GB",       6,   6063,     0,   4.37, 192.2,  61},
    {"gtx1070",        "GeForce GTX 1070",           8,   8104,     0,   6.46, 256.3,  61},
    {"gtx1080",        "GeForce GTX 1080",           8,   8098,     0,   8.87, 320.3,  61},
    {"gtx1080ti",      "GeForce GTX 1080 Ti",       11,  11156,     0,  11.34, 484.4,  61},
    {"titanxpascal",   "TITAN X (Pascal)",          12,  12180,     0,  10.97, 480.4,  61},
    {"titanv",         "TITAN V",                   12,  12057, 110.0,  14.90, 652.8,  70},
    // Turing; RTX 2070, 2080 and 2080 Ti as Founders Editions
    {"gtx1650",        "GeForce GTX 1650",           4,   3712,     0,   2.98, 128.1,  75},
    {"gtx1660",        "GeForce GTX 1660",           6,   5749,     0,   5.03, 192.1,  75},
    {"gtx1660super",   "GeForce GTX 1660 SUPER",     6,   5747,     0,   5.03, 336.0,  75},  // ~
    {"gtx1660ti",      "GeForce GTX 1660 Ti",        6,   5747,     0,   5.44, 288.0,  75},
    {"rtx2060",        "GeForce RTX 2060",           6,   5739,  25.8,   6.45, 336.0,  75},
    {"rtx2060super",   "GeForce RTX 2060 SUPER",     8,   7770,  28.7,   7.18, 448.0,  75},  // ~
    {"rtx2060-12gb",   "GeForce RTX 2060 12GB",     12,  11833,  28.7,   7.18, 336.0,  75},
    {"rtx2070",        "GeForce RTX 2070",           8,   7770,  31.5,   7.88, 448.0,  75},  // ~
    {"rtx2070super",   "GeForce RTX 2070 SUPER",     8,   7770,  36.2,   9.06, 448.0,  75},  // ~
    {"rtx2080",        "GeForce RTX 2080",           8,   7770,  42.4,  10.60, 448.0,  75},  // ~
    {"rtx2080super",   "GeForce RTX 2080 SUPER",     8,   7770,  44.6,  11.15, 495.9,  75},  // ~
    {"rtx2080ti",      "GeForce RTX 2080 Ti",       11,  10818,  56.9,  14.23, 616.0,  75},
    // Ampere
    {"rtx3050-6gb",    "GeForce RTX 3050 6GB",       6,   5803,  13.5,   6.77, 168.0,  86},
    {"rtx3050",        "GeForce RTX 3050",           8,   7819,  18.2,   9.10, 224.0,  86},  // ~
    {"rtx3060-8gb",    "GeForce RTX 3060 8GB",       8,   7819,  25.5,  12.74, 240.0,  86},  // ~
    {"rtx3060",        "GeForce RTX 3060",          12,  11906,  25.5,  12.74, 360.0,  86},
    {"rtx3060ti",      "GeForce RTX 3060 Ti",        8,   7819,  32.4,  16.20, 448.0,  86},  // ~
    {"rtx3070",        "GeForce RTX 3070",           8,   7819,  40.6,  20.31, 448.0,  86},
    {"rtx3070ti",      "GeForce RTX 3070 Ti",        8,   7840,  43.5,  21.75, 608.3,  86},
    {"rtx3080",        "GeForce RTX 3080",          10,   9845,  59.5,  29.77, 760.3,  86},
    {"rtx3080-12gb",   "GeForce RTX 3080 12GB",     12,  11900,  61.3,  30.64, 912.4,  86},  // ~
    {"rtx3080ti",      "GeForce RTX 3080 Ti",       12,  11900,  68.2,  34.10, 912.4,  86},  // ~
    {"rtx3090",        "GeForce RTX 3090",          24,  24121,  71.2,  35.58, 936.2,  86},
    {"rtx3090ti",      "GeForce RTX 3090 Ti",       24,  24112,  80.0,  40.00,  1008,  86},
    // Ada
    {"rtx4060",        "GeForce RTX 4060",           8,   7828,  30.2,  15.11, 272.0,  89},
    {"rtx4060ti",      "GeForce RTX 4060 Ti",        8,   7828,  44.1,  22.06, 288.0,  89},  // ~
    {"rtx4060ti-16gb", "GeForce RTX 4060 Ti 16GB",  16,  15938,  44.1,  22.06, 288.0,  89},
    {"rtx4070",        "GeForce RTX 4070",          12,  11866,  58.3,  29.15, 504.2,  89},
    {"rtx4070super",   "GeForce RTX 4070 SUPER",    12,  11866,  71.0,  35.48, 504.2,  89},  // ~
    {"rtx4070ti",      "GeForce RTX 4070 Ti",       12,  11866,  80.2,  40.09, 504.2,  89},  // ~
    {"rtx4070tisuper", "GeForce RTX 4070 Ti SUPER", 16,  15937,  88.2,  44.10, 672.3,  89},  // ~
    {"rtx4080",        "GeForce RTX 4080",          16,  15937,  97.5,  48.74, 716.8,  89},  // ~
    {"rtx4080super",   "GeForce RTX 4080 SUPER",    16,  15937, 104.4,  52.22, 736.3,  89},
    {"rtx4090",        "GeForce RTX 4090",          24,  24073, 165.2,  82.58,  1008,  89},
    // Blackwell
    {"rtx5050",        "GeForce RTX 5050",           8,   7695,  26.3,  13.17, 320.0, 120},  // ~
    {"rtx5060",        "GeForce RTX 5060",           8,   7695,  38.4,  19.18, 448.0, 120},
    {"rtx5060ti",      "GeForce RTX 5060 Ti",        8,   7695,  47.4,  23.70, 448.0, 120},  // ~
    {"rtx5060ti-16gb", "GeForce RTX 5060 Ti 16GB",  16,  15825,  47.4,  23.70, 448.0, 120},
    {"rtx5070",        "GeForce RTX 5070",          12,  11760,  61.7,  30.87, 672.0, 120},
    {"rtx5070ti",      "GeForce RTX 5070 Ti",       16,  15808,  87.9,  43.94, 896.0, 120},
    {"rtx5080",        "GeForce RTX 5080",          16,  15880, 112.6,  56.28, 960.0, 120},
    {"rtx5090",        "GeForce RTX 5090",          32,  32109, 209.5, 104.75,  1792, 120},
    // Workstations
    {"rtxa2000",       "RTX A2000",                  6,   5800,  31.9,   7.99, 288.0,  86},  // ~
    {"rtxa2000-12gb",  "RTX A2000 12GB",            12,  11900,  31.9,   7.99, 288.0,  86},  // ~
    {"rtxa4000",       "RTX A4000",                 16,  15979,  76.7,  19.17, 448.0,  86},
    {"rtxa5000",       "RTX A5000",                 24,  24110, 111.1,  27.77, 768.0,  86},  // ~
    {"rtxa6000",       "RTX A6000",                 48,  48540, 154.8,  38.71, 768.0,  86},  // ~
    {"rtx4000ada",     "RTX 4000 Ada Generation",   20,  20040, 106.9,  26.73, 360.0,  89},  // ~
    {"rtx6000ada",     "RTX 6000 Ada Generation",   48,  48500, 364.2,  91.06, 960.0,  89},  // ~
    {"rtxpro6000",     "RTX PRO 6000 Blackwell",    96,  97247, 503.8, 125.95,  1792, 120},
};
// K80: one of its two GPUs. V100, A100 80GB: the SXM boards. A10G: what AWS has for an A10.
constexpr Row kServerRows[] = {
    {"k80",            "Tesla K80",                 12,  11432,     0,   4.37, 240.6,  37},
    {"p40",            "Tesla P40",                 24,  22912,     0,  11.76, 346.0,  61},  // ~
    {"p100",           "Tesla P100",                16,  16266,     0,   9.34, 732.2,  60},
    {"v100-16gb",      "Tesla V100 16GB",           16,  16153, 125.0,  15.67, 900.0,  70},
    {"v100-32gb",      "Tesla V100 32GB",           32,  32494, 125.0,  15.67, 900.0,  70},
    {"t4",             "Tesla T4",                  16,  14912,  65.1,   8.14, 320.0,  75},
    {"a10",            "A10",                       24,  22584, 125.0,  31.24, 600.2,  86},  // ~
    {"a10g",           "A10G",                      24,  22584,  70.0,  35.02, 600.2,  86},
    {"a30",            "A30",                       24,  24089, 165.0,  10.32, 933.1,  80},
    {"a40",            "A40",                       48,  45480, 149.7,  37.42, 695.8,  86},
    {"a100-40gb",      "A100 40GB",                 40,  40320, 312.0,  19.49,  1555,  80},
    {"a100-80gb",      "A100 80GB",                 80,  81034, 312.0,  19.49,  2039,  80},
    {"l4",             "L4",                        24,  22553, 121.0,  30.29, 300.1,  89},
    {"l40",            "L40",                       48,  45460, 181.0,  90.52, 864.0,  89},
    {"l40s",           "L40S",                      48,  45450, 362.0,  91.61, 864.0,  89},
    {"h100-pcie",      "H100 PCIe",                 80,  80993, 756.0,  51.22,  2039,  90},
    {"h100-sxm",       "H100 SXM",                  80,  80993, 989.4,  66.91,  3352,  90},
    {"h200",           "H200",                     141, 143068, 989.4,  66.91,  4800,  90},
};
// clang-format on

constexpr Card card_of(const Row& row, bool desktop) {
  const double fp16 = row.tensor > 0 ? row.tensor : row.fp32;
  const double bf16 = row.capability < 80 ? 0 : fp16;
  return {row.key, row.name, row.memory_gib * 1024, row.reported_mib, bf16,
          fp16,    row.fp32, row.bandwidth,         row.capability,   desktop};
}

constexpr auto kCards = [] {
  std::array<Card, std::size(kDesktopRows) + std::size(kServerRows)> cards{};
  std::size_t count = 0;
  for (const Row& row : kDesktopRows) cards[count++] = card_of(row, true);
  for (const Row& row : kServerRows) cards[count++] = card_of(row, false);
  return cards;
}();

// What a name says: "NVIDIA A100-SXM4-80GB" is model "a100", form "sxm", 80 GiB.
struct Name {
  std::string model;
  std::string_view form;        // "pcie", "sxm"; empty: not said
  std::int64_t memory_gib = 0;  // 0: not said
};

Name name_of(std::string_view text) {
  static const std::regex memory(R"(\b([0-9]{1,4})[ -]?(gib|gb|g)\b)");
  static const std::regex sxm(R"(\b(sxm[0-9]?|hbm3)\b)");  // the driver's "H100 80GB HBM3"
  static const std::regex pcie(R"(\bpcie\b)");
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
  for (const std::regex* said : {&memory, &sxm, &pcie, &silent}) {
    rest = std::regex_replace(rest, *said, "");
  }
  name.model = rest;
  return name;
}

bool is_named(const Card& card, const Name& name) {
  const std::string_view model = card.key.substr(0, card.key.find('-'));
  const bool has_form = card.key.ends_with("-pcie") || card.key.ends_with("-sxm");
  if (has_form && !card.key.ends_with(name.form)) return false;
  if (name.memory_gib != 0 && name.memory_gib != card.memory_mib / 1024) return false;
  const std::string in_one_word = fmt::format("{}{}gb", model, card.memory_mib / 1024);
  for (const std::string_view brand : {"", "rtx", "gtx"}) {
    const std::string full = fmt::format("{}{}", brand, name.model);
    if (full == model || full == in_one_word) return true;
  }
  return false;
}

// Several only where no variant is the usual one.
std::vector<const Card*> cards_named(const Name& name) {
  std::vector<const Card*> found;
  for (const Card& card : kCards) {
    if (!is_named(card, name)) continue;
    if (card.key.find('-') == std::string_view::npos) return {&card};
    found.push_back(&card);
  }
  return found;
}

std::string nearest_key(const std::string& model) {
  std::vector<std::string> keys;
  keys.reserve(kCards.size());
  for (const Card& card : kCards) keys.emplace_back(card.key);
  const bool bare = !model.empty() && model[0] >= '0' && model[0] <= '9';  // "3061"
  const std::string word = bare ? "rtx" + model : model;
  return nearest_word(word, keys, suggestion_reach(word));
}

}  // namespace

std::span<const Card> all_cards() { return kCards; }

const Card* find_card(std::string_view text) {
  const std::vector<const Card*> found = cards_named(name_of(text));
  return found.size() == 1 ? found.front() : nullptr;
}

const Card& card_named(std::string_view text) {
  const Name name = name_of(text);
  const std::vector<const Card*> found = cards_named(name);
  if (found.size() == 1) return *found.front();
  if (found.size() > 1) {  // of H100 and the like, two
    throw ConfigError(fmt::format("'{}' is more than one card\nwrite {} or {}", text,
                                  found.front()->key, found.back()->key));
  }
  const std::string near = nearest_key(name.model);
  throw ConfigError(
      fmt::format("there is no card '{}' in the list\n{}"
                  "`snug cards` lists all; --memory_budget=12GiB plans for any other",
                  text, near.empty() ? "" : fmt::format("did you mean {}?\n", near)));
}

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

}  // namespace snug
