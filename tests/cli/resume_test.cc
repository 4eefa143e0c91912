// A run that was stopped, by a signal or by kill -9 at any moment, ends with the very bytes of one
// that never was. Which moment a test hits differs from run to run; what must hold does not.
#include <chrono>
#include <random>
#include <regex>
#include <thread>

#include "cli/testing.h"

namespace snug {
namespace {

using Json = nlohmann::json;

class CliResumeTest : public CliTest {
 protected:
  // Too long to end by itself; the last leg says where to stop.
  static Words endless() { return {"--max_iters=1000000", "--dropout=0.1", "--eval_interval=3"}; }

  Words command(const Words& more) const { return Words{"train"} + tiny(endless() + more); }

  ProgramResult stop_after(const std::string& line, int signal, const Words& more) const {
    RunningProgram program(command(more), settings());
    EXPECT_TRUE(program.wait_for_output(line)) << program.out();
    program.send(signal);
    return program.wait();
  }

  // metrics.jsonl without what a clock decides.
  std::vector<Json> timeless_metrics(const std::string& out_dir) const {
    std::vector<Json> entries = metrics(out_dir);
    for (Json& entry : entries) {
      entry.erase("time_ms");
      entry.erase("tokens_per_second");
    }
    return entries;
  }

  void expect_same_run(const std::string& out_dir, const std::string& other) const {
    EXPECT_EQ(weights_and_optimizer(out_dir), weights_and_optimizer(other));
    EXPECT_EQ(timeless_metrics(out_dir), timeless_metrics(other));
  }
};

// The number in "stopped by ... after N iterations".
int iterations_done(const std::string& out) {
  std::smatch match;
  const std::regex pattern("stopped by SIG[A-Z]+ after ([0-9]+) iterations");
  return std::regex_search(out, match, pattern) ? std::stoi(match[1]) : -1;
}

int newest_step(const std::string& latest_link) {
  std::error_code ignored;
  const std::string name = std::filesystem::read_symlink(latest_link, ignored).string();
  return name.empty() ? 0 : std::stoi(name.substr(5));
}

TEST_F(CliResumeTest, SignalsSaveAndResumeGoesOnBitForBit) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string name = signal == SIGTERM ? "SIGTERM" : "SIGINT";
    const ProgramResult stopped = stop_after("iter 4:", signal, {"--out_dir=" + name});
    EXPECT_EQ(stopped.exit_code, 128 + signal) << stopped.err;
    expect_holds(stopped.err, {"stopping after this micro-step, then saving", "again to quit"});
    expect_holds(stopped.out, {"saving checkpoint", name.c_str(), "--init_from=resume"});
    const int done = iterations_done(stopped.out);
    ASSERT_GE(done, 5) << stopped.out;

    const std::string last = "--max_iters=" + std::to_string(done + 4);
    const ProgramResult resumed = run(command({"--out_dir=" + name, last, "--init_from=resume"}));
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_NE(resumed.out.find("continuing at iteration " + std::to_string(done)),
              std::string::npos);
    ASSERT_EQ(run(command({"--out_dir=whole" + name, last})).exit_code, 0);
    expect_same_run(name, "whole" + name);
  }
}

TEST_F(CliResumeTest, KilledAgainAndAgainEndsAsIfNeverStopped) {
  constexpr int kKills = 6;
  std::mt19937 random(1);
  const Words busy = {"--eval_interval=1", "--eval_iters=1", "--out_dir=killed"};
  for (int kill = 0; kill < kKills; ++kill) {
    const int at = newest_step(path("killed/latest"));
    const Words start = at == 0 ? Words{} : Words{"--init_from=resume"};
    RunningProgram program(command(busy + start), settings());
    // Two iterations on, a checkpoint more is whole; most of the time after it goes into saving.
    ASSERT_TRUE(program.wait_for_output("iter " + std::to_string(at + 2) + ":")) << program.out();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
    program.send(SIGKILL);
    EXPECT_EQ(program.wait().signal, SIGKILL);
    EXPECT_GT(newest_step(path("killed/latest")), at);
    weights_and_optimizer("killed");  // both are there
  }
  const std::string last = "--max_iters=" + std::to_string(newest_step(path("killed/latest")) + 2);
  const ProgramResult resumed = run(command(busy + Words{last, "--init_from=resume"}));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.out.find("skipped"), std::string::npos) << resumed.out;
  ASSERT_EQ(run(command(busy + Words{last, "--out_dir=whole"})).exit_code, 0);
  expect_same_run("killed", "whole");
  for (const std::string& name : folder_.list()) {
    EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
  }
}

