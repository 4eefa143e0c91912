#include "config/rewrite/editor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/diagnostic.h"
#include "config/fields.h"
#include "config/python/arithmetic.h"
#include "config/python/evaluator.h"

namespace snug::config::rewrite {

bool is_same(const Value& a, const Value& b) {
  return a.index() == b.index() && python_repr(a) == python_repr(b);
}

std::optional<Value> kept_as(std::string_view name, const Value& value) {
  const Field* field = find_field(name);
  if (!field) return value;
  try {
    Config config;
    assign_field(config, *field, value);
    return field_value(config, *field);
  } catch (const Fault&) {
    return std::nullopt;
  }
}

Editor::Editor(const EditedFile& file, const RequestedChanges& requested)
    : file_(file), requested_(requested) {
  const std::vector<python::Assignment>& assignments = file.module.assignments;
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    for (const python::AssignmentTarget& target : assignments[i].targets) {
      last_[target.name] = i;
      ++count_[target.name];
    }
  }
}

void Editor::run() {
  for (std::size_t i = 0; i < file_.module.assignments.size(); ++i) settle(i);
  for (const auto& [line, pending] : pending_) end_line(file_.layout.lines[line], pending);
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.extent.begin < b.extent.begin; });
}

std::string Editor::edited() const {
  const std::vector<std::size_t>& raw_at = file_.normalised.raw_at;
  std::string text;
  std::size_t at = raw_at.front();
  for (const Edit& edit : edits) {
    text += file_.raw.substr(at, raw_at[edit.extent.begin] - at) + edit.text;
    at = raw_at[edit.extent.end];
  }
  return text + file_.raw.substr(at);
}

