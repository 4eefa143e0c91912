// The doctor as a person starts it: from a config, from a log, from both, in four languages.
#include "cli_testing.h"

namespace snug {
namespace {

// Messages of the forms and with the figures of public reports.
constexpr const char* kCase6GiB =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.14 GiB. GPU 0 has a total "
    "capacity of 11.69 GiB of which 2.68 GiB is free. Including non-PyTorch memory, this process "
    "has 7.04 GiB memory in use. Of the allocated memory 6.78 GiB is allocated by PyTorch, and "
    "31.42 MiB is reserved by PyTorch but unallocated.\n";

class CliDoctorTest : public CliTest {
 protected:
  nlohmann::json json_of(const Words& arguments) const {
    const ProgramResult result = run(Words{"doctor", "--json"} + arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
};

TEST_F(CliDoctorTest, SaysWhatPyTorchNeedsWithoutALog) {
  const nlohmann::json json = json_of(
      {"--batch_size=16", "--gradient_accumulation_steps=32", "--compile=False", "--card=rtx3060"});
  // Measured by PyTorch's own allocator: 17,665,793,536 at accumulation of two or more.
  const std::int64_t peak = json.at("pytorch").at("train_range").at("high_bytes");
  EXPECT_NEAR(static_cast<double>(peak), 17665793536.0, 0.005 * 17665793536.0);
  EXPECT_FALSE(json.at("fixes").empty());
  EXPECT_TRUE(json.at("snug").at("fits"));
  for (const auto& fix : json.at("fixes")) {
    for (const char* member : {"name", "changes", "effective_batch", "total_bytes", "saved_bytes",
                               "time_ratio", "same_result", "fits"}) {
      EXPECT_TRUE(fix.contains(member)) << member;
    }
  }
}

TEST_F(CliDoctorTest, NamesTheTensorOfALog) {
  folder_.write("oom.txt", std::string("  File \"train.py\", line 221, in estimate_loss\n") +
                               "    logits, loss = model(X, Y)\n" + kCase6GiB);
  const nlohmann::json json = json_of(
      {"--batch_size=64", "--gradient_accumulation_steps=8", "--compile=False", "--log=oom.txt"});
  EXPECT_EQ(json.at("cause"), "capacity");
  EXPECT_NEAR(json.at("request_bytes").get<double>(), 6.14 * 1024 * 1024 * 1024, 6e6);
  ASSERT_FALSE(json.at("candidates").empty());
  const nlohmann::json& first = json.at("candidates").front();
  EXPECT_EQ(first.at("dtype"), "bfloat16");
  EXPECT_EQ(first.at("bytes"), std::int64_t{65536} * 50304 * 2);
}

TEST_F(CliDoctorTest, ReadsAPipeAndALogAlone) {
  folder_.write("oom.txt", kCase6GiB);
  const nlohmann::json json = json_of({"--log=oom.txt"});
  EXPECT_EQ(json.at("cause"), "capacity");
  EXPECT_FALSE(json.at("candidates").empty());
  const std::string line = "cd " + folder_.path().string() + " && " + SNUG_BINARY +
                           " doctor - < oom.txt > from_pipe.txt";
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_NE(read("from_pipe.txt").find("6.14 GiB"), std::string::npos);
}

TEST_F(CliDoctorTest, SpeaksFourLanguages) {
  folder_.write("oom.txt", kCase6GiB);
  const auto text = [&](const char* lang) {
    const ProgramResult result =
        run({"doctor", "--batch_size=64", "--log=oom.txt", std::string("--lang=") + lang});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string en = text("en"), zh = text("zh"), ja = text("ja"), de = text("de");
  EXPECT_NE(zh.find("显存"), std::string::npos) << zh;
  EXPECT_NE(ja.find("メモリ"), std::string::npos) << ja;
  EXPECT_NE(de.find("Speicher"), std::string::npos) << de;
  EXPECT_NE(en, de);
  expect_error(run({"doctor", "--lang=fr", "--log=oom.txt"}), 2, {"fr", "en", "zh", "ja", "de"});
}

TEST_F(CliDoctorTest, WritesTheCorrectedConfig) {
  folder_.write("mine.py",
                "# my run\nbatch_size = 64  # as large as the card allows\n"
                "gradient_accumulation_steps = 8\ncompile = False\nmax_iters = 100\n");
  const ProgramResult result = run({"doctor", "mine.py", "--card=rtx3060", "--write=fits.py"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string text = read("fits.py");
  expect_holds(text, {"# my run\n", "# was: 64", "max_iters = 100\n"});
  EXPECT_EQ(read("mine.py").find("was:"), std::string::npos);
  // The product stays, and the doctor has nothing left to write.
  const nlohmann::json config =
      nlohmann::json::parse(run({"config", "--json", "fits.py"}).out, nullptr, false);
  const std::int64_t batch = config.at("batch_size");
  EXPECT_LT(batch, 64);
  EXPECT_EQ(batch * config.at("gradient_accumulation_steps").get<std::int64_t>(), 512);
  expect_error(run({"doctor", "fits.py", "--card=rtx3060", "--write=again.py"}), 4,
               {"nothing to write"});
  EXPECT_FALSE(exists("again.py"));
}

TEST_F(CliDoctorTest, SaysWhatNanoGptCannotBuild) {
  const nlohmann::json json = json_of({"--n_embd=512", "--n_head=12", "--card=rtx3060"});
  EXPECT_EQ(json.at("cause"), "not_memory");
  const ProgramResult text = run({"doctor", "--n_embd=512", "--n_head=12", "--card=rtx3060"});
  expect_holds(text.out, {"512", "12", "8"});
}

TEST_F(CliDoctorTest, RefusesWhatItCannotUse) {
  expect_error(run({"doctor"}), 2, {"a config, a log or both"});
  expect_error(run({"doctor", "--log=absent.txt"}), 4, {"absent.txt"});
  expect_error(run({"doctor", "--log"}), 2, {"--log=VALUE"});
  expect_error(run({"doctor", "--torch=0.4", "--card=rtx3060"}), 2, {"--torch=0.4", "older"});
  expect_error(run({"doctor", "--card=rtx3061"}), 2, {"rtx3060"});
  folder_.write("poem.txt", "the quick brown fox\njumps over the lazy dog\n");
  expect_error(run({"doctor", "--log=poem.txt"}), 4, {"nothing in the log could be read"});
  expect_error(run({"doctor", "--card=rtx3060", "--html=absent/page.html"}), 5,
               {"absent/page.html"});
}

TEST_F(CliDoctorTest, WritesAPage) {
  const ProgramResult result =
      run({"doctor", "--batch_size=64", "--card=rtx3060", "--html=page.html", "--lang=de"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string page = read("page.html");
  expect_holds(page, {"<html lang=\"de\"", "</html>"});
  EXPECT_EQ(page.find("http://"), std::string::npos);
}

}  // namespace
}  // namespace snug
