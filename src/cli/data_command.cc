// `snug data DIR`: what a data set holds.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "console/console.h"
#include "data/describe.h"

namespace snug::cli {
namespace {

// Text that cannot move a terminal's cursor: a line's end as \n, other control characters and bytes
// that are not UTF-8 as \x1b.
std::string shown(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Char next = decode_utf8(text);
    const std::size_t taken = next.length > 0 ? static_cast<std::size_t>(next.length) : 1;
    const bool control =
        next.code_point < 0x20 || (next.code_point >= 0x7F && next.code_point < 0xA0);
    if (next.length > 0 && !control) {
      out += text.substr(0, taken);
    } else if (text[0] == '\n') {
      out += "\\n";
    } else {
      for (const char c : text.substr(0, taken)) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::string vocabulary_text(const data::DatasetDescription& dataset) {
  if (!dataset.meta) return "GPT-2, 50,257 tokens (no meta.pkl)";
  return fmt::format("{} {} (meta.pkl)", with_thousands(dataset.vocab_size),
                     dataset.meta->itos.empty() ? "tokens" : "characters");
}

std::string files_text(const data::SideDescription& side) {
  if (side.files.size() == 1) return side.files[0];
  return fmt::format("{} shards, {} to {}", side.files.size(), side.files.front(),
                     side.files.back());
}

void print_text(const data::DatasetDescription& dataset, const std::string& folder) {
  fmt::print("{}\n", folder);
  fmt::print("  vocabulary   {}\n", vocabulary_text(dataset));
  for (const data::SideDescription& side : dataset.sides) {
    fmt::print("  {:<12} {} tokens, {} different, {} in {}\n", side.side,
               with_thousands(side.token_count), with_thousands(side.different_ids),
               format_bytes(side.byte_count), files_text(side));
    if (side.end_of_text_count > 0) {
      fmt::print("  {:<12} documents that end with <|endoftext|>: {}, of {} tokens on average\n",
                 "", with_thousands(side.end_of_text_count),
                 with_thousands(side.token_count / side.end_of_text_count));
    }
    if (side.outside_count > 0) {
      fmt::print(
          "  {:<12} {} tokens are outside the vocabulary; the first, at position {}; the "
          "largest id is {}\n",
          "", with_thousands(side.outside_count), with_thousands(side.first_outside),
          side.largest_id);
    }
    if (side.wide_ids) {
      fmt::print(
          "  {:<12} every second id is 0 or 1: its ids take 32 bits, it seems, and are read "
          "as 16\n",
          "");
    }
    fmt::print("  {:<12} \"{}\"\n", "begins", shown(data::sample_text(dataset, side)));
  }
  if (dataset.meta && dataset.meta->entropy_floor) {
    fmt::print("  floor        {:.4f} nats per character: no model can do better on val\n",
               *dataset.meta->entropy_floor);
  }
}

void print_json(const data::DatasetDescription& dataset) {
  nlohmann::ordered_json sides;
  for (const data::SideDescription& side : dataset.sides) {
    sides[side.side] = {{"files", side.files},
                        {"bytes", side.byte_count},
                        {"tokens", side.token_count},
                        {"different_ids", side.different_ids},
                        {"largest_id", side.largest_id},
                        {"end_of_text", side.end_of_text_count},
                        {"outside_vocabulary", side.outside_count},
                        {"looks_32_bit", side.wide_ids},
                        {"sample", data::sample_text(dataset, side)}};
  }
  const nlohmann::ordered_json json = {
      {"vocab_size", dataset.vocab_size},
      {"tokenizer", dataset.meta ? "characters" : "gpt2"},
      {"entropy_floor", dataset.meta && dataset.meta->entropy_floor
                            ? nlohmann::ordered_json(*dataset.meta->entropy_floor)
                            : nlohmann::ordered_json()},
      {"splits", sides}};
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

int data_command(Arguments arguments) {
  OptionReader reader("data", arguments);
  const bool json = reader.flag("json");
  const std::vector<std::string> names = reader.names();
  if (names.size() != 1) throw ConfigError("data takes one folder: snug data data/NAME");
  data::DatasetDescription dataset;
  {
    console::Console console;
    dataset = data::describe_dataset(names[0], [&](double share) {
      if (!json && console.wants_progress()) {
        console.progress(fmt::format("reading {:3.0f}%", share * 100));
      }
    });
  }
  json ? print_json(dataset) : print_text(dataset, names[0]);
  bool bad = false;
  for (const data::SideDescription& side : dataset.sides) {
    bad |= side.outside_count > 0 || side.wide_ids;
  }
  return bad ? static_cast<int>(ExitCode::kData) : 0;
}

}  // namespace snug::cli
