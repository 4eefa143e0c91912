// AdamW's moments in bfloat16, from the outside.
#include "cli/fit_testing.h"

namespace snug {
namespace {

class CliFitMoments : public CliFitTest {};

const Words kBf16 = {"--optimizer_dtype=bfloat16"};

TEST_F(CliFitMoments, Bf16MomentsAreStoredInHalfTheBytes) {
  ASSERT_EQ(train({"--out_dir=f32"}).exit_code, 0);
  const ProgramResult result = train(kBf16 + Words{"--out_dir=bf16"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(dtypes_of(read("bf16/latest/optimizer.safetensors")), std::set<std::string>{"BF16"});
  EXPECT_EQ(dtypes_of(read("bf16/latest/model.safetensors")), std::set<std::string>{"F32"});
  EXPECT_EQ(dtypes_of(read("f32/latest/optimizer.safetensors")), std::set<std::string>{"F32"});
  const Json listed = state("bf16").at("optimizer");
  for (const Json& tensor : listed) EXPECT_EQ(tensor.at("dtype"), "BF16");
  EXPECT_NE(model("bf16"), model("f32"));
  const auto moments = [&](const Words& more) {
    return plan(tiny(more)).at("roles").at("optimizer state").get<std::int64_t>();
  };
  // Half, but for what each tensor is rounded up to.
  EXPECT_LT(moments(kBf16), moments({}) * 6 / 10);
  EXPECT_GE(moments(kBf16), moments({}) / 2);
  EXPECT_EQ(run({"sample", "--out_dir=bf16", "--num_samples=1", "--max_new_tokens=5"}).exit_code,
            0);
}

TEST_F(CliFitMoments, MemorySettingsNeverChangeBf16Moments) {
  const Words base = kBf16 + Words{"--dropout=0.1", "--batch_size=12"};
  ASSERT_EQ(train(base + Words{"--out_dir=base"}).exit_code, 0);
  const std::vector<Words> variants = {
      {"--batch_size=4", "--gradient_accumulation_steps=3"},
      {"--batch_size=1", "--gradient_accumulation_steps=12", "--grad_checkpoint=True"},
      {"--loss_chunk=5", "--recompute_light=False", "--checkpoint_blocks=1"},
  };
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string out_dir = "variant" + std::to_string(i);
    ASSERT_EQ(train(base + variants[i] + Words{"--out_dir=" + out_dir}).exit_code, 0);
    EXPECT_EQ(weights_and_optimizer(out_dir), weights_and_optimizer("base")) << variants[i][0];
  }
}

TEST_F(CliFitMoments, Bf16RunsThatWereStoppedEndAsIfTheyWereNot) {
  const Words endless = kBf16 + Words{"--max_iters=1000000", "--dropout=0.1", "--eval_interval=3"};
  for (const int signal : {SIGKILL, SIGTERM}) {
    const std::string name = signal == SIGKILL ? "killed" : "stopped";
    RunningProgram program(Words{"train"} + tiny(endless + Words{"--out_dir=" + name}), settings());
    ASSERT_TRUE(program.wait_for_output("iter 4:")) << program.out();
    program.send(signal);
    const ProgramResult ended = program.wait();
    EXPECT_EQ(ended.signal, signal == SIGKILL ? SIGKILL : 0) << ended.err;
    const int done = state(name).at("iteration");
    ASSERT_GE(done, 3);
    const Words last = {"--max_iters=" + std::to_string(done + 4)};
    const ProgramResult resumed =
        train(endless + last + Words{"--out_dir=" + name, "--init_from=resume"});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    expect_holds(resumed.out, {("continuing at iteration " + std::to_string(done)).c_str()});
    ASSERT_EQ(train(endless + last + Words{"--out_dir=whole" + name}).exit_code, 0);
    EXPECT_EQ(weights_and_optimizer(name), weights_and_optimizer("whole" + name));
  }
}

TEST_F(CliFitMoments, ResumeKeepsTheOptimizerDtypeOfTheCheckpoint) {
  for (const std::string made : {"float32", "bfloat16"}) {
    const std::string asked = made == "float32" ? "bfloat16" : "float32";
    const Words out = {"--out_dir=" + made};
    const Words with_made = {"--optimizer_dtype=" + made};
    ASSERT_EQ(train(out + with_made + Words{"--max_iters=3"}).exit_code, 0);
    const ProgramResult resumed =
        train(out + Words{"--optimizer_dtype=" + asked, "--init_from=resume"});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    const std::string notice = "optimizer_dtype = " + made + " comes from the checkpoint, not ";
    expect_holds(resumed.out, {(notice + asked).c_str()});
    ASSERT_EQ(train(with_made + Words{"--out_dir=whole" + made}).exit_code, 0);
    EXPECT_EQ(weights_and_optimizer(made), weights_and_optimizer("whole" + made));
  }
}

}  // namespace
}  // namespace snug