TEST_F(CliResumeTest, StopInTheMiddleOfAnEvaluation) {
  ASSERT_EQ(run(command({"--max_iters=5"})).exit_code, 0);  // iteration 6, not evaluated yet
  const FileBytes before = weights_and_optimizer("out");
  RunningProgram program(command({"--init_from=resume", "--eval_iters=100000"}), settings());
  program.wait_until_handled(SIGTERM);
  program.send(SIGTERM);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM) << stopped.err;
  EXPECT_EQ(iterations_done(stopped.out), 6) << stopped.out;
  EXPECT_EQ(weights_and_optimizer("out"), before);
  ASSERT_EQ(run(command({"--init_from=resume", "--max_iters=8"})).exit_code, 0);
  ASSERT_EQ(run(command({"--out_dir=whole", "--max_iters=8"})).exit_code, 0);
  expect_same_run("out", "whole");
}

TEST_F(CliResumeTest, StopBeforeTheFirstIterationPromisesNothing) {
  RunningProgram program(command({"--eval_iters=100000"}), settings());
  program.wait_until_handled(SIGTERM);
  program.send(SIGTERM);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM) << stopped.err;
  EXPECT_NE(stopped.out.find("nothing was saved"), std::string::npos) << stopped.out;
  EXPECT_EQ(stopped.out.find("--init_from=resume"), std::string::npos) << stopped.out;
  EXPECT_FALSE(exists("out/latest"));
}

// The stop falls on an iteration that is evaluated after the resume and turns out the best.
TEST_F(CliResumeTest, TheBestCheckpointIsTheSameOne) {
  const Words short_run = {"--max_iters=4"};
  ASSERT_EQ(run(command({"--max_iters=2"})).exit_code, 0);
  ASSERT_EQ(run(command(short_run + Words{"--init_from=resume"})).exit_code, 0);
  ASSERT_EQ(run(command(short_run + Words{"--out_dir=whole"})).exit_code, 0);
  EXPECT_EQ(newest_step(path("whole/best")), 3);
  EXPECT_EQ(newest_step(path("out/best")), 3);
  expect_same_run("out", "whole");
}

TEST_F(CliResumeTest, ResumeMayUseMemoryDifferently) {
  const Words batch = {"--batch_size=12"}, last = {"--max_iters=8"};
  ASSERT_EQ(run(command(batch + Words{"--max_iters=4"})).exit_code, 0);
  ASSERT_EQ(run(command({"--init_from=resume", "--max_iters=8", "--batch_size=3",
                         "--gradient_accumulation_steps=4", "--grad_checkpoint=True"}))
                .exit_code,
            0);
  ASSERT_EQ(run(command(batch + last + Words{"--out_dir=whole"})).exit_code, 0);
  EXPECT_EQ(weights_and_optimizer("out"), weights_and_optimizer("whole"));
}

// Checkpoints are float32 in every precision; float16's loss scale waits in them meanwhile.
TEST_F(CliResumeTest, ResumeMayRoundDifferently) {
  const auto leg = [&](const char* dtype, int last, const Words& more) {
    const ProgramResult done = run(command(
        Words{std::string("--dtype=") + dtype, "--max_iters=" + std::to_string(last)} + more));
    EXPECT_EQ(done.exit_code, 0) << dtype << done.err;
    return Json::parse(read("out/latest/state.json"));
  };
  const Words resume = {"--init_from=resume"};
  const Json scaled = leg("float16", 4, {});
  EXPECT_EQ(scaled.at("loss_scale").at("factor"), 65536);
  EXPECT_EQ(scaled.at("loss_scale").at("good_updates"), 5);
  leg("float32", 6, resume);
  EXPECT_EQ(leg("bfloat16", 8, resume).at("iteration"), 9);
  const Json again = leg("float16", 10, resume);
  EXPECT_EQ(again.at("loss_scale").at("good_updates"), 7);
  // In one precision throughout it is another run, by its last bits only.
  ASSERT_EQ(run(command({"--dtype=float32", "--max_iters=10", "--out_dir=whole"})).exit_code, 0);
  EXPECT_NE(weights_and_optimizer("out"), weights_and_optimizer("whole"));
  const double loss = metrics("out").back().at("loss"), whole = metrics("whole").back().at("loss");
  EXPECT_NEAR(loss, whole, 0x1p-8 * whole);
}

