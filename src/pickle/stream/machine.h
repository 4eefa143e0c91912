// The stack machine behind reader.h. An opcode takes time in proportion to its bytes in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pickle/stream/byte_reader.h"
#include "pickle/stream/item.h"
#include "pickle/stream/memo.h"
#include "pickle/stream/reader.h"

namespace snug::pickle::stream {

class Machine {
 public:
  // Both outlive this.
  Machine(ByteReader& bytes, Builder& builder) : bytes_(bytes), builder_(builder) {}
  Item run();

 private:
  static constexpr std::size_t kStack = StreamLimits::kStack;

  // Opcodes by family; false when `opcode` is of another.
  bool run_memo(std::uint8_t opcode);
  bool run_number(std::uint8_t opcode);
  bool run_container(std::uint8_t opcode);
  bool run_text(std::uint8_t opcode);
  bool run_stack(std::uint8_t opcode);
  [[noreturn]] void refuse(std::uint8_t opcode) const;

  std::int64_t take_long(std::uint64_t byte_count);
  std::uint64_t take_index();

  // Member by member: an Item that is put together elsewhere and copied whole makes the processor
  // wait for its parts, a fifth of the time that reading takes.
  void push(ItemKind kind, std::uint32_t memo, std::int64_t value) {
    if (stack_.size() >= kStack) bytes_.fail("too many values on the stack");
    Item& item = stack_.emplace_back();
    item.kind = kind;
    item.memo = memo;
    item.value = value;
  }
  void push_integer(ItemKind kind, std::int64_t value) { push(kind, 0, value); }
  void push_line_integer(bool may_be_bool);
  void push_text(std::string_view text);
  void push_line_text(const std::optional<std::string>& text);
  void push_empty(ItemKind kind);
  void push_filled(ItemKind kind, std::size_t count);
  void remember(std::uint64_t index);
  void recall(std::uint64_t index);
  [[noreturn]] void fail_to_recall(std::uint64_t index) const;
  void extend(ItemKind kind, std::size_t count);
  void hand_over(Item& container, std::span<Item> items);

  // Nothing reaches below the last mark.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  std::size_t above_mark();  // values above the last mark, which is taken away
  void need(std::size_t count) const;
  void drop(std::size_t count);
  void duplicate();

  ByteReader& bytes_;
  Builder& builder_;
  Memo memo_;
  std::vector<Item> stack_;
  std::vector<std::size_t> marks_;
};

}  // namespace snug::pickle::stream
