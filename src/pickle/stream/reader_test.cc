// The streaming reader beside the one that builds a tree: the same values of the same bytes, and
// nothing but DataError for any others.
#include "pickle/stream/reader.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/error.h"
#include "base/philox.h"
#include "pickle/pickle_testing.h"
#include "pickle/reader.h"

namespace snug::pickle::stream {
namespace {

// Keeps all of it, written as Python would: enough to compare.
class Keeper : public Builder {
 public:
  std::uint32_t text(std::string_view text) override {
    texts_.emplace_back(text);
    return static_cast<std::uint32_t>(texts_.size() - 1);
  }
  std::uint32_t container(ItemKind) override {
    containers_.emplace_back();
    return static_cast<std::uint32_t>(containers_.size() - 1);
  }
  void extend(Item& container, std::span<Item> items) override {
    std::vector<Item>& held = containers_[static_cast<std::size_t>(container.value)];
    held.insert(held.end(), items.begin(), items.end());
  }

  std::string written(const Item& item) const {
    switch (item.kind) {
      case ItemKind::kNone:
        return "None";
      case ItemKind::kBool:
        return item.value != 0 ? "True" : "False";
      case ItemKind::kInt:
        return std::to_string(item.value);
      case ItemKind::kFloat:
        return "float";
      case ItemKind::kText:
        return "'" + texts_[static_cast<std::size_t>(item.value)] + "'";
      default:
        break;
    }
    std::string all = "(";
    for (const Item& inner : containers_[static_cast<std::size_t>(item.value)])
      all += written(inner) + " ";
    return all + ")";
  }

 private:
  std::vector<std::string> texts_;
  std::vector<std::vector<Item>> containers_;
};

ByteSource source_of(std::string_view bytes, std::size_t at_once) {
  return [rest = bytes, at_once](std::span<char> out) mutable {
    const std::size_t count = std::min({out.size(), rest.size(), at_once});
    std::copy_n(rest.begin(), count, out.begin());
    rest.remove_prefix(count);
    return count;
  };
}

std::string written(std::string_view bytes, std::size_t at_once = 1 << 20) {
  Keeper keeper;
  return keeper.written(read_pickle_stream(source_of(bytes, at_once), "test", keeper));
}

std::string written(const PickleValue& value) {
  switch (value.kind()) {
    case PickleKind::kNone:
      return "None";
    case PickleKind::kBool:
      return value.integer() != 0 ? "True" : "False";
    case PickleKind::kInt:
      return std::to_string(value.integer());
    case PickleKind::kFloat:
      return "float";
    case PickleKind::kString:
    case PickleKind::kBytes:
      return "'" + std::string(value.text()) + "'";
    default:
      break;
  }
  std::string all = "(";
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool is_dict = value.kind() == PickleKind::kDict;
    all += is_dict ? written(value.key(i)) + " " + written(value.value(i)) + " "
                   : written(value.item(i)) + " ";
  }
  return all + ")";
}

TEST(PickleStream, ReadsEveryProtocolAsTheTreeDoes) {
  for (const std::string_view sample : kPickleSamples) {
    const std::string bytes = from_hex(sample);
    const PickleDocument document = parse_pickle(bytes, "sample");
    EXPECT_EQ(written(bytes), written(document.root()));
    EXPECT_EQ(written(bytes, 1), written(document.root())) << "a byte at a time";
  }
}

std::string refusal_of(std::string_view bytes) {
  try {
    written(bytes);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(PickleStream, RefusesWhatCouldRunCode) {
  EXPECT_NE(refusal_of("cos\nsystem\n(S'ls'\ntR.").find("GLOBAL is refused"), std::string::npos);
  EXPECT_NE(
      refusal_of(std::string("\x80\x04\x8c\x02os\x8c\x06system\x93.", 15)).find("STACK_GLOBAL"),
      std::string::npos);
  EXPECT_NE(refusal_of("\x80\x06.").find("protocol 6"), std::string::npos);
  EXPECT_NE(refusal_of("K").find("cut off"), std::string::npos);
  EXPECT_NE(refusal_of("h\x05.").find("memo 5 was never written"), std::string::npos);
}

TEST(PickleStream, AMemoFarAwayCostsNothing) {
  // LONG_BINPUT 0xFFFFFFFF: remembered nowhere, and refused when it is asked for.
  EXPECT_EQ(written(std::string("]r\xff\xff\xff\xff.", 7)), "()");
  EXPECT_NE(refusal_of(std::string("]r\xff\xff\xff\xffj\xff\xff\xff\xff.", 12)).find("beyond"),
            std::string::npos);
}

TEST(PickleStream, LongTextsAreCutAndReadPast) {
  std::string bytes = "X";
  const std::uint32_t length = 3 << 20;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(length >> shift);
  bytes += std::string(length, 'a') + ".";
  EXPECT_EQ(written(bytes).size(), ByteReader::kLongest + 2);
}

TEST(PickleStream, AnyBytesGiveAValueOrADataError) {
  std::uint32_t count = 0;
  const auto below = [&](std::size_t bound) {
    const PhiloxBlock words = philox(7, {count++, 0, 0, 0});
    return static_cast<std::size_t>(uniform_below(words[0], words[1], bound));
  };
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = from_hex(kPickleSamples[below(kPickleSamples.size())]);
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      bytes[below(bytes.size())] = static_cast<char>(below(256));
    }
    try {
      Keeper keeper;  // not written out: a list may hold itself
      read_pickle_stream(source_of(bytes, 64), "mutated", keeper);
    } catch (const DataError&) {
    }
  }
}

}  // namespace
}  // namespace snug::pickle::stream
