// Names of kernels, from the symbol table of the running program: a kernel is a function of it.
#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "emulator/launch.h"

namespace emulator {
namespace {

using Symbols = std::map<ElfW(Addr), std::string>;

ElfW(Addr) load_address() {
  ElfW(Addr) address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<ElfW(Addr)*>(out) = info->dlpi_addr;
        return 1;  // the program itself comes first
      },
      &address);
  return address;
}

Symbols read_symbols(const char* file) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(file);
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(file + header->e_shoff);
  const ElfW(Addr) base = load_address();
  Symbols symbols;
  for (int s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const auto* entries = reinterpret_cast<const ElfW(Sym)*>(file + sections[s].sh_offset);
    const char* names = file + sections[sections[s].sh_link].sh_offset;
    for (std::size_t i = 0; i < sections[s].sh_size / sizeof *entries; ++i) {
      if (ELF64_ST_TYPE(entries[i].st_info) != STT_FUNC || entries[i].st_value == 0) continue;
      symbols.emplace(base + entries[i].st_value, names + entries[i].st_name);
    }
  }
  return symbols;
}

Symbols program_symbols() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  if (file < 0 || fstat(file, &facts) != 0) return {};
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return {};
  Symbols symbols = read_symbols(static_cast<const char*>(mapped));
  munmap(mapped, bytes);
  return symbols;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : symbol;
  std::free(text);
  return name;
}

}  // namespace

std::string kernel_symbol(const void* function) {
  static const Symbols symbols = program_symbols();
  const auto symbol = symbols.find(reinterpret_cast<ElfW(Addr)>(function));
  char address[40];
  std::snprintf(address, sizeof address, "kernel at %p", function);
  return symbol == symbols.end() ? address : symbol->second;
}

std::string kernel_name(const void* function) {
  static std::mutex mutex;
  static std::map<const void*, std::string> names;
  const std::lock_guard lock(mutex);
  if (const auto found = names.find(function); found != names.end()) return found->second;
  return names[function] = demangled(kernel_symbol(function));
}

}  // namespace emulator
