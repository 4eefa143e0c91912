#include "doctor/log/events.h"

#include <algorithm>

#include "doctor/log/fold.h"
#include "doctor/log/message.h"
#include "doctor/log/text.h"

namespace snug::doctor::log {
namespace {

// A message goes on while a further phrase of it comes within this many bytes and lines. The
// longest stretch without one, cudaMallocAsync's table, takes 300 bytes; a box doubles it.
constexpr std::size_t kMaxSilentBytes = 700;
constexpr std::int64_t kMaxSilentLines = 16;
// After the name of an exception its subject comes sooner.
constexpr std::size_t kMaxBareBytes = 160;
constexpr std::int64_t kMaxBareLines = 8;
// With hundreds of processes listed a message has some 10 KiB.
constexpr std::size_t kMaxWindowBytes = 16 << 10;
// This much of an overlong line is kept before the phrase.
constexpr std::size_t kMaxLeadBytes = 300;
constexpr std::size_t kMaxHistoryBytes = 300;
// Two phrases of one kind this close are one failure said twice.
constexpr std::size_t kMaxEchoBytes = 120;

bool contains(const std::vector<const LogPhrase*>& phrases, const LogPhrase* phrase) {
  return std::find(phrases.begin(), phrases.end(), phrase) != phrases.end();
}

// Exceptions that only report another one, of a child process or a thread.
bool is_secondary(std::string_view name, std::string_view text) {
  if (text.find("Caught ") < name.size() + 4) return true;
  for (const std::string_view tail : {"ChildFailedError", "ChildFailed", "ProcessRaisedException",
                                      "ProcessExitedException", "CalledProcessError"}) {
    if (name.ends_with(tail)) return true;
  }
  return false;
}

// "Killed" as shells print it: alone, or after a job or process number and before the command.
bool is_killed_line(std::string_view text, std::size_t end) {
  constexpr std::string_view kWord = "Killed";
  const std::string_view word =
      end < kWord.size() ? "" : text.substr(end - kWord.size(), kWord.size());
  if (word != kWord && word != "killed") return false;
  std::string_view before = text.substr(0, end - kWord.size());
  const std::string_view after = text.substr(end);
  while (before.ends_with(' ')) before.remove_suffix(1);
  const bool follows_number = !before.empty() && before.back() >= '0' && before.back() <= '9';
  const bool follows_job = before.ends_with(']') || before.ends_with('+') || before.ends_with(':');
  if (!before.empty() && !follows_number && !follows_job) return false;
  return is_blank(after) || after.starts_with("  ") || after.starts_with(": 9");
}

// Where the phrase begins in the line, or nothing when it began in the line before.
std::optional<std::size_t> phrase_begin(std::string_view text, std::size_t end,
                                        std::size_t length) {
  while (end > 0 && length > 0) {
    if (fold(text[--end]) != '\0') --length;
  }
  return length == 0 ? std::optional(end) : std::nullopt;
}

// Warnings and the kernel's words come in the middle of a traceback or apart from any.
bool ends_traceback(LogEventKind kind) {
  switch (kind) {
    case LogEventKind::kAllocatorWarning:
    case LogEventKind::kNccl:
    case LogEventKind::kKilledByKernel:
    case LogEventKind::kExit137:
    case LogEventKind::kNotEnoughSms:
    case LogEventKind::kMatmulPrecision:
    case LogEventKind::kGradScalerDeprecated:
    case LogEventKind::kDtypeUnsupported:
      return false;
    default:
      return true;
  }
}

bool holds(const MessageText& message, PhraseCheck check) {
  // Within this many folded characters after the phrase.
  constexpr std::size_t kReach = 200;
  const std::string_view rest = message.text.substr(message.phrase_end);
  const std::string after = fold_text(rest).substr(0, kReach);
  switch (check) {
    case PhraseCheck::kOutOfMemoryFollows:
      return after.find("outofmemory") != std::string::npos;
    case PhraseCheck::kDeprecatedFollows:
      return after.find("deprecated") < 40;
    case PhraseCheck::kAllocatorFollows:
      return after.find("cachingallocator") != std::string::npos;
    case PhraseCheck::kNoDigitFollows:
      return after.empty() || after[0] < '0' || after[0] > '9' || rest.starts_with('\n');
    case PhraseCheck::kStartsException:
      return exception_name(content_of(message.text.substr(0, message.text.find('\n'))))
          .ends_with("MemoryError");
    case PhraseCheck::kNone:
      return true;
  }
  return true;
}

}  // namespace

void EventCollector::append(std::string_view text) {
  const std::size_t room = kMaxWindowBytes - std::min(kMaxWindowBytes, window_->text.size());
  window_->text += text.substr(0, room);
}

bool EventCollector::is_live(const LogLine& line, std::size_t position) const {
  if (!window_) return false;
  if (window_->rank && line.rank && window_->rank != line.rank) return false;
  const bool is_bare = window_->kind == LogEventKind::kOtherError;
  const std::int64_t lines = line.number - window_->last_line;
  return lines <= (is_bare ? kMaxBareLines : kMaxSilentLines) &&
         position <= window_->last_phrase + (is_bare ? kMaxBareBytes : kMaxSilentBytes);
}

void EventCollector::open(LogEventKind kind, const LogPhrase* phrase, const LogLine& line,
                          std::size_t end) {
  const std::size_t length = phrase == nullptr ? 0 : phrase->text.size();
  const std::optional<std::size_t> begin = phrase_begin(line.text, end, length);
  const bool ends_another = window_ && window_->last_line == line.number;
  if (ends_another && begin) {
    append(line.text.substr(line_begin_, std::max(*begin, line_begin_) - line_begin_));
    line_begin_ = std::max(*begin, line_begin_);
  }
  close();
  if (!ends_another && begin.value_or(0) > kMaxLeadBytes) line_begin_ = *begin - kMaxLeadBytes;
  window_ = Window();
  window_->kind = kind;
  window_->phrase = phrase;
  window_->has_exception = phrase == nullptr;
  window_->rank = line.rank;
  window_->line = window_->last_line = line.number;
  if (!begin && !last_text_.empty()) {
    window_->text = last_text_ + '\n';
    window_->line = last_number_;
  }
  window_->phrase_end = window_->last_phrase = text_offset(end);
}

// Whether a phrase that names a kind belongs to the message that is open.
bool EventCollector::is_of_window(const LogPhrase& phrase, const LogLine& line,
                                  std::size_t position) const {
  const bool is_vague = window_->kind == LogEventKind::kUnspecifiedOutOfMemory;
  // Prose about memory, and then a message on a line of its own.
  if (is_vague && !window_->has_exception && window_->last_line != line.number) return false;
  // An exception, and then a warning or a word of the shell on a line of its own.
  const bool is_bare = window_->kind == LogEventKind::kOtherError;
  if (is_bare && !ends_traceback(phrase.kind) && window_->last_line != line.number) return false;
  if (is_vague || is_bare) return window_->parts.empty();
  const bool repeats = window_->phrase == &phrase && !window_->parts.empty();
  // Python prints the program's own call under its warning about it.
  const bool is_warning = phrase.check == PhraseCheck::kDeprecatedFollows;
  const bool is_near =
      position <= window_->last_phrase + (is_warning ? kMaxSilentBytes : kMaxEchoBytes);
  return window_->kind == phrase.kind && is_near && !repeats;
}

// "out of memory" once more in the same message, or at the head of the next.
bool EventCollector::is_weak_echo(const LogPhrase& phrase, const LogLine& line,
                                  std::size_t end) const {
  const bool is_vague = window_->kind == LogEventKind::kOtherError ||
                        window_->kind == LogEventKind::kUnspecifiedOutOfMemory;
  const bool is_awaited =
      window_->phrase != nullptr && window_->phrase->check == PhraseCheck::kOutOfMemoryFollows;
  const bool began_before = !phrase_begin(line.text, end, phrase.text.size());
  const bool is_same_line = window_->last_line == line.number;
  const bool may_echo = (is_vague && window_->has_exception) || is_awaited || began_before;
  return window_->parts.empty() && (may_echo || is_same_line);
}

// A further phrase of the message that is open. False when there is none, or it is of another.
bool EventCollector::refine(const LogPhrase& phrase, const LogLine& line, std::size_t end) {
  if (!window_ || !is_live(line, text_offset(end))) return false;
  const bool is_bare = window_->kind == LogEventKind::kOtherError;
  bool gives_kind = is_bare;
  switch (phrase.role) {
    case PhraseRole::kPart:
      if (contains(window_->parts, &phrase)) return false;
      window_->parts.push_back(&phrase);
      break;
    case PhraseRole::kWeak:
      if (!is_weak_echo(phrase, line, end)) return false;
      break;
    case PhraseRole::kMore:
      gives_kind = false;
      break;
    default:
      if (!is_of_window(phrase, line, text_offset(end))) return false;
      gives_kind = is_bare || window_->kind == LogEventKind::kUnspecifiedOutOfMemory;
  }
  if (gives_kind) {
    window_->kind = phrase.kind;
    window_->phrase = &phrase;
    window_->phrase_end = text_offset(end);
  }
  window_->last_phrase = text_offset(end);
  window_->last_line = line.number;
  return true;
}

bool EventCollector::on_phrase(const LogPhrase& phrase, const LogLine& line, std::size_t end) {
  if (phrase.role == PhraseRole::kKilled && !is_killed_line(line.text, end)) return false;
  bool has_opened = false;
  if (!is_exception_checked_) {
    is_exception_checked_ = true;
    const std::string_view text = content_of(line.text);
    const std::string_view name = exception_name(text);
    if (!name.empty() && !is_secondary(name, text)) {
      open(LogEventKind::kOtherError, nullptr, line, name.size());
      has_opened = true;
    }
  }
  if (phrase.role == PhraseRole::kException) return has_opened;
  if (phrase.check == PhraseCheck::kStartsException && !has_opened) return false;
  if (refine(phrase, line, end) || phrase.role == PhraseRole::kMore) return has_opened;
  const bool is_strong = phrase.role == PhraseRole::kStrong || phrase.role == PhraseRole::kKilled;
  open(is_strong ? phrase.kind : LogEventKind::kUnspecifiedOutOfMemory, &phrase, line, end);
  if (phrase.role == PhraseRole::kPart) window_->parts.push_back(&phrase);
  return ends_traceback(window_->kind);
}

void EventCollector::set_context(Context context) {
  if (window_) window_->context = std::move(context);
}

void EventCollector::end_line(const LogLine& line) {
  is_exception_checked_ = false;
  const bool is_foreign = window_ && window_->rank && line.rank && window_->rank != line.rank;
  if (window_ && !is_foreign) {
    append(line.text.substr(std::min(line_begin_, line.text.size())));
    append("\n");
    if (!is_live(line, window_->text.size())) close();
  }
  line_begin_ = 0;
  if (!line.text.empty() && (line.text.front() > ' ' || !is_blank(line.text))) {
    const std::size_t kept = std::min(line.text.size(), kMaxHistoryBytes);
    last_text_.assign(line.text.substr(line.text.size() - kept));
    last_number_ = line.number;
  }
}

void EventCollector::close() {
  if (!window_) return;
  const MessageText message{window_->kind, window_->text,
                            std::min(window_->phrase_end, window_->text.size())};
  const bool counts = window_->phrase == nullptr || holds(message, window_->phrase->check);
  LogEvent event = read_message(
      {counts ? window_->kind : LogEventKind::kOtherError, message.text, message.phrase_end});
  event.line = window_->line;
  event.rank = window_->rank;
  event.frames = std::move(window_->context.frames);
  if (!event.shape && window_->context.shape) {
    event.shape = std::move(window_->context.shape);
    event.dtype = event.shape->dtype;
  }
  if (counts || !event.exception.empty()) store_.add(std::move(event));
  window_.reset();
}

}  // namespace snug::doctor::log
