// gzip, also of several members end to end, as `cat a.gz b.gz` makes it.
#pragma once

#include <zlib.h>

#include <memory>
#include <vector>

#include "prepare/raw_stream.h"

namespace snug::prepare {

class GzipStream : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<RawStream> packed);
  ~GzipStream() override;
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read(std::span<char> out) override;
  std::int64_t position() const noexcept override { return packed_->position(); }

 private:
  bool refill();  // false at the end of the file

  std::unique_ptr<RawStream> packed_;
  std::vector<char> buffer_;
  z_stream state_{};
  bool between_members_ = false;
};

}  // namespace snug::prepare