std::optional<Value> Editor::value_of(const python::Assignment& assignment, bool after) const {
  const auto find = [&](std::string_view name) -> Value {
    if (const auto at = changed_.find(name); after && at != changed_.end()) return at->second;
    if (const auto at = values_.find(name); at != values_.end()) return at->second;
    const Field* field = find_field(name);
    if (!field) throw Fault{"the name has no value", ""};
    return field_value(Config{}, *field);
  };
  try {
    Value value = python::evaluate(*assignment.value, file_.stopped, find);
    if (!assignment.operation) return value;
    return python::apply_binary(*assignment.operation, find(assignment.targets.front().name),
                                value);
  } catch (const Fault&) {
    return std::nullopt;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

void Editor::settle(std::size_t index) {
  const python::Assignment& assignment = file_.module.assignments[index];
  const Statement& s = file_.layout.statements[index];
  const std::optional<Value> before = value_of(assignment, false);
  const std::optional<Value> after = value_of(assignment, true);
  if (!before) throw InternalError("rewrite_config: a value that was read cannot be computed");
  TargetNames names;
  bool follows = !is_opaque(*before) || changed_reads(s).empty();
  for (const python::AssignmentTarget& target : assignment.targets) {
    const std::string& name = target.name;
    const Value old = kept_as(name, *before).value();
    const auto request = requested_.values.find(name);
    const bool decides = request != requested_.values.end() && last_[name] == index;
    const Value& wanted = decides ? request->second : old;
    const bool changes = !is_same(wanted, old);
    // A key that changes gets its own type, even from a formula that Snug would convert.
    const std::optional<Value> got = after && !changes ? kept_as(name, *after) : after;
    const bool drops = requested_.dropped.contains(name);
    follows = follows && !drops && got && is_same(*got, wanted);
    (drops ? names.dropped : changes ? names.changed : names.kept).push_back(name);
  }
  if (!follows) {
    const bool cut_off = !after || !is_same(*before, *after) || is_opaque(*before);
    edit(s, names, cut_off && !names.kept.empty());
  }
  for (const python::AssignmentTarget& target : assignment.targets) {
    values_.insert_or_assign(target.name, kept_as(target.name, *before).value());
  }
  for (const std::string& name : names.changed) changed_.emplace(name, requested_.values.at(name));
}

bool Editor::is_opaque(const Value& value) { return std::holds_alternative<PythonSequence>(value); }

int Editor::line_number(const Statement& s) const {
  return file_.source.origin(token(s.first).extent).line;
}

std::vector<std::size_t> Editor::changed_reads(const Statement& s) const {
  std::vector<std::size_t> reads;
  for (std::size_t i = s.value; i < s.end; ++i) {
    if (token(i).kind == python::Token::Kind::kName &&
        changed_.contains(file_.source.slice(token(i).extent))) {
      reads.push_back(i);
    }
  }
  return reads;
}

void Editor::edit(const Statement& s, const TargetNames& names, bool cut_off) {
  Pending& pending = pending_[s.line];
  pending.was.push_back(quote(file_.source, file_.layout.tokens, s));
  if (cut_off) write_old_values(s, pending.was.back());
  note_changes(s, names);
  NameSet stay(names.kept.begin(), names.kept.end());
  if (names.kept.empty() && names.changed.empty()) {
    pending.is_split = true;
    move_comments(s, pending);
    edits.push_back({{begin(s.first), end(s.end - 1)}, "pass"});
    return;
  }
  if (names.kept.empty()) stay = replace_value(s, names, pending);
  NameSet moved;
  for (std::size_t i = s.first; i < s.value; i += 2) {
    const std::string name(file_.source.slice(token(i).extent));
    if (stay.contains(name)) continue;
    pending.is_split = true;
    edits.push_back({{begin(i), begin(i + 2)}, ""});
    if (requested_.dropped.contains(name) || !moved.insert(name).second) continue;
    const std::size_t at = end(s.end - 1);
    edits.push_back({{at, at}, fmt::format("; {} = {}", name, requested_text(name))});
  }
}

NameSet Editor::replace_value(const Statement& s, const TargetNames& names, Pending& pending) {
  const std::vector<std::string>& targets = pending.was.back().targets;
  const std::string text = requested_text(names.changed.front());
  NameSet served;
  for (const std::string& name : names.changed) {
    if (requested_text(name) == text) served.insert(name);
  }
  if (pending.was.back().sign != "=") edits.push_back({token(s.value - 1).extent, "="});
  move_comments(s, pending);
  edits.push_back({{begin(s.value), end(s.end - 1)}, text});
  if (served.size() == NameSet(targets.begin(), targets.end()).size()) {
    pending.now.push_back({targets, "=", text});
  }
  return served;
}

void Editor::write_old_values(const Statement& s, const Quote& was) {
  NameSet names;
  for (const std::size_t i : changed_reads(s)) {
    const std::string name(file_.source.slice(token(i).extent));
    const std::string old = python_repr(values_.find(name)->second);
    edits.push_back({token(i).extent, old.starts_with('-') ? fmt::format("({})", old) : old});
    names.insert(fmt::format("{} was {}", name, old));
  }
  notes.push_back(fmt::format("{}:{}: {} keeps its value, computed while {}", file_.source.name(),
                              line_number(s), fmt::join(was.targets, " = "),
                              fmt::join(names, " and ")));
}

void Editor::note_changes(const Statement& s, const TargetNames& names) {
  for (const std::string& name : NameSet(names.changed.begin(), names.changed.end())) {
    if (count_[name] < 2) continue;
    notes.push_back(fmt::format("{}:{}: {} is set {} times: the last one decides and was changed",
                                file_.source.name(), line_number(s), name, count_[name]));
  }
  for (const std::string& name : NameSet(names.dropped.begin(), names.dropped.end())) {
    notes.push_back(fmt::format("{}:{}: {} was taken out: nothing reads it any more",
                                file_.source.name(), line_number(s), name));
  }
}

void Editor::move_comments(const Statement& s, Pending& pending) const {
  for (std::size_t i = s.first + 1; i < s.end; ++i) {
    std::string_view gap = file_.source.slice({end(i - 1), begin(i)});
    while (gap.find('#') != gap.npos) {
      gap.remove_prefix(gap.find('#'));
      const std::size_t length = gap.find('\n');
      pending.comments.emplace_back(gap.substr(0, length));
      gap.remove_prefix(length);
    }
  }
}

void Editor::end_line(const Line& line, const Pending& pending) {
  const std::string_view tail = file_.source.slice(line.tail);
  const std::size_t hash = std::min(tail.find('#'), tail.size());
  const std::string_view comment = tail.substr(hash);
  const bool alone = line.statement_count == 1;
  Noted noted = read_note(comment, alone ? pending.was.front().targets : Quote{}.targets);
  std::vector<Quote> quotes = noted.quotes;
  for (const Quote& was : pending.was) {
    const auto same = [&](const Quote& q) { return q.shares_target(was); };
    if (std::none_of(noted.quotes.begin(), noted.quotes.end(), same)) quotes.push_back(was);
  }
  std::erase_if(quotes, [&](const Quote& q) {
    return std::any_of(pending.now.begin(), pending.now.end(),
                       [&](const Quote& now) { return now.text() == q.text(); });
  });
  const bool bare = alone && !pending.is_split && quotes.size() == 1 && quotes[0].sign == "=";
  std::string text;
  for (const Quote& q : quotes) {
    text += text.empty() ? fmt::format("{}{}", kApart, kWas) : "; ";
    text += bare ? q.value : q.text();
  }
  for (const std::string& moved : pending.comments) text += fmt::format("{}{}", kApart, moved);
  // A backslash there would continue the line into a comment.
  const std::string_view gap = tail.substr(0, hash);
  std::string_view rest = noted.end > 0 ? comment.substr(noted.end) : tail;
  if (noted.end == 0 && gap.find('\\') != gap.npos) rest = comment;
  if (rest.starts_with('#')) text += kApart;
  edits.push_back({line.tail, text + std::string(rest)});
}

}  // namespace snug::config::rewrite
