// Machine's opcodes, named as in Python's pickletools.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "pickle/opcode_names.h"
#include "pickle/stream/machine.h"
#include "pickle/stream/reader.h"
#include "pickle/text.h"

namespace snug::pickle::stream {

bool Machine::run_memo(std::uint8_t opcode) {
  switch (opcode) {
    case 'h':  // BINGET
      return recall(bytes_.byte()), true;
    case 'j':  // LONG_BINGET
      return recall(bytes_.little_endian(4)), true;
    case 0x94:  // MEMOIZE
      return remember(memo_.count()), true;
    case 'q':  // BINPUT
      return remember(bytes_.byte()), true;
    case 'r':  // LONG_BINPUT
      return remember(bytes_.little_endian(4)), true;
    case 'p':  // PUT
      return remember(take_index()), true;
    case 'g':  // GET
      return recall(take_index()), true;
    default:
      return false;
  }
}

std::uint64_t Machine::take_index() {
  const std::optional<std::int64_t> index = parse_pickle_int(bytes_.line());
  if (!index || *index < 0) bytes_.fail("a memo index is wanted");
  return static_cast<std::uint64_t>(*index);
}

bool Machine::run_number(std::uint8_t opcode) {
  switch (opcode) {
    case 'K':  // BININT1
      return push_integer(ItemKind::kInt, bytes_.byte()), true;
    case 'M':  // BININT2
      return push_integer(ItemKind::kInt, static_cast<std::int64_t>(bytes_.little_endian(2))), true;
    case 'J':  // BININT
      return push_integer(ItemKind::kInt, static_cast<std::int32_t>(bytes_.little_endian(4))), true;
    case 0x8A:  // LONG1
      return push_integer(ItemKind::kInt, take_long(bytes_.byte())), true;
    case 0x8B:  // LONG4
      return push_integer(ItemKind::kInt, take_long(bytes_.little_endian(4))), true;
    case 'N':  // NONE
      return push(ItemKind::kNone, 0, 0), true;
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      return push_integer(ItemKind::kBool, opcode == 0x88), true;
    case 'I':  // INT
    case 'L':  // LONG
      return push_line_integer(opcode == 'I'), true;
    case 'F':  // FLOAT
      if (!parse_pickle_float(bytes_.line())) bytes_.fail("a float is wanted");
      return push(ItemKind::kFloat, 0, 0), true;
    case 'G':  // BINFLOAT: no one asks for its value
      bytes_.little_endian(8);
      return push(ItemKind::kFloat, 0, 0), true;
    default:
      return false;
  }
}

// Two's complement, little-endian. What needs more than 64 bits becomes the nearest that does not.
std::int64_t Machine::take_long(std::uint64_t byte_count) {
  if (byte_count == 0) return 0;
  if (byte_count <= 8) {
    const std::uint64_t value = bytes_.little_endian(byte_count);
    const auto unused = static_cast<int>(64 - 8 * byte_count);
    return static_cast<std::int64_t>(value << unused) >> unused;
  }
  const std::string_view digits = bytes_.bytes(byte_count);
  const bool negative = (static_cast<unsigned char>(digits.back()) & 0x80) != 0;
  return negative ? std::numeric_limits<std::int64_t>::min()
                  : std::numeric_limits<std::int64_t>::max();
}

void Machine::push_line_integer(bool may_be_bool) {
  const std::string_view line = bytes_.line();
  if (may_be_bool && (line == "00" || line == "01")) {
    return push_integer(ItemKind::kBool, line == "01");
  }
  const std::optional<std::int64_t> value = parse_pickle_int(line);
  if (!value) bytes_.fail("an integer of at most 64 bits is wanted");
  push_integer(ItemKind::kInt, *value);
}

bool Machine::run_container(std::uint8_t opcode) {
  switch (opcode) {
    case '}':  // EMPTY_DICT
      return push_empty(ItemKind::kDict), true;
    case ']':  // EMPTY_LIST
      return push_empty(ItemKind::kList), true;
    case ')':  // EMPTY_TUPLE
      return push_filled(ItemKind::kTuple, 0), true;
    case 0x8F:  // EMPTY_SET
      return push_empty(ItemKind::kSet), true;
    case 'u':  // SETITEMS
      return extend(ItemKind::kDict, above_mark()), true;
    case 's':  // SETITEM
      return extend(ItemKind::kDict, 2), true;
    case 'e':  // APPENDS
      return extend(ItemKind::kList, above_mark()), true;
    case 'a':  // APPEND
      return extend(ItemKind::kList, 1), true;
    case 0x90:  // ADDITEMS
      return extend(ItemKind::kSet, above_mark()), true;
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      return push_filled(ItemKind::kTuple, opcode - std::size_t{0x84}), true;
    case 't':  // TUPLE
      return push_filled(ItemKind::kTuple, above_mark()), true;
    case 'l':  // LIST
      return push_filled(ItemKind::kList, above_mark()), true;
    case 'd': {  // DICT
      const std::size_t count = above_mark();
      if (count % 2 != 0) bytes_.fail("a key without a value");
      return push_filled(ItemKind::kDict, count), true;
    }
    case 0x91:  // FROZENSET
      return push_filled(ItemKind::kSet, above_mark()), true;
    default:
      return false;
  }
}

bool Machine::run_text(std::uint8_t opcode) {
  switch (opcode) {
    case 0x8C:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING
    case 'C':   // SHORT_BINBYTES
      return push_text(bytes_.bytes(bytes_.byte())), true;
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
      return push_text(bytes_.bytes(bytes_.little_endian(4))), true;
    case 0x8D:  // BINUNICODE8
    case 0x8E:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      return push_text(bytes_.bytes(bytes_.little_endian(8))), true;
    case 'V':  // UNICODE
      return push_line_text(parse_raw_unicode_escape(bytes_.line())), true;
    case 'S':  // STRING
      return push_line_text(parse_quoted_string(bytes_.line())), true;
    default:
      return false;
  }
}

void Machine::duplicate() {
  need(1);
  const Item item = stack_.back();
  push(item.kind, item.memo, item.value);
}

bool Machine::run_stack(std::uint8_t opcode) {
  switch (opcode) {
    case '(':  // MARK
      if (marks_.size() >= StreamLimits::kMarks) bytes_.fail("too many marks");
      return marks_.push_back(stack_.size()), true;
    case 0x80:  // PROTO
      if (const std::uint64_t protocol = bytes_.byte(); protocol > kHighestProtocol) {
        bytes_.fail(fmt::format("protocol {} is newer than {}", protocol, kHighestProtocol));
      }
      return true;
    case 0x95:  // FRAME: how many bytes belong together, which matters to no one here
      return bytes_.little_endian(8), true;
    case '0':  // POP, of a mark when nothing stands above it
      if (!marks_.empty() && stack_.size() == marks_.back()) return marks_.pop_back(), true;
      return need(1), drop(1), true;
    case '1':  // POP_MARK
      return drop(above_mark()), true;
    case '2':  // DUP
      return duplicate(), true;
    default:
      return false;
  }
}

}  // namespace snug::pickle::stream
