#include "console/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "console/output_filter.h"

namespace snug::console {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(10);
constexpr std::size_t kMinColumns = 40;
constexpr const char* kClearLine = "\r\033[K";

bool can_redraw() { return obeys_escapes() && terminal_columns() >= kMinColumns; }

// Cuts UTF-8 text to so many code points; each is one column wide in what we print.
std::string_view first_columns(std::string_view text, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_character = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (starts_character && seen++ == columns) return text.substr(0, i);
  }
  return text;
}

// Not fmt::print, which throws: a log that cannot be written does not end a training run. The
// command line looks at the stream's error in the end.
void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

bool obeys_escapes() {
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  return isatty(STDOUT_FILENO) == 1 && !dumb;
}

Console::Console(Progress progress) : progress_(progress), last_line_(Clock::now()) {
  const bool wants_bar = progress == Progress::kAuto || progress == Progress::kBar;
  if (wants_bar) progress_ = can_redraw() ? Progress::kBar : Progress::kPlain;
}

Console::~Console() {
  if (open_) put("\n");
}

void Console::line(std::string_view text) {
  if (progress_ != Progress::kQuiet) put_line(text);
}

void Console::warn(std::string_view text) { put_line(text); }

void Console::put_line(std::string_view text) {
  if (open_) put_unfiltered(stdout, kClearLine);
  open_ = false;
  put(text);
  put("\n");
  std::fflush(stdout);
  last_line_ = Clock::now();
}

bool Console::wants_progress() {
  return redraws() && Clock::now() - last_progress_ >= kRedrawInterval;
}

void Console::progress(std::string_view text) {
  put_unfiltered(stdout, kClearLine);
  put(first_columns(text, columns()));
  std::fflush(stdout);
  open_ = true;
  last_progress_ = Clock::now();
}

// The last one stays free: a terminal may wrap once it is written.
std::size_t Console::columns() const { return terminal_columns() - 1; }

bool Console::wants_plain_progress() const {
  return progress_ == Progress::kPlain && Clock::now() - last_line_ >= kPlainInterval;
}

std::string progress_bar(double share, int width) {
  const int full = std::clamp(static_cast<int>(share * width), 0, width);
  std::string bar = "▕";
  for (int i = 0; i < width; ++i) bar += i < full ? "█" : " ";
  return bar + "▏";
}

std::string format_duration(double seconds) {
  const auto total = static_cast<long long>(std::max(seconds, 0.0) + 0.5);
  const long long days = total / 86400, hours = total / 3600 % 24, minutes = total / 60 % 60;
  if (days > 0) return fmt::format("{}d {}h", days, hours);
  if (hours > 0) return fmt::format("{}h {}m", hours, minutes);
  if (minutes > 9) return fmt::format("{}m", minutes);
  if (minutes > 0) return fmt::format("{}m {}s", minutes, total % 60);
  return fmt::format("{}s", total);
}

}  // namespace snug::console
