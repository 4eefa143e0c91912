// What a pickle holds: a tree of None, bool, int, float, str, bytes, list, tuple, dict and set, and
// in torch's dialect tensors. Made by reader.h; values are handles into their document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace snug::pickle {

// Limits of what reading a pickle may cost: together they bound its memory to about 300 MiB.
struct PickleLimits {
  static constexpr std::int64_t kFileBytes = 8 * kMiB;  // 65,536 characters take 2
  static constexpr std::size_t kObjects = 1 << 20;      // a vocabulary of 65,536 needs a quarter
  static constexpr std::size_t kReferences = 1 << 21;   // on the stack, and from all containers
  static constexpr std::uint32_t kDepth = 100;
  static constexpr std::uint64_t kTreeNodes = 1 << 24;  // a value counts wherever it is shared
};

enum class PickleKind : std::uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kBytes,
  kGlobal,  // torch: one of the few names that it may use, "module name"
  kList,
  kTuple,
  kDict,
  kSet,
  kStorage,  // torch: items 'storage', type (kGlobal), key, location, element count
  kTensor,   // torch: items storage, offset, size, stride, ...
};

// Python's name of the type: "None", "bool", "int", ..., "dict", "set", "tensor".
std::string_view name_of(PickleKind kind) noexcept;

struct PickleNode {
  PickleKind kind = PickleKind::kNone;
  std::uint32_t text_length = 0;        // kString, kBytes, kGlobal
  std::int64_t integer = 0;             // kInt, kBool; kString, kBytes: where the text begins
  double real = 0;                      // kFloat
  std::vector<std::uint32_t> children;  // node indices; of a dict: key, value, key, value
};

class PickleDocument;

// Valid as long as its document exists and is not moved. Asking for what the kind does not have
// throws InternalError.
class PickleValue {
 public:
  PickleKind kind() const;
  std::int64_t integer() const;   // kInt, kBool
  double real() const;            // kFloat
  std::string_view text() const;  // kString (valid UTF-8), kBytes, kGlobal

  std::size_t size() const;                   // items of a container; pairs of a dict
  PickleValue item(std::size_t index) const;  // not for a dict
  PickleValue key(std::size_t index) const;
  PickleValue value(std::size_t index) const;
  // The value of a string key of a dict; of equal keys the last counts, as in Python.
  std::optional<PickleValue> find(std::string_view wanted) const;

 private:
  friend class PickleDocument;
  PickleValue(const PickleDocument* document, std::uint32_t index)
      : document_(document), index_(index) {}
  const PickleNode& node() const;
  PickleValue child(std::size_t index) const;

  const PickleDocument* document_;
  std::uint32_t index_;
};

class PickleDocument {
 public:
  // Checks that the value at `root` is a tree within PickleLimits (shared values count each time),
  // so that whoever reads it may recurse; throws DataError, naming `name`, when it is not.
  PickleDocument(std::vector<PickleNode> nodes, std::string text, std::uint32_t root,
                 const std::string& name);

  PickleValue root() const { return {this, root_}; }

 private:
  friend class PickleValue;
  std::vector<PickleNode> nodes_;
  std::string text_;
  std::uint32_t root_;
};

}  // namespace snug::pickle
