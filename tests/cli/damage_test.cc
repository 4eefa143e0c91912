// Damaged checkpoints: the one before is used and the damage named; and what happens when saving
// fails or the run diverges: the last good checkpoint survives.
#include "cli/testing.h"

namespace snug {
namespace {

class CliDamageTest : public CliTest {
 protected:
  // Leaves step-000004 and step-000006.
  CliDamageTest() {
    if (train({"--max_iters=5", "--eval_interval=2"}).exit_code != 0) {
      throw std::runtime_error("training failed");
    }
  }

  ProgramResult resume(const Words& more = {}) const {
    return train(Words{"--init_from=resume", "--max_iters=9", "--eval_interval=2"} + more);
  }

  void flip_byte(const std::string& name) const {
    std::string bytes = read(name);
    ASSERT_FALSE(bytes.empty()) << name;
    bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
    folder_.write(name, bytes);
  }

  void expect_fallback(const std::string& damaged_file) {
    const ProgramResult resumed = resume();
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    expect_holds(resumed.out,
                 {"skipped", damaged_file.c_str(), "continuing at iteration 4", "step-000004"});
    ASSERT_EQ(train({"--max_iters=9", "--eval_interval=2", "--out_dir=whole"}).exit_code, 0);
    EXPECT_EQ(weights_and_optimizer("out"), weights_and_optimizer("whole"));
  }

  Words temporaries() const {
    Words found;
    for (const std::string& name : folder_.list()) {
      if (name.find(".tmp-") != std::string::npos) found.push_back(name);
    }
    return found;
  }
};

TEST_F(CliDamageTest, FlippedBitInTheModel) {
  flip_byte("out/step-000006/model.safetensors");
  expect_fallback("step-000006/model.safetensors");
}

TEST_F(CliDamageTest, FlippedBitInTheOptimizer) {
  flip_byte("out/step-000006/optimizer.safetensors");
  expect_fallback("step-000006/optimizer.safetensors");
}

TEST_F(CliDamageTest, TruncatedModel) {
  std::filesystem::resize_file(path("out/step-000006/model.safetensors"), 100);
  expect_fallback("step-000006/model.safetensors");
}

TEST_F(CliDamageTest, MissingModel) {
  std::filesystem::remove(path("out/step-000006/model.safetensors"));
  expect_fallback("step-000006/model.safetensors");
}

TEST_F(CliDamageTest, GarbageInTheState) {
  folder_.write("out/step-000006/state.json", "{\"iteration\": [[[[");
  expect_fallback("step-000006/state.json");
}

TEST_F(CliDamageTest, ChangedNumberInTheState) {
  std::string state = read("out/step-000006/state.json");
  const std::size_t at = state.find("1337");
  ASSERT_NE(at, std::string::npos);
  folder_.write("out/step-000006/state.json", state.replace(at, 4, "1338"));
  expect_fallback("step-000006/state.json");
}

TEST_F(CliDamageTest, AllDamagedIsExitCode4) {
  flip_byte("out/step-000004/model.safetensors");
  flip_byte("out/step-000006/model.safetensors");
  expect_error(resume(), 4, {"out", "step-000004/model", "step-000006/model"});
  for (const char* step : {"out/step-000004/state.json", "out/step-000006/state.json"}) {
    folder_.write(step, "no");
  }
  expect_error(resume(), 4, {"out", "step-000004/state.json", "step-000006/state.json"});
}

// The newest checkpoint says that all is done, but it cannot be loaded: the one before goes on.
TEST_F(CliDamageTest, DamagedEndOfAFinishedRunIsTrainedAgain) {
  const FileBytes before = weights_and_optimizer("out");
  const Words same = {"--init_from=resume", "--max_iters=5", "--eval_interval=2"};
  expect_holds(train(same).out, {"nothing left to do", "6 iterations", "--max_iters"});
  flip_byte("out/step-000006/model.safetensors");
  const ProgramResult resumed = train(same);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_holds(resumed.out, {"skipped", "step-000006/model", "continuing at iteration 4"});
  EXPECT_EQ(weights_and_optimizer("out"), before);
}

TEST_F(CliDamageTest, TornMetricsLineIsDropped) {
  folder_.write("out/metrics.jsonl", read("out/metrics.jsonl") + "{\"iter\": 5, \"lo");
  ASSERT_EQ(resume().exit_code, 0);
  EXPECT_EQ(metrics("out").back().at("iter"), 9);
}

// A limit on the size of files stands for a disk that gets full: the model does not fit below it.
TEST_F(CliDamageTest, FullDiskKeepsTheOldCheckpoint) {
  const FileBytes before = weights_and_optimizer("out");
  ProgramSettings full = settings();
  full.file_size_limit = 12000;
  ASSERT_GT(model("out").bytes.size(), 12000u);
  const ProgramResult failed = run_program(
      Words{"train"} + tiny({"--init_from=resume", "--max_iters=9", "--eval_interval=2"}), full);
  expect_error(failed, 5, {"checkpoint of iteration 10", "not saved", "bytes", "intact"});
  // A save that fails ends no healthy run: it trained to its end, and failed there.
  expect_holds(failed.out, {"warning: checkpoint of iteration 8 not saved", "the run goes on"});
  EXPECT_EQ(weights_and_optimizer("out"), before);
  EXPECT_EQ(temporaries(), Words{});
  ASSERT_EQ(resume().exit_code, 0);
  ASSERT_EQ(train({"--max_iters=9", "--eval_interval=2", "--out_dir=whole"}).exit_code, 0);
  EXPECT_EQ(weights_and_optimizer("out"), weights_and_optimizer("whole"));
}

TEST_F(CliDamageTest, DivergedTrainingStopsAndKeepsTheLastGoodCheckpoint) {
  const FileBytes before = weights_and_optimizer("out");
  for (const char* eval_interval : {"--eval_interval=1", "--eval_interval=100"}) {
    const ProgramResult failed =
        resume({"--learning_rate=1e38", "--decay_lr=False", eval_interval});
    expect_error(failed, 5, {"NaN", "at iteration 7", "iteration 6", "learning_rate"});
    EXPECT_EQ(weights_and_optimizer("out"), before);
    metrics("out");  // still JSON, line by line
  }
  EXPECT_EQ(resume().exit_code, 0);
}

TEST_F(CliTest, DivergedTrainingWithoutACheckpointSaysSo) {
  const ProgramResult failed = train({"--learning_rate=1e30", "--eval_interval=100"});
  expect_error(failed, 5, {"at iteration 1", "no checkpoint", "learning_rate"});
  EXPECT_EQ(failed.err.find("no checkpoint"), failed.err.rfind("no checkpoint")) << failed.err;
  EXPECT_FALSE(exists("out/latest"));
}

TEST_F(CliTest, MetricsOfARunWithoutACheckpointAreKept) {
  ASSERT_EQ(train({"--learning_rate=1e30", "--eval_interval=100"}).exit_code, 5);
  const std::string earlier = read("out/metrics.jsonl");
  ASSERT_FALSE(earlier.empty());
  const ProgramResult second = train();
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.out.find("out/earlier-1"), std::string::npos) << second.out;
  EXPECT_EQ(read("out/earlier-1/metrics.jsonl"), earlier);
}

}  // namespace
}  // namespace snug
