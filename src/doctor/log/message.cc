#include "doctor/log/message.h"

#include <algorithm>
#include <array>

#include "doctor/log/fields.h"
#include "doctor/log/fold.h"
#include "doctor/log/shape.h"
#include "doctor/log/text.h"

namespace snug::doctor::log {
namespace {

constexpr std::size_t kMaxTextBytes = 1500;

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

bool has_amounts(LogEventKind kind) {
  switch (kind) {
    case LogEventKind::kExit137:
    case LogEventKind::kBitsandbytes:
    case LogEventKind::kNotEnoughSms:
    case LogEventKind::kMatmulPrecision:
    case LogEventKind::kGradScalerDeprecated:
    case LogEventKind::kDtypeUnsupported:
    case LogEventKind::kDiskFull:
    case LogEventKind::kDeviceAssert:
    case LogEventKind::kOtherError:
    case LogEventKind::kLlmC:
    case LogEventKind::kVllmCache:
    case LogEventKind::kCublas:
    case LogEventKind::kCudnn:
      return false;
    default:
      return true;
  }
}

// The end of the sentence that `at` stands in, but not beyond its line. The old wordings end in a
// parenthesis, and advice follows it.
std::size_t sentence_end(std::string_view text, std::size_t at, LogWording wording) {
  const bool is_closed = at > 0 && (text[at - 1] == '.' || text[at - 1] == ')');
  if (is_closed && wording != LogWording::kNone) return at;
  const std::size_t newline = std::min(text.find('\n', at), text.size());
  const bool is_old = wording == LogWording::kCached || wording == LogWording::kReserved;
  for (std::size_t end = at; end < newline; ++end) {
    if (is_old && text[end] == ')') return end + 1;
    if (text[end] == '.' && (end + 1 == newline || text[end + 1] == ' ')) return end + 1;
  }
  return newline;
}

// "CUBLAS_STATUS_ALLOC_FAILED" around the phrase that ends at `at`.
std::string status_around(std::string_view text, std::size_t at) {
  std::size_t begin = std::min(at, text.size()), end = begin;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  while (end < text.size() && is_word(text[end])) ++end;
  return std::string(text.substr(begin, end - begin));
}

// The program's own line, which Python prints under a warning.
std::string gradscaler_line(std::string_view text) {
  constexpr std::string_view kCall = "torch.cuda.amp.GradScaler(";
  for (std::size_t at = text.find(kCall); at != std::string_view::npos;
       at = text.find(kCall, at + 1)) {
    if (text.substr(at + kCall.size()).starts_with("args")) continue;
    std::size_t begin = text.rfind('\n', at);
    begin = begin == std::string_view::npos ? 0 : begin + 1;
    std::string_view line = text.substr(begin, text.find('\n', at) - begin);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return std::string(line);
  }
  return {};
}

// The phrase itself names it.
std::string missing_dtype(std::string_view folded_text, std::size_t phrase_end) {
  constexpr std::size_t kReach = 28;
  folded_text = folded_text.substr(0, phrase_end);
  folded_text.remove_prefix(folded_text.size() - std::min(folded_text.size(), kReach));
  const bool is_bfloat = folded_text.find("bf16") != std::string_view::npos ||
                         folded_text.find("bfloat16") != std::string_view::npos;
  return is_bfloat ? "bfloat16" : "float16";
}

// Whether the wording would have had more.
bool is_cut(const LogEvent& event) {
  switch (event.wording) {
    case LogWording::kParenthesised:
      return true;
    case LogWording::kCached:
    case LogWording::kUnallocated:
      return !event.unallocated || !event.request;
    case LogWording::kReserved:
      return !event.reserved || !event.request;
    case LogWording::kMallocAsync:
      return !event.request || !event.capacity;
    default:
      return event.kind == LogEventKind::kCudaOutOfMemory && !event.is_corrupt;
  }
}

void read_kind(const MessageText& message, std::string_view folded_text, std::size_t phrase_end,
               LogEvent& event) {
  switch (event.kind) {
    case LogEventKind::kCublas:
    case LogEventKind::kCudnn:
      event.detail = status_around(message.text, message.phrase_end);
      break;
    case LogEventKind::kGradScalerDeprecated:
      event.detail = gradscaler_line(message.text);
      break;
    case LogEventKind::kBitsandbytes:
      if (folded_text.find("csrc/") != std::string_view::npos) event.detail = "csrc";
      break;
    case LogEventKind::kDtypeUnsupported:
      event.dtype = missing_dtype(folded_text, phrase_end);
      break;
    case LogEventKind::kTensorFlow:
    case LogEventKind::kHostAllocator:
      event.shape = shape_in_message(folded_text);
      if (event.shape) event.dtype = event.shape->dtype;
      break;
    default:
      break;
  }
}

// The end of what a message without amounts still has to say: the reason, or that the size is
// broken.
std::size_t end_of_tail(std::string_view folded_text, std::size_t phrase_end, LogEvent& event) {
  constexpr std::size_t kReach = 200;
  constexpr std::string_view kBroken = "morethan1eb", kReason = "outofmemory";
  const std::string_view rest = folded_text.substr(phrase_end, kReach);
  const std::size_t broken = rest.find(kBroken);
  event.is_corrupt = broken != std::string_view::npos && !event.request;
  if (event.is_corrupt) return phrase_end + broken + kBroken.size();
  const std::size_t reason = rest.find(kReason);
  const bool has_reason = event.kind == LogEventKind::kLlmC && reason != std::string_view::npos;
  return has_reason ? phrase_end + reason + kReason.size() : phrase_end;
}

}  // namespace

std::string_view content_of(std::string_view text) {
  text = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || !text.substr(digits).starts_with(' ')) return text;
  return text.substr(std::min(text.find_first_not_of(' ', digits), text.size()));
}

