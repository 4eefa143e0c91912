// Every file of the corpus and some hundred mutations of it through the fuzz targets, with any
// compiler. What the fuzzer once found is among the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "formats/format.h"
#include "fuzz_targets.h"

namespace snug {
namespace {

using Target = void (*)(std::string_view);

struct Seed {
  std::string name, bytes;
};

// By name, so that mutations are the same everywhere.
std::vector<Seed> seeds_of(const std::string& folder) {
  std::vector<Seed> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(SNUG_CORPUS "/" + folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.push_back({entry.path().filename().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::sort(seeds.begin(), seeds.end(),
            [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return seeds;
}

std::string mutated(const Seed& seed, const std::vector<Seed>& all, std::mt19937& random) {
  std::string bytes = seed.bytes;
  const auto below = [&random](std::size_t n) { return n == 0 ? 0 : random() % n; };
  const auto piece_of = [&below](const std::string& text) {
    const std::size_t begin = below(text.size());
    return text.substr(begin, below(80));
  };
  for (std::size_t edits = 1 + below(5); edits > 0; --edits) {
    const std::size_t at = below(bytes.size() + 1);
    const std::string& other = all[below(all.size())].bytes;
    switch (below(6)) {
      case 0:
        bytes.erase(at, 1 + below(16));
        break;
      case 1:
        bytes.resize(at);
        break;
      case 2:
        bytes.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 3:
        bytes.insert(at, piece_of(other));
        break;
      case 4:
        bytes.insert(at, piece_of(bytes));
        break;
      default:
        bytes.insert(at, std::to_string(std::uint64_t{1} << below(64)));
    }
  }
  return bytes;
}

void expect_quiet(Target target, const Seed& seed, const std::string& bytes, int mutation) {
  try {
    target(bytes);
  } catch (const std::exception& error) {
    ADD_FAILURE() << seed.name << ", mutation " << mutation << ": " << error.what() << "\n"
                  << bytes;
  }
}

void run_corpus(Target target, const std::string& folder, int mutation_count) {
  const std::vector<Seed> seeds = seeds_of(folder);
  ASSERT_GE(seeds.size(), 10U);
  for (const Seed& seed : seeds) {
    expect_quiet(target, seed, seed.bytes, 0);
    constexpr std::size_t kMaxMutated = 4096;
    if (seed.bytes.size() > kMaxMutated) continue;
    std::mt19937 random(1);
    for (int i = 1; i <= mutation_count; ++i) {
      expect_quiet(target, seed, mutated(seed, seeds, random), i);
    }
  }
}

TEST(Corpus, LogsToTheEnd) {
  run_corpus([](std::string_view bytes) { fuzz_log(bytes, LogDepth::kFixes); }, "log", 0);
}
TEST(Corpus, Logs) { run_corpus(fuzz_log, "log", 100); }
TEST(Corpus, Checkpoints) { run_corpus(fuzz_checkpoint, "checkpoint", 50); }
TEST(Corpus, TorchPickles) { run_corpus(fuzz_torch_pickle, "torch_pickle", 200); }
TEST(Corpus, ModelConfigs) { run_corpus(fuzz_model_config, "model_config", 100); }
TEST(Corpus, Pickles) { run_corpus(fuzz_pickle, "pickle", 300); }
TEST(Corpus, Safetensors) { run_corpus(fuzz_safetensors, "safetensors", 300); }
TEST(Corpus, Snapshots) { run_corpus(fuzz_snapshot, "snapshot", 60); }
TEST(Corpus, States) { run_corpus(fuzz_state, "state", 100); }
TEST(Corpus, Configs) { run_corpus(fuzz_config, "config", 200); }
TEST(Corpus, Tokens) { run_corpus(fuzz_tokens, "tokens", 100); }
TEST(Corpus, Packed) { run_corpus(fuzz_packed, "packed", 100); }
TEST(Corpus, Documents) { run_corpus(fuzz_documents, "documents", 60); }
TEST(Corpus, Lists) { run_corpus(fuzz_lists, "lists", 100); }
TEST(Corpus, TokenFiles) { run_corpus(fuzz_token_file, "token_file", 100); }
TEST(Corpus, Metrics) { run_corpus(fuzz_metrics, "metrics", 60); }

// Written by the same PyTorch in both of its formats.
TEST(Corpus, OldTorchFilesHoldTheSame) {
  for (const std::string name : {"plain", "optimizer"}) {
    const std::string folder = SNUG_CORPUS "/checkpoint/";
    const formats::Source zipped = formats::open_checkpoint(folder + name);
    const formats::Source old = formats::open_checkpoint(folder + "old_" + name);
    EXPECT_EQ(old.tensors.size(), zipped.tensors.size());
    EXPECT_EQ(old.has_optimizer, zipped.has_optimizer);
    for (const auto& [tensor, stored] : zipped.tensors) {
      EXPECT_EQ(formats::read_whole(old, tensor), formats::read_whole(zipped, tensor)) << tensor;
    }
  }
}

}  // namespace
}  // namespace snug
