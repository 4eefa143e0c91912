// The doctor as a person starts it: from a config, from a log, from both, in four languages.
#include <set>

#include "cli/testing.h"

namespace snug {
namespace {

// Messages of the forms and with the figures of public reports.
constexpr const char* kCase6GiB =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.14 GiB. GPU 0 has a total "
    "capacity of 11.69 GiB of which 2.68 GiB is free. Including non-PyTorch memory, this process "
    "has 7.04 GiB memory in use. Of the allocated memory 6.78 GiB is allocated by PyTorch, and "
    "31.42 MiB is reserved by PyTorch but unallocated.\n";

// Others hold all but 190 MiB of the card.
constexpr const char* kCoTenant =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total "
    "capacity of 11.69 GiB of which 10.00 MiB is free. Process 4242 has 11.50 GiB memory in use. "
    "Including non-PyTorch memory, this process has 180.00 MiB memory in use. Of the allocated "
    "memory 30.00 MiB is allocated by PyTorch, and 2.00 MiB is reserved by PyTorch but "
    "unallocated.\n";

class CliDoctorTest : public CliTest {
 protected:
  nlohmann::json json_of(const Words& arguments) const {
    const ProgramResult result = run(Words{"doctor", "--json"} + arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parsed_json(result.out);
  }

  static bool has_fix(const nlohmann::json& json, const char* kind) {
    const nlohmann::json& fixes = json.at("fixes");
    return std::any_of(fixes.begin(), fixes.end(),
                       [&](const nlohmann::json& fix) { return fix.at("kind") == kind; });
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
  for (const char* compile : {"--compile=False", "--compile=True"}) {
    SCOPED_TRACE(compile);
    const nlohmann::json json =
        json_of({"--batch_size=64", "--gradient_accumulation_steps=8", compile, "--log=oom.txt"});
    EXPECT_EQ(json.at("cause"), "capacity");
    EXPECT_NEAR(json.at("request_bytes").get<double>(), 6.14 * 1024 * 1024 * 1024, 6e6);
    ASSERT_FALSE(json.at("candidates").empty());
    const nlohmann::json& first = json.at("candidates").front();
    EXPECT_EQ(first.at("tensor"), "logits");
    EXPECT_EQ(first.at("shape"), nlohmann::json({65536, 50304}));
    EXPECT_EQ(first.at("dtype"), "bfloat16");
    EXPECT_GE(first.at("confidence"), 0.95);
    // One run in all of the report, compiled as the message shows.
    EXPECT_EQ(json.at("worst_peak_bytes"), json.at("pytorch").at("peak").at("allocated_bytes"));
    EXPECT_FALSE(has_fix(json, "compile_on"));
  }
}

TEST_F(CliDoctorTest, SurvivesACardThatOthersFill) {
  folder_.write("oom.txt", kCoTenant);
  const nlohmann::json json = json_of({"--batch_size=4", "--log=oom.txt"});
  EXPECT_EQ(json.at("cause"), "co_tenant");
  EXPECT_FALSE(json.at("snug").at("fits"));
  EXPECT_GT(json.at("snug").at("total_bytes"), 0);
}

TEST_F(CliDoctorTest, ALogAloneIsNoConfig) {
  folder_.write("oom.txt", kCase6GiB);
  for (const Words& more : {Words{}, Words{"--color=never"}, Words{"--card=rtx3060"}}) {
    EXPECT_TRUE(json_of(Words{"--log=oom.txt"} + more).at("pytorch").is_null());
  }
  EXPECT_FALSE(json_of({"--log=oom.txt", "--batch_size=64"}).at("pytorch").is_null());
}

TEST_F(CliDoctorTest, SaysWhatItTookFromTheLog) {
  folder_.write("oom.txt", std::string("Overriding: batch_size = 64\nOverriding: n_layer = 24\n"
                                       "tokens per iteration will be: 1,000\n") +
                               kCase6GiB);
  const std::string text = run({"doctor", "--log=oom.txt"}).out;
  expect_holds(text, {"Taken from the log: batch_size = 64, n_layer = 24.",
                      "The log trains 1,000 tokens per iteration, this config 2,621,440"});
}

TEST_F(CliDoctorTest, KnowsALogByItsName) {
  folder_.write("oom.txt", kCase6GiB);
  EXPECT_EQ(json_of({"oom.txt"}), json_of({"--log=oom.txt"}));
  expect_error(run({"doctor", "none.pickle"}), 4, {"none.pickle"});
}

TEST_F(CliDoctorTest, NeverSaysThatARunFitsWhichFailed) {
  folder_.write("oom.txt",
                "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 394.00 MiB "
                "(GPU 0; 15.78 GiB total capacity; 5.17 GiB already allocated; 8.68 GiB free; 5.25 "
                "GiB reserved in total by PyTorch)\n");
  const ProgramResult result =
      run({"doctor", "--dtype=float16", "--batch_size=2", "--compile=False", "--log=oom.txt"});
  expect_holds(result.out, {"More was free than was asked for", "end the other processes"});
  EXPECT_EQ(result.out.find("fits as it is"), std::string::npos);
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
  const nlohmann::json config = parsed_json(run({"config", "--json", "fits.py"}).out);
  const std::int64_t batch = config.at("batch_size");
  EXPECT_LT(batch, 64);
  EXPECT_EQ(batch * config.at("gradient_accumulation_steps").get<std::int64_t>(), 512);
  const ProgramResult again = run({"doctor", "fits.py", "--card=rtx3060", "--write=again.py"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  expect_holds(again.out, {"Fits", "nothing was written: the run fits as it is"});
  EXPECT_FALSE(exists("again.py"));
  // The user's own file is never the copy.
  expect_error(run({"doctor", "mine.py", "--card=rtx3060", "--write=./mine.py"}), 2,
               {"mine.py is the config itself"});
}

TEST_F(CliDoctorTest, WithoutALogItSaysWhatWillHappen) {
  const auto json = [&](const Words& more) {
    return parsed_json(run(Words{"doctor", "--json"} + more).out);
  };
  const nlohmann::json xl = json({"--init_from=gpt2-xl", "--batch_size=1", "--card=rtx3060"});
  EXPECT_EQ(xl.at("cause"), "states_exceed_card");
  EXPECT_TRUE(xl.at("safest").is_null()) << xl.at("safest");
  EXPECT_TRUE(json({"--batch_size=1", "--card=a100-80gb"}).at("cause").is_null());
  // nanoGPT takes bfloat16 only where the card has it; who asks for it is told.
  expect_holds(run({"doctor", "--dtype=bfloat16", "--card=t4"}).out, {"bfloat16"});
}

// A traceback outweighs a figure that is far from the model's.
TEST_F(CliDoctorTest, AFrameOfEstimateLossIsAnEvaluation) {
  folder_.write("oom.txt",
                "step 0: train loss 10.9, val loss 10.9\n"
                "iter 1990: loss 3.5, time 300ms, mfu 20%\n"
                "Traceback (most recent call last):\n"
                "  File \"/w/train.py\", line 264, in <module>\n    losses = estimate_loss()\n"
                "  File \"/w/train.py\", line 224, in estimate_loss\n"
                "    logits, loss = model(X, Y)\n"
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.07 GiB. GPU 0 has "
                "a total capacity of 11.72 GiB of which 1.82 GiB is free. Including non-PyTorch "
                "memory, this process has 9.5 GiB memory in use. Of the allocated memory 9.10 GiB "
                "is allocated by PyTorch, and 80.00 MiB is reserved by PyTorch but unallocated.\n");
  const nlohmann::json json =
      parsed_json(run({"doctor", "--n_embd=576", "--n_head=9", "--dtype=float16", "--batch_size=16",
                       "--compile=False", "--log=oom.txt", "--json"})
                      .out);
  EXPECT_EQ(json.at("phase"), "evaluation");
  EXPECT_EQ(json.at("candidates").at(0).at("phase"), "evaluation");
}

// What the file alone does not have is written too: the doctor then says of it that it fits.
TEST_F(CliDoctorTest, WritesTheWholeRunThatItCorrected) {
  folder_.write("mine.py", "batch_size = 12\ncompile = False\n");
  folder_.write("oom.txt", std::string("Overriding: block_size = 512\n") + kCase6GiB);
  const ProgramResult result = run({"doctor", "mine.py", "--n_layer=24", "--batch_size=128",
                                    "--gradient_accumulation_steps=2", "--vocab_size=60000",
                                    "--log=oom.txt", "--write=fits.py"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_holds(result.out, {"wrote fits.py", "python train.py fits.py"});
  const nlohmann::json config = parsed_json(run({"config", "--json", "fits.py"}).out);
  EXPECT_EQ(config.at("n_layer"), 24);
  EXPECT_EQ(config.at("block_size"), 512);
  EXPECT_EQ(config.at("vocab_size"), 60000);
  const std::int64_t batch = config.at("batch_size");
  EXPECT_EQ(batch * config.at("gradient_accumulation_steps").get<std::int64_t>(), 256);
  expect_holds(read("fits.py"), {"# was: 12", "so that it fits 9.72 GiB"});
  const nlohmann::json again = json_of({"fits.py", "--card=rtx3080"});  // 9.65 GiB
  EXPECT_LE(again.at("pytorch").at("total_range").at("high_bytes"), again.at("card_bytes"));
  EXPECT_TRUE(again.at("recommended").is_null());
  expect_holds(run({"doctor", "fits.py", "--card=rtx3080"}).out, {"Fits. PyTorch needs"});
}

TEST_F(CliDoctorTest, NamesTheEditThatTheWrittenConfigNeeds) {
  const ProgramResult result =
      run({"doctor", "--batch_size=4", "--gradient_accumulation_steps=2", "--block_size=8192",
           "--compile=False", "--card=rtx3060", "--write=fits.py"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string text = read("fits.py");
  EXPECT_EQ(text.rfind("# By `snug doctor`: fits 11.13 GiB only", 0), 0U) << text;
  expect_holds(text, {"only with this edit of nanoGPT's code",
                      "#   +             x = checkpoint(block, x, use_reentrant=False)\n",
                      "block_size = 8192\n", "checkpoint_blocks = 12"});
  EXPECT_EQ(text.find("so that it fits"), std::string::npos) << text;
  expect_holds(run({"doctor", "fits.py", "--card=rtx3060"}).out, {"Fits. PyTorch needs"});
}

TEST_F(CliDoctorTest, SaysWhatNanoGptCannotBuild) {
  const Words question{"--n_embd=512", "--n_head=12", "--card=rtx3060"};
  EXPECT_EQ(json_of(question).at("cause"), "not_memory");
  const std::string text = run(Words{"doctor"} + question).out;
  expect_holds(text, {"  · n_embd = 512 is not divisible by n_head = 12: nanoGPT stops with an\n"
                      "    assertion before it needs any memory. n_head = 8 keeps the width,\n"
                      "    n_embd = 480 keeps the heads.\n"});
  // No command that repeats what cannot be built.
  EXPECT_EQ(text.find("snug doctor"), std::string::npos) << text;
  expect_holds(run(Words{"doctor", "--write=fits.py"} + question).out, {"nothing was written"});
  EXPECT_FALSE(exists("fits.py"));
  // No search for heads that divide: the value itself is refused.
  expect_error(run({"doctor", "--n_head=1000000000000"}), 2, {"n_head = 1000000000000"});
}

// "on 9.72 GiB" is no place.
TEST_F(CliDoctorTest, WithoutACardSnugSaysOfWhatItNeeds) {
  folder_.write("oom.txt", kCase6GiB);
  const Words question{"--batch_size=4", "--log=oom.txt"};
  expect_holds(run(Words{"doctor"} + question).out, {"GiB that the"});
  EXPECT_EQ(json_of(question).at("snug").at("device"), "");
}

TEST_F(CliDoctorTest, WritesAPage) {
  const ProgramResult result =
      run({"doctor", "--batch_size=64", "--card=rtx3060", "--html=page.html", "--lang=de"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string page = read("page.html");
  expect_holds(page, {"<html lang=\"de\"", "</html>"});
  EXPECT_EQ(page.find("http://"), std::string::npos);
}

// Every member that stands under `json`, however deep; the keys of `changes` are those of a config.
void collect_members(const nlohmann::json& json, std::set<std::string>& members) {
  for (const auto& [name, value] : json.items()) {
    if (json.is_object()) members.insert(name);
    if (name != "changes" && value.is_structured()) collect_members(value, members);
  }
}

TEST_F(CliDoctorTest, FormatsDocumentEveryMember) {
  std::ifstream file(std::string(SNUG_SOURCE) + "/docs/formats.md");
  std::string page(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = page.find("## `snug doctor --json`");
  ASSERT_NE(begin, std::string::npos);
  page = page.substr(begin, page.find("\n## ", begin) - begin);
  folder_.write("oom.txt", kCase6GiB);
  folder_.write("tenant.txt", kCoTenant);
  std::set<std::string> members;
  collect_members(json_of({"--batch_size=64", "--log=oom.txt", "--explain"}), members);
  collect_members(json_of({"--batch_size=4", "--log=tenant.txt"}), members);
  EXPECT_GT(members.size(), 60U);
  for (const std::string& member : members) {
    EXPECT_NE(page.find("`" + member + "`"), std::string::npos) << member;
  }
  // Without a log, without a config.
  const nlohmann::json asked = json_of({"--batch_size=64"});
  EXPECT_TRUE(asked.at("request_bytes").is_null());
  EXPECT_TRUE(asked.at("cause").is_null());
}

}  // namespace
}  // namespace snug
