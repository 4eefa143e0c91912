// The bytes of an input, one after the other: a file, a pipe or standard input, unpacked if it is
// gzip or zstd. What it is, is told by its first bytes, never by its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace snug::prepare {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Fills `out` and returns the number of bytes, less than asked for only before the end; 0 at the
  // end. Throws DataError for data that is damaged or ends too early, DeviceError when reading
  // fails.
  virtual std::size_t read(std::span<char> out) = 0;

  // Bytes of the input taken so far: packed ones, if it is packed.
  virtual std::int64_t position() const noexcept = 0;
};

class RawStream;

constexpr const char* kStandardInput = "-";

// Throws DataError when `name` cannot be opened or is of a kind that cannot be read (Parquet, zip,
// bzip2, xz, UTF-16), and then says how to turn it into one that can.
std::unique_ptr<ByteStream> open_stream(const std::string& name);
// The same of bytes that are open already.
std::unique_ptr<ByteStream> unpacked(std::unique_ptr<RawStream> raw);

}  // namespace snug::prepare
