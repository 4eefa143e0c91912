// What the compiler calls for each access of instrumented code (-fsanitize=thread), in place of the
// sanitizer's own library; and the public side of the checked build.
#include <cstdint>

#include "checked/checker.h"
#include "emulator/counters.h"
#include "emulator/regions.h"
#include "emulator/watch.h"

namespace emulator {

void watch_kernels() { g_watcher = &checker(); }

void name_region(const void* address, std::size_t bytes, const std::string& name) {
  checker().addresses.name(address, bytes, name);
}

void forget_regions() { checker().addresses.forget_names(); }

void mark_undefined(const void* address, std::size_t bytes) {
  checker().shadow.undefine(reinterpret_cast<std::uintptr_t>(address), bytes);
}

void start_counting() {
  checker().counts.clear();
  checker().requests.on = true;
}

std::map<std::string, Counts> take_counts() {
  checker().requests.on = false;
  return std::move(checker().counts);
}

}  // namespace emulator

#define HERE __builtin_return_address(0)
#define ENTRY_POINTS(bytes)                                                                        \
  void __tsan_read##bytes(void* a) { emulator::checker().lane_reads(a, bytes, HERE); }             \
  void __tsan_write##bytes(void* a) { emulator::checker().lane_writes(a, bytes, HERE); }           \
  void __tsan_unaligned_read##bytes(void* a) { emulator::checker().lane_reads(a, bytes, HERE); }   \
  void __tsan_unaligned_write##bytes(void* a) { emulator::checker().lane_writes(a, bytes, HERE); } \
  void __tsan_volatile_read##bytes(void* a) { emulator::checker().lane_reads(a, bytes, HERE); }    \
  void __tsan_volatile_write##bytes(void* a) { emulator::checker().lane_writes(a, bytes, HERE); }

extern "C" {
ENTRY_POINTS(1)
ENTRY_POINTS(2)
ENTRY_POINTS(4)
ENTRY_POINTS(8)
ENTRY_POINTS(16)
void __tsan_read_range(void* a, std::size_t n) { emulator::checker().lane_reads(a, n, HERE); }
void __tsan_write_range(void* a, std::size_t n) { emulator::checker().lane_writes(a, n, HERE); }
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

// The atomics of the shim say themselves that they are (atomic_access); host code's are no concern.
int __tsan_atomic32_load(const int* a, int) { return __atomic_load_n(a, __ATOMIC_SEQ_CST); }
void __tsan_atomic32_store(int* a, int v, int) { __atomic_store_n(a, v, __ATOMIC_SEQ_CST); }
long __tsan_atomic64_load(const long* a, int) { return __atomic_load_n(a, __ATOMIC_SEQ_CST); }
void __tsan_atomic64_store(long* a, long v, int) { __atomic_store_n(a, v, __ATOMIC_SEQ_CST); }
int __tsan_atomic32_fetch_add(int* a, int v, int) {
  return __atomic_fetch_add(a, v, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_fetch_sub(int* a, int v, int) {
  return __atomic_fetch_sub(a, v, __ATOMIC_SEQ_CST);
}
long __tsan_atomic64_fetch_add(long* a, long v, int) {
  return __atomic_fetch_add(a, v, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_compare_exchange_weak(int* a, int* expected, int v, int, int) {
  return __atomic_compare_exchange_n(a, expected, v, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_compare_exchange_strong(int* a, int* expected, int v, int, int) {
  return __atomic_compare_exchange_n(a, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
int __tsan_atomic64_compare_exchange_weak(long* a, long* expected, long v, int, int) {
  return __atomic_compare_exchange_n(a, expected, v, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
int __tsan_atomic64_compare_exchange_strong(long* a, long* expected, long v, int, int) {
  return __atomic_compare_exchange_n(a, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
unsigned char __tsan_atomic8_load(const unsigned char* a, int) {
  return __atomic_load_n(a, __ATOMIC_SEQ_CST);
}
void __tsan_atomic8_store(unsigned char* a, unsigned char v, int) {
  __atomic_store_n(a, v, __ATOMIC_SEQ_CST);
}
}
