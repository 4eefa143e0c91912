#include "formats/torch/zip_archive.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "checkpoint/tensor_label.h"

namespace snug::formats::torch {
namespace {

constexpr std::int64_t kMaxEntries = 1 << 16;

zip_t* open_archive(const std::string& name) {
  const InputFile readable(name);  // says what is wrong with the path itself
  int error = 0;
  zip_t* archive = zip_open(name.c_str(), ZIP_RDONLY, &error);
  if (archive != nullptr) return archive;
  zip_error_t reason;
  zip_error_init_with_code(&reason, error);
  const std::string text = zip_error_strerror(&reason);
  zip_error_fini(&reason);
  throw DataError(
      fmt::format("{} cannot be read as a zip archive: {}\na file of torch.save was "
                  "wanted; this one is cut off, damaged or something else",
                  name, text));
}

}  // namespace

ZipArchive::ZipArchive(const std::filesystem::path& path)
    : name_(path.string()), archive_(open_archive(name_)) {
  const std::int64_t file_bytes = InputFile(path).byte_count();
  const std::int64_t count = zip_get_num_entries(handle(), 0);
  if (count > kMaxEntries) {
    throw DataError(
        fmt::format("{}: {} entries, more than the {} that are read", name_, count, kMaxEntries));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr std::uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD;
    const auto index = static_cast<std::uint64_t>(i);
    const bool known =
        zip_stat_index(handle(), index, 0, &stat) == 0 && (stat.valid & kNeeded) == kNeeded;
    if (!known) throw DataError(fmt::format("{}: entry {} cannot be read", name_, i));
    const std::string shown = checkpoint::printable(stat.name);
    if (stat.comp_method != ZIP_CM_STORE) {
      throw DataError(
          fmt::format("{}: entry {} is compressed\ntorch.save stores its entries as "
                      "they are: write the file again with it",
                      name_, shown));
    }
    if (stat.size > static_cast<std::uint64_t>(file_bytes)) {
      throw DataError(fmt::format("{}: entry {} claims {} bytes, the whole file has {}", name_,
                                  shown, stat.size, file_bytes));
    }
    by_name_.emplace(stat.name, entries_.size());
    entries_.push_back({stat.name, static_cast<std::int64_t>(stat.size), index});
  }
}

const ZipArchive::Entry* ZipArchive::find(const std::string& wanted) const {
  const auto at = by_name_.find(wanted);
  return at == by_name_.end() ? nullptr : &entries_[at->second];
}

ZipBytes::ZipBytes(const ZipArchive& archive, ZipArchive::Entry entry)
    : archive_(archive), entry_(std::move(entry)) {}

void ZipBytes::fail(const std::string& why) const {
  throw DataError(fmt::format("{}: entry {} cannot be read: {}\nthe file is cut off or damaged",
                              archive_.name(), checkpoint::printable(entry_.name), why));
}

void ZipBytes::open() const {
  for (const bool checking : {true, false}) {
    file_.reset(zip_fopen_index(archive_.handle(), entry_.index, 0));
    if (!file_) fail(zip_strerror(archive_.handle()));
    at_ = 0;
    if (!checking) return;
    std::array<std::byte, 1 << 16> buffer;
    std::int64_t total = 0;
    while (true) {
      const std::int64_t count = zip_fread(file_.get(), buffer.data(), buffer.size());
      if (count < 0) fail(zip_file_strerror(file_.get()));
      if (count == 0) break;
      total += count;
    }
    if (total != entry_.byte_count) fail("it ends early");
  }
}

void ZipBytes::read(std::int64_t offset, std::span<std::byte> out) const {
  if (!file_) open();
  if (offset != at_ && zip_fseek(file_.get(), offset, SEEK_SET) != 0) {
    fail(zip_file_strerror(file_.get()));
  }
  at_ = offset;
  while (!out.empty()) {
    const std::int64_t count = zip_fread(file_.get(), out.data(), out.size());
    if (count < 0) fail(zip_file_strerror(file_.get()));
    if (count == 0) fail("it ends early");
    at_ += count;
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace snug::formats::torch
