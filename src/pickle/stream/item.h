// A value of a pickle that is read as a stream: a number, or a handle that its builder gave out.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace snug::pickle::stream {

enum class ItemKind : std::uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kList,
  kTuple,
  kDict,
  kSet
};

constexpr bool is_container(ItemKind kind) { return kind >= ItemKind::kList; }

struct Item {
  ItemKind kind = ItemKind::kNone;
  std::uint32_t memo = 0;  // where the memo holds it, counted from 1; 0: nowhere that is known
  std::int64_t value = 0;  // kBool, kInt; kText and containers: the builder's handle
  bool has_handle() const { return kind >= ItemKind::kText; }
};

// Handles fit this many bits, so that a place of the memo takes four bytes.
constexpr std::uint32_t kHandleLimit = 1u << 28;

// Decides what of a pickle is kept, and where. A container is made empty and then extended, in one
// or several calls; a tuple in exactly one. When it goes into another one it is complete.
class Builder {
 public:
  virtual ~Builder() = default;

  // Handles below kHandleLimit. `text` is UTF-8, or bytes; of a long one only the beginning.
  virtual std::uint32_t text(std::string_view text) = 0;
  virtual std::uint32_t container(ItemKind kind) = 0;

  // `items` of a dict: key, value, key, value. What is given a new handle here (an item that the
  // builder has finished with, a tuple) is found under the new one in the memo, too. Throws
  // DataError for what it refuses.
  virtual void extend(Item& container, std::span<Item> items) = 0;
};

}  // namespace snug::pickle::stream
