#include "second_opinion.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "block.h"
#include "card/card_state.h"
#include "thread.h"

namespace emulator::ptx {
namespace {

// What the two compilers' libraries may differ by where PTX only bounds a result: of a value, and
// of the largest value of its array, where sums cancel.
constexpr float kRelative = 4e-6f, kOfLargest = 2e-6f;

struct Loaded {
  Module module;
  std::map<std::string, Prepared> prepared;
};

std::vector<std::unique_ptr<Loaded>> g_modules;
std::map<std::string, Comparison> g_comparisons;

class PtxCall final : public KernelCall {
 public:
  PtxCall(const Prepared& program, const KernelCall& original)
      : program_(program), original_(original) {
    const auto arguments = original.arguments();
    const auto& parameters = program.kernel->parameters;
    if (arguments.size() != parameters.size()) throw std::runtime_error("parameters differ");
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].bytes != parameters[i].bytes)
        throw std::runtime_error("a parameter's size differs");
      const std::size_t at = (bytes_.size() + 15) / 16 * 16;
      bytes_.resize(at + arguments[i].bytes);
      std::memcpy(bytes_.data() + at, arguments[i].address, arguments[i].bytes);
      offsets_[parameters[i].name] = at;
    }
  }

  void run_thread() const override {
    std::string problem;
    try {
      Thread(program_, bytes_, offsets_).run();
      return;
    } catch (const std::runtime_error& error) {
      problem = error.what();
    }
    static_cast<const Lane&>(*t_lane).owner->fail(FaultKind::kDivergence, problem);
  }
  const void* function() const override { return original_.function(); }
  std::size_t object_bytes() const override { return sizeof *this; }
  std::vector<Argument> arguments() const override { return original_.arguments(); }

 private:
  const Prepared& program_;
  const KernelCall& original_;
  std::vector<unsigned char> bytes_;
  std::map<std::string, std::size_t> offsets_;
};

using Snapshot = std::map<const void*, std::vector<unsigned char>>;

Snapshot snapshot() {
  Snapshot all;
  for (const auto& [address, bytes] : card_state().memory.allocations()) {
    const auto* begin = static_cast<const unsigned char*>(address);
    all[address].assign(begin, begin + bytes);
  }
  return all;
}

void restore(const Snapshot& all) {
  for (const auto& [address, bytes] : all) {
    std::memcpy(const_cast<void*>(address), bytes.data(), bytes.size());
  }
}

// The bytes are float or pairs of 16-bit floats; nobody says which. Close as one of them is close.
bool is_close(std::uint32_t a, std::uint32_t b, float largest) {
  const float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  const float difference = std::fabs(x - y);
  if (difference <= kRelative * std::fmax(std::fabs(x), std::fabs(y))) return true;
  if (std::isfinite(largest) && difference <= kOfLargest * largest) return true;
  const auto unit_apart = [](std::uint32_t p, std::uint32_t q) {
    const int d = static_cast<int>(p & 0xFFFF) - static_cast<int>(q & 0xFFFF);
    return d >= -1 && d <= 1;
  };
  return unit_apart(a, b) && unit_apart(a >> 16, b >> 16);
}

void compare_array(const std::vector<unsigned char>& before,
                   const std::vector<unsigned char>& first,
                   const std::vector<unsigned char>& second, Comparison& result) {
  float largest = 0;
  const std::size_t words = first.size() / 4;
  const auto word = [](const std::vector<unsigned char>& bytes, std::size_t i) {
    std::uint32_t value;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    return value;
  };
  for (std::size_t i = 0; i < words; ++i) {
    const float value = std::fabs(std::bit_cast<float>(word(first, i)));
    if (value > largest && value < 1e30f) largest = value;
  }
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint32_t a = word(first, i), b = word(second, i), was = word(before, i);
    if (a != was || b != was) ++result.words;
    if (a == b) continue;
    ++result.different;
    if (!result.problem.empty() || (!result.exact && is_close(a, b, largest))) continue;
    char text[120];
    std::snprintf(text, sizeof text, "word %zu of %zu: g++ %08x (%g), PTX %08x (%g)", i, words, a,
                  static_cast<double>(std::bit_cast<float>(a)), b,
                  static_cast<double>(std::bit_cast<float>(b)));
    result.problem = text;
  }
  const std::size_t tail = words * 4;
  if (!std::equal(first.begin() + static_cast<std::ptrdiff_t>(tail), first.end(),
                  second.begin() + static_cast<std::ptrdiff_t>(tail)) &&
      result.exact) {
    result.problem = "the last bytes of an array differ";
  }
}

const Prepared* find(const std::string& symbol) {
  for (const auto& loaded : g_modules) {
    if (const auto found = loaded->prepared.find(symbol); found != loaded->prepared.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

bool run_twice(const KernelCall& call, const LaunchShape& shape) {
  const std::string symbol = kernel_symbol(call.function());
  const Prepared* program = find(symbol);
  Comparison& result = g_comparisons[symbol];
  ++result.launches;
  if (!program) {
    result.problem = "no PTX of it was loaded";
    return run_grid(call, shape);
  }
  const Snapshot before = snapshot();
  if (!run_grid(call, shape)) return false;
  const Snapshot first = snapshot();
  restore(before);
  try {
    if (!run_grid(PtxCall(*program, call), shape)) result.problem = "its PTX failed";
  } catch (const std::runtime_error& error) {
    result.problem = error.what();
  }
  const Snapshot second = snapshot();
  for (const auto& [address, bytes] : first) {
    compare_array(before.at(address), bytes, second.at(address), result);
  }
  restore(first);
  return true;
}

}  // namespace

void load_ptx(const std::string& text) {
  auto loaded = std::make_unique<Loaded>();
  loaded->module = parse(text);
  for (const auto& [symbol, kernel] : loaded->module.kernels) {
    if (kernel->only_traps()) continue;
    loaded->prepared.emplace(symbol, prepare(*kernel, loaded->module));
    g_comparisons[symbol].exact = !kernel->has_approximations();
  }
  g_modules.push_back(std::move(loaded));
  g_launch_runner = &run_twice;
}

std::map<std::string, Comparison> comparisons() { return g_comparisons; }

}  // namespace emulator::ptx
