// How fast GPT-2's tokenizer encodes on one thread, and its ids for many texts at once; for
// bench/tokenizer_compare.py.
// usage: tokenizer_bench speed FILE   one pass with a new encoder; prints seconds and tokens
//        tokenizer_bench ids FILE     FILE: texts, each after its length in bytes (uint32); writes
//        the
//                                     ids of each (uint16) after their number (uint32) to stdout
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "base/input_file.h"
#include "tokenizer/gpt2_tokenizer.h"

namespace {

using namespace snug::tokenizer;
constexpr std::int64_t kLimitBytes = std::int64_t{1} << 31;

// Of this thread, so that what else the machine does counts little.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void measure_speed(const std::string& text) {
  const Gpt2Tokenizer tokenizer;
  std::vector<std::uint16_t> ids;
  ids.reserve(text.size());
  const double start = cpu_seconds();
  Encoder encoder = tokenizer.make_encoder();
  encoder.encode(text, ids);
  fmt::print("{:.6f} {}\n", cpu_seconds() - start, ids.size());
}

void write_ids(std::string_view records) {
  const Gpt2Tokenizer tokenizer;
  Encoder encoder = tokenizer.make_encoder();
  std::vector<std::uint16_t> ids;
  while (records.size() >= 4) {
    std::uint32_t size = 0;
    std::memcpy(&size, records.data(), 4);
    ids.clear();
    encoder.encode(records.substr(4, size), ids);
    records.remove_prefix(4 + size);
    const auto count = static_cast<std::uint32_t>(ids.size());
    std::fwrite(&count, 4, 1, stdout);
    std::fwrite(ids.data(), 2, ids.size(), stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string text = snug::read_whole_file(argv[2], kLimitBytes);
  if (std::string_view(argv[1]) == "speed") {
    measure_speed(text);
  } else {
    write_ids(text);
  }
  return 0;
}
