// `snug watch`: the devices again and again, until Ctrl-C.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/error.h"
#include "cli/devices.h"
#include "cli/watch_screen.h"
#include "console/output_filter.h"
#include "console/stop_signal.h"

namespace snug::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMinInterval = 0.1, kLongestInterval = 86400;

struct WatchSettings {
  double interval_seconds = 1;
  std::int64_t count = 0;  // samples; 0: until it is stopped
};

template <typename Number>
bool parse_all(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

WatchSettings watch_settings(Arguments arguments) {
  constexpr std::string_view kInterval = "--interval=", kCount = "--count=";
  WatchSettings settings;
  for (const std::string& argument : arguments) {
    const std::string_view text = argument;
    if (text.starts_with(kInterval)) {
      const bool number = parse_all(text.substr(kInterval.size()), settings.interval_seconds);
      if (!number || !(settings.interval_seconds >= kMinInterval) ||
          settings.interval_seconds > kLongestInterval) {
        throw ConfigError(
            fmt::format("{} is not a time between two samples\nwrite seconds, from "
                        "{} to {}: --interval=2",
                        argument, kMinInterval, kLongestInterval));
      }
    } else if (text.starts_with(kCount)) {
      if (!parse_all(text.substr(kCount.size()), settings.count) || settings.count < 1) {
        throw ConfigError(fmt::format(
            "{} is not a number of samples\nwrite a whole number of 1 or more: --count=10",
            argument));
      }
    } else {
      throw ConfigError(
          fmt::format("`snug watch` takes no argument '{}'\nit takes "
                      "--interval=SECONDS and --count=N",
                      argument));
    }
  }
  return settings;
}

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

ScreenSize terminal_size() {
  ScreenSize size;
  winsize found{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0) return size;
  if (found.ws_col > 0) size.columns = found.ws_col;
  if (found.ws_row > 0) size.rows = found.ws_row;
  return size;
}

// A terminal whose cursor moves.
bool can_redraw() {
  const char* kind = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

// While one is alive, a change of the window's size interrupts a wait.
class ResizeSignal {
 public:
  ResizeSignal() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    sigaction(SIGWINCH, &action, &previous_);
  }
  ~ResizeSignal() { sigaction(SIGWINCH, &previous_, nullptr); }
  ResizeSignal(const ResizeSignal&) = delete;
  ResizeSignal& operator=(const ResizeSignal&) = delete;

 private:
  struct sigaction previous_ {};
};

// Keeps signals from arriving between the question whether there was one and the wait for one.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &previous_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // Lets them in, until one has come or the time is up.
  void wait_until(Clock::time_point end) const {
    using std::chrono::nanoseconds;
    const auto left =
        std::max(std::chrono::duration_cast<nanoseconds>(end - Clock::now()), nanoseconds(0));
    const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    ppoll(nullptr, 0, &time, &previous_);
  }

 private:
  sigset_t previous_{};
};

// Shows samples until it is told to stop or nobody can read them.
class Watch {
 public:
  explicit Watch(const WatchSettings& settings) : settings_(settings), redraws_(can_redraw()) {}

  void run() {
    const std::chrono::duration<double> seconds(settings_.interval_seconds);
    const auto interval = std::chrono::duration_cast<Clock::duration>(seconds);
    auto next = Clock::now();
    for (std::int64_t done = 0; show_sample() && ++done != settings_.count;) {
      // A sample that took longer than the interval is not made up for.
      next = std::max(next + interval, Clock::now());
      if (!wait_until(next)) break;
    }
    // What the terminal made of Ctrl-C goes away.
    if (redraws_ && stop_.requested()) console::put_unfiltered(stdout, "\r\033[K");
  }

 private:
  bool show_sample() {
    snapshot_ = take_snapshot(nvml_, order_);
    history_.add(snapshot_);
    time_ = time_text();
    if (redraws_) return redraw();
    return write(watch_plain_line(snapshot_, time_) + "\n");
  }

  bool redraw() {
    size_ = terminal_size();
    const std::string title =
        fmt::format("snug watch  {}  every {:g} s  Ctrl-C ends", time_, settings_.interval_seconds);
    return console::put_unfiltered(
        stdout, screen_.draw(watch_lines(snapshot_, history_, title, size_), size_));
  }

  // False: it was told to stop. A window of another size gets the same sample again.
  bool wait_until(Clock::time_point end) {
    while (Clock::now() < end) {
      {
        const HeldSignals signals;
        if (stop_.requested()) return false;
        if (!redraws_ || terminal_size() == size_) signals.wait_until(end);
      }
      if (redraws_ && terminal_size() != size_ && !redraw()) return false;
    }
    return !stop_.requested();
  }

  static bool write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  }

  WatchSettings settings_;
  bool redraws_;
  console::StopSignal stop_;
  ResizeSignal resize_;
  cuda::Nvml nvml_;
  const cuda::CudaOrder order_ = cuda::cuda_order();
  DeviceSnapshot snapshot_;
  WatchHistory history_;
  Redraw screen_;
  ScreenSize size_;
  std::string time_;
};

}  // namespace

std::string watch_help() {
  return "snug watch [--interval=SECONDS] [--count=N]\n\n"
         "Shows the memory of the cards and of the machine again and again, with a curve\n"
         "of what was in use and the largest processes. Ctrl-C ends it. In a pipe, one\n"
         "line per sample.\n\n"
         "  --interval=S    seconds between two samples, from 0.1 (default 1)\n"
         "  --count=N       ends after N samples\n\n"
         "  snug watch --interval=0.5\n"
         "  snug watch --interval=60 --count=1440 >> memory.log\n";
}

int watch_command(Arguments arguments) {
  Watch(watch_settings(arguments)).run();
  return 0;
}

}  // namespace snug::cli
