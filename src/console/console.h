// The person's side of a long run: lines that stay, and on a terminal one line that is redrawn.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace snug::console {

// Of the terminal on standard output; 80 where there is none or it does not tell.
std::size_t terminal_columns();
// Whether standard output is a terminal that colours and redraws (not TERM=dumb).
bool obeys_escapes();

// How progress is shown. kAuto: kBar on a terminal that can redraw a line (not TERM=dumb) and has
// at least 40 columns, else kPlain. kQuiet: nothing at all but what warn() says.
enum class Progress { kAuto, kBar, kPlain, kNone, kQuiet };

class Console {
 public:
  // Writes to standard output; a terminal there gets the redrawn line, a pipe never does.
  explicit Console(Progress progress = Progress::kAuto);
  ~Console();  // ends an open progress line
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Whether there is a line that is redrawn.
  bool redraws() const { return progress_ == Progress::kBar; }
  void line(std::string_view text);
  // A line that --quiet shows too.
  void warn(std::string_view text);

  // True at most ten times a second on a terminal: whether progress() is worth composing.
  bool wants_progress();
  void progress(std::string_view text);
  // What progress() has room for; more is cut off.
  std::size_t columns() const;
  // True every ten seconds in a pipe, counted from the last line of any kind.
  bool wants_plain_progress() const;

 private:
  using Clock = std::chrono::steady_clock;

  void put_line(std::string_view text);

  Progress progress_;
  bool open_ = false;
  Clock::time_point last_progress_{}, last_line_;
};

// "▕██████▏    ▏", `width` cells wide inside.
std::string progress_bar(double share, int width);

// "12m", "3h 20m", "45s", "2d 3h".
std::string format_duration(double seconds);

}  // namespace snug::console
