// What `snug prepare bpe` is asked to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace snug::prepare {

enum class DocumentKind { kFile, kLine, kJson };  // a document is a file, a line, a line's field
enum class Split { kDocuments, kCharacters };
enum class Format { kNanoGpt, kLlmc };

struct BpeOptions {
  std::vector<std::string> inputs;  // files; "-" is standard input
  std::filesystem::path directory;
  DocumentKind documents = DocumentKind::kFile;
  std::string field = "text";  // of JSON lines
  bool end_of_text = true;     // 50256 after every document
  double val_share = 0.0005;
  Split split = Split::kDocuments;
  Format format = Format::kNanoGpt;
  std::int64_t shard_tokens = 100'000'000;  // of llm.c's
  bool skip_bad_lines = false;
  int thread_count = 1;
  std::uint64_t seed = 1337;  // of the choice of validation documents
};

// Everything that decides what is written, as text: two runs with the same text can go on from each
// other. Holds each input's size and time of change.
std::string settings_text(const BpeOptions& options);

}  // namespace snug::prepare
