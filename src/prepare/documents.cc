// The documents of a batch: of its lines, of their JSON, or the text itself.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "prepare/batch_encoder.h"

namespace snug::prepare {
namespace {

// \r\n and \r become \n, as in Python's text mode, which nanoGPT's prepare.py reads with.
std::string with_plain_line_ends(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      plain += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      plain += '\n';
    }
  }
  return plain;
}

std::string excerpt(std::string_view line) {
  constexpr std::size_t kShown = 60;
  std::string text(line.substr(0, kShown));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return line.size() > kShown ? text + "..." : text;
}

// The text of a line's field, or what is wrong with the line.
struct FieldText {
  std::string text, problem;
};

FieldText field_text(std::string_view line, const std::string& field) {
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(line);
  } catch (const nlohmann::json::parse_error& error) {
    return {"", fmt::format("not JSON, at its byte {}: {}", error.byte, excerpt(line))};
  } catch (const nlohmann::json::out_of_range&) {  // such as 1e999
    return {"", fmt::format("a number in it is beyond what a double holds: {}", excerpt(line))};
  }
  if (!value.is_object()) {
    return {"", fmt::format("a JSON {}, not an object: {}", value.type_name(), excerpt(line))};
  }
  const auto found = value.find(field);
  if (found == value.end()) {
    std::string keys;
    for (const auto& [key, ignored] : value.items()) keys += (keys.empty() ? "" : ", ") + key;
    return {"",
            fmt::format("has no field \"{}\"; its fields: {}\nname the one to take with --field=",
                        field, keys.empty() ? "none" : excerpt(keys))};
  }
  if (!found->is_string()) {
    return {"", fmt::format("field \"{}\" is a JSON {}, not a string", field, found->type_name())};
  }
  return {found->get<std::string>(), ""};
}

void handle_json_line(const BpeOptions& options, const TextBatch& batch, std::string_view line,
                      std::int64_t number, TextCounts& counts, const HandleText& handle) {
  const FieldText found = field_text(line, options.field);
  if (found.problem.empty()) {
    counts.documents += 1;
    handle(found.text, number, true);
    return;
  }
  const std::string& name = options.inputs[static_cast<std::size_t>(batch.start.file)];
  const std::string problem = fmt::format("{}, line {}: {}", name, number + 1, found.problem);
  if (!options.skip_bad_lines) {
    throw DataError(problem + "\n--skip-bad leaves such lines out and counts them");
  }
  if (counts.bad_lines++ == 0) counts.first_bad_line = problem;
}

}  // namespace

void for_each_document(const BpeOptions& options, const TextBatch& batch, TextCounts& counts,
                       const HandleText& handle) {
  if (options.documents == DocumentKind::kFile) {
    counts.documents += batch.ends_document ? 1 : 0;
    const bool has_returns = batch.text.find('\r') != std::string::npos;
    handle(has_returns ? with_plain_line_ends(batch.text) : batch.text, 0, batch.ends_document);
    return;
  }
  // A lone \r ends a line of text; in JSON it is white space.
  const bool has_returns =
      options.documents == DocumentKind::kLine && batch.text.find('\r') != std::string::npos;
  const std::string text = has_returns ? with_plain_line_ends(batch.text) : "";
  std::int64_t number = batch.start.line;
  for (std::string_view rest = has_returns ? text : batch.text; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (options.documents == DocumentKind::kJson) {
      handle_json_line(options, batch, line, number, counts, handle);
    } else {
      counts.documents += 1;
      handle(line, number, true);
    }
  }
}

}  // namespace snug::prepare
