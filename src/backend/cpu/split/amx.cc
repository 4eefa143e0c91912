#include "backend/cpu/split/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <string>

namespace snug::cpu {
namespace {

bool has_bit(unsigned word, int bit) { return (word >> bit & 1) != 0; }

struct Features {
  bool avx512 = false;  // with the subsets that packing uses: F, BW, VL
  bool avx512_bf16 = false;
  bool amx = false;  // tiles and their bfloat16 product
  bool slow_pairs = false;
};

// Intel's first processor with AVX512_BF16, Cooper Lake, is of the model that this names.
constexpr unsigned kCooperLake = 0x55;

bool is_intel_after_cooper_lake() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(0, &a, &b, &c, &d);
  if (b != signature_INTEL_ebx || d != signature_INTEL_edx || c != signature_INTEL_ecx) {
    return false;
  }
  __get_cpuid(1, &a, &b, &c, &d);
  const unsigned model = (a >> 4 & 0xf) | (a >> 12 & 0xf0);
  return model != kCooperLake;
}

Features processor_features() {
  Features features;
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  const bool has_xgetbv = has_bit(c, 27);  // OSXSAVE: the kernel saves extended state
  if (!has_xgetbv || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return features;
  features.avx512 = has_bit(b, 16) && has_bit(b, 30) && has_bit(b, 31);
  features.amx = has_bit(d, 22) && has_bit(d, 24);
  const unsigned subleaves = a;
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    features.avx512_bf16 = has_bit(a, 5);
  }
  features.slow_pairs = is_intel_after_cooper_lake();
  return features;
}

constexpr unsigned kAvx512State = 0xe6, kTileState = 0x60000;

bool kernel_saves(unsigned state) {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & state) == state;
}

// Tiles are 8 KiB of registers, which a process must ask Linux for.
bool kernel_allows_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// oneDNN's limit in capitals; "" without one.
std::string limit_from_environment() {
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    const char* limit = std::getenv(name);
    if (limit == nullptr || *limit == '\0') continue;
    std::string isa(limit);
    for (char& c : isa) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return isa;
  }
  return "";
}

bool has_part(const std::string& text, const char* part) { return text.find(part) != text.npos; }

bool limit_allows_amx() {
  const std::string limit = limit_from_environment();
  return limit.empty() || has_part(limit, "AMX") || limit == "ALL" || limit == "DEFAULT";
}

// oneDNN's names of sets that include AVX512_BF16.
bool limit_allows_avx512_bf16() {
  const std::string limit = limit_from_environment();
  return limit_allows_amx() || has_part(limit, "AVX512_CORE_BF16") ||
         has_part(limit, "AVX512_CORE_FP16");
}

bool find_amx() {
  const Features has = processor_features();
  return has.avx512 && has.amx && kernel_saves(kAvx512State | kTileState) && limit_allows_amx() &&
         kernel_allows_tiles();
}

bool find_avx512_bf16() {
  const Features has = processor_features();
  return has.avx512 && has.avx512_bf16 && kernel_saves(kAvx512State) && limit_allows_avx512_bf16();
}

}  // namespace

bool amx_usable() {
  static const bool usable = find_amx();
  return usable;
}

bool avx512_bf16_usable() {
  static const bool usable = find_avx512_bf16();
  return usable;
}

bool avx512_bf16_pays() {
  static const bool pays = avx512_bf16_usable() && !processor_features().slow_pairs;
  return pays;
}

}  // namespace snug::cpu

#else

bool snug::cpu::amx_usable() { return false; }
bool snug::cpu::avx512_bf16_usable() { return false; }
bool snug::cpu::avx512_bf16_pays() { return false; }

#endif
