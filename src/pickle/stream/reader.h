// Reads Python pickles of any size, protocols 0 to 5, in one pass: numbers, texts and containers go
// to a Builder as they are completed. It can run nothing: every opcode that would import, call or
// build a Python object is refused by name. What it holds itself is bounded, whatever the bytes:
// the memo (memo.h), a stack of values, a buffer of the file.
#pragma once

#include <string>

#include "pickle/stream/byte_reader.h"
#include "pickle/stream/item.h"

namespace snug::pickle::stream {

struct StreamLimits {
  static constexpr std::size_t kStack = 1 << 20;  // Python writes a thousand items at a time
  static constexpr std::size_t kMarks = 1 << 16;
};

// The value of the pickle. Throws DataError naming `name`, the byte offset and the reason. What
// follows the end of the pickle is not read.
Item read_pickle_stream(ByteSource source, const std::string& name, Builder& builder);

}  // namespace snug::pickle::stream
