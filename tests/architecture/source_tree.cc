// Reading and scanning. Comments, literals and preprocessor lines are left out before the tokens
// are looked at.
#include "architecture/source_tree.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <optional>
#include <sstream>

namespace snug::architecture {
namespace {

namespace fs = std::filesystem;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The position after a literal that starts at `at` with a quote.
std::size_t after_literal(const std::string& text, std::size_t at) {
  const char quote = text[at];
  if (quote == '"' && at > 0 && text[at - 1] == 'R') {
    const std::size_t open = text.find('(', at);
    if (open == std::string::npos) return text.size();
    const std::string close = ")" + text.substr(at + 1, open - at - 1) + "\"";
    const std::size_t end = text.find(close, open);
    return end == std::string::npos ? text.size() : end + close.size();
  }
  for (++at; at < text.size() && text[at] != quote; ++at) at += text[at] == '\\';
  return at + 1;
}

std::size_t after_directive(const std::string& text, std::size_t at) {
  while (at < text.size() && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return at;
}

// Words, "::" and single characters.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  bool line_is_empty = true;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::string_view two = std::string_view(text).substr(at, 2);
    if (c == '\n') line_is_empty = true;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if (two == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (two == "/*") {
      const std::size_t end = text.find("*/", at + 2);
      at = end == std::string::npos ? text.size() : end + 2;
    } else if (c == '#' && line_is_empty) {
      at = after_directive(text, at);
    } else if (is_word(c)) {
      std::size_t end = at;
      // A ' between two digits separates them: 1'000.
      while (end < text.size() &&
             (is_word(text[end]) ||
              (text[end] == '\'' && std::isdigit(static_cast<unsigned char>(c)))))
        ++end;
      tokens.push_back(text.substr(at, end - at));
      at = end;
      line_is_empty = false;
    } else if (c == '"' || c == '\'') {
      at = after_literal(text, at);
      tokens.push_back("\"\"");
      line_is_empty = false;
    } else {
      tokens.push_back(two == "::" ? "::" : std::string(1, c));
      at += tokens.back().size();
      line_is_empty = false;
    }
  }
  return tokens;
}

// Walks the tokens of a file with the stack of open braces.
class Scanner {
 public:
  explicit Scanner(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}

  Declarations scan() {
    while (at_ < tokens_.size()) {
      if (const std::string& token = tokens_[at_]; token == "{") {
        scopes_.push_back(std::nullopt);
      } else if (token == "}") {
        if (!scopes_.empty()) scopes_.pop_back();
      } else if (at_namespace_scope()) {
        declaration();
      }
      ++at_;
    }
    return std::move(found_);
  }

 private:
  // Each scope is a namespace by name, or something else.
  bool at_namespace_scope() const {
    return std::all_of(scopes_.begin(), scopes_.end(), [](const auto& s) { return s.has_value(); });
  }
  const std::string& token(std::size_t at) const {
    static const std::string none;
    return at < tokens_.size() ? tokens_[at] : none;
  }

  // Leaves at_ on the last token that it took.
  void declaration() {
    const std::string& word = tokens_[at_];
    if (word == "namespace") {
      open_namespace();
    } else if (word == "using" && token(at_ + 2) == "=") {
      add(token(at_ + 1));
    } else if (word == "class" || word == "struct" || word == "union" || word == "enum") {
      type();
    }
  }

  void open_namespace() {
    std::string name;
    std::size_t at = at_ + 1;
    for (; is_word(token(at)[0]) || token(at) == "::"; ++at) name += token(at);
    if (token(at) != "{") return;  // an alias
    if (name.empty()) name = "(anonymous)";
    if (scopes_.empty()) found_.namespaces.push_back(name);
    scopes_.push_back(name);
    at_ = at;
  }

  void type() {
    std::size_t at = at_ + 1;
    if (token(at) == "class" || token(at) == "struct") ++at;  // enum class
    while (token(at) == "[" || token(at) == "alignas") at = after_brackets(at);
    const std::string name = token(at++);
    if (token(at) == "final") ++at;
    if (token(at) == ":") {
      while (at < tokens_.size() && token(at) != "{" && token(at) != ";") ++at;
    }
    if (token(at) != "{") return;  // a declaration, a template's parameter, a specialisation
    if (!name.empty() && is_word(name[0])) add(name);
    at_ = at - 1;
  }

  // After [[...]] or alignas(...).
  std::size_t after_brackets(std::size_t at) const {
    if (token(at) == "alignas") ++at;
    int depth = 0;
    do {
      depth += token(at) == "[" || token(at) == "(";
      depth -= token(at) == "]" || token(at) == ")";
      ++at;
    } while (depth > 0 && at < tokens_.size());
    return at;
  }

  void add(const std::string& name) {
    std::string name_space;
    for (const auto& scope : scopes_) name_space += (name_space.empty() ? "" : "::") + *scope;
    found_.types.push_back({name_space, name});
  }

  std::vector<std::string> tokens_;
  std::size_t at_ = 0;
  std::vector<std::optional<std::string>> scopes_;
  Declarations found_;
};

}  // namespace

SourceTree read_tree(const fs::path& root, const std::set<std::string>& extensions) {
  SourceTree tree;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    const fs::path& path = entry.path();
    if (!extensions.contains(path.extension().string())) continue;
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    tree.push_back({path.lexically_relative(root).generic_string(), text.str()});
  }
  std::sort(tree.begin(), tree.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return tree;
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash));
}

int lines_of(const SourceFile& file) {
  return static_cast<int>(std::count(file.text.begin(), file.text.end(), '\n'));
}

std::vector<std::string> includes_of(const SourceFile& file) {
  std::vector<std::string> includes;
  std::istringstream lines(file.text);
  const std::string start = "#include \"";
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(start, 0) != 0) continue;
    includes.push_back(line.substr(start.size(), line.rfind('"') - start.size()));
  }
  return includes;
}

Declarations declarations_of(const SourceFile& file) {
  return Scanner(tokens_of(file.text)).scan();
}

}  // namespace snug::architecture
