#include "backend/cpu/processor_facts.h"

#include <sched.h>
#include <unistd.h>

#include <dnnl.hpp>
#include <fstream>
#include <iterator>
#include <sstream>

#include "backend/cpu/split/amx.h"
#include "backend/cpu/threads.h"
#include "backend/cpu/widened/tile_product.h"
#include "hwy/highway.h"

namespace snug::cpu {
namespace {

std::string cpuinfo() {
  std::ifstream file("/proc/cpuinfo");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int allowed_cores(int online) {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more than 1024 cores.
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : online;
}

// oneDNN's values are sets of bits, in which each includes what it builds on.
std::string onednn_isa() {
  struct Row {
    unsigned bits;
    const char* name;
  };
  static constexpr Row kRows[] = {{dnnl_cpu_isa_avx512_core_amx, "AVX512_CORE_AMX"},
                                  {dnnl_cpu_isa_avx512_core_bf16, "AVX512_CORE_BF16"},
                                  {dnnl_cpu_isa_avx512_core_vnni, "AVX512_CORE_VNNI"},
                                  {dnnl_cpu_isa_avx512_core, "AVX512_CORE"},
                                  {dnnl_cpu_isa_avx2_vnni, "AVX2_VNNI"},
                                  {dnnl_cpu_isa_avx2, "AVX2"},
                                  {dnnl_cpu_isa_avx, "AVX"},
                                  {dnnl_cpu_isa_sse41, "SSE41"}};
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  for (const Row& row : kRows) {
    if ((isa & row.bits) == row.bits) return row.name;
  }
  return "none";
}

// The lower a target's bit, the better it is.
std::string kernels_isa() {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);
}

}  // namespace

std::string cpuinfo_value(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    if (line.find_first_not_of(" \t", key.size()) != colon) continue;  // a longer key
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

std::vector<std::string> vector_extensions(const std::string& flags) {
  bool avx2 = false, avx512 = false, bf16 = false, amx = false;
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    avx2 = avx2 || word == "avx2";
    avx512 = avx512 || word == "avx512f";
    bf16 = bf16 || word == "avx512_bf16";
    amx = amx || word == "amx_tile";
  }
  std::vector<std::string> present;
  if (avx2) present.emplace_back("AVX2");
  if (avx512) present.emplace_back("AVX-512");
  if (bf16) present.emplace_back("AVX512_BF16");
  if (amx) present.emplace_back("AMX");
  return present;
}

ProcessorFacts processor_facts() {
  const std::string text = cpuinfo();
  ProcessorFacts facts;
  facts.model = cpuinfo_value(text, "model name");
  if (facts.model.empty()) facts.model = "unknown";
  facts.online_cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.allowed_cores = allowed_cores(facts.online_cores);
  facts.threads = thread_count(0);
  facts.present = vector_extensions(cpuinfo_value(text, "flags"));
  facts.products_on_amx = amx_usable();
  if (const auto unit = tile_unit()) {
    facts.bf16_products = *unit == TileUnit::kAmx ? "AMX" : "AVX512_BF16";
  }
  facts.onednn_isa = onednn_isa();
  facts.kernels_isa = kernels_isa();
  return facts;
}

}  // namespace snug::cpu
