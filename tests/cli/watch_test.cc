// `snug watch`: its curve, its screen, and the program in a pipe and on a terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <regex>

#include "base/bytes.h"
#include "cli/testing.h"
#include "cli/watch_screen.h"

namespace snug {
namespace {

using Samples = std::vector<cli::MemorySample>;

TEST(Sparkline, HeightIsTheShareInUse) {
  EXPECT_EQ(cli::sparkline(Samples{0, 1, 2, 3, 4, 5, 6, 7, 8}, 8, 80), "▁▂▃▄▅▆▇██");
  EXPECT_EQ(cli::sparkline(Samples{99, 100, 199, 200}, 800, 80), "▁▂▂▃");
  EXPECT_EQ(cli::sparkline(Samples{-5, 900}, 800, 80), "▁█");
  EXPECT_EQ(cli::sparkline(Samples{kGiB * 1023}, kGiB * 1024, 80), "█");
}

TEST(Sparkline, ShowsTheLastSamples) {
  EXPECT_EQ(cli::sparkline(Samples{0, 0, 7, 8}, 8, 2), "██");
  EXPECT_EQ(cli::sparkline(Samples{0, 8}, 8, 0), "");
  EXPECT_EQ(cli::sparkline(Samples{}, 8, 80), "");
}

TEST(Sparkline, UnknownIsBlank) {
  EXPECT_EQ(cli::sparkline(Samples{8, std::nullopt, 8}, 8, 80), "█ █");
  EXPECT_EQ(cli::sparkline(Samples{1, 2}, 0, 80), "  ");
}

cuda::CardReading card_with(int index, std::int64_t used_bytes) {
  cuda::CardReading card;
  card.index = index;
  card.name = "NVIDIA GeForce RTX 3060 with a name that is longer than any card has had so far";
  card.total_bytes = 12 * kGiB;
  card.used_bytes = used_bytes;
  card.busy_percent = 97;
  for (int i = 0; i < 6; ++i) card.processes.push_back({2147483000 - i, kGiB});
  return card;
}

cli::DeviceSnapshot snapshot_of(std::vector<cuda::CardReading> cards, std::int64_t ram_used) {
  cli::DeviceSnapshot snapshot;
  snapshot.gpu.cards = std::move(cards);
  if (snapshot.gpu.cards.empty()) snapshot.gpu.problem = "no card: none here";
  snapshot.memory.now = {16 * kGiB, 16 * kGiB - ram_used, "machine"};
  snapshot.processes = {{7, "trainer", kGiB}, {8, std::string(200, 'x'), kMiB}};
  return snapshot;
}

TEST(WatchHistory, CardsComeAndGo) {
  cli::WatchHistory history;
  history.add(snapshot_of({}, 1));
  history.add(snapshot_of({card_with(0, 5), card_with(1, 6)}, 2));
  history.add(snapshot_of({card_with(1, 7)}, 3));
  EXPECT_EQ(history.ram(), (Samples{1, 2, 3}));
  EXPECT_EQ(history.card(0), (Samples{std::nullopt, 5, std::nullopt}));
  EXPECT_EQ(history.card(1), (Samples{std::nullopt, 6, 7}));
  EXPECT_TRUE(history.card(2).empty());
}

TEST(WatchHistory, ForgetsTheOldest) {
  cli::WatchHistory history;
  for (int i = 0; i < 2000; ++i) history.add(snapshot_of({}, i));
  EXPECT_LT(history.ram().size(), 1000u);
  EXPECT_EQ(history.ram().back(), 1999);
  history.add(snapshot_of({card_with(0, 5)}, 1));
  EXPECT_EQ(history.card(0).size(), history.ram().size());
}

std::string joined(const Words& lines) { return fmt::format("{}", fmt::join(lines, "\n")); }

TEST(WatchLines, HoldCardsMemoryAndCurves) {
  cli::WatchHistory history;
  history.add(snapshot_of({card_with(0, 9 * kGiB)}, 0));
  const cli::DeviceSnapshot now = snapshot_of({card_with(0, 3 * kGiB)}, 8 * kGiB);
  history.add(now);
  const std::string text = joined(cli::watch_lines(now, history, "title", {80, 24}));
  expect_holds(
      text, {"title\ncard 0  3.00 of 12.00 GiB  25%  busy 97%  NVIDIA", "\n  ▇▃  peak 9.00 GiB\n",
             "2147483000", "and 2 more", "RAM     8.00 of 16.00 GiB  50%  limited by the machine",
             "\n  ▁▅  peak 8.00 GiB\n", "trainer"});
}

TEST(WatchLines, FitEveryTerminal) {
  cli::WatchHistory history;
  const cli::DeviceSnapshot now =
      snapshot_of({card_with(0, kGiB), card_with(1, kGiB), card_with(2, kGiB)}, kGiB);
  for (int i = 0; i < 600; ++i) history.add(now);
  for (const std::size_t columns : {1u, 2u, 20u, 80u, 300u}) {
    for (const std::size_t rows : {1u, 2u, 5u, 24u, 100u}) {
      const Words lines = cli::watch_lines(now, history, "title", {columns, rows});
      EXPECT_LE(lines.size(), std::max<std::size_t>(rows - 1, 1));
      for (const std::string& line : lines) {
        EXPECT_LE(columns_of(line), std::max<std::size_t>(columns - 1, 1)) << line;
      }
    }
  }
}

TEST(WatchLines, ProcessesGiveWayInALowWindow) {
  cli::WatchHistory history;
  const cli::DeviceSnapshot now = snapshot_of({card_with(0, kGiB), card_with(1, kGiB)}, kGiB);
  history.add(now);
  // A title, two lines and five processes for each card, two lines and two processes.
  EXPECT_EQ(cli::watch_lines(now, history, "title", {80, 60}).size(), 19u);
  EXPECT_EQ(cli::watch_lines(now, history, "title", {80, 20}).size(), 19u);
  const Words low = cli::watch_lines(now, history, "title", {80, 10});
  ASSERT_EQ(low.size(), 9u);
  expect_holds(joined(low), {"title", "card 0", "card 1", "RAM", "2147483000"});
  EXPECT_EQ(low.back(), "... 11 more lines in a taller window");
}

TEST(WatchLines, UnknownMemoryIsSaid) {
  cuda::CardReading card;
  card.problem = "GPU is lost";
  cli::WatchHistory history;
  const cli::DeviceSnapshot now = snapshot_of({card}, kGiB);
  history.add(now);
  expect_holds(joined(cli::watch_lines(now, history, "title", {80, 24})),
               {"card 0  memory unknown  ?", "GPU is lost"});
  EXPECT_EQ(cli::watch_plain_line(now, "12:00"),
            "12:00  card 0 unknown of unknown  RAM 1.00 GiB of 16.00 GiB");
}

TEST(WatchLines, NoCardIsSaid) {
  const cli::DeviceSnapshot now = snapshot_of({}, kGiB);
  cli::WatchHistory history;
  history.add(now);
  expect_holds(joined(cli::watch_lines(now, history, "title", {80, 24})), {"no card: none here"});
  EXPECT_EQ(cli::watch_plain_line(now, "12:00"), "12:00  no card  RAM 1.00 GiB of 16.00 GiB");
}

TEST(WatchLines, PlainLineHasAllCards) {
  EXPECT_EQ(cli::watch_plain_line(snapshot_of({card_with(0, kGiB), card_with(1, 3 * kGiB)}, kGiB),
                                  "12:00"),
            "12:00  card 0 1.00 GiB of 12.00 GiB, 97% busy  card 1 3.00 GiB of 12.00 GiB, 97% busy"
            "  RAM 1.00 GiB of 16.00 GiB");
}

TEST(Redraw, GoesUpOverWhatItDrew) {
  cli::Redraw screen;
  EXPECT_EQ(screen.draw({"one", "two"}, {80, 24}), "\rone\033[K\ntwo\033[K\n\033[J");
  EXPECT_EQ(screen.draw({"three"}, {80, 24}), "\r\033[2Athree\033[K\n\033[J");
  EXPECT_EQ(screen.draw({"four"}, {80, 24}), "\r\033[1Afour\033[K\n\033[J");
}

TEST(Redraw, CountsTheRowsThatANarrowerWindowMakes) {
  cli::Redraw screen;
  screen.draw({std::string(79, 'a'), "", "▁▂▃▄▅▆▇█"}, {80, 24});
  EXPECT_TRUE(screen.draw({"x"}, {20, 24}).starts_with("\r\033[6Ax"));  // 4, 1 and 1
}

ProgramSettings in_root_folder() {
  ProgramSettings settings;
  settings.folder = "/";
  return settings;
}

ProgramResult watch(const Words& arguments) {
  return run_program(Words{"watch"} + arguments, in_root_folder());
}

constexpr const char* kPlainLine =
    "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}  .*RAM [0-9.]+ .iB of [0-9.]+ .iB";

TEST(CliWatch, PipeGetsOneLinePerSample) {
  const ProgramResult result = watch({"--count=2", "--interval=0.1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_like(result.out, kPlainLine).size(), 2u) << result.out;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2);
  EXPECT_EQ(result.out.find('\033'), std::string::npos);
}

TEST(CliWatch, CtrlCEndsTheLongestWait) {
  RunningProgram program({"watch", "--interval=86400"}, in_root_folder());
  ASSERT_TRUE(program.wait_for_output("RAM")) << program.out();
  program.send(SIGINT);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

TEST(CliWatch, EndsWhenNobodyCanReadIt) {
  ProgramSettings settings = in_root_folder();
  settings.stdout_path = "/dev/full";
  const ProgramResult result = run_program({"watch", "--interval=0.1"}, settings);
  EXPECT_EQ(result.exit_code, 5);
  expect_holds(result.err, {"output"});
}

TEST(CliWatch, WrongValuesAreRefused) {
  for (const char* bad :
       {"--interval=0", "--interval=-1", "--interval=0.05", "--interval=soon", "--interval=nan",
        "--interval=inf", "--interval=", "--interval=1s", "--interval=100000", "--count=0",
        "--count=-3", "--count=1.5", "--count=", "--count=many", "--cuont=3", "1"}) {
    const ProgramResult result = watch({bad});
    EXPECT_EQ(result.exit_code, 2) << bad;
    expect_holds(result.err, {bad, "--"});
    EXPECT_EQ(result.out, "") << bad;
  }
}

// Whatever the tests themselves run in.
void use_a_terminal_that_can_redraw() { ::setenv("TERM", "xterm", 1); }

TEST(CliWatch, TerminalIsRedrawnInPlace) {
  use_a_terminal_that_can_redraw();
  const ProgramResult result = run_on_terminal({"watch", "--count=3", "--interval=0.1"}, "/", 80);
  ASSERT_EQ(result.exit_code, 0) << result.out;
  const std::regex up("\033\\[([0-9]+)A");
  const std::sregex_iterator first(result.out.begin(), result.out.end(), up), end;
  EXPECT_EQ(std::distance(first, end), 2) << result.out;
  expect_holds(result.out, {"snug watch", "every 0.1 s", "RAM", "peak"});
  EXPECT_TRUE(std::regex_search(result.out, std::regex("(▁|▂|▃|▄|▅|▆|▇|█)"))) << result.out;
  EXPECT_EQ(result.out.find("\033[?"), std::string::npos);  // no mode that would have to be undone
  std::istringstream lines(std::regex_replace(result.out, std::regex("\033\\[[0-9]*[AJK]|\r"), ""));
  for (std::string line; std::getline(lines, line);) EXPECT_LT(columns_of(line), 80u) << line;
}

// A program on a terminal that the test types into.
class OnTerminal {
 public:
  OnTerminal(const Words& arguments, unsigned short columns) {
    const winsize size{24, columns, 0, 0};
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      RunningProgram::exec_program(arguments, "/");
    }
    if (pid_ < 0) throw std::runtime_error("forkpty failed");
  }
  ~OnTerminal() {
    ::close(terminal_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void type(char key) const { ASSERT_EQ(::write(terminal_, &key, 1), 1); }
  void resize(unsigned short columns) const {
    const winsize size{24, columns, 0, 0};
    ASSERT_EQ(::ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }

  // Reads until that many drawings have come; false when the program ended before.
  bool read_drawings(std::size_t count) {
    while (drawings() < count) {
      if (!read_more()) return false;
    }
    return true;
  }
  int wait() {
    while (read_more()) {
    }
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& out() const { return out_; }

 private:
  std::size_t drawings() const {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = out_.find("\033[J", at)) != std::string::npos; ++at) ++count;
    return count;
  }
  bool read_more() {
    char buffer[4096];
    const ssize_t count = ::read(terminal_, buffer, sizeof buffer);
    if (count > 0) out_.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  }

  int terminal_ = -1;
  pid_t pid_ = -1;
  std::string out_;
};

TEST(CliWatch, TerminalThatCannotMoveItsCursorGetsPlainLines) {
  ::setenv("TERM", "dumb", 1);
  const ProgramResult result = run_on_terminal({"watch", "--count=2", "--interval=0.1"}, "/", 200);
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2);
  EXPECT_EQ(result.out.find('\033'), std::string::npos);
}

TEST(CliWatch, CtrlCLeavesATidyTerminal) {
  use_a_terminal_that_can_redraw();
  OnTerminal program({"watch", "--interval=86400"}, 80);
  ASSERT_TRUE(program.read_drawings(1)) << program.out();
  program.type('\x03');
  EXPECT_EQ(program.wait(), 0);
  EXPECT_TRUE(program.out().ends_with("\r\033[K")) << program.out();
}

TEST(CliWatch, ResizedTerminalIsRedrawnAtOnce) {
  use_a_terminal_that_can_redraw();
  OnTerminal program({"watch", "--interval=86400"}, 120);
  ASSERT_TRUE(program.read_drawings(1)) << program.out();
  const std::size_t before = program.out().size();
  program.resize(40);
  ASSERT_TRUE(program.read_drawings(2)) << program.out();
  std::istringstream lines(
      std::regex_replace(program.out().substr(before), std::regex("\033\\[[0-9]*[AJK]|\r"), ""));
  for (std::string line; std::getline(lines, line);) EXPECT_LT(columns_of(line), 40u) << line;
  program.type('\x03');
  EXPECT_EQ(program.wait(), 0);
}

TEST(CliWatch, HelpNamesItsSettings) {
  const ProgramResult result = watch({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  expect_holds(result.out, {"snug watch", "--interval", "--count"});
}

}  // namespace
}  // namespace snug
