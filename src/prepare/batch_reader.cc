#include "prepare/batch_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "tokenizer/splitter.h"

namespace snug::prepare {

BatchReader::BatchReader(const BpeOptions& options, InputPosition start, std::int64_t first_number,
                         OpenStream open, std::size_t max_unbroken_bytes)
    : options_(options),
      open_(std::move(open)),
      max_unbroken_bytes_(max_unbroken_bytes),
      position_(start),
      number_(first_number) {}

std::int64_t BatchReader::taken_bytes() const noexcept {
  return finished_bytes_ + (stream_ ? stream_->position() : 0);
}

// False when there is no further file. Skips what an earlier run has done.
bool BatchReader::open_file() {
  if (position_.file == static_cast<std::int64_t>(options_.inputs.size())) return false;
  const std::string& name = options_.inputs[static_cast<std::size_t>(position_.file)];
  stream_ = open_(name);
  at_end_ = false;
  std::array<char, 1 << 16> skipped;
  for (std::int64_t left = position_.offset; left > 0;) {
    const auto part = static_cast<std::size_t>(std::min<std::int64_t>(left, skipped.size()));
    const std::size_t count = stream_->read({skipped.data(), part});
    if (count == 0) {
      throw DataError(fmt::format("{} is shorter than it was when this was begun", name));
    }
    left -= static_cast<std::int64_t>(count);
  }
  return true;
}

// One byte more than wanted, so that the end of the file is seen where it is, and batches do not
// depend on where reading began.
void BatchReader::fill() {
  while (!at_end_ && buffer_.size() <= wanted_bytes_) {
    const std::size_t before = buffer_.size();
    buffer_.resize(wanted_bytes_ + 1);
    const std::size_t count = stream_->read(std::span(buffer_).subspan(before));
    buffer_.resize(before + count);
    at_end_ = count == 0;
  }
}

std::optional<TextBatch> BatchReader::next() {
  const bool documents_are_files = options_.documents == DocumentKind::kFile;
  for (;;) {
    if (!stream_ && !open_file()) return std::nullopt;
    fill();
    if (buffer_.size() <= wanted_bytes_) {
      // An empty file is a document; a file that ends with its last line has no further one.
      if (buffer_.empty() && !documents_are_files) {
        close_file();
        continue;
      }
      TextBatch last = cut(buffer_.size());
      last.ends_document = documents_are_files;
      close_file();
      last.end = position_;
      return last;
    }
    const std::string_view seen = std::string_view(buffer_).substr(0, wanted_bytes_);
    const std::size_t size = documents_are_files ? tokenizer::last_safe_cut(seen)
                                                 : seen.rfind('\n') + 1;  // 0 if there is none
    if (size > 0) return cut(size);
    if (wanted_bytes_ >= max_unbroken_bytes_) fail_unbroken();
    wanted_bytes_ *= 2;
  }
}

void BatchReader::close_file() {
  finished_bytes_ += stream_->position();
  stream_.reset();
  position_ = {position_.file + 1, 0, 0};
}

TextBatch BatchReader::cut(std::size_t size) {
  TextBatch batch;
  batch.number = number_++;
  batch.start = position_;
  batch.text = buffer_.substr(0, size);
  buffer_.erase(0, size);
  position_.offset += static_cast<std::int64_t>(size);
  position_.line += std::count(batch.text.begin(), batch.text.end(), '\n');
  batch.end = position_;
  wanted_bytes_ = kBatchBytes;
  return batch;
}

void BatchReader::fail_unbroken() const {
  const std::string& name = options_.inputs[static_cast<std::size_t>(position_.file)];
  const std::string limit = format_bytes(static_cast<std::int64_t>(max_unbroken_bytes_));
  if (options_.documents == DocumentKind::kFile) {
    throw DataError(
        fmt::format("{}: after byte {} a single word of more than {} follows: is it text?", name,
                    position_.offset, limit));
  }
  throw DataError(fmt::format("{}, line {}: longer than {}: is there a document per line?", name,
                              position_.line + 1, limit));
}

}  // namespace snug::prepare
