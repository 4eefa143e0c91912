#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "program.h"

namespace emulator::ptx {
namespace {

std::string stripped(std::string text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Splits at commas that stand in no bracket.
std::vector<std::string> split_operands(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(stripped(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!stripped(part).empty()) parts.push_back(stripped(part));
  return parts;
}

std::size_t bytes_of_type(const std::string& type) {
  if (type == "pred") return 1;
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32")) return 4;
  if (type.ends_with("16")) return 2;
  return 1;
}

// ".align 16 .b8 name[1024]" or ".u64 name"; what stands before (".param", ".shared") is gone.
Variable variable(const std::string& text) {
  static const std::regex pattern(
      R"((?:\.align\s+(\d+)\s+)?(?:\.ptr\s+)?\.(\w+)\s+(?:\.ptr\s+(?:\.(?:global|shared|const|local)\s+)?(?:\.align\s+\d+\s+)?)?([\w$%]+)\s*(?:\[(\d*)\])?.*)");
  std::smatch match;
  const std::string plain = stripped(text);
  if (!std::regex_match(plain, match, pattern)) throw std::runtime_error("declaration: " + text);
  const std::size_t width = bytes_of_type(match[2]);
  const std::size_t count = match[4].length() ? std::stoul(match[4]) : 1;
  const bool open = match[4].matched && match[4].length() == 0;
  return {match[3], open ? 0 : width * count, match[1].matched ? std::stoul(match[1]) : width};
}

class Parser {
 public:
  explicit Parser(const std::string& text) : lines_(text) {}

  Module run() {
    std::string line;
    while (next(line)) {
      const bool entry = line.find(".entry") != std::string::npos;
      const bool constant = line.starts_with(".global") || line.starts_with(".const") ||
                            line.starts_with(".visible .const") ||
                            line.starts_with(".visible .global");
      const bool shared = line.find(".shared") != std::string::npos && line.ends_with(";");
      if (entry) {
        read_kernel(line);
      } else if (shared) {
        module_shared_.push_back(shared_variable(line));
      } else if (constant) {
        read_constant(line);
      }
    }
    return std::move(module_);
  }

 private:
  bool next(std::string& line) {
    std::string raw;
    while (std::getline(lines_, raw)) {
      if (const auto comment = raw.find("//"); comment != std::string::npos) raw.erase(comment);
      line = stripped(raw);
      if (!line.empty()) return true;
    }
    return false;
  }

  static Variable shared_variable(std::string line) {
    line.erase(0, line.find(".shared") + 7);
    line.pop_back();
    return variable(line);
  }

  // ".global .align 4 .b8 table[16] = {0, 1, ...};" as bytes
  void read_constant(std::string line) {
    while (line.find(';') == std::string::npos) {
      std::string more;
      if (!next(more)) break;
      line += more;
    }
    const auto space = line.find(line.find(".const") != std::string::npos ? ".const" : ".global");
    const auto equals = line.find('=');
    const std::string declared = line.substr(space + (line[space + 1] == 'c' ? 6 : 7),
                                             std::min(equals, line.find(';')) - space - 7);
    const Variable made = variable(declared);
    std::vector<unsigned char>& bytes = module_.constants[made.name];
    bytes.resize(made.bytes);
    if (equals == std::string::npos) return;
    const std::size_t count = std::max<std::size_t>(1, made.bytes / made.alignment);
    const bool is_bytes = declared.find(".b8") != std::string::npos;
    const std::size_t width = is_bytes ? 1 : made.bytes / count;
    std::string list = line.substr(equals + 1);
    std::erase_if(list, [](char c) { return c == '{' || c == '}' || c == ';'; });
    std::size_t at = 0;
    for (const std::string& item : split_operands(list)) {
      const std::uint64_t value = immediate(item);
      for (std::size_t i = 0; i < width && at < bytes.size(); ++i, ++at) {
        bytes[at] = static_cast<unsigned char>(value >> 8 * i);
      }
    }
  }

  void read_kernel(std::string line) {
    auto kernel = std::make_shared<Kernel>();
    registers_.clear();
    labels_.clear();
    while (line.find('(') == std::string::npos) append(line);
    const auto name_at = line.find(".entry") + 6;
    kernel->name = stripped(line.substr(name_at, line.find('(') - name_at));
    while (line.find(')') == std::string::npos) append(line);
    const std::string list = line.substr(line.find('(') + 1, line.rfind(')') - line.find('(') - 1);
    for (std::string parameter : split_operands(list)) {
      parameter.erase(0, parameter.find(".param") + 6);
      kernel->parameters.push_back(variable(parameter));
    }
    while (next(line) && line != "{") {
      std::smatch match;
      static const std::regex bound(R"(\.maxntid\s+(\d+).*)");
      if (std::regex_match(line, match, bound)) kernel->max_threads = std::stoul(match[1]);
    }
    kernel->shared = module_shared_;
    read_body(*kernel);
    kernel->registers = static_cast<int>(registers_.size());
    module_.kernels[common_symbol(kernel->name)] = kernel;
  }

  void append(std::string& line) {
    std::string more;
    if (!next(more)) throw std::runtime_error("the text ends within a kernel's head");
    line += " " + more;
  }

  void read_body(Kernel& kernel) {
    std::string line;
    int depth = 1;
    while (depth > 0 && next(line)) {
      if (line == "{") {
        ++depth;
      } else if (line == "}") {
        --depth;
      } else if (line.ends_with(":")) {
        labels_[line.substr(0, line.size() - 1)] = kernel.code.size();
      } else {
        while (line.find(';') == std::string::npos) append(line);
        depth += strip_braces(line);
        read_statements(kernel, line);
      }
    }
    for (Instruction& instruction : kernel.code) {
      for (Operand& operand : instruction.operands) {
        if (operand.kind != Operand::Kind::kSymbol || !labels_.contains(operand.name)) continue;
        operand.kind = Operand::Kind::kLabel;
        operand.value = labels_[operand.name];
      }
    }
  }

  // Inline assembly has braces around its statements, on their lines. The change of depth.
  static int strip_braces(std::string& line) {
    int change = 0;
    while (line.starts_with("{")) {
      line = stripped(line.substr(1));
      ++change;
    }
    for (auto end = line.rfind(';');
         line.ends_with("}") && line.find('}', end) != std::string::npos; end = line.rfind(';')) {
      line = stripped(line.substr(0, line.size() - 1));
      --change;
    }
    return change;
  }

  void read_statements(Kernel& kernel, const std::string& line) {
    std::stringstream all(line);
    std::string one;
    while (std::getline(all, one, ';')) {
      one = stripped(one);
      if (one.starts_with(".")) {
        declare(kernel, one);
      } else if (!one.empty()) {
        kernel.code.push_back(instruction(one));
      }
    }
  }

  void declare(Kernel& kernel, const std::string& text) {
    if (text.starts_with(".shared")) kernel.shared.push_back(variable(text.substr(7)));
    if (text.starts_with(".local")) kernel.local.push_back(variable(text.substr(6)));
    if (!text.starts_with(".reg")) return;
    // Inline assembly names registers without a percent sign.
    const auto names = text.find_first_of(" \t", text.find('.', 4));
    for (const std::string& name : split_operands(text.substr(names))) {
      if (name[0] != '%') register_number(name);
    }
  }

  Instruction instruction(const std::string& text) {
    Instruction made;
    made.text = text;
    std::string rest = text;
    if (rest[0] == '@') {
      made.guard_negated = rest[1] == '!';
      const auto end = rest.find_first_of(" \t");
      made.guard = register_number(
          rest.substr(made.guard_negated ? 2 : 1, end - (made.guard_negated ? 2 : 1)));
      rest = stripped(rest.substr(end));
    }
    const auto end = rest.find_first_of(" \t");
    std::stringstream words(rest.substr(0, end));
    std::getline(words, made.opcode, '.');
    for (std::string word; std::getline(words, word, '.');) made.words.push_back(word);
    if (made.words.empty()) made.words.push_back("");
    if (end == std::string::npos) return made;
    for (const std::string& part : split_operands(rest.substr(end))) {
      // setp's and shfl's pair "d|p"
      if (const auto bar = part.find('|'); bar != std::string::npos) {
        made.operands.push_back(operand(part.substr(0, bar)));
        made.operands.push_back(operand(part.substr(bar + 1)));
      } else {
        made.operands.push_back(operand(part));
      }
    }
    return made;
  }

  int register_number(const std::string& name) {
    return registers_.emplace(name, static_cast<int>(registers_.size())).first->second;
  }

  static bool is_special(const std::string& name) {
    for (const char* special : {"%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%laneid", "%warpid"}) {
      if (name.starts_with(special)) return true;
    }
    return false;
  }

  static std::uint64_t immediate(const std::string& text) {
    if (text.starts_with("0f") || text.starts_with("0F")) {
      return std::stoul(text.substr(2), nullptr, 16);
    }
    if (text.starts_with("0d") || text.starts_with("0D")) {
      return std::stoull(text.substr(2), nullptr, 16);
    }
    if (text[0] == '-') return static_cast<std::uint64_t>(std::stoll(text, nullptr, 0));
    return std::stoull(text, nullptr, 0);
  }

  Operand operand(const std::string& text) {
    Operand made;
    if (text == "_") return made;
    if (text[0] == '{') {
      made.kind = Operand::Kind::kVector;
      for (const std::string& part : split_operands(text.substr(1, text.rfind('}') - 1))) {
        made.parts.push_back(operand(part));
      }
    } else if (text[0] == '[') {
      return address(stripped(text.substr(1, text.rfind(']') - 1)));
    } else if (is_special(text)) {
      made.kind = Operand::Kind::kSpecial;
      made.name = text;
    } else if (text[0] == '%' || registers_.contains(text)) {
      made.kind = Operand::Kind::kRegister;
      made.reg = register_number(text);
    } else if (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-') {
      made.kind = Operand::Kind::kImmediate;
      made.value = immediate(text);
    } else {
      made.kind = Operand::Kind::kSymbol;
      made.name = text;
    }
    return made;
  }

  Operand address(const std::string& text) {
    Operand made;
    made.kind = Operand::Kind::kAddress;
    const auto plus = text.find('+');
    const std::string base = stripped(text.substr(0, plus));
    if (plus != std::string::npos) made.value = immediate(stripped(text.substr(plus + 1)));
    if (base[0] == '%') {
      made.reg = register_number(base);
    } else {
      made.name = base;
    }
    return made;
  }

  std::stringstream lines_;
  Module module_;
  std::vector<Variable> module_shared_;
  std::map<std::string, int> registers_;
  std::map<std::string, std::size_t> labels_;
};

}  // namespace

bool Instruction::has(const char* word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool Kernel::has_approximations() const {
  return std::any_of(code.begin(), code.end(), [](const Instruction& instruction) {
    return instruction.has("approx") || instruction.has("full") || instruction.opcode == "mma";
  });
}

Module parse(const std::string& text) { return Parser(text).run(); }

std::string common_symbol(std::string symbol) {
  const auto at = symbol.find("_GLOBAL__N__");
  if (at == std::string::npos) return symbol;
  std::size_t digits = at;
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(symbol[digits - 1]))) --digits;
  const std::size_t length = std::stoul(symbol.substr(digits, at - digits));
  return symbol.replace(digits, at - digits + length, "12_GLOBAL__N_1");
}

}  // namespace emulator::ptx
