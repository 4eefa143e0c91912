#include "doctor/log/fields.h"

#include <algorithm>
#include <array>

#include "doctor/log/amount.h"
#include "doctor/log/text.h"

namespace snug::doctor::log {
namespace {

using AmountField = std::optional<LogAmount> LogEvent::*;

struct Label {
  std::string_view words;  // folded
  AmountField field;
  UnitRule unit = UnitRule::kRequired;
  LogWording wording = LogWording::kNone;  // what the words tell of the wording
};

// Words right before an amount. Where one ends in another the longer comes first.
constexpr std::array<Label, 29> kBefore{{
    {"triedtoallocate", &LogEvent::request},
    {"tryingtoallocate", &LogEvent::request},
    {"unabletoallocate", &LogEvent::request},
    {"failedtoallocate", &LogEvent::request},
    {"cudacalloc", &LogEvent::request},
    {"cudahostcalloc", &LogEvent::request},
    {"failedtoalloc", &LogEvent::request},
    {"invalidbuffersize:", &LogEvent::request, UnitRule::kRequired, LogWording::kMps},
    {"allocating", &LogEvent::request},
    {"requested:", &LogEvent::request, UnitRule::kRequired, LogWording::kMallocAsync},
    {"required:", &LogEvent::request, UnitRule::kBytesIfAbsent},
    {"hardwarelimit:", &LogEvent::limit, UnitRule::kBytesIfAbsent},
    {"totalcapacityof", &LogEvent::capacity, UnitRule::kRequired, LogWording::kUnallocated},
    {"totalcapactyof", &LogEvent::capacity, UnitRule::kRequired, LogWording::kUnallocated},
    {"devicelimit:", &LogEvent::capacity, UnitRule::kRequired, LogWording::kMallocAsync},
    {"ofwhich", &LogEvent::free},
    {"free(accordingtocuda):", &LogEvent::free},
    {"free:", &LogEvent::free, UnitRule::kBytesIfAbsent},
    {"total:", &LogEvent::capacity, UnitRule::kBytesIfAbsent},
    {"thisprocesshas", &LogEvent::process_in_use},
    {"oftheallocatedmemory", &LogEvent::allocated, UnitRule::kRequired, LogWording::kUnallocated},
    {"currentlyallocated:", &LogEvent::allocated, UnitRule::kRequired, LogWording::kMallocAsync},
    {"memoryfraction):", &LogEvent::limit},
    {"mpsallocated:", &LogEvent::allocated, UnitRule::kRequired, LogWording::kMps},
    {"maxallowed:", &LogEvent::limit, UnitRule::kRequired, LogWording::kMps},
    {"anon-rss:", &LogEvent::process_in_use},
    {"capacity:", &LogEvent::capacity},
    {"allocated:", &LogEvent::allocated},
    {"reserved:", &LogEvent::reserved},
}};

// Words right after an amount. Where one begins another the longer comes first. Some are shorter
// than the message has them, because a paste may end in the middle of a word.
constexpr std::array<Label, 16> kAfter{{
    {"totalcapac", &LogEvent::capacity, UnitRule::kRequired, LogWording::kParenthesised},
    {"alreadyalloc", &LogEvent::allocated, UnitRule::kRequired, LogWording::kParenthesised},
    {"isfree", &LogEvent::free},
    {"free", &LogEvent::free},
    {"allowed", &LogEvent::limit},
    {"cached", &LogEvent::unallocated, UnitRule::kRequired, LogWording::kCached},
    {"reservedintotal", &LogEvent::reserved, UnitRule::kRequired, LogWording::kReserved},
    {"isallocatedbypyt", &LogEvent::allocated, UnitRule::kRequired, LogWording::kUnallocated},
    {"allocatedbypyt", &LogEvent::allocated, UnitRule::kRequired, LogWording::kUnallocated},
    {"isreservedbypyt", &LogEvent::unallocated, UnitRule::kRequired, LogWording::kUnallocated},
    {"reservedbypytorchbut", &LogEvent::unallocated, UnitRule::kRequired, LogWording::kUnallocated},
    {"reservedbutunalloc", &LogEvent::unallocated, UnitRule::kRequired, LogWording::kUnallocated},
    {"inusebythisproc", &LogEvent::process_in_use},
    {"total,", &LogEvent::capacity},
    {"totalmemory", &LogEvent::capacity},
    {"total;", &LogEvent::capacity},
}};

// Within a message no two amounts are further apart than this in folded characters (the longest
// stretch is "PyTorch limit (set by user-supplied memory fraction)"); after it, any is unrelated.
constexpr std::size_t kMaxGap = 110;

class FieldReader {
 public:
  FieldReader(std::string_view text, LogEvent& event) : text_(text), event_(event) {}

  std::size_t read(std::size_t from, std::size_t phrase_end) {
    last_ = phrase_end;
    for (std::size_t at = from; at < text_.size() && at <= last_ + kMaxGap;) {
      const bool starts = is_digit(text_[at]) && (at == 0 || !continues_number(at));
      if (!starts) {
        ++at;
        continue;
      }
      const std::size_t end = read_at(at);
      if (end == kStop) break;
      at = end;
    }
    return last_;
  }

 private:
  static constexpr std::size_t kStop = std::string_view::npos;

  bool continues_number(std::size_t at) const {
    const char before = text_[at - 1];
    return is_digit(before) || (before == '.' && at >= 2 && is_digit(text_[at - 2]));
  }
  bool before_is(std::size_t at, std::string_view words) const {
    return text_.substr(0, at).ends_with(words);
  }
  bool after_is(std::size_t at, std::string_view words) const {
    return text_.substr(std::min(at, text_.size())).starts_with(words);
  }
  std::size_t end_of_digits(std::size_t at) const {
    while (at < text_.size() && is_digit(text_[at])) ++at;
    return at;
  }

