// Cuts the inputs into batches, the same ones whenever they are read. Whole lines where documents
// are lines; where they are files, parts that end where a cut changes no token.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "prepare/byte_stream.h"
#include "prepare/options.h"
#include "prepare/text_batch.h"

namespace snug::prepare {

class BatchReader {
 public:
  static constexpr std::size_t kBatchBytes = 1 << 20;
  // A line, and text that cannot be cut without changing its tokens, must be held whole.
  static constexpr std::size_t kMaxUnbrokenBytes = 16 << 20;

  using OpenStream = std::function<std::unique_ptr<ByteStream>(const std::string& name)>;

  // Reads on from `start`, of batch `first_number`. `options` must outlive the reader. Inputs are
  // unpacked, unless `open` leaves them as they are.
  BatchReader(const BpeOptions& options, InputPosition start, std::int64_t first_number,
              OpenStream open = open_stream, std::size_t max_unbroken_bytes = kMaxUnbrokenBytes);

  // Nothing after the last one. Throws DataError, with file and line, for what cannot be cut, and
  // what ByteStream throws.
  std::optional<TextBatch> next();

  // Bytes of the inputs taken so far, packed ones where they are packed.
  std::int64_t taken_bytes() const noexcept;

 private:
  bool open_file();
  void close_file();
  void fill();
  TextBatch cut(std::size_t size);
  [[noreturn]] void fail_unbroken() const;

  const BpeOptions& options_;
  const OpenStream open_;
  const std::size_t max_unbroken_bytes_;
  std::unique_ptr<ByteStream> stream_;
  InputPosition position_;  // of the first byte of buffer_
  std::int64_t number_;
  std::int64_t finished_bytes_ = 0;  // of the files before
  std::string buffer_;
  std::size_t wanted_bytes_ = kBatchBytes;
  bool at_end_ = false;  // of the file
};

}  // namespace snug::prepare
