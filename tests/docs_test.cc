// Docs drift; these tests do not let them. Commands that the README shows are run, and the page of
// all keys is compared with the table it is made from.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "base/bytes.h"
#include "config/config.h"
#include "engine_testing.h"

namespace snug {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const fs::path kSource = SNUG_SOURCE;

// The lines of a page's code blocks that start the program.
std::vector<std::string> commands_in(const fs::path& page) {
  std::vector<std::string> commands;
  std::istringstream lines(text_of(page));
  bool in_block = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) in_block = !in_block;
    if (in_block && line.rfind("snug ", 0) == 0) commands.push_back(line);
  }
  return commands;
}

// The same command with the program's path, and with sizes that take milliseconds where it trains.
std::string runnable(const std::string& command) {
  const std::string shown = command.substr(0, command.find("  #"));
  std::string small;
  if (shown.rfind("snug train", 0) == 0) {
    small =
        " --max_iters=4 --eval_interval=2 --eval_iters=1 --batch_size=2 --block_size=32"
        " --n_layer=1 --n_embd=24";
  }
  if (shown.rfind("snug sample", 0) == 0) small = " --num_samples=1 --max_new_tokens=8";
  return SNUG_BINARY + shown.substr(4) + small;
}

void write_text(const fs::path& path) {
  std::ofstream file(path);
  for (int i = 0; i < 500; ++i) file << "ROMEO: speak, number " << i << "!\n";
}

TEST(Docs, ReadmeCommandsWork) {
  const TemporaryFolder folder;
  fs::copy(kSource / "config", folder.path("config"), fs::copy_options::recursive);
  write_text(folder.path("input.txt"));
  const std::vector<std::string> commands = commands_in(kSource / "README.md");
  ASSERT_GE(commands.size(), 4u);
  for (const std::string& command : commands) {
    const std::string line =
        fmt::format("cd {} && {} > out.txt 2>&1", folder.path().string(), runnable(command));
    EXPECT_EQ(std::system(line.c_str()), 0) << command << "\n" << text_of(folder.path("out.txt"));
  }
}

// The README leaves lines out of a report; those that it shows are the program's.
TEST(Docs, ReadmeReportsAreWhatTheProgramPrints) {
  const TemporaryFolder folder;
  fs::copy(kSource / "config", folder.path("config"), fs::copy_options::recursive);
  std::istringstream lines(text_of(kSource / "README.md"));
  std::istringstream printed;
  int commands = 0, compared = 0;
  bool comparing = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) comparing = false;
    if (line.rfind("$ snug ", 0) == 0) {
      const std::string report = folder.path("report.txt");
      const std::string command = fmt::format("cd '{}' && {} {} > report.txt",
                                              folder.path().string(), SNUG_BINARY, line.substr(7));
      ASSERT_NE(std::system(command.c_str()), -1);
      printed = std::istringstream(text_of(report));
      comparing = true;
      ++commands;
    } else if (comparing && !line.empty() && line != "  ...") {
      std::string found;
      while (std::getline(printed, found) && found != line) {
      }
      ASSERT_EQ(found, line);
      ++compared;
    }
  }
  EXPECT_GT(commands, 0);
  EXPECT_GT(compared, 20);
}

TEST(Docs, ReadmeIsShortAndFinished) {
  const std::string readme = text_of(kSource / "README.md");
  EXPECT_LE(std::count(readme.begin(), readme.end(), '\n'), 150);
  EXPECT_EQ(readme.find("TODO"), std::string::npos);
}

TEST(Docs, KeysPageIsTheFieldTable) {
  EXPECT_EQ(text_of(kSource / "docs/keys.md"), config::keys_markdown())
      << "make it anew: build/release/snug config --markdown > docs/keys.md";
}

std::int64_t planned_bytes(const std::string& arguments) {
  const TemporaryFolder folder;
  const std::string line = fmt::format("cd {} && {} plan {} --json > {}", kSource.string(),
                                       SNUG_BINARY, arguments, folder.path("plan.json"));
  const int status = std::system(line.c_str());
  EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3) << line;
  return nlohmann::json::parse(text_of(folder.path("plan.json"))).at("total_bytes");
}

// "| 16 | 5.20 | 2.87 | ..." of docs/memory.md: the batch, and GiB without and with checkpointing.
TEST(Docs, MemoryFiguresAreThePlans) {
  std::istringstream lines(text_of(kSource / "docs/memory.md"));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    int batch = 0;
    char plain[16], checkpointed[16];
    if (std::sscanf(line.c_str(), "| %d | %15[0-9.] | %15[0-9.] |", &batch, plain, checkpointed) !=
        3) {
      continue;
    }
    const auto gib = [&](const char* more) {
      const std::int64_t bytes = planned_bytes(
          fmt::format("config/train_gpt2.py --card=rtx3060 --batch_size={} {}", batch, more));
      return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(kGiB));
    };
    EXPECT_EQ(gib(""), plain) << line;
    EXPECT_EQ(gib("--grad_checkpoint=True"), checkpointed) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 8);
}

// Every "Suite.Name" of the source tree's tests.
std::set<std::string> names_of_tests() {
  const std::regex test(R"(TEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
  std::set<std::string> names;
  for (const char* folder : {"src", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kSource / folder)) {
      if (!entry.path().string().ends_with("_test.cc")) continue;
      const std::string text = text_of(entry.path());
      for (std::sregex_iterator found(text.begin(), text.end(), test), end; found != end; ++found) {
        names.insert((*found)[1].str() + "." + (*found)[2].str());
      }
    }
  }
  return names;
}

// A promise names the tests that hold it, as `Suite`, `Suite.Name` or `Suite.Begin…end`, or a
// script.
TEST(Docs, EveryPromiseOfDurabilityNamesTestsThatExist) {
  const std::set<std::string> tests = names_of_tests();
  std::istringstream lines(text_of(kSource / "docs/durability.md"));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0 || line.rfind("| what happens", 0) == 0) continue;
    const std::string cell = line.substr(line.rfind("| ", line.size() - 3));
    const std::regex quoted("`([^`]+)`");
    int named = 0;
    for (std::sregex_iterator name(cell.begin(), cell.end(), quoted), end; name != end; ++name) {
      ++named;
      std::string wanted = (*name)[1].str();
      if (wanted.rfind("scripts/", 0) == 0) {
        EXPECT_TRUE(fs::exists(kSource / wanted.substr(0, wanted.find(' ')))) << wanted;
        continue;
      }
      if (wanted.find('.') == std::string::npos) wanted += ".…";
      const std::regex pattern(std::regex_replace(
          std::regex_replace(wanted, std::regex("\\."), "\\."), std::regex("…"), "\\w+"));
      EXPECT_TRUE(std::ranges::any_of(
          tests, [&](const std::string& test) { return std::regex_match(test, pattern); }))
          << wanted << " of docs/durability.md is no test";
    }
    EXPECT_GT(named, 0) << "no test holds: " << line;
    ++rows;
  }
  EXPECT_GT(rows, 14);
}

TEST(Docs, LinksLeadSomewhere) {
  for (const char* page :
       {"README.md", "docs/architecture.md", "docs/benchmarks.md", "docs/memory.md"}) {
    const std::string text = text_of(kSource / page);
    for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      if (target.rfind("http", 0) == 0) continue;
      EXPECT_TRUE(fs::exists((kSource / page).parent_path() / target)) << page << ": " << target;
    }
  }
}

}  // namespace
}  // namespace snug
