// A megabyte or so of input, the unit of work of preparing: lines, or a part of one document.
#pragma once

#include <cstdint>
#include <string>

namespace snug::prepare {

// Where a batch begins. The reader can go on from here in a later run.
struct InputPosition {
  std::int64_t file = 0;    // index into the inputs
  std::int64_t offset = 0;  // unpacked bytes before it in that file
  std::int64_t line = 0;    // lines before it in that file
};

struct TextBatch {
  std::int64_t number = 0;  // counted from 0
  InputPosition start, end;
  std::string text;
  bool ends_document = false;  // of documents that are files
};

}  // namespace snug::prepare
