#include "checkpoint/run_records.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"

namespace snug::checkpoint {
namespace {

using Json = nlohmann::json;

class Records {
 public:
  Records(const Json& document, const std::string& file) : document_(document), file_(file) {}

  TokenizerRecord tokenizer() const {
    TokenizerRecord record;
    const Json* object = find("tokenizer");
    if (object == nullptr) return record;
    record.kind = text(*object, "kind");
    if (record.kind != kCharTokenizer) return record;
    std::unordered_set<std::string> seen;
    for (const Json& character : list(*object, "characters")) {
      if (!character.is_string()) fail("\"characters\" is not a list of texts");
      record.characters.push_back(character.get<std::string>());
      if (!seen.insert(record.characters.back()).second) fail("\"characters\" has one twice");
    }
    if (record.characters.empty()) fail("\"characters\" is empty");
    return record;
  }

  std::vector<DataFileRecord> data_files() const {
    std::vector<DataFileRecord> records;
    const auto found = document_.find("data_files");
    if (found == document_.end()) return records;
    for (const Json& file : list(document_, "data_files")) {
      if (!file.is_object()) fail("\"data_files\" is not a list of objects");
      const auto checksum = parse_hex(text(file, "xxh3_64"));
      if (!checksum) fail("\"xxh3_64\" is not 16 hexadecimal digits");
      records.push_back({text(file, "name"), {count(file, "bytes"), *checksum}});
    }
    return records;
  }

  ArithmeticRecord arithmetic() const {
    const Json* object = find("arithmetic");
    if (object == nullptr) return {};
    return {text(*object, "instruction_set"), count(*object, "threads")};
  }

 private:
  const Json* find(const char* key) const {
    const auto found = document_.find(key);
    if (found == document_.end()) return nullptr;
    if (!found->is_object()) fail(fmt::format("\"{}\" is not an object", key));
    return &*found;
  }
  const Json& member(const Json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) fail(fmt::format("has no \"{}\"", key));
    return *found;
  }
  const Json& list(const Json& object, const char* key) const {
    const Json& value = member(object, key);
    if (!value.is_array()) fail(fmt::format("\"{}\" is not a list", key));
    return value;
  }
  std::string text(const Json& object, const char* key) const {
    const Json& value = member(object, key);
    if (!value.is_string()) fail(fmt::format("\"{}\" is not text", key));
    return value.get<std::string>();
  }
  std::int64_t count(const Json& object, const char* key) const {
    const Json& value = member(object, key);
    constexpr std::uint64_t kMax = std::uint64_t{1} << 53;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMax) {
      fail(fmt::format("\"{}\" is not a whole number from 0 to 2^53", key));
    }
    return value.get<std::int64_t>();
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("{}: {}", file_, what));
  }

  const Json& document_;
  const std::string& file_;
};

}  // namespace

void add_records(const RunRecords& records, Json& document) {
  const auto& [tokenizer, data_files, arithmetic] = records;
  if (!tokenizer.kind.empty()) {
    document["tokenizer"] = {{"kind", tokenizer.kind}};
    if (tokenizer.kind == kCharTokenizer) {
      document["tokenizer"]["characters"] = tokenizer.characters;
    }
  }
  for (const DataFileRecord& file : data_files) {
    document["data_files"].push_back({{"name", file.name},
                                      {"bytes", file.digest.byte_count},
                                      {"xxh3_64", to_hex(file.digest.checksum)}});
  }
  if (!arithmetic.instruction_set.empty()) {
    document["arithmetic"] = {{"instruction_set", arithmetic.instruction_set},
                              {"threads", arithmetic.thread_count}};
  }
  try {
    document.dump();
  } catch (const Json::type_error&) {
    throw InternalError("the records to save are not UTF-8");
  }
}

RunRecords parse_records(const Json& document, const std::string& file) {
  const Records records(document, file);
  return {records.tokenizer(), records.data_files(), records.arithmetic()};
}

}  // namespace snug::checkpoint
