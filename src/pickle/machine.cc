#include "pickle/machine.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utf8.h"

namespace snug::pickle {

PickleDocument PickleMachine::run() {
  constexpr std::uint8_t kStop = '.';
  while (true) {
    opcode_at_ = at_;
    const auto opcode = static_cast<std::uint8_t>(take(1)[0]);
    if (opcode == kStop) break;
    const bool known = run_number(opcode) || run_text(opcode) || run_container(opcode) ||
                       run_stack(opcode) || run_memo(opcode) ||
                       (dialect_ == PickleDialect::kTorch && run_torch(opcode));
    if (!known) refuse(opcode);
  }
  if (!marks_.empty()) fail("the pickle ends inside a container");
  const std::uint32_t root = pop();
  return PickleDocument(std::move(nodes_), std::move(text_), root, name_);
}

void PickleMachine::fail(const std::string& what) const {
  throw DataError(
      fmt::format("{} cannot be read: {} (byte {})\nit is not a pickle of plain data, "
                  "or it is damaged; make it again",
                  name_, what, with_thousands(static_cast<std::int64_t>(opcode_at_))));
}

std::string_view PickleMachine::take(std::uint64_t count) {
  const std::size_t left = bytes_.size() - at_;
  if (count > left) fail(fmt::format("it is cut off: {} more bytes wanted, {} left", count, left));
  const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(count));
  at_ += taken.size();
  return taken;
}

std::string_view PickleMachine::take_line() {
  const std::size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) fail("it is cut off within a line");
  const std::string_view line = take(end - at_);
  ++at_;
  return line;
}

std::uint64_t PickleMachine::take_unsigned(int byte_count) {
  std::uint64_t value = 0;
  int shift = 0;
  for (const char byte : take(static_cast<std::uint64_t>(byte_count))) {
    value |= std::uint64_t{static_cast<unsigned char>(byte)} << shift;
    shift += 8;
  }
  return value;
}

std::int64_t PickleMachine::take_long(std::uint64_t byte_count) {
  const std::string_view digits = take(byte_count);  // two's complement, little-endian
  if (digits.empty()) return 0;
  const bool negative = (static_cast<unsigned char>(digits.back()) & 0x80) != 0;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    // Whatever is shifted out, and the sign it leaves, must be the sign's own bits.
    if ((static_cast<std::int64_t>(value) >> 55) != (negative ? -1 : 0)) {
      fail("an integer does not fit 64 bits");
    }
    value = (value << 8) | static_cast<unsigned char>(digits[i]);
  }
  return static_cast<std::int64_t>(value);
}

void PickleMachine::push(std::uint32_t node) {
  if (stack_.size() >= PickleLimits::kReferences) fail("too many values on the stack");
  stack_.push_back(node);
}

std::uint32_t PickleMachine::push_new(PickleKind kind) {
  if (nodes_.size() >= PickleLimits::kObjects) {
    fail(fmt::format("more than {} values", with_thousands(PickleLimits::kObjects)));
  }
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back().kind = kind;
  push(index);
  return index;
}

void PickleMachine::push_integer(PickleKind kind, std::int64_t value) {
  nodes_[push_new(kind)].integer = value;
}

void PickleMachine::push_real(double value) { nodes_[push_new(PickleKind::kFloat)].real = value; }

void PickleMachine::push_text(PickleKind kind, std::string_view text) {
  if (kind == PickleKind::kString && find_invalid_utf8(text)) fail("a string is not UTF-8");
  PickleNode& node = nodes_[push_new(kind)];
  node.integer = static_cast<std::int64_t>(text_.size());
  node.text_length = static_cast<std::uint32_t>(text.size());  // within kFileBytes
  text_ += text;
}

std::uint32_t PickleMachine::top() const {
  if (stack_.size() <= floor()) fail("a value is wanted where none is");
  return stack_.back();
}

std::uint32_t PickleMachine::pop() {
  const std::uint32_t node = top();
  stack_.pop_back();
  return node;
}

std::vector<std::uint32_t> PickleMachine::pop_items(std::size_t count) {
  if (stack_.size() - floor() < count) fail("values are wanted where none are");
  const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
  std::vector<std::uint32_t> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  return items;
}

std::vector<std::uint32_t> PickleMachine::pop_to_mark() {
  if (marks_.empty()) fail("a mark is wanted where none is");
  std::vector<std::uint32_t> items = pop_items(stack_.size() - marks_.back());
  marks_.pop_back();
  return items;
}

void PickleMachine::push_container(PickleKind kind, const std::vector<std::uint32_t>& items) {
  push_new(kind);
  extend_top(kind, items);
}

void PickleMachine::extend_top(PickleKind kind, const std::vector<std::uint32_t>& items) {
  PickleNode& node = nodes_[top()];
  if (node.kind != kind) {
    fail(fmt::format("a {} is wanted where a {} is", name_of(kind), name_of(node.kind)));
  }
  reference_count_ += items.size();
  if (reference_count_ > PickleLimits::kReferences) fail("its containers hold too many values");
  const bool is_dict = kind == PickleKind::kDict;
  if (is_dict && items.size() % 2 != 0) fail("a key without a value");
  if (is_dict || kind == PickleKind::kSet) {
    for (std::size_t i = 0; i < items.size(); i += is_dict ? 2 : 1) {
      const PickleKind key = nodes_[items[i]].kind;
      if (key == PickleKind::kList || key == PickleKind::kDict || key == PickleKind::kSet) {
        fail(fmt::format("a {} cannot be a key", name_of(key)));
      }
    }
  }
  node.children.insert(node.children.end(), items.begin(), items.end());
}

void PickleMachine::remember(std::uint64_t index) {
  const std::uint32_t node = top();
  if (memo_.size() >= PickleLimits::kObjects && !memo_.contains(index)) fail("its memo is too big");
  memo_[index] = node;
}

void PickleMachine::recall(std::uint64_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) fail(fmt::format("memo {} was never written", index));
  push(found->second);
}

}  // namespace snug::pickle
