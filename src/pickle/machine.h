// The stack machine that a pickle is a program for, without the opcodes that could do harm. An
// opcode takes time and memory in proportion to its bytes in the file. Internal to reader.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pickle/document.h"
#include "pickle/reader.h"

namespace snug::pickle {

class PickleMachine {
 public:
  // Both must outlive run(), which may be called once.
  PickleMachine(std::string_view bytes, const std::string& name, PickleDialect dialect)
      : bytes_(bytes), name_(name), dialect_(dialect) {}
  PickleDocument run();
  std::size_t taken_bytes() const { return at_; }

 private:
  // Opcodes by family; false when `opcode` is of another.
  bool run_number(std::uint8_t opcode);
  bool run_text(std::uint8_t opcode);
  bool run_container(std::uint8_t opcode);
  bool run_stack(std::uint8_t opcode);
  bool run_memo(std::uint8_t opcode);
  bool run_torch(std::uint8_t opcode);  // torch_opcodes.cc
  [[noreturn]] void refuse(std::uint8_t opcode) const;

  // The bytes of the program.
  std::string_view take(std::uint64_t count);
  std::string_view take_line();
  std::uint64_t take_unsigned(int byte_count);  // little-endian
  std::int64_t take_long(std::uint64_t byte_count);
  std::uint64_t take_index();  // a memo index written as a line

  // The stack; no opcode sees below the last mark.
  void push(std::uint32_t node);
  std::uint32_t push_new(PickleKind kind);
  void push_integer(PickleKind kind, std::int64_t value);
  void push_line_integer(std::string_view line, bool may_be_bool);
  void push_real(double value);
  void push_text(PickleKind kind, std::string_view text);
  void push_string(const std::optional<std::string>& text);
  void push_python2_string(std::string_view text);
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  std::uint32_t top() const;
  std::uint32_t pop();
  std::vector<std::uint32_t> pop_items(std::size_t count);
  std::vector<std::uint32_t> pop_to_mark();

  void push_container(PickleKind kind, const std::vector<std::uint32_t>& items);
  void extend_top(PickleKind kind, const std::vector<std::uint32_t>& items);
  void remember(std::uint64_t index);
  void recall(std::uint64_t index);

  // Torch's dialect. Nothing is called: a few names are known, and what they would make is noted.
  void push_global(std::string_view module, std::string_view name);
  void make_storage();
  void reduce();
  void build();
  std::string_view text_of(std::uint32_t node) const;

  [[noreturn]] void fail(const std::string& what) const;

  std::string_view bytes_;
  const std::string& name_;
  PickleDialect dialect_;
  std::size_t at_ = 0;         // the next byte
  std::size_t opcode_at_ = 0;  // the opcode being run, for messages
  std::vector<PickleNode> nodes_;
  std::string text_;
  std::size_t reference_count_ = 0;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, std::uint32_t> memo_;
};

}  // namespace snug::pickle
