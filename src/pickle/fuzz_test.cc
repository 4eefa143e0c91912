// Hostile pickles by the ten thousand: whatever the bytes, a document within its limits or a
// DataError. Run under the sanitizers for what it is worth most.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/philox.h"
#include "pickle/pickle_testing.h"
#include "pickle/reader.h"

namespace snug::pickle {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t bound) {
    const PhiloxBlock words = philox(seed_, {count_++, 0, 0, 0});
    return static_cast<std::size_t>(uniform_below(words[0], words[1], bound));
  }
  char byte() { return static_cast<char>(below(256)); }

 private:
  std::uint64_t seed_;
  std::uint32_t count_ = 0;
};

// One change: a byte, a bit, an insertion, a deletion, or a piece copied elsewhere.
void mutate(std::string& bytes, Dice& dice) {
  if (bytes.empty()) bytes += dice.byte();
  const std::size_t at = dice.below(bytes.size());
  switch (dice.below(5)) {
    case 0:
      bytes[at] = dice.byte();
      break;
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << dice.below(8)));
      break;
    case 2:
      bytes.insert(at, 1, dice.byte());
      break;
    case 3:
      bytes.erase(at, 1 + dice.below(4));
      break;
    default:
      bytes.insert(dice.below(bytes.size()), bytes.substr(at, 1 + dice.below(16)));
  }
}

// Walks all of it, to show that what is returned may be recursed into.
std::size_t walk(const PickleValue& value) {
  if (value.kind() == PickleKind::kString) return value.text().size();
  if (value.kind() < PickleKind::kList) return 1;
  std::size_t total = 1;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool is_dict = value.kind() == PickleKind::kDict;
    total += is_dict ? walk(value.key(i)) + walk(value.value(i)) : walk(value.item(i));
  }
  return total;
}

// True when the bytes were a pickle; anything but a DataError ends the test.
bool survives(const std::string& bytes) {
  try {
    const PickleDocument document = parse_pickle(bytes, "fuzz");
    walk(document.root());
    return true;
  } catch (const DataError&) {
    return false;
  }
}

TEST(PickleFuzz, MutatedPickles) {
  int read = 0, refused = 0;
  for (std::uint64_t round = 0; round < 30'000; ++round) {
    Dice dice(round);
    std::string bytes = from_hex(kPickleSamples[round % kPickleSamples.size()]);
    for (std::size_t changes = 1 + dice.below(6); changes > 0; --changes) mutate(bytes, dice);
    ++(survives(bytes) ? read : refused);
  }
  EXPECT_GT(read, 1000);  // the mutations are mild enough to pass the first check
  EXPECT_GT(refused, 1000);
}

TEST(PickleFuzz, RandomBytes) {
  for (std::uint64_t round = 0; round < 30'000; ++round) {
    Dice dice(round);
    std::string bytes;
    for (std::size_t length = dice.below(64); length > 0; --length) bytes += dice.byte();
    survives(bytes);
  }
}

// Opcodes only, so that most programs run for a while.
TEST(PickleFuzz, RandomPrograms) {
  constexpr std::string_view kOpcodes =
      "NK(}])\x85\x86\x87\x8F"
      "01248tldaesu\x90\x91qh\x94";
  int read = 0;
  for (std::uint64_t round = 0; round < 60'000; ++round) {
    Dice dice(round);
    std::string bytes;
    for (std::size_t length = dice.below(40); length > 0; --length) {
      const char opcode = kOpcodes[dice.below(kOpcodes.size())];
      bytes += opcode;
      if (opcode == 'K' || opcode == 'q' || opcode == 'h') {
        bytes += static_cast<char>(dice.below(3));
      }
    }
    read += survives(bytes + '.') ? 1 : 0;
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace snug::pickle
