// Edits are planned on the text with '\n' line ends, in which the parser counts its bytes, and made
// on the raw one. Names keep their values throughout, but for changed keys below their last
// assignment; so a statement is touched if it is such an assignment or reads such a key.
#include "config/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "config/fields.h"
#include "config/nearest.h"
#include "config/python_arithmetic.h"
#include "config/python_evaluator.h"
#include "config/python_literals.h"
#include "config/python_parser.h"
#include "config/python_reader.h"

namespace snug {
namespace {

using NameSet = std::set<std::string, std::less<>>;
using ValueMap = std::map<std::string, Value, std::less<>>;

constexpr std::string_view kWas = "# was: ";
constexpr std::string_view kApart = "  ";  // before a comment
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_same(const Value& a, const Value& b) {
  return a.index() == b.index() && python_repr(a) == python_repr(b);
}

// The value as the reader keeps it under this name; nothing when the key cannot have it.
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

// A text as the parser takes it, with the way back to the bytes of the file.
struct Normalised {
  std::string text;
  std::vector<std::size_t> raw_at;  // of each byte of text, and of its end
};

Normalised normalise(const std::string& raw) {
  Normalised result;
  std::size_t i = raw.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (i < raw.size()) {
    result.raw_at.push_back(i);
    const bool two = raw[i] == '\r' && i + 1 < raw.size() && raw[i + 1] == '\n';
    result.text += raw[i] == '\r' ? '\n' : raw[i];
    i += two ? 2 : 1;
  }
  result.raw_at.push_back(raw.size());
  return result;
}

// The text with a constant for each time.time(), so that all readings agree. No byte moves.
std::string with_stopped_clock(const SourceFile& source) {
  constexpr std::string_view kCall[] = {"time", ".", "time", "(", ")"};
  constexpr std::string_view kTime = "(1.7000e+9)";  // of the shortest call's length
  const std::vector<Token> tokens = tokenize(source);
  std::string text(source.text());
  for (std::size_t i = 0; i + std::size(kCall) <= tokens.size(); ++i) {
    const bool called = std::equal(
        std::begin(kCall), std::end(kCall), tokens.begin() + static_cast<std::ptrdiff_t>(i),
        [&](std::string_view word, const Token& t) { return source.slice(t.extent) == word; });
    if (!called) continue;
    const std::size_t begin = tokens[i].extent.begin;
    const std::size_t length = tokens[i + std::size(kCall) - 1].extent.end - begin;
    text.replace(begin, length, std::string(kTime) + std::string(length - kTime.size(), ' '));
  }
  return text;
}

struct Reading {
  LoadedConfig config;
  bool finishes = true;  // no helper is taken for a mistyped key
};

Reading read(const SourceFile& source) {
  Reading reading;
  PythonReader reader(reading.config);
  reader.read(source);
  try {
    reader.finish();
  } catch (const ConfigError&) {
    reading.finishes = false;
  }
  return reading;
}

// An assignment by its tokens: [first, value) are names and signs by turns, [value, end) the value.
struct Statement {
  std::size_t first, value, end;
  std::size_t line;  // in Layout::lines
};

// A logical line; its tail is what follows the last token: blanks and a comment.
struct Line {
  Extent tail;
  std::size_t statement_count = 0;
};

struct Layout {
  std::vector<Token> tokens;
  std::vector<Statement> statements;  // one per assignment of the module, in its order
  std::vector<Line> lines;
};

Layout lay_out(const SourceFile& source, const Module& module) {
  Layout layout{tokenize(source), {}, {}};
  const std::vector<Token>& tokens = layout.tokens;
  Line line;
  std::size_t first = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_newline = tokens[i].kind == Token::Kind::kNewline;
    if (!is_newline && source.slice(tokens[i].extent) != ";") continue;
    const std::size_t next = layout.statements.size();
    if (i > first) ++line.statement_count;
    if (i > first && next < module.assignments.size()) {
      const std::vector<Target>& targets = module.assignments[next].targets;
      if (tokens[first].extent.begin == targets.front().extent.begin) {
        layout.statements.push_back({first, first + 2 * targets.size(), i, layout.lines.size()});
      }
    }
    first = i + 1;
    if (!is_newline) continue;
    line.tail = {tokens[i - 1].extent.end, tokens[i].extent.begin};
    layout.lines.push_back(std::exchange(line, {}));
  }
  return layout;
}

// A statement as a comment quotes it.
struct Quote {
  std::vector<std::string> targets;
  std::string sign, value;

