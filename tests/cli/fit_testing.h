// What the tests of the fit share: plans as JSON, small models of known needs, what lines say.
#pragma once

#include <map>
#include <set>

#include "base/bytes.h"
#include "cli/testing.h"

namespace snug {

using Json = nlohmann::json;

class CliFitTest : public CliTest {
 protected:
  // `plan --json` of these settings, whose exit code must say what `fits` says.
  Json plan(const Words& settings) const {
    const ProgramResult result = run(Words{"plan", "--json"} + settings);
    const Json json = Json::parse(result.out, nullptr, false);
    if (json.is_discarded()) {
      ADD_FAILURE() << "exit code " << result.exit_code << ", no JSON: " << result.err;
      return {{"total_bytes", 0}, {"safest", {{"total_bytes", 0}}}, {"fixes", Json::array()}};
    }
    EXPECT_EQ(result.exit_code, json.at("fits").get<bool>() ? 0 : 3) << result.err;
    EXPECT_EQ(result.err, "");
    return json;
  }
  std::string plan_text(const Words& settings) const { return run(Words{"plan"} + settings).out; }

  // Each fix, typed by hand, needs what the plan said of it.
  void expect_fixes_keep_their_word(const Words& settings) const;

  Json state(const std::string& out_dir) const {
    return Json::parse(read(out_dir + "/latest/state.json"));
  }
};

// Planned for a card, whose rates need no measuring. What is given comes last and wins.
inline Words on_card(const Words& more = {}) {
  return tiny(Words{"--device=auto", "--card=rtx3060"} + more);
}

// A model whose activations and logits can be told from a card's workspace.
inline Words long_context(const Words& more = {}) {
  return on_card(Words{"--n_layer=4", "--n_head=4", "--n_embd=64", "--block_size=128",
                       "--vocab_size=5000", "--batch_size=8"} +
                 more);
}

// Most of its arena are activations; trains in a second.
inline Words roomy(const Words& more = {}) {
  return tiny(
      Words{"--n_layer=4", "--n_embd=32", "--block_size=32", "--batch_size=24", "--dropout=0.1"} +
      more);
}

inline Words budget(std::int64_t bytes) { return {"--memory_budget=" + std::to_string(bytes)}; }

inline std::int64_t total_of(const Json& plan_or_fix) {
  return plan_or_fix.at("total_bytes").get<std::int64_t>();
}
// Too small for the config as it is, enough for the safest one.
inline std::int64_t between(const Json& plan) {
  return (total_of(plan) + total_of(plan.at("safest"))) / 2;
}

// As Python writes it, and as it is typed.
inline std::string python_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.is_string() ? value.get<std::string>() : value.dump();
}
inline Words typed(const Json& changes) {
  Words words;
  for (const auto& [key, value] : changes.items()) {
    words.push_back("--" + key + "=" + python_text(value));
  }
  return words;
}

inline void CliFitTest::expect_fixes_keep_their_word(const Words& settings) const {
  const Json json = plan(settings);
  EXPECT_GE(json.at("fixes").size(), 3u);
  for (const Json& fix : json.at("fixes")) {
    const Json after = plan(settings + typed(fix.at("changes")));
    EXPECT_EQ(total_of(after), total_of(fix)) << fix;
    EXPECT_EQ(after.value("effective_batch", 0), fix.at("effective_batch")) << fix;
    EXPECT_EQ(after.value("fits", false), fix.at("fits")) << fix;
  }
}

// micro-batch -> accumulation of the fixes that change nothing else.
inline std::map<int, int> splits_of(const Json& plan) {
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

inline Words fit_lines(const std::string& out) { return lines_like(out, "fit: .*"); }
inline Words evaluations(const std::string& out) {
  return lines_like(out, "step [0-9]+: train loss .*");
}

// key -> value that the lines say was set: "fit: batch_size 24 -> 8, loss_chunk 0 -> 32".
inline std::map<std::string, std::string> changes_said(const Words& lines) {
  std::map<std::string, std::string> changes;
  const std::regex change("([a-z_]+) [^ ,]+ -> ([^ ,]+)");
  for (const std::string& line : lines) {
    for (std::sregex_iterator at(line.begin(), line.end(), change), end; at != end; ++at) {
      changes[(*at)[1]] = (*at)[2];
    }
  }
  return changes;
}

// The dtypes of a safetensors file.
inline std::set<std::string> dtypes_of(const std::string& file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) return {};
  std::copy_n(file.data(), sizeof length, reinterpret_cast<char*>(&length));
  const Json header = Json::parse(file.substr(sizeof length, length));
  std::set<std::string> dtypes;
  for (const auto& [name, tensor] : header.items()) {
    if (name != "__metadata__") dtypes.insert(tensor.at("dtype").get<std::string>());
  }
  return dtypes;
}

}  // namespace snug
