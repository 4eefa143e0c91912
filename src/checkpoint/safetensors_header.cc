#include "checkpoint/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

namespace snug::checkpoint {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kMetadataKey = "__metadata__";

// Receives the events of the JSON parser and accepts only the grammar of a header, so that no tree
// of what a hostile file holds is ever built.
class HeaderHandler {
 public:
  explicit HeaderHandler(const Path& file) : file_(file) {}

  SafetensorsHeader take() { return {std::move(entries_), std::move(metadata_)}; }

  bool null() { fail("null"); }
  bool boolean(bool) { fail("a boolean"); }
  bool number_integer(std::int64_t) { fail("a negative number"); }
  bool number_float(double, const std::string&) { fail("a fraction"); }
  bool binary(OrderedJson::binary_t&) { fail("binary data"); }

  bool number_unsigned(std::uint64_t value) {
    if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) fail("a huge number");
    if (place_ != Place::kShape && place_ != Place::kOffsets) fail("a number");
    const std::size_t limit = place_ == Place::kShape ? Shape::kMaxRank : 2;
    if (numbers_.size() == limit) fail(fmt::format("more than {} numbers in a list", limit));
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::kMetadata) {
      metadata_.insert_or_assign(key_, std::move(value));
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") fail("a string");
    if (!element_bytes(value)) fail(fmt::format("the unknown dtype {}", printable(value)));
    entry_.label.dtype = std::move(value);
    return true;
  }

  bool start_object(std::size_t) {
    switch (place_) {
      case Place::kOutside:
        place_ = Place::kRoot;
        return true;
      case Place::kRoot:
        place_ = key_ == kMetadataKey ? Place::kMetadata : Place::kTensor;
        entry_ = {.label = {.name = key_, .dtype = {}, .shape = {}}};
        fields_seen_.clear();
        return true;
      default:
        fail("an object");
    }
  }

  bool key(std::string& name) {
    if (place_ == Place::kRoot) {
      if (!names_.insert(name).second) fail(fmt::format("the name {} twice", printable(name)));
    } else if (place_ == Place::kTensor) {
      const bool known = name == "dtype" || name == "shape" || name == "data_offsets";
      if (!known) fail(fmt::format("the unknown field {}", printable(name)));
      if (!fields_seen_.insert(name).second)
        fail(fmt::format("the field {} twice", printable(name)));
    }
    key_ = std::move(name);
    return true;
  }

  bool end_object() {
    if (place_ == Place::kTensor) finish_entry();
    place_ = place_ == Place::kRoot ? Place::kOutside : Place::kRoot;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ != Place::kTensor || key_ == "dtype") fail("a list");
    place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
    numbers_.clear();
    return true;
  }

  bool end_array() {
    if (place_ == Place::kShape) {
      entry_.label.shape = *shape_of(numbers_);
    } else {
      if (numbers_.size() != 2) fail("data_offsets without two numbers");
      entry_.begin = numbers_[0];
      entry_.end = numbers_[1];
    }
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    throw DataError(fmt::format("{}: the header is not JSON at byte {}", file_.string(), position));
  }

 private:
  enum class Place { kOutside, kRoot, kMetadata, kTensor, kShape, kOffsets };

  [[noreturn]] void fail(const std::string& what) const {
    const bool inside = place_ != Place::kOutside && place_ != Place::kRoot;
    const std::string where = inside ? " of tensor " + printable(entry_.label.name) : "";
    throw DataError(fmt::format("{}: the header{} holds {}", file_.string(), where, what));
  }

  void finish_entry() {
    if (fields_seen_.size() != 3) fail("no dtype, shape or data_offsets");
    std::int64_t bytes = *element_bytes(entry_.label.dtype);
    bool overflow = false;
    for (int axis = 0; axis < entry_.label.shape.rank(); ++axis) {
      overflow |= __builtin_mul_overflow(bytes, entry_.label.shape[axis], &bytes);
    }
    if (overflow) fail("a shape of more bytes than there can be");
    if (entry_.end < entry_.begin || entry_.end - entry_.begin != bytes) {
      fail(fmt::format("offsets {} to {} for {} bytes", entry_.begin, entry_.end, bytes));
    }
    if (std::ssize(entries_) == kSafetensorsMaxTensorCount) fail("too many tensors");
    entries_.push_back(std::move(entry_));
  }

  const Path& file_;
  Place place_ = Place::kOutside;
  std::string key_;
  SafetensorsEntry entry_;
  std::vector<std::int64_t> numbers_;
  std::unordered_set<std::string> fields_seen_;
  std::unordered_set<std::string> names_;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace

std::string make_safetensors_header(std::span<const NamedTensor> tensors) {
  OrderedJson header;
  header[std::string(kMetadataKey)] = {{"format", "pt"}};  // asked for by Hugging Face's loaders
  std::int64_t offset = 0;
  std::unordered_set<std::string_view> names = {kMetadataKey};
  for (const NamedTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      throw InternalError(fmt::format("tensor {} given twice to save", printable(tensor.name)));
    }
    OrderedJson shape = OrderedJson::array();
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      shape.push_back(tensor.shape[axis]);
    }
    const std::int64_t end = checked_add(offset, tensor.byte_count());
    header.emplace(tensor.name, OrderedJson{{"dtype", safetensors_name(tensor.dtype)},
                                            {"shape", std::move(shape)},
                                            {"data_offsets", {offset, end}}});
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const OrderedJson::exception& error) {
    throw InternalError(fmt::format("a tensor name cannot be saved: {}", error.what()));
  }
  const auto bytes = kSafetensorsPrefixBytes + std::ssize(text);
  text.append(static_cast<std::size_t>(align_up(bytes, kSafetensorsDataAlignment) - bytes), ' ');
  return text;
}

SafetensorsHeader parse_safetensors_header(std::string_view header, std::int64_t data_bytes,
                                           const Path& file) {
  if (!header.starts_with('{')) {
    throw DataError(fmt::format("{}: not a safetensors file, no header", file.string()));
  }
  HeaderHandler handler(file);
  OrderedJson::sax_parse(header.begin(), header.end(), &handler);
  SafetensorsHeader found = handler.take();
  std::vector<SafetensorsEntry>& entries = found.entries;
  std::ranges::stable_sort(
      entries, {}, [](const SafetensorsEntry& entry) { return std::pair(entry.begin, entry.end); });
  std::int64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != covered) {
      throw DataError(fmt::format("{}: tensor {} starts at byte {}, not {}: a gap or an overlap",
                                  file.string(), printable(entry.label.name), entry.begin,
                                  covered));
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    throw DataError(fmt::format("{}: holds {} bytes of data, but its header tells of {}",
                                file.string(), data_bytes, covered));
  }
  return found;
}

}  // namespace snug::checkpoint
