// What state.json tells of the world around a run, so that a checkpoint needs nothing beside it and
// a resume notices what has changed: the tokenizer, the data files, the arithmetic.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "checkpoint/checksum.h"

namespace snug::checkpoint {

inline constexpr const char* kCharTokenizer = "char";
inline constexpr const char* kGpt2Tokenizer = "gpt2";

struct TokenizerRecord {
  std::string kind;                     // kCharTokenizer, kGpt2Tokenizer; "": not known
  std::vector<std::string> characters;  // of kCharTokenizer, UTF-8, by id
  bool operator==(const TokenizerRecord&) const = default;
};

struct DataFileRecord {
  std::string name;   // "train.bin"
  FileDigest digest;  // of the whole file, or of samples of a large one: see docs/formats.md
  bool operator==(const DataFileRecord&) const = default;
};

struct ArithmeticRecord {
  std::string instruction_set;  // "": not known
  std::int64_t thread_count = 0;
  bool operator==(const ArithmeticRecord&) const = default;
};

struct RunRecords {
  TokenizerRecord tokenizer;
  std::vector<DataFileRecord> data_files;
  ArithmeticRecord arithmetic;
  bool operator==(const RunRecords&) const = default;
};

// The members "tokenizer", "data_files" and "arithmetic" of `document`; what is not known is not
// written. InternalError for characters that are not UTF-8.
void add_records(const RunRecords& records, nlohmann::json& document);
// Each may be missing, as in files of an older Snug. Throws DataError that names `file`.
RunRecords parse_records(const nlohmann::json& document, const std::string& file);

}  // namespace snug::checkpoint
