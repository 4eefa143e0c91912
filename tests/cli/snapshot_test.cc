// `snug doctor --snapshot` as a person starts it: report, page, JSON, --write, in four languages.
#include <map>

#include "cli/testing.h"
#include "doctor/snapshot/for_test.h"
#include "doctor/torch/for_test.h"

namespace snug {
namespace {

class CliSnapshotTest : public CliTest {
 protected:
  // Of a small model that ran out of memory in cross_entropy.
  CliSnapshotTest() {
    doctor::snapshot::TapeSnapshot maker(doctor::torch::sized_torch_run(2, 4, 256, 128, 50304, 4));
    doctor::snapshot::TestOptions options;
    options.oom_bytes = 4ll * 4 * 128 * 50304;
    options.device_free_bytes = 1 << 20;
    const std::size_t end = maker.end_of(doctor::torch::TorchPhase::kForward);
    folder_.write("snapshot.pickle", maker.make(end, options).pickle);
    folder_.write("run.py",
                  "n_layer = 2\nn_head = 4\nn_embd = 256\nblock_size = 128\nbatch_size = 4\n"
                  "gradient_accumulation_steps = 8\ncompile = False\n");
  }
};

TEST_F(CliSnapshotTest, SaysWhatHoldsTheMemory) {
  const ProgramResult result = run({"doctor", "--snapshot=snapshot.pickle"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"weights", "gradients", "98.25 MiB"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << '\n' << result.out;
  }
  EXPECT_EQ(result.out.find("(4, 128, 50257)"), std::string::npos) << result.out;
}

TEST_F(CliSnapshotTest, JsonAddsUp) {
  const ProgramResult result = run({"doctor", "--snapshot=snapshot.pickle", "run.py", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = parsed_json(result.out);
  ASSERT_TRUE(json.is_object()) << result.out;
  std::int64_t sum = 0;
  const nlohmann::json& now = json.at("now");
  for (const auto& role : now.at("by_role")) sum += role.get<std::int64_t>();
  EXPECT_EQ(sum, now.at("total_bytes").get<std::int64_t>());
  EXPECT_EQ(json.at("model").at("batch_size"), 4);
  EXPECT_TRUE(json.at("has_config"));
  EXPECT_FALSE(json.at("fixes").empty());
}

TEST_F(CliSnapshotTest, EveryLanguageHasItsOwnReportAndPage) {
  const std::map<std::string, std::string> weights = {
      {"en", "weights"}, {"de", "Gewichte"}, {"zh", "权重"}, {"ja", "重み"}};
  for (const auto& [language, word] : weights) {
    SCOPED_TRACE(language);
    const std::string page = language + ".html";
    const ProgramResult result = run(
        {"doctor", "--snapshot=snapshot.pickle", "run.py", "--lang=" + language, "--html=" + page});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find(word), std::string::npos) << result.out;
    const std::string html = read(page);
    EXPECT_NE(html.find(word), std::string::npos);
    EXPECT_NE(html.find("<html lang=\"" + language), std::string::npos);
    EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  }
}

TEST_F(CliSnapshotTest, WritesACorrectedConfigOnlyWhereOneWasGiven) {
  const ProgramResult none = run({"doctor", "--snapshot=snapshot.pickle", "--write=new.py"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_FALSE(exists("new.py"));
  const ProgramResult result =
      run({"doctor", "--snapshot=snapshot.pickle", "run.py", "--write=new.py"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  if (!exists("new.py")) return;  // nothing to correct is said instead
  EXPECT_EQ(run({"doctor", "new.py"}).exit_code, 0);
}

TEST_F(CliSnapshotTest, RefusesWhatIsNone) {
  folder_.write("bad.pickle", "not a pickle");
  expect_error(run({"doctor", "--snapshot=bad.pickle"}), 4, {"bad.pickle"});
  expect_error(run({"doctor", "--snapshot=missing.pickle"}), 4, {"missing.pickle"});
}

}  // namespace
}  // namespace snug
