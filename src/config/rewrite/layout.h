// A config file as an editor sees it: its text with the positions of its bytes, its statements by
// their tokens, and what the comments that Snug wrote in it quote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/python/parser.h"

namespace snug::config::rewrite {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline constexpr std::string_view kWas = "# was: ";

// A text as the parser reads it, with the positions of its bytes in the file.
struct Normalised {
  std::string text;
  std::vector<std::size_t> raw_at;  // of each byte of text, and of its end
};
Normalised normalise(const std::string& raw);

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
  std::vector<python::Token> tokens;
  std::vector<Statement> statements;  // one per assignment of the module, in its order
  std::vector<Line> lines;
};

Layout lay_out(const SourceFile& source, const python::Module& module);

// A statement as a comment quotes it.
struct Quote {
  std::vector<std::string> targets;
  std::string sign, value;

  std::string text() const;
  bool shares_target(const Quote& other) const;
};
Quote quote(const SourceFile& source, const std::vector<python::Token>& tokens, const Statement& s);

// What a comment written by Snug quotes, and the bytes of the comment up to there. A bare value
// belongs to `alone`, the targets of the line's only statement. Other comments give nothing.
struct Noted {
  std::vector<Quote> quotes;
  std::size_t end = 0;
};
Noted read_note(std::string_view comment, const std::vector<std::string>& alone);

// A config file with all that planning its edits needs.
struct EditedFile {
  EditedFile(const std::string& name, const std::string& bytes);

  std::string raw;
  Normalised normalised;
  SourceFile source, stopped;  // the same, and with a constant for each time.time()
  python::Module module;       // of stopped
  Layout layout;               // of source
};

}  // namespace snug::config::rewrite
