// Collects failure messages while a log streams by: opens a window where a phrase is found, gathers
// the lines that may belong to it, and reads the message when it is over.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "doctor/log/event_store.h"
#include "doctor/log/phrase_table.h"
#include "doctor/log/prefix.h"
#include "doctor/log/summary.h"

namespace snug::doctor::log {

class EventCollector {
 public:
  // What the traceback before a message gives it.
  struct Context {
    std::vector<LogFrame> frames;
    std::optional<LogShape> shape;
  };

  // A phrase of a failure message ends at `end` of the line. True when it opened a new message that
  // ends a traceback, which then gets its context through set_context().
  bool on_phrase(const LogPhrase& phrase, const LogLine& line, std::size_t end);
  void set_context(Context context);

  // After the phrases of a line: adds the line to the window.
  void end_line(const LogLine& line);

  // A traceback begins or goes on: what was open is over.
  void close();

  EventStore& store() noexcept { return store_; }

  // The end of the last line that was not blank.
  std::string_view last_text() const noexcept { return last_text_; }

 private:
  struct Window {
    LogEventKind kind = LogEventKind::kOtherError;
    const LogPhrase* phrase = nullptr;  // that gave the kind; none for a bare exception
    bool has_exception = false;         // the line it begins with names one
    std::string text;                   // of bounded size: what comes later is left out
    std::size_t phrase_end = 0;         // in text, or beyond it where it is full
    std::size_t last_phrase = 0;        // in text, of any phrase
    std::int64_t line = 0;
    std::int64_t last_line = 0;  // with a phrase in it
    std::optional<int> rank;
    std::vector<const LogPhrase*> parts;  // each may come once
    Context context;
  };

  void append(std::string_view text);
  bool is_live(const LogLine& line, std::size_t position) const;
  bool is_of_window(const LogPhrase& phrase, const LogLine& line, std::size_t position) const;
  bool is_weak_echo(const LogPhrase& phrase, const LogLine& line, std::size_t end) const;
  bool refine(const LogPhrase& phrase, const LogLine& line, std::size_t end);
  void open(LogEventKind kind, const LogPhrase* phrase, const LogLine& line, std::size_t end);
  std::size_t text_offset(std::size_t end) const {
    return window_->text.size() + end - line_begin_;
  }

  std::optional<Window> window_;
  std::size_t line_begin_ = 0;  // where in the line in hand the window's share begins
  bool is_exception_checked_ = false;
  std::string last_text_;  // the line before, in which a wrapped phrase may have begun
  std::int64_t last_number_ = 0;
  EventStore store_;
};

}  // namespace snug::doctor::log
