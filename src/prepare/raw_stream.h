// Bytes as they are, with a look ahead at the first ones.
#pragma once

#include <string>
#include <string_view>

#include "prepare/byte_stream.h"

namespace snug::prepare {

class RawStream : public ByteStream {
 public:
  static constexpr std::size_t kHeadBytes = 8;

  explicit RawStream(const std::string& name);
  // The same of a file that has another name for messages.
  RawStream(const std::string& path, const std::string& called);
  ~RawStream() override;
  RawStream(const RawStream&) = delete;
  RawStream& operator=(const RawStream&) = delete;

  std::size_t read(std::span<char> out) override;
  std::int64_t position() const noexcept override { return position_; }

  // The first bytes, kHeadBytes of them or all there are. Before the first read.
  std::string_view head();
  const std::string& name() const noexcept { return name_; }

 private:
  std::size_t read_descriptor(std::span<char> out);

  std::string name_;
  std::string head_;  // read ahead, not yet given out
  int descriptor_ = -1;
  std::int64_t position_ = 0;
};

}  // namespace snug::prepare
