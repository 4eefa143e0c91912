// zstd, also of several frames end to end.
#pragma once

#include <zstd.h>

#include <memory>
#include <vector>

#include "prepare/raw_stream.h"

namespace snug::prepare {

class ZstdStream : public ByteStream {
 public:
  explicit ZstdStream(std::unique_ptr<RawStream> packed);

  std::size_t read(std::span<char> out) override;
  std::int64_t position() const noexcept override { return packed_->position(); }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<RawStream> packed_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  std::vector<char> buffer_;
  ZSTD_inBuffer input_{};
  std::size_t open_frame_ = 0;  // not 0 in the middle of a frame
};

}  // namespace snug::prepare