  const Label* label_before(std::size_t at) const {
    const auto found = std::find_if(kBefore.begin(), kBefore.end(),
                                    [&](const Label& l) { return before_is(at, l.words); });
    return found == kBefore.end() ? nullptr : &*found;
  }
  const Label* label_after(std::size_t at) const {
    const auto found = std::find_if(kAfter.begin(), kAfter.end(),
                                    [&](const Label& l) { return after_is(at, l.words); });
    return found == kAfter.end() ? nullptr : &*found;
  }

  // Reads what the number at `at` is; returns the position after it, or kStop at the message's
  // end.
  std::size_t read_at(std::size_t at) {
    const Label* before = label_before(at);
    const UnitRule rule = before != nullptr ? before->unit : UnitRule::kRequired;
    const std::optional<ParsedAmount> parsed = parse_amount(text_, at, rule);
    if (!parsed) return read_index(at);
    if (pid_end_ == at) return add_process(*parsed);
    const Label* label = before != nullptr ? before : label_after(parsed->end);
    if (label == nullptr) return parsed->end;
    if ((event_.*(label->field)).has_value()) return repeated(*label, *parsed);
    event_.*(label->field) = parsed->amount;
    note_wording(label->wording);
    if (label->field == &LogEvent::request) note_request_end(parsed->end);
    last_ = parsed->end + tail_length(parsed->end);
    return exact_beside(*label, *parsed);
  }

  // How much of the words that close a statement follows; they may be wrapped or cut.
  std::size_t tail_length(std::size_t at) const {
    const std::string_view rest = text_.substr(at);
    for (const std::string_view tail :
         {"totalcapacity;", "alreadyallocated;", "free;", "cached)", "reservedintotalbypytorch)",
          "isfree.", "memoryinuse.", "isallocatedbypytorch,", "isreservedbypytorchbutunallocated.",
          "onprivatepool.", "onsharedpool.", "inusebythisprocess."}) {
      const auto end = std::mismatch(tail.begin(), tail.end(), rest.begin(), rest.end()).first;
      const auto length = static_cast<std::size_t>(end - tail.begin());
      const bool is_cut = length > 0 && length == rest.size();
      if (length >= tail.size() - 1 || is_cut) return length;
    }
    return 0;
  }

  // The parenthesis opens alike in both old wordings; its last word tells them apart.
  void note_wording(LogWording wording) {
    const bool is_open =
        event_.wording == LogWording::kNone || event_.wording == LogWording::kParenthesised;
    if (is_open && wording != LogWording::kNone) event_.wording = wording;
  }

  // "Tried to allocate 6.14 GiB (GPU 0; ..." until 2.0, "Tried to allocate 6.14 GiB. GPU 0 ..."
  // after.
  void note_request_end(std::size_t end) {
    if (event_.kind <= LogEventKind::kXpuOutOfMemory && after_is(end, ".")) {
      note_wording(LogWording::kUnallocated);
    } else if (after_is(end, "(gpu")) {
      note_wording(LogWording::kParenthesised);
    }
  }

  // "3.95G (4240965632 bytes)": the bytes are better.
  std::size_t exact_beside(const Label& label, const ParsedAmount& parsed) {
    const std::size_t inner = parsed.end + 1;
    if (!after_is(parsed.end, "(") || inner >= text_.size() || !is_digit(text_[inner])) {
      return parsed.end;
    }
    const std::optional<ParsedAmount> exact = parse_amount(text_, inner, UnitRule::kRequired);
    if (!exact || !exact->amount || !exact->amount->is_exact()) return parsed.end;
    event_.*(label.field) = exact->amount;
    return exact->end;
  }

  // A second request or capacity belongs to the next message.
  std::size_t repeated(const Label& label, const ParsedAmount& parsed) const {
    const bool is_next = label.field == &LogEvent::request || label.field == &LogEvent::capacity;
    return is_next ? kStop : parsed.end;
  }

  std::size_t add_process(const ParsedAmount& parsed) {
    // A card has at most a few hundred clients; past this the list only wastes memory.
    constexpr std::size_t kMaxProcesses = 256;
    if (event_.processes.size() < kMaxProcesses) event_.processes.push_back({pid_, parsed.amount});
    last_ = parsed.end;
    return parsed.end;
  }

  // A number without a unit: a device, or a process and its "has".
  std::size_t read_index(std::size_t at) {
    std::size_t end = end_of_digits(at);
    std::size_t position = at;
    const std::optional<std::int64_t> number = parse_count(text_.substr(0, end), position);
    if (!number) return end;
    if (before_is(at, "killedprocess")) {
      last_ = end;  // amounts follow
    } else if (before_is(at, "process") && after_is(end, "has")) {
      pid_ = *number;
      pid_end_ = end + 3;
    } else if (*number < 1024 && !event_.device && is_device(at, end)) {
      event_.device = static_cast<int>(*number);
    }
    return end;
  }

  bool is_device(std::size_t at, std::size_t end) const {
    if (before_is(at, "ondevice") || before_is(at, "cuda:") || before_is(at, "gpu:")) return true;
    const bool is_unit = before_is(at, "gpu") || before_is(at, "npu") || before_is(at, "musa");
    return is_unit && (after_is(end, ";") || after_is(end, "has"));
  }

  std::string_view text_;
  LogEvent& event_;
  std::size_t last_ = 0;
  std::int64_t pid_ = 0;
  std::size_t pid_end_ = kStop;  // where the amount of "Process 12 has" must stand
};

}  // namespace

std::size_t read_fields(std::string_view text, std::size_t from, std::size_t phrase_end,
                        LogEvent& event) {
  return FieldReader(text, event).read(from, phrase_end);
}

}  // namespace snug::doctor::log
