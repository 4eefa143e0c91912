// The dicts of a snapshot while they are read: their known keys by number.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace snug::doctor::snapshot {

enum class Key : std::uint8_t {
  kNone,  // the empty text: no key
  kDevice,
  kAddress,
  kTotalSize,
  kStream,
  kSegmentType,
  kSegmentPoolId,
  kIsExpandable,
  kBlocks,
  kSize,
  kRequestedSize,
  kState,
  kFrames,
  kHistory,   // of a block, before PyTorch 2.1
  kRealSize,  // in it
  kAction,
  kAddr,
  kTime,
  kDeviceFree,
  kFilename,
  kLine,
  kName,
  kSegments,
  kDeviceTraces,
  kAllocatorSettings,
  kConf,
  kExpandableSegments,
  kCount,
};
constexpr std::size_t kKeyCount = static_cast<std::size_t>(Key::kCount);

constexpr std::array<std::string_view, kKeyCount> kKeyTexts = {"",
                                                               "device",
                                                               "address",
                                                               "total_size",
                                                               "stream",
                                                               "segment_type",
                                                               "segment_pool_id",
                                                               "is_expandable",
                                                               "blocks",
                                                               "size",
                                                               "requested_size",
                                                               "state",
                                                               "frames",
                                                               "history",
                                                               "real_size",
                                                               "action",
                                                               "addr",
                                                               "time_us",
                                                               "device_free",
                                                               "filename",
                                                               "line",
                                                               "name",
                                                               "segments",
                                                               "device_traces",
                                                               "allocator_settings",
                                                               "PYTORCH_CUDA_ALLOC_CONF",
                                                               "expandable_segments"};

// A dict: the values of its known keys. A text is its number, a list what it was settled as.
class Record {
 public:
  bool has(Key key) const { return (present_ >> static_cast<unsigned>(key) & 1) != 0; }
  std::int64_t get(Key key, std::int64_t otherwise = 0) const {
    return has(key) ? values_[static_cast<std::size_t>(key)] : otherwise;
  }
  void set(Key key, std::int64_t value) {
    present_ |= std::uint64_t{1} << static_cast<unsigned>(key);
    values_[static_cast<std::size_t>(key)] = value;
  }
  void clear() { present_ = 0; }

 private:
  std::uint64_t present_ = 0;
  std::array<std::int64_t, kKeyCount> values_;
};

}  // namespace snug::doctor::snapshot
