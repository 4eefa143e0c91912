#include "prepare/gzip_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>

#include "base/error.h"

namespace snug::prepare {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;
constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip's header

}  // namespace

GzipStream::GzipStream(std::unique_ptr<RawStream> packed)
    : packed_(std::move(packed)), buffer_(kBufferBytes) {
  if (inflateInit2(&state_, kGzipWindow) != Z_OK) throw std::bad_alloc();
}

GzipStream::~GzipStream() { inflateEnd(&state_); }

bool GzipStream::refill() {
  const std::size_t count = packed_->read(buffer_);
  state_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
  state_.avail_in = static_cast<uInt>(count);
  return count > 0;
}

std::size_t GzipStream::read(std::span<char> out) {
  const std::size_t wanted = std::min<std::size_t>(out.size(), std::numeric_limits<uInt>::max());
  state_.next_out = reinterpret_cast<Bytef*>(out.data());
  state_.avail_out = static_cast<uInt>(wanted);
  while (state_.avail_out == wanted) {
    if (state_.avail_in == 0 && !refill()) {
      if (between_members_) return 0;
      throw DataError(fmt::format("{} ends in the middle of its gzip data: it is not complete",
                                  packed_->name()));
    }
    if (between_members_) {
      // Anything but a further member is padding, as gzip itself takes it.
      if (*state_.next_in != 0x1F) return 0;
      inflateReset(&state_);
      between_members_ = false;
    }
    const int status = inflate(&state_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      between_members_ = true;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw DataError(fmt::format("{}: its gzip data is damaged, before byte {}: {}",
                                  packed_->name(), packed_->position() - state_.avail_in,
                                  state_.msg != nullptr ? state_.msg : "unknown"));
    }
  }
  return wanted - state_.avail_out;
}

}  // namespace snug::prepare
