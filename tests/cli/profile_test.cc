// Traces of iterations: `snug train --profile=FILE` and `snug bench --profile=FILE`.
#include <set>

#include "cli/testing.h"

namespace snug {
namespace {

class ProfileTest : public CliTest {
 protected:
  // The complete events of a file in Chrome's trace format.
  std::vector<nlohmann::json> events(const std::string& name) const {
    const nlohmann::json trace = parsed_json(read(name));
    std::vector<nlohmann::json> complete;
    if (!trace.is_object()) return complete;
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") == "X") complete.push_back(event);
    }
    return complete;
  }
};

TEST_F(ProfileTest, TrainTracesTheFirstIterationsAndChangesNothing) {
  const ProgramResult run = train({"--profile=trace.json", "--out_dir=traced", "--dropout=0.1"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(lines_like(run.out, "the first 3 iterations go to trace.json: .*perfetto.*").size(),
            1u);
  ASSERT_EQ(train({"--out_dir=plain", "--dropout=0.1"}).exit_code, 0);
  EXPECT_EQ(weights_and_optimizer("traced"), weights_and_optimizer("plain"));
  std::set<std::string> phases;
  int updates = 0;
  double end = 0;
  for (const auto& event : events("trace.json")) {
    const double start = event.at("ts");
    EXPECT_GE(start, end) << event;  // one after the other, over all iterations
    end = start + event.at("dur").get<double>() - 0.01;
    phases.insert(event.at("args").at("phase"));
    if (event.at("cat") == "gradient_norm") ++updates;
  }
  EXPECT_EQ(updates, 3);
  EXPECT_GE(phases.size(), 3u) << "begin, micro-step, update";
}

TEST_F(ProfileTest, AShortRunIsTracedToo) {
  ASSERT_EQ(train({"--profile=trace.json", "--max_iters=0"}).exit_code, 0);
  EXPECT_GT(events("trace.json").size(), 10u);
}

TEST_F(ProfileTest, WhatCannotBeWrittenIsToldBeforeTheRun) {
  for (const char* command : {"train", "bench"}) {
    const Words words = Words{command} + (std::string(command) == "train" ? tiny() : Words{});
    expect_error(run(words + Words{"--profile=none/trace.json"}), 5,
                 {"none/trace.json", "No such file or directory", "--profile=FILE"});
    for (const char* empty : {"--profile=", "--profile"}) {
      expect_error(run(words + Words{empty}), 2, {"--profile", "trace.json"});
    }
  }
  expect_error(train({"--profile=trace.json", "--eval_only=True"}), 2, {"--profile", "eval_only"});
  EXPECT_FALSE(exists("out"));
  EXPECT_FALSE(exists("trace.json"));
}

TEST_F(ProfileTest, ADiskThatIsFullLaterEndsTheTraceNotTheRun) {
  const ProgramResult run = train({"--profile=/dev/full", "--out_dir=traced"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("/dev/full cannot be written: No space left"), run.out.npos) << run.out;
  EXPECT_NE(run.out.find("the run goes on without a trace"), run.out.npos) << run.out;
  ASSERT_EQ(train({"--out_dir=plain"}).exit_code, 0);
  EXPECT_EQ(weights_and_optimizer("traced"), weights_and_optimizer("plain"));
}

TEST_F(ProfileTest, BenchGivesJsonAndATrace) {
  const ProgramResult run =
      this->run({"bench", "--device=cpu", "--n_layer=1", "--n_head=2", "--n_embd=16",
                 "--block_size=16", "--batch_size=2", "--gradient_accumulation_steps=1",
                 "--vocab_size=64", "--json", "--profile=trace.json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json found = parsed_json(run.out);
  for (const char* key :
       {"median_ms", "quiet_ms", "predicted_ms", "product_gflops", "memory_gbs"}) {
    EXPECT_GT(found.at(key).get<double>(), 0) << key;
  }
  std::set<std::string> ops;
  for (const auto& row : found.at("ops")) ops.insert(row.at("op"));
  for (const char* op : {"linear", "attention", "adamw", "gradient_norm"}) {
    EXPECT_TRUE(ops.contains(op)) << op;
  }
  EXPECT_GT(events("trace.json").size(), 10u);
}

}  // namespace
}  // namespace snug
