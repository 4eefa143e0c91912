#include "config/rewrite/rewrite.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/fields.h"
#include "config/nearest.h"
#include "config/python/reader.h"
#include "config/rewrite/editor.h"

namespace snug::config::rewrite {
namespace {

struct ParsedConfig {
  LoadedConfig config;
  bool finishes = true;  // no helper is taken for a mistyped key
};

ParsedConfig read(const SourceFile& source) {
  ParsedConfig reading;
  python::PythonReader reader(reading.config);
  reader.read(source);
  try {
    reader.finish();
  } catch (const ConfigError&) {
    reading.finishes = false;
  }
  return reading;
}

// Helpers that `before` reads and `after` only sets, and whose names therefore look like mistyped
// keys to the reader.
NameSet orphans(const python::Module& before, const python::Module& after) {
  NameSet names;
  const std::vector<std::string> keys = all_keys();
  for (const python::Assignment& assignment : after.assignments) {
    for (const python::AssignmentTarget& target : assignment.targets) {
      const std::string& name = target.name;
      const bool orphan =
          !find_field(name) && before.names_read.contains(name) && !after.names_read.contains(name);
      if (orphan && !nearest_word(name, keys, typo_reach(name)).empty()) names.insert(name);
    }
  }
  return names;
}

// Edits what the file sets. Adds to requested.dropped what the edits leave without a reader.
Rewritten edit_settings(const EditedFile& file, RequestedChanges& requested) {
  for (;;) {
    Editor editor(file, requested);
    editor.run();
    Rewritten result{editor.edited(), std::move(editor.notes)};
    const NameSet lost = orphans(file.module, EditedFile(file.source.name(), result.text).module);
    if (lost.empty()) return result;
    requested.dropped.insert(lost.begin(), lost.end());
  }
}

// One line of comment, whatever the reason holds.
std::string header_of(const std::string& reason) {
  std::string text = reason.empty() ? "# Added by Snug" : "# Added by Snug: " + reason;
  const bool readable = is_utf8(text);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = ' ';
    if (byte >= 0x80 && !readable) c = '?';
  }
  return text;
}

std::string line_end_of(const std::string& raw) {
  const std::size_t at = raw.find_last_of("\r\n");
  if (at == raw.npos) return "\n";
  if (raw[at] == '\r') return "\r";
  return at > 0 && raw[at - 1] == '\r' ? "\r\n" : "\n";
}

std::string added_line(const Change& change, const Value& value) {
  const std::string text = python_repr(value);
  const std::optional<Value> before =
      is_utf8(change.before) ? python::read_literal(change.before) : std::nullopt;
  const std::string was = before ? python_repr(*before) : "";
  if (was.empty() || was == text || std::holds_alternative<PythonSequence>(*before)) {
    return fmt::format("{} = {}", change.key, text);
  }
  return fmt::format("{} = {}{}{}{}", change.key, text, kApart, kWas, was);
}

// Appends the keys of `changes` that `file` does not set.
void add_settings(Rewritten& result, const EditedFile& file, const std::vector<Change>& changes,
                  const RequestedChanges& requested, const std::string& reason) {
  NameSet set;
  for (const python::Assignment& assignment : file.module.assignments) {
    for (const python::AssignmentTarget& target : assignment.targets) set.insert(target.name);
  }
  std::vector<std::string> lines;
  for (const Change& change : changes) {
    if (!set.insert(change.key).second) continue;
    lines.push_back(added_line(change, requested.values.at(change.key)));
    result.notes.push_back(
        fmt::format("{} does not set {}: added at its end", file.source.name(), change.key));
  }
  if (lines.empty()) return;
  const std::string header = header_of(reason);
  const std::string text = normalise(result.text).text;
  const bool has_header = ("\n" + text).find("\n" + header + "\n") != text.npos;
  if (!has_header) lines.insert(lines.begin(), header);
  const bool is_apart = text.empty() || text.ends_with("\n\n");
  if (!is_apart && (!has_header || text.ends_with("\\\n"))) lines.insert(lines.begin(), "");
  const std::string line_end = line_end_of(file.raw);
  if (!text.empty() && !text.ends_with('\n')) result.text += line_end;
  for (const std::string& line : lines) result.text += line + line_end;
}

// Throws InternalError unless the result is what rewrite_config promises.
void verify(const EditedFile& file, const Rewritten& result, const RequestedChanges& requested) {
  const auto require = [&](bool holds, const std::string& what) {
    if (holds) return;
    throw InternalError(fmt::format("rewriting {}: {}", file.source.name(), what));
  };
  const EditedFile written(file.source.name(), result.text);
  const ParsedConfig before = read(file.stopped), after = read(written.stopped);
  for (const Field& field : all_fields()) {
    const auto request = requested.values.find(field.key);
    const bool is_requested = request != requested.values.end();
    const Value wanted = is_requested ? request->second : field_value(before.config.values, field);
    const Value got = field_value(after.config.values, field);
    require(is_same(wanted, got), fmt::format("{} would be {}, not {}", field.key, python_repr(got),
                                              python_repr(wanted)));
    require(after.config.is_set(field.key) == (is_requested || before.config.is_set(field.key)),
            fmt::format("{} would be set or missing", field.key));
  }
  require(after.finishes || !before.finishes, "a helper would look like a mistyped key");
  const RequestedChanges none;
  Editor old(file, none);
  Editor again(written, requested);
  old.run();
  again.run();
  require(again.edits.empty(), "a second time would change it again");
  for (const auto& [name, value] : old.values()) {
    if (find_field(name) || requested.dropped.contains(name)) continue;
    const auto at = again.values().find(name);
    require(at != again.values().end() && is_same(at->second, value), name + " would change");
  }
}

ValueMap requested_values(const std::vector<Change>& changes) {
  ValueMap values;
  for (const auto& [key, before, after] : changes) {
    const std::optional<Value> literal =
        is_utf8(after) ? python::read_literal(after) : std::nullopt;
    const std::optional<Value> value = literal ? kept_as(key, *literal) : std::nullopt;
    if (!find_field(key) || !value) {
      throw InternalError(fmt::format("rewrite_config: {} cannot be {}", key, after));
    }
    values.insert_or_assign(key, *value);
  }
  return values;
}

// Throws ConfigError as read_config_file does.
void check_text(const std::string& file_name, const std::string& text) {
  if (text.find('\0') != text.npos || !is_utf8(text)) {
    throw ConfigError(
        fmt::format("{}: is not text\na config is a short Python file in UTF-8", file_name));
  }
  if (text.size() > kMaxConfigBytes) {
    throw ConfigError(fmt::format("{}: is too long for a config", file_name));
  }
}

}  // namespace

Rewritten rewrite_config(const std::string& file_name, const std::string& source,
                         const std::vector<Change>& changes, const std::string& reason) {
  check_text(file_name, source);
  RequestedChanges requested{requested_values(changes), {}};
  read({file_name, normalise(source).text});  // whose errors show the text as it is
  const EditedFile file(file_name, source);
  Rewritten result;
  try {
    result = edit_settings(file, requested);
    add_settings(result, file, changes, requested, reason);
    verify(file, result, requested);
  } catch (const ConfigError& error) {
    throw InternalError(fmt::format("rewriting {} broke it: {}", file_name, error.what()));
  }
  check_text(file_name, result.text);
  if (source.starts_with(kByteOrderMark)) {
    result.notes.push_back(fmt::format(
        "{}: the byte-order mark at its start is left out: Python's exec() refuses it", file_name));
  }
  return result;
}

}  // namespace snug::config::rewrite
