#include "doctor/log/reader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "doctor/log/events.h"
#include "doctor/log/facts.h"
#include "doctor/log/fold.h"
#include "doctor/log/lines.h"
#include "doctor/log/phrase_automaton.h"
#include "doctor/log/phrase_table.h"
#include "doctor/log/prefix.h"
#include "doctor/log/settings.h"
#include "doctor/log/shape.h"
#include "doctor/log/traceback.h"

namespace snug::doctor::log {
namespace {

// The automaton of the phrase table. It is made once, since that takes longer than reading a short
// log.
const PhraseAutomaton& phrase_automaton() {
  static const PhraseAutomaton kAutomaton = [] {
    std::vector<std::string_view> texts;
    for (const LogPhrase& phrase : log_phrases()) texts.push_back(phrase.text);
    return PhraseAutomaton(texts);
  }();
  return kAutomaton;
}

// A shape that may go on over some lines.
class StridedShape {
 public:
  void begin(const LogLine& line, std::size_t at) {
    text_.clear();
    line_ = line.number;
    is_open_ = true;
    append(line.text.substr(at));
  }
  void append(std::string_view text) { append_folded(text_, text.substr(0, 4 * kMaxText)); }
  bool is_open() const noexcept { return is_open_; }

  // The shape once it is complete. Gives up where no shape can be that long.
  std::optional<LogShape> finish() {
    std::optional<LogShape> shape = shape_of_strided(text_);
    if (shape) shape->line = line_;
    if (shape || text_.size() > kMaxText) is_open_ = false;
    return shape;
  }

 private:
  static constexpr std::size_t kMaxText = 400;  // folded

  std::string text_;
  std::int64_t line_ = 0;
  bool is_open_ = false;
};

class Reader {
 public:
  explicit Reader(std::istream& stream) : lines_(stream.rdbuf()) {}

  LogSummary read() {
    RawLine raw;
    while (lines_.next(raw)) read_line(prefixes_.strip(raw));
    events_.close();
    events_.store().move_into(summary_);
    summary_.byte_count = lines_.byte_count();
    summary_.line_count = lines_.line_count();
    return std::move(summary_);
  }

 private:
  struct Hit {
    const LogPhrase* phrase;
    std::size_t end;
  };

  void read_line(const LogLine& line);
  void read_traceback(const LogLine& line);
  void read_event(const Hit& hit, const LogLine& line);
  void read_evidence(const Hit& hit, const LogLine& line);
  void read_shape();

  LineSource lines_;
  PrefixStripper prefixes_;
  const PhraseAutomaton& automaton_ = phrase_automaton();
  PhraseAutomaton::State state_ = PhraseAutomaton::kStart;
  std::vector<Hit> hits_;  // of the line in hand
  LogSummary summary_;
  SettingsReader settings_{summary_.facts};
  CardReader cards_{summary_.facts};
  TracebackReader tracebacks_;
  EventCollector events_;
  StridedShape strided_;
  std::optional<LogShape> pending_shape_;  // waits for the message of its failure
  bool is_command_read_ = false;           // of the line in hand
  bool is_source_ = false;                 // the line in hand is source text in a traceback
  bool is_head_ = false;                   // it begins a traceback; IPython names the error there
};

void Reader::read_line(const LogLine& line) {
  hits_.clear();
  is_command_read_ = false;
  state_ = automaton_.feed(state_, line.text, [&](std::size_t phrase, std::size_t end) {
    // A line of noise can hold thousands; no message needs more.
    constexpr std::size_t kMaxHits = 256;
    if (hits_.size() < kMaxHits) hits_.push_back({&log_phrases()[phrase], end});
  });
  if (line.rank) {
    auto& highest = summary_.facts.highest_rank;
    highest = std::max(highest.value_or(0), *line.rank);
  }
  read_progress(line.text, summary_.facts);
  settings_.read_line(line);
  if (line.has_border) cards_.read_row(line);
  read_traceback(line);
  if (strided_.is_open()) strided_.append(line.text);
  for (const Hit& hit : hits_) {
    if (hit.phrase->role <= PhraseRole::kException) {
      if (!is_source_ && !is_head_) read_event(hit, line);
    } else {
      read_evidence(hit, line);
    }
  }
  if (strided_.is_open()) read_shape();
  events_.end_line(line);
}

void Reader::read_traceback(const LogLine& line) {
  is_source_ = is_head_ = false;
  bool has_head = false, is_unquoted_tried = false;
  for (const Hit& hit : hits_) {
    if (hit.phrase->role == PhraseRole::kTraceback) {
      events_.close();
      tracebacks_.begin(line);
      is_head_ = true;
    } else if (hit.phrase->role == PhraseRole::kFrame && !has_head) {
      // A head without quotes is sought in the whole line.
      const bool is_quoted = hit.phrase->text.ends_with('"');
      if (!is_quoted && std::exchange(is_unquoted_tried, true)) continue;
      has_head = tracebacks_.read_head(line, hit.end);
      if (has_head) events_.close();
    }
  }
  if (!has_head && !is_head_) is_source_ = tracebacks_.read_other(line);
}

void Reader::read_event(const Hit& hit, const LogLine& line) {
  if (!events_.on_phrase(*hit.phrase, line, hit.end)) return;
  // Inductor's buffer is the failing one only when the failure follows at once.
  constexpr std::int64_t kMaxShapeDistance = 12;
  const bool is_near = pending_shape_ && line.number - pending_shape_->line <= kMaxShapeDistance;
  events_.set_context({tracebacks_.take(line.rank), is_near ? pending_shape_ : std::nullopt});
  pending_shape_.reset();
}

void Reader::read_shape() {
  constexpr std::size_t kMaxShapes = 64;
  std::optional<LogShape> shape = strided_.finish();
  if (!shape) return;
  auto& shapes = summary_.facts.shapes;
  if (shapes.size() < kMaxShapes) shapes.push_back(*shape);
  pending_shape_ = std::move(shape);
}

void Reader::read_evidence(const Hit& hit, const LogLine& line) {
  // An echoed file's comments tell of other runs on other cards.
  if (settings_.is_in_echo() && hit.phrase->role >= PhraseRole::kSetting) return;
  switch (hit.phrase->role) {
    case PhraseRole::kStrided:
      strided_.begin(line, hit.end);
      break;
    case PhraseRole::kSetting:
      settings_.read_mention(line, hit.end);
      break;
    case PhraseRole::kCommand:
      if (!std::exchange(is_command_read_, true)) settings_.read_command(line);
      break;
    case PhraseRole::kAllocConf:
      settings_.read_alloc_conf(line, hit.end, events_.last_text());
      break;
    case PhraseRole::kTorch:
      read_torch_version(line.text, hit.end, summary_.facts);
      break;
    case PhraseRole::kWsl:
      summary_.facts.is_wsl = true;
      break;
    case PhraseRole::kCardName:
      cards_.read_mention(line, hit.end);
      break;
    default:
      break;
  }
}

}  // namespace

LogSummary read_log(std::istream& stream) { return Reader(stream).read(); }

LogSummary read_log_file(const std::string& path) {
  std::error_code none;
  const std::filesystem::file_status status = std::filesystem::status(path, none);
  if (!std::filesystem::exists(status)) throw LogError(LogProblem::kMissing, path);
  if (std::filesystem::is_directory(status)) throw LogError(LogProblem::kIsFolder, path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw LogError(LogProblem::kCannotRead, path);
  if (file.peek() == std::ifstream::traits_type::eof()) throw LogError(LogProblem::kEmpty, path);
  return read_log(file);
}

}  // namespace snug::doctor::log
