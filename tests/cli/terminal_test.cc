// What a terminal gets and a pipe does not: one line that is redrawn. And what happens when the
// terminal or the reader of the pipe goes away.
#include <sys/stat.h>
#include <regex>

#include "cli/testing.h"

namespace snug {
namespace {

// Longer than the tenth of a second between two drawings.
Words watched() { return Words{"train"} + tiny({"--max_iters=1500", "--eval_interval=750"}); }

// The texts between the carriage returns, without the code that clears the line.
Words drawings_of(const std::string& out) {
  Words drawings;
  std::size_t at = 0;
  while ((at = out.find("\r\033[K", at)) != std::string::npos) {
    at += 4;
    const std::size_t end = std::min(out.find('\r', at), out.size());
    // A line of the history stays, as wide as it is; the last drawing does too.
    if (out.compare(end, 2, "\r\n") != 0) drawings.push_back(out.substr(at, end - at));
  }
  return drawings;
}

TEST_F(CliTest, TerminalShowsProgressInOneLine) {
  const ProgramResult result = run_on_terminal(watched(), folder_.path().string(), 160);
  ASSERT_EQ(result.exit_code, 0) << result.out;
  bool complete = false;
  for (const std::string& drawing : drawings_of(result.out)) {
    complete = complete || std::regex_match(drawing, std::regex("iter [0-9]+/1500 .* loss [0-9.]+"
                                                                ".*val .* tok/s .*mem .*ETA .*"));
    EXPECT_LT(columns_of(drawing), 160u);
  }
  EXPECT_TRUE(complete) << result.out;
  EXPECT_NE(result.out.find("step 750: train loss"), std::string::npos);
  EXPECT_EQ(result.out.back(), '\n');
}

TEST_F(CliTest, EightyColumnsHoldWhatMatters) {
  const ProgramResult result = run_on_terminal(watched(), folder_.path().string(), 80);
  ASSERT_EQ(result.exit_code, 0) << result.out;
  bool complete = false;
  for (const std::string& drawing : drawings_of(result.out)) {
    complete = complete || std::regex_match(drawing, std::regex("iter .* loss [0-9.]+ .* tok/s .*"
                                                                "mem .* ETA [0-9]+.*"));
    EXPECT_LT(columns_of(drawing), 80u);
  }
  EXPECT_TRUE(complete) << result.out;
}

TEST_F(CliTest, NarrowTerminalGetsAShorterLine) {
  const ProgramResult result = run_on_terminal(watched(), folder_.path().string(), 50);
  ASSERT_EQ(result.exit_code, 0) << result.out;
  ASSERT_FALSE(drawings_of(result.out).empty());
  for (const std::string& drawing : drawings_of(result.out)) EXPECT_LT(columns_of(drawing), 50u);
}

TEST_F(CliTest, PipeGetsPlainLines) {
  const ProgramResult trained = run(watched());
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const ProgramResult plan = run(Words{"plan"} + tiny());
  for (const std::string& text : {trained.out, plan.out}) {
    EXPECT_EQ(text.find('\r'), std::string::npos);
    EXPECT_EQ(text.find('\033'), std::string::npos);
  }
}

TEST_F(CliTest, PrepareShowsProgressOnATerminal) {
  // Several batches, and several tenths of a second on the fastest core.
  std::string text;
  for (int i = 0; i < 2'000'000; ++i) text += "tale " + std::to_string(i) + ", ";
  folder_.write("long.txt", text);
  folder_.write("short.txt", text.substr(0, 100'000));
  const Words prepare = {"prepare", "bpe", "long.txt", "data/long", "--threads=1"};
  const ProgramResult shown = run_on_terminal(prepare, folder_.path().string(), 80);
  ASSERT_EQ(shown.exit_code, 0) << shown.out;
  bool complete = false;
  for (const std::string& drawing : drawings_of(shown.out)) {
    complete = complete || std::regex_match(drawing, std::regex("encoding +[0-9]+%  [0-9,]+ tokens"
                                                                "  [0-9.]+ MB/s  ETA [0-9]+s"));
    EXPECT_LT(columns_of(drawing), 80u);
  }
  EXPECT_TRUE(complete) << shown.out;
  EXPECT_NE(shown.out.find("wrote train.bin and val.bin"), std::string::npos) << shown.out;
  const ProgramResult piped = run({"prepare", "bpe", "short.txt", "data/short"});
  ASSERT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_EQ(piped.out.find('\r'), std::string::npos);
  EXPECT_EQ(piped.out.find('\033'), std::string::npos);
}

// The reader of a pipe that goes away after the first bytes, as `head` does.
ProgramResult run_with_short_reader(const Words& arguments, ProgramSettings settings) {
  settings.stdout_path = settings.folder + "/pipe";
  ::unlink(settings.stdout_path.c_str());
  if (::mkfifo(settings.stdout_path.c_str(), 0600) != 0) throw std::runtime_error("no pipe");
  RunningProgram program(arguments, settings);
  const int reader = ::open(settings.stdout_path.c_str(), O_RDONLY);
  char first = 0;
  EXPECT_EQ(::read(reader, &first, 1), 1);
  ::close(reader);
  return program.wait();
}

TEST_F(CliTest, TrainingOutlivesTheReaderOfItsLog) {
  const ProgramResult result =
      run_with_short_reader(Words{"train"} + tiny({"--max_iters=200"}), settings());
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 5);
  expect_holds(result.err, {"output"});
  EXPECT_TRUE(exists("out/step-000201/model.safetensors"));
}

TEST_F(CliTest, OtherCommandsEndQuietlyWithoutTheirReader) {
  for (const Words& command : {Words{"plan"} + tiny(), Words{"train", "--help"}}) {
    const ProgramResult result = run_with_short_reader(command, settings());
    EXPECT_TRUE(result.signal == SIGPIPE || result.exit_code == 0) << result.exit_code;
    EXPECT_EQ(result.err, "");
  }
}

// Too long to end by itself.
Words endless() { return Words{"train"} + tiny({"--max_iters=1000000"}); }

TEST_F(CliTest, ClosedTerminalSavesAndStops) {
  RunningProgram program(endless(), settings());
  ASSERT_TRUE(program.wait_for_output("iter 4:")) << program.out();
  program.send(SIGHUP);
  program.send(SIGHUP);  // the kernel sends one and the shell another
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.signal, 0);
  EXPECT_EQ(stopped.exit_code, 128 + SIGHUP) << stopped.err;
  expect_holds(stopped.out, {"saving checkpoint", "stopped by SIGHUP", "--init_from=resume"});
  EXPECT_TRUE(exists("out/latest/model.safetensors"));
}

TEST_F(CliTest, NohupKeepsTraining) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  RunningProgram program(endless(), settings());
  ::signal(SIGHUP, before);
  ASSERT_TRUE(program.wait_for_output("iter 4:")) << program.out();
  program.send(SIGHUP);
  EXPECT_TRUE(program.wait_for_output("iter 40:")) << program.out();
  program.send(SIGTERM);
  expect_holds(program.wait().out, {"stopped by SIGTERM"});
}

TEST_F(CliTest, PlanIsColouredOnATerminalOnly) {
  const Words plan = Words{"plan"} + tiny();
  const std::string folder = folder_.path().string();
  EXPECT_NE(run_on_terminal(plan, folder, 100).out.find("\033["), std::string::npos);
  EXPECT_EQ(run_on_terminal(plan + Words{"--color=never"}, folder, 100).out.find("\033["),
            std::string::npos);
  EXPECT_NE(run(plan + Words{"--color=always"}).out.find("\033["), std::string::npos);
}

TEST_F(CliTest, ADumbTerminalGetsNoEscapes) {
  const char* const before = std::getenv("TERM");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TERM", "dumb", 1);
  const ProgramResult result =
      run_on_terminal(Words{"plan"} + tiny(), folder_.path().string(), 100);
  before != nullptr ? ::setenv("TERM", kept.c_str(), 1) : ::unsetenv("TERM");
  EXPECT_NE(result.out.find("Fits."), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find('\033'), std::string::npos) << result.out;
}

// But for commands, which are to be copied.
TEST_F(CliTest, ReportsFitANarrowTerminal) {
  const std::string folder = folder_.path().string();
  for (const Words& command :
       {Words{"plan"} + tiny({"--color=never"}), Words{"cards"}, Words{"help", "train"}}) {
    std::istringstream lines(run_on_terminal(command, folder, 50).out);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      if (line.ends_with('\r')) line.pop_back();
      const bool is_command =
          line.find("snug ") != std::string::npos || line.find(" --") != std::string::npos;
      EXPECT_TRUE(columns_of(line) <= 50 || is_command) << line;
    }
    EXPECT_GT(count, 20) << command[0];
  }
}

}  // namespace
}  // namespace snug
