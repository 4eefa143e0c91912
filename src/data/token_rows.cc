#include "data/token_rows.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace snug::data {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw DataError(
      fmt::format("{}: {}\nwanted: {{\"tokens\": [[1, 2, 3]], \"targets\": [[2, 3, 4]]}}, rows of "
                  "one length, or "
                  "tokens alone",
                  file, what));
}

// Tokens from `least` on: 0, or kNoTarget.
std::vector<std::int32_t> numbers(const Json& row, std::size_t number, std::int32_t least,
                                  const std::string& file) {
  if (!row.is_array()) fail(file, fmt::format("row {} is not a list", number));
  std::vector<std::int32_t> values;
  for (const Json& value : row) {
    const bool in_reach = value.is_number_integer() && value.get<std::int64_t>() >= least &&
                          value.get<std::int64_t>() < (1 << 30);
    if (!in_reach) {
      fail(file, fmt::format("row {}, position {} is no token", number, values.size()));
    }
    values.push_back(value.get<std::int32_t>());
  }
  return values;
}

// All rows one after the other; every row has the length of the first.
std::vector<std::int32_t> all_rows(const Json& list, std::int32_t least, std::int64_t& length,
                                   const std::string& file) {
  if (!list.is_array() || list.empty()) fail(file, "holds no rows of tokens");
  const bool flat = list.front().is_number();
  const std::size_t count = flat ? 1 : list.size();
  std::vector<std::int32_t> all;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<std::int32_t> row = numbers(flat ? list : list[i], i, least, file);
    if (i == 0) length = std::ssize(row);
    if (std::ssize(row) != length) {
      fail(file, fmt::format("row {} has {} tokens, row 0 has {}", i, row.size(), length));
    }
    all.insert(all.end(), row.begin(), row.end());
  }
  if (length == 0) fail(file, "its rows are empty");
  return all;
}

// Without targets: each token is the target of the one before it, and the last one has none.
std::vector<std::int32_t> next_tokens(const std::vector<std::int32_t>& tokens, std::int64_t length,
                                      const std::string& file) {
  if (length < 2) fail(file, "a row of one token has nothing to predict");
  std::vector<std::int32_t> targets(tokens.begin() + 1, tokens.end());
  targets.push_back(kNoTarget);
  for (auto at = static_cast<std::size_t>(length) - 1; at < targets.size();
       at += static_cast<std::size_t>(length)) {
    targets[at] = kNoTarget;
  }
  return targets;
}

}  // namespace

TokenRows parse_token_rows(const std::string& text, const std::string& file) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(file, "is not JSON");
  const bool named = json.is_object();
  if (named && !json.contains("tokens")) fail(file, "has no \"tokens\"");
  TokenRows rows;
  rows.tokens = all_rows(named ? json.at("tokens") : json, 0, rows.length, file);
  rows.row_count = std::ssize(rows.tokens) / rows.length;
  if (!named || !json.contains("targets")) {
    rows.targets = next_tokens(rows.tokens, rows.length, file);
    return rows;
  }
  std::int64_t target_length = 0;
  rows.targets = all_rows(json.at("targets"), kNoTarget, target_length, file);
  if (rows.targets.size() != rows.tokens.size() || target_length != rows.length) {
    fail(file, fmt::format("{} tokens have {} targets", rows.tokens.size(), rows.targets.size()));
  }
  return rows;
}

}  // namespace snug::data
