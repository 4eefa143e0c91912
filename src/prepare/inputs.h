// The inputs of a preparation: patterns expanded, and what kind of documents a name stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "prepare/options.h"

namespace snug::prepare {

constexpr int kMaxThreads = 1024;
constexpr std::int64_t kMaxShardTokens = 2'000'000'000;  // llm.c counts them in 32 bits

// Patterns such as 'part-*.jsonl.gz' become the files they match, in the order of their names. "-"
// stands for standard input, alone. Throws DataError for a name that is no file and for a pattern
// that matches none, ConfigError for "-" beside others.
std::vector<std::string> expand_inputs(const std::vector<std::string>& names);

// JSON lines by their usual names (.jsonl, .ndjson, also packed), else whole files.
DocumentKind document_kind_of(const std::string& name);

}  // namespace snug::prepare
