// Plans the edits that give a config file's keys new values.
//
// Edits are planned on the text with '\n' line ends, in which the parser counts its bytes, and made
// on the raw one. Names keep their values throughout, but for changed keys below their last
// assignment; so a statement is touched if it is such an assignment or reads such a key.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/python/literals.h"
#include "config/rewrite/layout.h"

namespace snug::rewriting {

using NameSet = std::set<std::string, std::less<>>;
using ValueMap = std::map<std::string, Value, std::less<>>;

inline constexpr std::string_view kApart = "  ";  // before a comment

bool is_same(const Value& a, const Value& b);

// The value as the reader keeps it under this name; nothing when the key cannot have it.
std::optional<Value> kept_as(std::string_view name, const Value& value);

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
  Editor(const EditedFile& file, const Wishes& wishes);
  void run();

  std::string edited() const;

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
  std::optional<Value> value_of(const Assignment& assignment, bool after) const;
  void settle(std::size_t index);

  // Nothing that is read can look into a list, but Python can.
  static bool is_opaque(const Value& value);

  const Token& token(std::size_t i) const { return file_.layout.tokens[i]; }
  std::size_t begin(std::size_t i) const { return token(i).extent.begin; }
  std::size_t end(std::size_t i) const { return token(i).extent.end; }
  int line_number(const Statement& s) const;

  // The tokens in which the value reads a key that has changed above.
  std::vector<std::size_t> changed_reads(const Statement& s) const;
  void edit(const Statement& s, const Fates& fates, bool cut_off);

  std::string wished(const std::string& name) const { return python_repr(wishes_.values.at(name)); }

  // All targets change. Returns those that the new value serves: the first and its equals.
  NameSet replace_value(const Statement& s, const Fates& fates, Pending& pending);
  void write_old_values(const Statement& s, const Quote& was);
  void note_fates(const Statement& s, const Fates& fates);
  void move_comments(const Statement& s, Pending& pending) const;
  void end_line(const Line& line, const Pending& pending);

  const EditedFile& file_;
  const Wishes& wishes_;
  std::map<std::string, std::size_t> last_, count_;  // by name: its last assignment, and how many
  ValueMap values_;                                  // of the names so far, without the changes
  ValueMap changed_;                                 // keys that have their new value by now
  std::map<std::size_t, Pending> pending_;           // by line
};

}  // namespace snug::rewriting
