#include "pickle/stream/machine.h"

#include <fmt/format.h>

#include "pickle/opcode_names.h"
#include "pickle/stream/reader.h"

namespace snug::pickle::stream {

Item Machine::run() {
  constexpr std::uint8_t kStop = '.';
  for (;;) {
    const std::uint8_t opcode = bytes_.byte();
    if (opcode == kStop) break;
    // The most frequent family first.
    const bool known = run_memo(opcode) || run_number(opcode) || run_container(opcode) ||
                       run_text(opcode) || run_stack(opcode);
    if (!known) refuse(opcode);
  }
  if (!marks_.empty()) bytes_.fail("the pickle ends inside a container");
  need(1);
  return stack_.back();
}

void Machine::refuse(std::uint8_t opcode) const {
  for (const auto& [refused, name] : kRefusedOpcodes) {
    if (refused == opcode) {
      bytes_.fail(fmt::format("opcode {} is refused, for only plain data is read", name));
    }
  }
  bytes_.fail(fmt::format("0x{:02X} is no opcode", opcode));
}

void Machine::push_text(std::string_view text) { push(ItemKind::kText, 0, builder_.text(text)); }

void Machine::push_line_text(const std::optional<std::string>& text) {
  if (!text) bytes_.fail("a string with valid escapes is wanted");
  push_text(*text);
}

void Machine::push_empty(ItemKind kind) { push(kind, 0, builder_.container(kind)); }

// A container of the last `count` values, which it takes the place of.
void Machine::push_filled(ItemKind kind, std::size_t count) {
  need(count);
  Item made{kind, 0, builder_.container(kind)};
  hand_over(made, std::span(stack_).last(count));
  drop(count);
  push(made.kind, made.memo, made.value);
}

// Adds the last `count` values to the container below them.
void Machine::extend(ItemKind kind, std::size_t count) {
  need(count + 1);
  const std::span<Item> items = std::span(stack_).last(count);
  Item& container = stack_[stack_.size() - count - 1];
  if (container.kind != kind) bytes_.fail("items are added to what is no container of theirs");
  if (kind == ItemKind::kDict && count % 2 != 0) bytes_.fail("a key without a value");
  hand_over(container, items);
  drop(count);
}

void Machine::hand_over(Item& container, std::span<Item> items) {
  for (Item& item : items) {  // a container may have gone elsewhere while it waited here
    if (item.memo == 0 || !is_container(item.kind)) continue;
    const Item latest = memo_.get(item.memo - 1);
    if (latest.kind == item.kind) item.value = latest.value;
  }
  builder_.extend(container, items);
  for (const Item& item : items) {
    if (item.memo != 0 && is_container(item.kind)) memo_.put(item.memo - 1, item);
  }
}

void Machine::need(std::size_t count) const {
  if (stack_.size() - floor() < count) bytes_.fail("values are wanted where none are");
}

void Machine::drop(std::size_t count) { stack_.resize(stack_.size() - count); }

std::size_t Machine::above_mark() {
  if (marks_.empty()) bytes_.fail("a mark is wanted where none is");
  const std::size_t count = stack_.size() - marks_.back();
  marks_.pop_back();
  return count;
}

void Machine::remember(std::uint64_t index) {
  need(1);
  memo_.put(index, stack_.back());
  stack_.back().memo =
      index < ~std::uint32_t{0} ? static_cast<std::uint32_t>(index) + 1 : std::uint32_t{0};
}

void Machine::fail_to_recall(std::uint64_t index) const {
  if (index >= Memo::kPlaces && index < memo_.count())
    bytes_.fail(fmt::format("memo {} is beyond what is remembered", index));
  bytes_.fail(fmt::format("memo {} was never written", index));
}

void Machine::recall(std::uint64_t index) {
  const Item item = memo_.get(index);
  if (item.kind == ItemKind::kNone) fail_to_recall(index);
  push(item.kind, item.memo, item.value);
}

Item read_pickle_stream(ByteSource source, const std::string& name, Builder& builder) {
  ByteReader bytes(std::move(source), name);
  return Machine(bytes, builder).run();
}

}  // namespace snug::pickle::stream
