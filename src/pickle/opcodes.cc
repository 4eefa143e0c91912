// PickleMachine's opcodes, named as in Python's pickletools.
#include <fmt/format.h>

#include <bit>

#include "base/utf8.h"
#include "pickle/machine.h"
#include "pickle/opcode_names.h"
#include "pickle/text.h"

namespace snug::pickle {

void PickleMachine::refuse(std::uint8_t opcode) const {
  for (const auto& [refused, opcode_name] : kRefusedOpcodes) {
    if (refused == opcode) {
      fail(fmt::format("opcode {} is refused, for only plain data is read", opcode_name));
    }
  }
  fail(fmt::format("0x{:02X} is no opcode", opcode));
}

bool PickleMachine::run_number(std::uint8_t opcode) {
  switch (opcode) {
    case 'N':  // NONE
      return push_new(PickleKind::kNone), true;
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      return push_integer(PickleKind::kBool, opcode == 0x88), true;
    case 'I':  // INT
    case 'L':  // LONG
      return push_line_integer(take_line(), opcode == 'I'), true;
    case 'J':  // BININT
      return push_integer(PickleKind::kInt, take_long(4)), true;
    case 'K':  // BININT1
    case 'M':  // BININT2
      return push_integer(PickleKind::kInt,
                          static_cast<std::int64_t>(take_unsigned(opcode == 'K' ? 1 : 2))),
             true;
    case 0x8A:  // LONG1
    case 0x8B:  // LONG4
      return push_integer(PickleKind::kInt, take_long(take_unsigned(opcode == 0x8A ? 1 : 4))), true;
    case 'F': {  // FLOAT
      const std::optional<double> value = parse_pickle_float(take_line());
      if (!value) fail("a float is wanted");
      return push_real(*value), true;
    }
    case 'G':  // BINFLOAT, big-endian
      return push_real(std::bit_cast<double>(__builtin_bswap64(take_unsigned(8)))), true;
    default:
      return false;
  }
}

void PickleMachine::push_line_integer(std::string_view line, bool may_be_bool) {
  if (may_be_bool && (line == "00" || line == "01")) {
    return push_integer(PickleKind::kBool, line == "01");
  }
  const std::optional<std::int64_t> value = parse_pickle_int(line);
  if (!value) fail("an integer of at most 64 bits is wanted");
  push_integer(PickleKind::kInt, *value);
}

bool PickleMachine::run_text(std::uint8_t opcode) {
  switch (opcode) {
    case 'V':  // UNICODE
      return push_string(parse_raw_unicode_escape(take_line())), true;
    case 0x8C:  // SHORT_BINUNICODE
      return push_text(PickleKind::kString, take(take_unsigned(1))), true;
    case 'X':  // BINUNICODE
      return push_text(PickleKind::kString, take(take_unsigned(4))), true;
    case 0x8D:  // BINUNICODE8
      return push_text(PickleKind::kString, take(take_unsigned(8))), true;
    case 'S': {  // STRING
      const std::optional<std::string> text = parse_quoted_string(take_line());
      if (!text) fail("a quoted string is wanted");
      return push_python2_string(*text), true;
    }
    case 'U':  // SHORT_BINSTRING
      return push_python2_string(take(take_unsigned(1))), true;
    case 'T':  // BINSTRING
      return push_python2_string(take(take_unsigned(4))), true;
    case 'C':  // SHORT_BINBYTES
      return push_text(PickleKind::kBytes, take(take_unsigned(1))), true;
    case 'B':  // BINBYTES
      return push_text(PickleKind::kBytes, take(take_unsigned(4))), true;
    case 0x8E:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      return push_text(PickleKind::kBytes, take(take_unsigned(8))), true;
    default:
      return false;
  }
}

void PickleMachine::push_string(const std::optional<std::string>& text) {
  if (!text) fail("a string with valid escapes is wanted");
  push_text(PickleKind::kString, *text);
}

// Python 2's str does not say whether it is text: it is if it can be.
void PickleMachine::push_python2_string(std::string_view text) {
  push_text(find_invalid_utf8(text) ? PickleKind::kBytes : PickleKind::kString, text);
}

bool PickleMachine::run_container(std::uint8_t opcode) {
  switch (opcode) {
    case ']':  // EMPTY_LIST
      return push_new(PickleKind::kList), true;
    case ')':  // EMPTY_TUPLE
      return push_new(PickleKind::kTuple), true;
    case '}':  // EMPTY_DICT
      return push_new(PickleKind::kDict), true;
    case 0x8F:  // EMPTY_SET
      return push_new(PickleKind::kSet), true;
    case 'l':  // LIST
      return push_container(PickleKind::kList, pop_to_mark()), true;
    case 't':  // TUPLE
      return push_container(PickleKind::kTuple, pop_to_mark()), true;
    case 'd':  // DICT
      return push_container(PickleKind::kDict, pop_to_mark()), true;
    case 0x91:  // FROZENSET
      return push_container(PickleKind::kSet, pop_to_mark()), true;
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      return push_container(PickleKind::kTuple, pop_items(opcode - std::size_t{0x84})), true;
    case 'a':  // APPEND
      return extend_top(PickleKind::kList, pop_items(1)), true;
    case 'e':  // APPENDS
      return extend_top(PickleKind::kList, pop_to_mark()), true;
    case 's':  // SETITEM
      return extend_top(PickleKind::kDict, pop_items(2)), true;
    case 'u':  // SETITEMS
      return extend_top(PickleKind::kDict, pop_to_mark()), true;
    case 0x90:  // ADDITEMS
      return extend_top(PickleKind::kSet, pop_to_mark()), true;
    default:
      return false;
  }
}

bool PickleMachine::run_stack(std::uint8_t opcode) {
  switch (opcode) {
    case 0x80:  // PROTO
      if (const std::uint64_t protocol = take_unsigned(1); protocol > kHighestProtocol) {
        fail(fmt::format("protocol {} is newer than {}", protocol, kHighestProtocol));
      }
      return true;
    case 0x95:  // FRAME: only a promise that so many bytes follow
      if (take_unsigned(8) > bytes_.size() - at_) fail("it is cut off within a frame");
      return true;
    case '(':  // MARK
      if (marks_.size() >= PickleLimits::kReferences) fail("too many marks");
      return marks_.push_back(stack_.size()), true;
    case '0':  // POP, of a mark when nothing stands above it
      if (!marks_.empty() && stack_.size() == marks_.back()) return marks_.pop_back(), true;
      return pop(), true;
    case '1':  // POP_MARK
      return pop_to_mark(), true;
    case '2':  // DUP
      return push(top()), true;
    default:
      return false;
  }
}

bool PickleMachine::run_memo(std::uint8_t opcode) {
  switch (opcode) {
    case 'p':  // PUT
      return remember(take_index()), true;
    case 'q':  // BINPUT
      return remember(take_unsigned(1)), true;
    case 'r':  // LONG_BINPUT
      return remember(take_unsigned(4)), true;
    case 0x94:  // MEMOIZE
      return remember(memo_.size()), true;
    case 'g':  // GET
      return recall(take_index()), true;
    case 'h':  // BINGET
      return recall(take_unsigned(1)), true;
    case 'j':  // LONG_BINGET
      return recall(take_unsigned(4)), true;
    default:
      return false;
  }
}

std::uint64_t PickleMachine::take_index() {
  const std::optional<std::int64_t> index = parse_pickle_int(take_line());
  if (!index || *index < 0) fail("a memo index is wanted");
  return static_cast<std::uint64_t>(*index);
}

}  // namespace snug::pickle
