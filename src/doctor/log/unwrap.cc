#include "doctor/log/unwrap.h"

#include "doctor/log/text.h"

#include <algorithm>

namespace snug {
namespace {

using namespace log_text;

// The words of the known messages, with a blank on either side.
constexpr std::string_view kWords =
    " CUDA OutOfMemoryError RuntimeError out of memory Tried to allocate allocated already total "
    "capacity capacty which is free cached reserved in by PyTorch PyTorch process Process "
    "Including "
    "non-PyTorch this has use Of the unallocated and MiB GiB KiB bytes GPU fragmentation setting "
    "large documentation Memory Management allocations allowed backend private shared pool with "
    "but "
    "would exceed Currently Requested Device device limit according trying torch.OutOfMemoryError "
    "torch.cuda.OutOfMemoryError expandable_segments:True PYTORCH_CUDA_ALLOC_CONF "
    "max_split_size_mb ";

bool make_number(std::string_view tail, std::string_view head) {
  if (tail.empty() || head.empty()) return false;
  const auto is_numeric = [](char c) { return is_digit(c) || c == '.'; };
  if (!std::all_of(tail.begin(), tail.end(), is_numeric)) return false;
  const bool has_point = tail.find('.') != std::string_view::npos;
  const bool tail_is_whole = has_point && tail.size() - tail.find('.') > 2;
  if (head.front() == '.') return !has_point && head.size() > 1 && is_digit(head[1]);
  return is_digit(head.front()) && is_digit(tail.front()) && !tail_is_whole;
}

bool belongs_together(std::string_view before, std::string_view after) {
  const std::size_t cut = before.find_last_of(" \t(");
  const std::string_view tail = cut == std::string_view::npos ? before : before.substr(cut + 1);
  const std::string_view head = after.substr(0, after.find_first_of(" \t"));
  if (make_number(tail, head)) return true;
  const std::size_t word_end = head.find_last_not_of(".,;:)");
  if (tail.empty() || word_end == std::string_view::npos) return false;
  std::string word(" ");
  word += tail;
  word += head.substr(0, word_end + 1);
  word += ' ';
  return kWords.find(word) != std::string_view::npos;
}

}  // namespace

std::string unwrapped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    bool has_margin = false;
    while (!line.empty() && is_blank(line.front())) {
      line.remove_prefix(1);
      has_margin = true;
    }
    if (line.empty()) continue;
    const bool parted = out.empty() || is_blank(out.back());
    if (!parted && (has_margin || !belongs_together(out, line))) out += ' ';
    out += line;
  }
  while (!out.empty() && is_blank(out.back())) out.pop_back();
  return out;
}

}  // namespace snug
