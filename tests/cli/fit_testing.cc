// Reading what the program says of a fit: kept out of the header, as it compiles slowly.
#include "cli/fit_testing.h"

#include <algorithm>
#include <cstdint>
#include <regex>

namespace snug {

Json CliFitTest::plan(const Words& settings) const {
  const ProgramResult result = run(Words{"plan", "--json"} + settings);
  const Json json = parsed_json(result.out);
  if (json.is_discarded()) {
    ADD_FAILURE() << "exit code " << result.exit_code << ", no JSON: " << result.err;
    return {{"total_bytes", 0}, {"safest", {{"total_bytes", 0}}}, {"fixes", Json::array()}};
  }
  EXPECT_EQ(result.exit_code, json.at("fits").get<bool>() ? 0 : 3) << result.err;
  EXPECT_EQ(result.err, "");
  return json;
}

void CliFitTest::expect_fixes_keep_their_word(const Words& settings) const {
  const Json json = plan(settings);
  EXPECT_GE(json.at("fixes").size(), 3u);
  for (const Json& fix : json.at("fixes")) {
    const Json after = plan(settings + typed(fix.at("changes")));
    EXPECT_EQ(total_of(after), total_of(fix)) << fix;
    EXPECT_EQ(after.value("effective_batch", 0), fix.at("effective_batch")) << fix;
    EXPECT_EQ(after.value("fits", false), fix.at("fits")) << fix;
  }
}

std::string python_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Words typed(const Json& changes) {
  Words words;
  for (const auto& [key, value] : changes.items()) {
    words.push_back("--" + key + "=" + python_text(value));
  }
  return words;
}

std::map<int, int> splits_of(const Json& plan) {
  std::map<int, int> splits;
  for (const Json& fix : plan.at("fixes")) {
    Json changes = fix.at("changes");
    changes.erase("eval_sequences");
    if (changes.size() != 2 || !fix.at("same_result").get<bool>()) continue;
    if (!changes.contains("gradient_accumulation_steps")) continue;
    EXPECT_TRUE(
        splits.emplace(changes.at("batch_size"), changes.at("gradient_accumulation_steps")).second)
        << fix;
  }
  return splits;
}

std::map<std::string, std::string> changes_said(const Words& lines) {
  std::map<std::string, std::string> changes;
  const std::regex change("([a-z_]+) [^ ,]+ -> ([^ ,]+)");
  for (const std::string& line : lines) {
    for (std::sregex_iterator at(line.begin(), line.end(), change), end; at != end; ++at) {
      changes[(*at)[1]] = (*at)[2];
    }
  }
  return changes;
}

std::set<std::string> dtypes_of(const std::string& file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) return {};
  std::copy_n(file.data(), sizeof length, reinterpret_cast<char*>(&length));
  const Json header = parsed_json(file.substr(sizeof length, length));
  std::set<std::string> dtypes;
  for (const auto& [name, tensor] : header.items()) {
    if (name != "__metadata__") dtypes.insert(tensor.at("dtype").get<std::string>());
  }
  return dtypes;
}

}  // namespace snug
