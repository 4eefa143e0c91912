// What the doctor refuses, and what it says then: logs without a failure, files that are none.
#include <filesystem>

#include "cli/testing.h"

namespace snug {
namespace {

using CliDoctorRefusalTest = CliTest;

TEST_F(CliDoctorRefusalTest, SaysThatNothingHasFailed) {
  folder_.write("fine.txt", "iter 10: loss 2.4741, time 12.00ms, mfu 1.00%\n");
  expect_error(run({"doctor", "--log=fine.txt"}), 4, {"the log shows a run but no failure"});
  expect_error(run({"doctor", "--lang=de", "--log=fine.txt"}), 4, {"aber keinen Fehler"});
  const Words with_config{"--batch_size=4", "--log=fine.txt"};
  const nlohmann::json json = parsed_json(run(Words{"doctor", "--json"} + with_config).out);
  EXPECT_TRUE(json.at("cause").is_null());
  EXPECT_EQ(json.at("notes").at(0).at("id"), "no_failure_in_log");
  const std::string text = run(Words{"doctor"} + with_config).out;
  expect_holds(text, {"PyTorch needs", "The log shows a run but no failure"});
  EXPECT_EQ(text.find("--log=oom.txt"), std::string::npos) << text;
}

TEST_F(CliDoctorRefusalTest, SaysWhyALogCannotBeRead) {
  std::filesystem::create_directory(folder_.path() / "logs");
  folder_.write("empty.txt", "");
  expect_error(run({"doctor", "--log=absent.txt"}), 4, {"there is no file absent.txt"});
  expect_error(run({"doctor", "--log=logs"}), 4, {"logs is a directory, not a log"});
  expect_error(run({"doctor", "--log=empty.txt"}), 4, {"the log empty.txt is empty"});
  expect_error(run({"doctor", "--lang=ja", "--log=logs"}), 4, {"logs はディレクトリ"});
}

TEST_F(CliDoctorRefusalTest, RefusesInTheLanguage) {
  expect_error(run({"doctor", "--lang=de"}), 2, {"die Diagnose braucht eine Konfiguration"});
  expect_error(run({"doctor", "--log", "--lang=de"}), 2, {"--log braucht einen Wert"});
  expect_error(run({"doctor", "--lang=zh", "--log=absent.txt"}), 4, {"文件 absent.txt 不存在"});
  expect_error(run({"doctor", "--lang=ja", "--torch=1", "--card=rtx3060"}), 2,
               {"--torch=1 は使えません"});
  folder_.write("oom.txt", "RuntimeError: CUDA out of memory. Tried to allocate 6.14 GiB.\n");
  const ProgramResult unwritten = run({"doctor", "--lang=de", "--log=oom.txt", "--write=x.py"});
  EXPECT_EQ(unwritten.exit_code, 0) << unwritten.err;
  expect_holds(unwritten.out, {"nichts geschrieben: Das Log allein"});
  expect_error(run({"doctor", "--lang=de", "--card=rtx3060", "--html=absent/page.html"}), 5,
               {"absent/page.html lässt sich nicht schreiben: "});
}

TEST_F(CliDoctorRefusalTest, RefusesWhatItCannotUse) {
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

}  // namespace
}  // namespace snug