  std::string text() const {
    return fmt::format("{} {} {}", fmt::join(targets, " = "), sign, value);
  }
  bool shares_target(const Quote& other) const {
    return std::find_first_of(targets.begin(), targets.end(), other.targets.begin(),
                              other.targets.end()) != targets.end();
  }
};

Quote quote(const SourceFile& source, const std::vector<Token>& tokens, const Statement& s) {
  Quote result;
  for (std::size_t i = s.first; i < s.value; i += 2) {
    result.targets.emplace_back(source.slice(tokens[i].extent));
  }
  result.sign = source.slice(tokens[s.value - 1].extent);
  for (std::size_t i = s.value; i < s.end; ++i) {
    const std::string_view gap = source.slice({tokens[i - 1].extent.end, tokens[i].extent.begin});
    if (i > s.value) result.value += gap.find_first_not_of(" \t") == gap.npos ? gap : " ";
    const std::string_view text = source.slice(tokens[i].extent);
    const bool one_line = text.find('\n') == text.npos;
    result.value += one_line ? text : python_repr(decode_string(source, tokens[i]));
  }
  return result;
}

// What a comment of ours quotes, and the bytes of the comment up to there. A bare value belongs to
// `alone`, the targets of the line's only statement. Other people's comments give nothing.
struct Noted {
  std::vector<Quote> quotes;
  std::size_t end = 0;
};

Noted read_note(std::string_view comment, const std::vector<std::string>& alone) {
  if (!comment.starts_with(kWas)) return {};
  const auto parse = [](const auto& parser, const SourceFile& source) -> decltype(parser(source)) {
    try {
      return parser(source);
    } catch (const ConfigError&) {
      return {};
    }
  };
  const SourceFile whole("", std::string(comment.substr(kWas.size())));
  const std::vector<Token> tokens = parse(tokenize, whole);
  if (tokens.size() < 3) return {};
  const std::size_t length = tokens[tokens.size() - 3].extent.end;  // then kNewline and kEnd
  const SourceFile source("", std::string(whole.text().substr(0, length)));
  Noted noted{{}, kWas.size() + length};
  if (!alone.empty() && parse(parse_expression, source)) {
    noted.quotes.push_back({alone, "=", std::string(source.text())});
    return noted;
  }
  const Module module = parse(parse_module, source);
  const Layout layout = lay_out(source, module);
  for (const Statement& s : layout.statements) {
    noted.quotes.push_back(quote(source, layout.tokens, s));
  }
  const bool all =
      layout.lines.size() == 1 && layout.lines[0].statement_count == layout.statements.size();
  return all && !noted.quotes.empty() ? noted : Noted{};
}

// A config file with all that planning its edits needs.
struct File {
  File(const std::string& name, const std::string& bytes)
      : raw(bytes),
        normalised(normalise(raw)),
        source(name, normalised.text),
        stopped(name, with_stopped_clock(source)),
        module(parse_module(stopped)),
        layout(lay_out(source, module)) {}

  std::string raw;
  Normalised normalised;
  SourceFile source, stopped;  // the same, and with its clock stopped
  Module module;               // of stopped
  Layout layout;               // of source
};

struct Edit {
  Extent extent;
  std::string text;
};

struct Wishes {
  ValueMap values;
  NameSet dropped;  // helpers to take out
};

// Plans the edits of one file.
class Editor {
 public:
  Editor(const File& file, const Wishes& wishes) : file_(file), wishes_(wishes) {
    const std::vector<Assignment>& assignments = file.module.assignments;
    for (std::size_t i = 0; i < assignments.size(); ++i) {
      for (const Target& target : assignments[i].targets) {
        last_[target.name] = i;
        ++count_[target.name];
      }
    }
  }

