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

// AVX-512 with the subsets that packing uses, AMX's tiles and their bfloat16 product.
bool processor_has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const bool avx512 = has_bit(b, 16) && has_bit(b, 30) && has_bit(b, 31);  // F, BW, VL
  const bool amx = has_bit(d, 22) && has_bit(d, 24);                       // BF16, TILE
  if (!avx512 || !amx) return false;
  __get_cpuid(1, &a, &b, &c, &d);
  return has_bit(c, 27);  // OSXSAVE: the kernel saves extended state, so xgetbv exists
}

bool kernel_saves_tiles() {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kAvx512AndTiles = 0x600e6;
  return (low & kAvx512AndTiles) == kAvx512AndTiles;
}

// Tiles are 8 KiB of registers, which a process must ask Linux for.
bool kernel_allows_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool limited_by_environment() {
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    const char* limit = std::getenv(name);
    if (limit == nullptr || *limit == '\0') continue;
    std::string isa(limit);
    for (char& c : isa) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return isa.find("AMX") == isa.npos && isa != "ALL" && isa != "DEFAULT";
  }
  return false;
}

}  // namespace

bool amx_usable() {
  static const bool usable = processor_has_amx() && kernel_saves_tiles() &&
                             !limited_by_environment() && kernel_allows_tiles();
  return usable;
}

}  // namespace snug::cpu

#else

bool snug::cpu::amx_usable() { return false; }

#endif
