// Plans the edits that give a config file's keys new values.
//
// Edits are planned on the text with '\n' line ends, in which the parser counts its bytes, and
// applied to the raw text. Names keep their values throughout, except changed keys after their last
// assignment; so a statement is edited if it is such an assignment or reads such a key.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/python/literals.h"
#include "config/rewrite/layout.h"

namespace snug::config::rewrite {

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

// The new values of keys, and what has to go because of them.
struct RequestedChanges {
  ValueMap values;
  NameSet dropped;  // helpers to remove
};

// Plans the edits of one file.
class Editor {
 public:
  Editor(const EditedFile& file, const RequestedChanges& requested);
  void run();

  std::string edited() const;

  std::vector<Edit> edits;  // in order, without overlap
  std::vector<std::string> notes;

  // The values, at the end of the file and without the changes, of every name that it sets.
  const ValueMap& values() const { return values_; }

 private:
  // What the comment at the end of an edited line has to state.
  struct Pending {
    std::vector<Quote> was, now;
    std::vector<std::string> comments;  // from inside of values that were replaced
    bool is_split = false;              // more statements stand there than before, or none
  };

  // The targets of a statement by what happens to them.
  struct TargetNames {
    std::vector<std::string> kept, changed, dropped;
  };

  // The value that the statement assigns, before or after the changes; nothing if there is none.
  std::optional<Value> value_of(const python::Assignment& assignment, bool after) const;
  void settle(std::size_t index);

  // Snug cannot compute with lists, but Python can.
  static bool is_opaque(const Value& value);

  const python::Token& token(std::size_t i) const { return file_.layout.tokens[i]; }
  std::size_t begin(std::size_t i) const { return token(i).extent.begin; }
  std::size_t end(std::size_t i) const { return token(i).extent.end; }
  int line_number(const Statement& s) const;

  // The tokens in which the value reads a key that has changed above.
  std::vector<std::size_t> changed_reads(const Statement& s) const;
  void edit(const Statement& s, const TargetNames& names, bool cut_off);

  std::string requested_text(const std::string& name) const {
    return python_repr(requested_.values.at(name));
  }

  // All targets change. Returns those that the new value serves: the first and its equals.
  NameSet replace_value(const Statement& s, const TargetNames& names, Pending& pending);
  void write_old_values(const Statement& s, const Quote& was);
  void note_changes(const Statement& s, const TargetNames& names);
  void move_comments(const Statement& s, Pending& pending) const;
  void end_line(const Line& line, const Pending& pending);

  const EditedFile& file_;
  const RequestedChanges& requested_;
  std::map<std::string, std::size_t> last_,
      count_;         // by name: index of its last assignment, and number of them
  ValueMap values_;   // of the names so far, without the changes
  ValueMap changed_;  // keys that have their new value by now
  std::map<std::size_t, Pending> pending_;  // by line
};

}  // namespace snug::config::rewrite
