// The processor of this machine: what it is, and what the libraries that compute make of it.
#pragma once

#include <string>
#include <vector>

namespace snug::cpu {

struct ProcessorFacts {
  std::string model;  // "unknown" where the system does not tell
  int online_cores = 0;
  int allowed_cores = 0;             // this process may run on: its affinity
  int threads = 0;                   // that training takes unless told otherwise
  std::vector<std::string> present;  // what the processor has, see vector_extensions()
  bool products_on_amx = false;      // those over 32 tokens and more; oneDNN has the others
  std::string bf16_products;         // "AMX", "AVX512_BF16", or "" where bfloat16 is widened
  std::string onednn_isa;            // oneDNN's choice, as DNNL_MAX_CPU_ISA spells it
  std::string kernels_isa;           // Highway's choice for Snug's own kernels, in its words
};

ProcessorFacts processor_facts();

// The value of the first "key : value" line of `text`, that of /proc/cpuinfo; "" without one.
std::string cpuinfo_value(const std::string& text, const std::string& key);

// Of "AVX2", "AVX-512", "AVX512_BF16" and "AMX" those that `flags`, of /proc/cpuinfo, names.
std::vector<std::string> vector_extensions(const std::string& flags);

}  // namespace snug::cpu
