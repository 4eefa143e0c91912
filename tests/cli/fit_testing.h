// What the tests of the fit share: plans as JSON, small models of known needs, what lines say.
#pragma once

#include <map>
#include <set>

#include "base/bytes.h"
#include "checkpoint/checksum.h"
#include "cli/testing.h"

namespace snug {

using Json = nlohmann::json;

class CliFitTest : public CliTest {
 protected:
  // `plan --json` of these settings, whose exit code must say what `fits` says.
  Json plan(const Words& settings) const;
  std::string plan_text(const Words& settings) const { return run(Words{"plan"} + settings).out; }

  // Each fix, typed by hand, needs what the plan said of it.
  void expect_fixes_keep_their_word(const Words& settings) const;

  Json state(const std::string& out_dir) const {
    return parsed_json(read(out_dir + "/latest/state.json"));
  }
  // Under a checksum that fits it.
  void write_state(const std::string& out_dir, Json document) const {
    document.erase("checksum");
    checkpoint::Checksum checksum;
    checksum.update(document.dump());
    document["checksum"] = checkpoint::to_hex(checksum.value());
    folder_.write(out_dir + "/latest/state.json", document.dump());
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
std::string python_text(const Json& value);
Words typed(const Json& changes);

// micro-batch -> accumulation of the fixes that change nothing else.
std::map<int, int> splits_of(const Json& plan);

inline Words fit_lines(const std::string& out) { return lines_like(out, "fit: .*"); }
inline Words evaluations(const std::string& out) {
  return lines_like(out, "step [0-9]+: train loss .*");
}

// key -> value that the lines say was set: "fit: batch_size 24 -> 8, loss_chunk 0 -> 32".
std::map<std::string, std::string> changes_said(const Words& lines);

// What a fit that a checkpoint keeps has set, as the program tells it.
inline std::string changes_line(const Json& fit) {
  const auto text = [](const Json& value) {
    return value.is_string() ? "'" + value.get<std::string>() + "'" : python_text(value);
  };
  std::string line;
  for (const Json& set : fit.at("set")) {
    const std::string key = set.get<std::string>();
    line += (line.empty() ? "fit: " : ", ") + key + " " + text(fit.at("before").at(key)) + " -> " +
            text(fit.at("after").at(key));
  }
  return line + (fit.at("for_speed").get<bool>() ? " (faster)" : "");
}

// The dtypes of a safetensors file.
std::set<std::string> dtypes_of(const std::string& file);

}  // namespace snug