  void run() {
    for (std::size_t i = 0; i < file_.module.assignments.size(); ++i) settle(i);
    for (const auto& [line, pending] : pending_) end_line(file_.layout.lines[line], pending);
    std::stable_sort(edits.begin(), edits.end(),
                     [](const Edit& a, const Edit& b) { return a.extent.begin < b.extent.begin; });
  }

  std::string edited() const {
    const std::vector<std::size_t>& raw_at = file_.normalised.raw_at;
    std::string text;
    std::size_t at = raw_at.front();
    for (const Edit& edit : edits) {
      text += file_.raw.substr(at, raw_at[edit.extent.begin] - at) + edit.text;
      at = raw_at[edit.extent.end];
    }
    return text + file_.raw.substr(at);
  }

  std::vector<Edit> edits;  // by place, none over another
  std::vector<std::string> notes;

  // Of every name that the file sets, at its end and without the changes.
  const ValueMap& values() const { return values_; }

 private:
  // What the tail of an edited line has to tell.
  struct Pending {
    std::vector<Quote> was, now;
    std::vector<std::string> comments;  // from inside of values that were replaced
    bool is_split = false;              // more statements stand there than before, or none
  };

  // What becomes of the targets of a statement.
  struct Fates {
    std::vector<std::string> kept, changed, dropped;
  };

  // The value that the statement assigns, before or after the changes; nothing if there is none.
  std::optional<Value> value_of(const Assignment& assignment, bool after) const {
    const auto find = [&](std::string_view name) -> Value {
      if (const auto at = changed_.find(name); after && at != changed_.end()) return at->second;
      if (const auto at = values_.find(name); at != values_.end()) return at->second;
      const Field* field = find_field(name);
      if (!field) throw Fault{"the name has no value", ""};
      return field_value(Config{}, *field);
    };
    try {
      Value value = evaluate(*assignment.value, file_.stopped, find);
      if (!assignment.operation) return value;
      return apply_binary(*assignment.operation, find(assignment.targets.front().name), value);
    } catch (const Fault&) {
      return std::nullopt;
    } catch (const ConfigError&) {
      return std::nullopt;
    }
  }

  void settle(std::size_t index) {
    const Assignment& assignment = file_.module.assignments[index];
    const Statement& s = file_.layout.statements[index];
    const std::optional<Value> before = value_of(assignment, false);
    const std::optional<Value> after = value_of(assignment, true);
    if (!before) throw InternalError("rewrite_config: a value that was read cannot be computed");
    Fates fates;
    bool follows = !is_opaque(*before) || changed_reads(s).empty();
    for (const Target& target : assignment.targets) {
      const std::string& name = target.name;
      const Value old = kept_as(name, *before).value();
      const auto wish = wishes_.values.find(name);
      const bool decides = wish != wishes_.values.end() && last_[name] == index;
      const Value& wanted = decides ? wish->second : old;
      const bool changes = !is_same(wanted, old);
      // A key that changes gets its own type, even from a formula that Snug would convert.
      const std::optional<Value> got = after && !changes ? kept_as(name, *after) : after;
      const bool drops = wishes_.dropped.contains(name);
      follows = follows && !drops && got && is_same(*got, wanted);
      (drops ? fates.dropped : changes ? fates.changed : fates.kept).push_back(name);
    }
    if (!follows) {
      const bool cut_off = !after || !is_same(*before, *after) || is_opaque(*before);
      edit(s, fates, cut_off && !fates.kept.empty());
    }
    for (const Target& target : assignment.targets) {
      values_.insert_or_assign(target.name, kept_as(target.name, *before).value());
    }
    for (const std::string& name : fates.changed) changed_.emplace(name, wishes_.values.at(name));
  }