std::string_view exception_name(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && (is_word(line[end]) || line[end] == '.')) ++end;
  const std::string_view name = line.substr(0, end);
  if (name.empty() || is_digit(name.front())) return {};
  if (name == "Error") return {};  // what anyone writes before any message
  if (end < line.size() && line[end] != ':' && line.substr(end, 2) != " (") return {};
  for (const std::string_view tail :
       {"Error", "Exception", "Interrupt", "Exit", "Failed", "Resources"}) {
    if (name.ends_with(tail)) return name;
  }
  return {};
}

LogEvent read_message(const MessageText& message) {
  LogEvent event;
  event.kind = message.kind;
  const FoldedText folded_text(message.text);
  const std::size_t phrase_end = folded_text.position_of(message.phrase_end);
  std::size_t end = phrase_end;
  if (has_amounts(event.kind)) end = read_fields(folded_text.text, 0, phrase_end, event);
  end = std::max(end, end_of_tail(folded_text.text, phrase_end, event));
  const bool is_pytorch = event.wording != LogWording::kNone;
  if (event.kind == LogEventKind::kUnspecifiedOutOfMemory && is_pytorch) {
    event.kind = LogEventKind::kCudaOutOfMemory;
  }
  read_kind(message, folded_text.text, phrase_end, event);
  event.is_cut = is_cut(event);
  event.has_expandable_segments =
      folded_text.text.find("expandablesegmentsisenabled") != std::string_view::npos;

  std::size_t text_end = message.phrase_end;
  if (end > phrase_end) text_end = folded_text.origin[end - 1] + 1;
  text_end = has_amounts(event.kind) ? sentence_end(message.text, text_end, event.wording)
                                     : std::min(message.text.find('\n', text_end), kMaxTextBytes);
  event.text = unwrapped(content_of(message.text.substr(0, std::min(text_end, kMaxTextBytes))));
  event.exception = exception_name(event.text);
  return event;
}

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

}  // namespace snug::doctor::log
