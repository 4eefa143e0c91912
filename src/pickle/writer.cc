#include "pickle/writer.h"

#include <bit>
#include <limits>
#include <utility>

namespace snug::pickle {

PickleWriter::PickleWriter() : bytes_("\x80\x02") {}

void PickleWriter::little_endian(std::uint64_t value, int byte_count) {
  for (int i = 0; i < byte_count; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & 0xFF);
}

void PickleWriter::integer(std::int64_t value) {
  const bool fits_32_bits = value >= std::numeric_limits<std::int32_t>::min() &&
                            value <= std::numeric_limits<std::int32_t>::max();
  if (fits_32_bits) {
    bytes_ += 'J';  // BININT
    little_endian(static_cast<std::uint64_t>(value), 4);
  } else {
    bytes_ += "\x8A\x08";  // LONG1 of 8 bytes
    little_endian(static_cast<std::uint64_t>(value), 8);
  }
}

void PickleWriter::real(double value) {
  bytes_ += 'G';  // BINFLOAT, big-endian
  little_endian(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)), 8);
}

void PickleWriter::text(std::string_view utf8) {
  bytes_ += 'X';  // BINUNICODE
  little_endian(utf8.size(), 4);
  bytes_ += utf8;
}

void PickleWriter::begin_dict() { bytes_ += "}("; }  // EMPTY_DICT MARK

void PickleWriter::end_dict() { bytes_ += 'u'; }  // SETITEMS

void PickleWriter::boolean(bool value) { bytes_ += value ? '\x88' : '\x89'; }

void PickleWriter::none() { bytes_ += 'N'; }

void PickleWriter::begin_list() { bytes_ += "]("; }  // EMPTY_LIST MARK

void PickleWriter::end_list() { bytes_ += 'e'; }  // APPENDS

void PickleWriter::begin_tuple() { bytes_ += '('; }

void PickleWriter::end_tuple() { bytes_ += 't'; }

void PickleWriter::global(std::string_view module, std::string_view name) {
  bytes_ += 'c';
  bytes_ += module;
  bytes_ += '\n';
  bytes_ += name;
  bytes_ += '\n';
}

void PickleWriter::persistent_id() { bytes_ += 'Q'; }  // BINPERSID

void PickleWriter::reduce() { bytes_ += 'R'; }

void PickleWriter::begin_items() { bytes_ += '('; }

std::string PickleWriter::finish() {
  bytes_ += '.';  // STOP
  return std::move(bytes_);
}

}  // namespace snug::pickle