  // Nothing that is read can look into a list, but Python can.
  static bool is_opaque(const Value& value) {
    return std::holds_alternative<PythonSequence>(value);
  }

  const Token& token(std::size_t i) const { return file_.layout.tokens[i]; }
  std::size_t begin(std::size_t i) const { return token(i).extent.begin; }
  std::size_t end(std::size_t i) const { return token(i).extent.end; }
  int line_number(const Statement& s) const {
    return file_.source.origin(token(s.first).extent).line;
  }

  // The tokens in which the value reads a key that has changed above.
  std::vector<std::size_t> changed_reads(const Statement& s) const {
    std::vector<std::size_t> reads;
    for (std::size_t i = s.value; i < s.end; ++i) {
      if (token(i).kind == Token::Kind::kName &&
          changed_.contains(file_.source.slice(token(i).extent))) {
        reads.push_back(i);
      }
    }
    return reads;
  }

  void edit(const Statement& s, const Fates& fates, bool cut_off) {
    Pending& pending = pending_[s.line];
    pending.was.push_back(quote(file_.source, file_.layout.tokens, s));
    if (cut_off) write_old_values(s, pending.was.back());
    note_fates(s, fates);
    NameSet stay(fates.kept.begin(), fates.kept.end());
    if (fates.kept.empty() && fates.changed.empty()) {
      pending.is_split = true;
      move_comments(s, pending);
      edits.push_back({{begin(s.first), end(s.end - 1)}, "pass"});
      return;
    }
    if (fates.kept.empty()) stay = replace_value(s, fates, pending);
    NameSet moved;
    for (std::size_t i = s.first; i < s.value; i += 2) {
      const std::string name(file_.source.slice(token(i).extent));
      if (stay.contains(name)) continue;
      pending.is_split = true;
      edits.push_back({{begin(i), begin(i + 2)}, ""});
      if (wishes_.dropped.contains(name) || !moved.insert(name).second) continue;
      const std::size_t at = end(s.end - 1);
      edits.push_back({{at, at}, fmt::format("; {} = {}", name, wished(name))});
    }
  }

  std::string wished(const std::string& name) const { return python_repr(wishes_.values.at(name)); }

  // All targets change. Returns those that the new value serves: the first and its equals.
  NameSet replace_value(const Statement& s, const Fates& fates, Pending& pending) {
    const std::vector<std::string>& targets = pending.was.back().targets;
    const std::string text = wished(fates.changed.front());
    NameSet served;
    for (const std::string& name : fates.changed) {
      if (wished(name) == text) served.insert(name);
    }
    if (pending.was.back().sign != "=") edits.push_back({token(s.value - 1).extent, "="});
    move_comments(s, pending);
    edits.push_back({{begin(s.value), end(s.end - 1)}, text});
    if (served.size() == NameSet(targets.begin(), targets.end()).size()) {
      pending.now.push_back({targets, "=", text});
    }
    return served;
  }

