#include "formats/torch/zip_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace snug::formats::torch {
namespace {

constexpr zip_uint16_t kFirstOfJanuary1980 = 0x21;  // the same content gives the same file

// What libzip reads an entry from. It owns this, and frees it by ZIP_SOURCE_FREE.
struct Stream {
  ZipWriter::Fill fill;
  std::int64_t byte_count = 0;
  std::int64_t at = 0;
  std::exception_ptr* thrown;

  zip_int64_t read(std::span<std::byte> out) {
    const auto count = std::min<std::int64_t>(std::ssize(out), byte_count - at);
    try {
      fill(at, out.first(static_cast<std::size_t>(count)));
    } catch (...) {
      *thrown = std::current_exception();
      return -1;
    }
    at += count;
    return count;
  }
};

zip_int64_t serve(void* user, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto* stream = static_cast<Stream*>(user);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      stream->at = 0;
      return 0;
    case ZIP_SOURCE_READ:
      return stream->read({static_cast<std::byte*>(data), static_cast<std::size_t>(length)});
    case ZIP_SOURCE_STAT: {
      auto* stat = static_cast<zip_stat_t*>(data);
      zip_stat_init(stat);
      stat->size = static_cast<zip_uint64_t>(stream->byte_count);
      stat->valid |= ZIP_STAT_SIZE;
      return sizeof *stat;
    }
    case ZIP_SOURCE_ERROR: {
      auto* errors = static_cast<int*>(data);
      errors[0] = ZIP_ER_READ;
      errors[1] = 0;
      return 2 * sizeof(int);
    }
    case ZIP_SOURCE_FREE:
      delete stream;
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    default:
      return 0;
  }
}

zip_t* create(const std::string& name) {
  int error = 0;
  zip_t* archive = zip_open(name.c_str(), ZIP_CREATE | ZIP_EXCL, &error);
  if (archive == nullptr) throw DeviceError(fmt::format("cannot create {}", name));
  return archive;
}

}  // namespace

ZipWriter::ZipWriter(const std::filesystem::path& path)
    : name_(path.string()), archive_(create(name_)) {}

void ZipWriter::add(const std::string& name, std::string content) {
  const auto byte_count = std::ssize(content);
  add(name, byte_count, [content](std::int64_t offset, std::span<std::byte> out) {
    std::ranges::copy(
        std::as_bytes(std::span(content)).subspan(static_cast<std::size_t>(offset), out.size()),
        out.begin());
  });
}

void ZipWriter::add(const std::string& name, std::int64_t byte_count, Fill fill) {
  std::unique_ptr<Stream> stream(new Stream{std::move(fill), byte_count, 0, &thrown_});
  zip_source_t* source = zip_source_function(archive_.get(), serve, stream.get());
  if (source == nullptr) throw DeviceError(fmt::format("cannot write {}: no memory", name_));
  stream.release();  // the source's from here on
  const zip_int64_t index = zip_file_add(archive_.get(), name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    throw InternalError(fmt::format("{} cannot be added to {}", name, name_));
  }
  const auto at = static_cast<zip_uint64_t>(index);
  zip_set_file_compression(archive_.get(), at, ZIP_CM_STORE, 0);
  zip_file_set_dostime(archive_.get(), at, 0, kFirstOfJanuary1980, 0);
}

void ZipWriter::finish() {
  if (zip_close(archive_.get()) == 0) {
    archive_.release();
    return;
  }
  if (thrown_) std::rethrow_exception(thrown_);
  throw DeviceError(fmt::format("cannot write {}: {}\ncheck the space that is left on the disk",
                                name_, zip_strerror(archive_.get())));
}

}  // namespace snug::formats::torch
