#include "prepare/zstd_stream.h"

#include <fmt/format.h>

#include <new>

#include "base/error.h"

namespace snug::prepare {
namespace {

// A window of 128 MiB, as `zstd --long` makes it without asking; more would be its file's choice of
// our memory.
constexpr int kMaxWindowBits = 27;

}  // namespace

ZstdStream::ZstdStream(std::unique_ptr<RawStream> packed)
    : packed_(std::move(packed)), stream_(ZSTD_createDStream()), buffer_(ZSTD_DStreamInSize()) {
  if (!stream_) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMaxWindowBits);
}

std::size_t ZstdStream::read(std::span<char> out) {
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  while (output.pos == 0 && !out.empty()) {
    if (input_.pos == input_.size) {
      input_ = {buffer_.data(), packed_->read(buffer_), 0};
      if (input_.size == 0 && open_frame_ == 0) return 0;
      if (input_.size == 0) {
        throw DataError(fmt::format("{} ends in the middle of its zstd data: it is not complete",
                                    packed_->name()));
      }
    }
    open_frame_ = ZSTD_decompressStream(stream_.get(), &output, &input_);
    if (ZSTD_isError(open_frame_) != 0) {
      throw DataError(fmt::format("{}: its zstd data is damaged, before byte {}: {}",
                                  packed_->name(), packed_->position(),
                                  ZSTD_getErrorName(open_frame_)));
    }
  }
  return output.pos;
}

}  // namespace snug::prepare