  void write_old_values(const Statement& s, const Quote& was) {
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

  void note_fates(const Statement& s, const Fates& fates) {
    for (const std::string& name : NameSet(fates.changed.begin(), fates.changed.end())) {
      if (count_[name] < 2) continue;
      notes.push_back(fmt::format("{}:{}: {} is set {} times: the last one decides and was changed",
                                  file_.source.name(), line_number(s), name, count_[name]));
    }
    for (const std::string& name : NameSet(fates.dropped.begin(), fates.dropped.end())) {
      notes.push_back(fmt::format("{}:{}: {} was taken out: nothing reads it any more",
                                  file_.source.name(), line_number(s), name));
    }
  }

  void move_comments(const Statement& s, Pending& pending) const {
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

  void end_line(const Line& line, const Pending& pending) {
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

  const File& file_;
  const Wishes& wishes_;
  std::map<std::string, std::size_t> last_, count_;  // by name: its last assignment, and how many
  ValueMap values_;                                  // of the names so far, without the changes
  ValueMap changed_;                                 // keys that have their new value by now
  std::map<std::size_t, Pending> pending_;           // by line
};

// Helpers that `before` reads and `after` only sets, and whose names therefore look like mistyped
// keys to the reader.
NameSet orphans(const Module& before, const Module& after) {
  NameSet names;
  const std::vector<std::string> keys = all_keys();
  for (const Assignment& assignment : after.assignments) {
    for (const Target& target : assignment.targets) {
      const std::string& name = target.name;
      const bool orphan =
          !find_field(name) && before.names_read.contains(name) && !after.names_read.contains(name);
      if (orphan && !nearest_word(name, keys, typo_reach(name)).empty()) names.insert(name);
    }
  }
  return names;
}

// Edits what the file sets. Adds to wishes.dropped what the edits leave without a reader.
Rewritten edit_settings(const File& file, Wishes& wishes) {
  for (;;) {
    Editor editor(file, wishes);
    editor.run();
    Rewritten result{editor.edited(), std::move(editor.notes)};
    const NameSet lost = orphans(file.module, File(file.source.name(), result.text).module);
    if (lost.empty()) return result;
    wishes.dropped.insert(lost.begin(), lost.end());
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
      is_utf8(change.before) ? read_literal(change.before) : std::nullopt;
  const std::string was = before ? python_repr(*before) : "";
  if (was.empty() || was == text || std::holds_alternative<PythonSequence>(*before)) {
    return fmt::format("{} = {}", change.key, text);
  }
  return fmt::format("{} = {}{}{}{}", change.key, text, kApart, kWas, was);
}

// Appends the keys of `changes` that `file` does not set.
void add_settings(Rewritten& result, const File& file, const std::vector<Change>& changes,
                  const Wishes& wishes, const std::string& reason) {
  NameSet set;
  for (const Assignment& assignment : file.module.assignments) {
    for (const Target& target : assignment.targets) set.insert(target.name);
  }
  std::vector<std::string> lines;
  for (const Change& change : changes) {
    if (!set.insert(change.key).second) continue;
    lines.push_back(added_line(change, wishes.values.at(change.key)));
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
void verify(const File& file, const Rewritten& result, const Wishes& wishes) {
  const auto require = [&](bool holds, const std::string& what) {
    if (holds) return;
    throw InternalError(fmt::format("rewriting {}: {}", file.source.name(), what));
  };
  const File written(file.source.name(), result.text);
  const Reading before = read(file.stopped), after = read(written.stopped);
  for (const Field& field : all_fields()) {
    const auto wish = wishes.values.find(field.key);
    const bool wished = wish != wishes.values.end();
    const Value wanted = wished ? wish->second : field_value(before.config.values, field);
    const Value got = field_value(after.config.values, field);
    require(is_same(wanted, got), fmt::format("{} would be {}, not {}", field.key, python_repr(got),
                                              python_repr(wanted)));
    require(after.config.is_set(field.key) == (wished || before.config.is_set(field.key)),
            fmt::format("{} would be set or missing", field.key));
  }
  require(after.finishes || !before.finishes, "a helper would look like a mistyped key");
  const Wishes none;
  Editor old(file, none);
  Editor again(written, wishes);
  old.run();
  again.run();
  require(again.edits.empty(), "a second time would change it again");
  for (const auto& [name, value] : old.values()) {
    if (find_field(name) || wishes.dropped.contains(name)) continue;
    const auto at = again.values().find(name);
    require(at != again.values().end() && is_same(at->second, value), name + " would change");
  }
}

ValueMap wished_values(const std::vector<Change>& changes) {
  ValueMap values;
  for (const auto& [key, before, after] : changes) {
    const std::optional<Value> literal = is_utf8(after) ? read_literal(after) : std::nullopt;
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
  Wishes wishes{wished_values(changes), {}};
  read({file_name, normalise(source).text});  // whose errors show the text as it is
  const File file(file_name, source);
  Rewritten result;
  try {
    result = edit_settings(file, wishes);
    add_settings(result, file, changes, wishes, reason);
    verify(file, result, wishes);
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

}  // namespace snug