TEST_F(CliResumeTest, AnotherEffectiveBatchIsSaid) {
  ASSERT_EQ(train({"--max_iters=3"}).exit_code, 0);
  const ProgramResult resumed = train({"--init_from=resume", "--batch_size=5"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_holds(resumed.out, {"effective batch was 4", "now it is 5"});
}

TEST_F(CliResumeTest, AFolderInUseIsRefusedAndAKillFreesIt) {
  ASSERT_EQ(train({"--max_iters=3"}).exit_code, 0);
  const Words rarely = {"--init_from=resume", "--eval_interval=1000000"};
  RunningProgram first(command(rarely), settings());
  ASSERT_TRUE(first.wait_for_output("iter 5:")) << first.out();
  for (const char* init_from : {"--init_from=scratch", "--init_from=resume"}) {
    expect_error(train({init_from}), 5, {"in use by another training", "out", "--out_dir"});
  }
  EXPECT_FALSE(exists("out/earlier-1"));
  EXPECT_EQ(train({"--init_from=resume", "--eval_only=True"}).exit_code, 0);
  EXPECT_EQ(run({"sample", "--num_samples=1", "--max_new_tokens=5"}).exit_code, 0);
  first.send(SIGKILL);
  EXPECT_EQ(first.wait().signal, SIGKILL);
  const ProgramResult resumed = train({"--init_from=resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(newest_step(path("out/latest")), 11);
}

// The file is cut in the middle of a run whose weights are whole.
TEST_F(CliResumeTest, DataThatFailInMidRunCostNothing) {
  const std::string data = read("data/small/train.bin");
  RunningProgram program(command({"--eval_interval=1000000"}), settings());
  ASSERT_TRUE(program.wait_for_output("iter 4:")) << program.out();
  std::filesystem::resize_file(path("data/small/train.bin"), data.size() / 2);
  const ProgramResult failed = program.wait();
  expect_error(failed, 4, {"train.bin", "cut short while", "progress up to iteration", "in out"});
  folder_.write("data/small/train.bin", data);
  const int done = newest_step(path("out/latest"));
  ASSERT_GE(done, 5) << failed.out;
  EXPECT_NE(failed.err.find("iteration " + std::to_string(done) + " is saved"), std::string::npos);

  const Words last = {"--eval_interval=1000000", "--max_iters=" + std::to_string(done + 2)};
  ASSERT_EQ(run(command(last + Words{"--init_from=resume"})).exit_code, 0);
  ASSERT_EQ(run(command(last + Words{"--out_dir=whole"})).exit_code, 0);
  expect_same_run("out", "whole");
}

// For a while there is no folder to save to: the weights are in memory, and the run is healthy.
TEST_F(CliResumeTest, ASaveThatFailsDoesNotEndTheRun) {
  RunningProgram program(command({"--log_interval=10"}), settings());
  ASSERT_TRUE(program.wait_for_output("step 0:")) << program.out();
  std::filesystem::rename(path("out"), path("moved"));
  folder_.write("out", "in the way");
  ASSERT_TRUE(program.wait_for_output("the run goes on and tries again")) << program.out();
  std::filesystem::remove(path("out"));
  ASSERT_TRUE(program.wait_for_output("was moved or removed while the run")) << program.out();
  program.send(SIGTERM);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM) << stopped.err;
  EXPECT_EQ(run({"verify", "out"}).exit_code, 0);
  const int done = newest_step(path("out/latest"));
  ASSERT_GT(done, 0) << stopped.out;

  const Words last = {"--out_dir=whole", "--max_iters=" + std::to_string(done - 1)};
  ASSERT_EQ(run(command(last)).exit_code, 0);
  EXPECT_EQ(weights_and_optimizer("out"), weights_and_optimizer("whole"));
}

TEST_F(CliResumeTest, DataThatGrowAreNoConcern) {
  RunningProgram program(command({}), settings());
  ASSERT_TRUE(program.wait_for_output("iter 4:")) << program.out();
  const std::string data = read("data/small/train.bin");
  std::filesystem::resize_file(path("data/small/train.bin"), data.size() + 1000);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  program.send(SIGTERM);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM) << stopped.err;
}

TEST_F(CliResumeTest, NothingToResumeFrom) {
  expect_error(train({"--init_from=resume"}), 4,
               {"out", "no checkpoint", "--out_dir", "--init_from=scratch"});
  EXPECT_FALSE(exists("out"));
}

TEST_F(CliResumeTest, FinishedRunHasNothingLeftToDo) {
  ASSERT_EQ(train().exit_code, 0);
  const FileBytes before = weights_and_optimizer("out");
  const ProgramResult again = train({"--init_from=resume"});
  EXPECT_EQ(again.exit_code, 0) << again.err;  // "resume until it ends with 0" must end
  expect_holds(again.out, {"nothing left to do", "11 iterations", "--max_iters"});
  EXPECT_EQ(weights_and_optimizer("out"), before);
}

// In the middle of products that a library generates: a signal's frame below their stack pointer
// overwrote what they keep there, three times of four, and the heap after it.
TEST_F(CliResumeTest, ASignalAmongLargeProductsStillSaves) {
  ASSERT_EQ(run({"prepare", "tales", "data/long", "--bytes=20000"}).exit_code, 0);
  for (int round = 0; round < 4; ++round) {
    const ProgramResult stopped =
        stop_after("iter 2:", SIGINT,
                   {"--n_embd=256", "--block_size=256", "--batch_size=2", "--n_head=2",
                    "--n_layer=2", "--gradient_accumulation_steps=1", "--threads=1",
                    "--dataset=long", "--out_dir=out" + std::to_string(round)});
    EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
    EXPECT_TRUE(exists("out" + std::to_string(round) + "/latest/state.json"));
  }
}

// A key held down, or a script that sends two.
TEST_F(CliResumeTest, TwoSignalsAtOnceStillSave) {
  RunningProgram program(command({}), settings());
  ASSERT_TRUE(program.wait_for_output("iter 4:")) << program.out();
  program.send(SIGINT);
  program.send(SIGINT);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.signal, 0);
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_TRUE(exists("out/latest/state.json"));
}

TEST_F(CliResumeTest, EveryChangedSettingIsListed) {
  ASSERT_EQ(train().exit_code, 0);
  const ProgramResult resumed = train({"--init_from=resume", "--max_iters=12", "--beta2=0.9",
                                       "--learning_rate=2e-3", "--dropout=0.25"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_holds(resumed.out, {"have changed", "beta2: was 0.95, is 0.9", "dropout: was 0.0, is 0.25",
                             "learning_rate: was 0.01, is 0.002"});
}

TEST_F(CliResumeTest, AnotherAlphabetOfTheSameSizeIsRefused) {
  ASSERT_EQ(train().exit_code, 0);
  std::string other = small_text();
  std::replace(other.begin(), other.end(), 'e', 'Q');
  folder_.write("other.txt", other);
  ASSERT_EQ(run({"prepare", "char", "other.txt", "data/small"}).exit_code, 0);
  expect_error(train({"--init_from=resume", "--max_iters=12"}), 4,
               {"data/small", "another alphabet", "--dataset"});
}

TEST_F(CliResumeTest, DataThatChangedAreTold) {
  ASSERT_EQ(train().exit_code, 0);
  const std::string data = read("data/small/train.bin");
  const std::size_t half = data.size() / 4 * 2;  // whole tokens
  folder_.write("data/small/train.bin", data.substr(0, half));
  const ProgramResult cut = train({"--init_from=resume", "--max_iters=12"});
  ASSERT_EQ(cut.exit_code, 0) << cut.err;
  expect_holds(cut.out, {"data/small/train.bin is not the file that the run was trained on"});
  folder_.write("data/small/train.bin", std::string(half, '\0'));
  const ProgramResult zeroed = train({"--init_from=resume", "--max_iters=14"});
  expect_holds(zeroed.out, {"data/small/train.bin", "other content of the same size"});
}

}  // namespace
}  // namespace snug
