// Law 1: once a run is warm, Snug allocates nothing. malloc and its kin are replaced by ones that
// count, and so is oneDNN's entry point, so that what happens inside the library is told apart.
// Sanitizers bring their own malloc; under them there is nothing here to run.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <malloc.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dnnl.hpp>

#include "engine_testing.h"

#ifdef SNUG_SANITIZED

TEST(Allocation, NoneInSteadyState) { GTEST_SKIP() << "the sanitizer owns malloc"; }

#else

namespace {

// Who asked for memory.
enum Owner { kSnug, kOpenMp, kBrgemm, kOtherOneDnn, kOwnerCount };

struct Tally {
  std::atomic<std::int64_t> count, bytes, largest;
};

std::atomic<bool> counting;
Tally tallies[kOwnerCount];
// Allocated minus freed since counting began, by all owners together: who frees cannot be told,
// OpenMP's last act in a parallel region is a jump to free().
std::atomic<std::int64_t> live_blocks, live_bytes;

// The product that oneDNN is inside of, kSnug outside of any: one that a thread runs by itself, or
// one that oneDNN spreads over all threads, beside which nothing else runs.
thread_local Owner own_product = kSnug;
std::atomic<Owner> shared_product = kSnug;

struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
};
AddressRange openmp_code;

void find_openmp() {
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void*) {
        if (std::strstr(object->dlpi_name, "libgomp") == nullptr) return 0;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = object->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
          openmp_code = {begin, begin + segment.p_memsz};
        }
        return 1;
      },
      nullptr);
}

Tally& tally_of(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (address >= openmp_code.begin && address < openmp_code.end) return tallies[kOpenMp];
  return tallies[own_product != kSnug ? own_product : shared_product.load()];
}

void* counted(void* block, const void* caller) {
  if (!counting || block == nullptr) return block;
  const auto bytes = static_cast<std::int64_t>(malloc_usable_size(block));
  Tally& tally = tally_of(caller);
  ++tally.count, ++live_blocks;
  tally.bytes += bytes, live_bytes += bytes;
  std::int64_t largest = tally.largest;
  while (bytes > largest && !tally.largest.compare_exchange_weak(largest, bytes)) {
  }
  return block;
}

void uncount(void* block) {
  if (!counting || block == nullptr) return;
  --live_blocks;
  live_bytes -= static_cast<std::int64_t>(malloc_usable_size(block));
}

}  // namespace

// operator new needs no replacement: libstdc++'s calls malloc or aligned_alloc.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t bytes) {
  return counted(__libc_malloc(bytes), __builtin_return_address(0));
}
void* calloc(std::size_t count, std::size_t bytes) {
  return counted(__libc_calloc(count, bytes), __builtin_return_address(0));
}
void* realloc(void* block, std::size_t bytes) {
  uncount(block);
  return counted(__libc_realloc(block, bytes), __builtin_return_address(0));
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return counted(__libc_memalign(alignment, bytes), __builtin_return_address(0));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return counted(__libc_memalign(alignment, bytes), __builtin_return_address(0));
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  *block = counted(__libc_memalign(alignment, bytes), __builtin_return_address(0));
  return *block == nullptr ? ENOMEM : 0;
}
void free(void* block) {
  uncount(block);
  __libc_free(block);
}

dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                     int argument_count, const dnnl_exec_arg_t* arguments) {
  static const auto execute = reinterpret_cast<decltype(&dnnl_primitive_execute)>(
      dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  const_dnnl_primitive_desc_t description = nullptr;
  const char* implementation = "";
  dnnl_primitive_get_primitive_desc(primitive, &description);
  dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &implementation);
  const Owner product = std::strncmp(implementation, "brg", 3) == 0 ? kBrgemm : kOtherOneDnn;
  const bool alone = !omp_in_parallel();
  own_product = product;
  if (alone) shared_product = product;
  const dnnl_status_t status = execute(primitive, stream, argument_count, arguments);
  own_product = kSnug;
  if (alone) shared_product = kSnug;
  return status;
}
}

namespace snug {
namespace {

// Counts what `work` allocates.
template <class Work>
void count_allocations(Work work) {
  find_openmp();
  for (Tally& tally : tallies) tally.count = tally.bytes = tally.largest = 0;
  live_blocks = live_bytes = 0;
  counting = true;
  work();
  counting = false;
}

// The counting itself: a test that cannot fail would prove nothing.
TEST(AllocationCounting, SeesEveryWay) {
  int ways = 0;
  const auto expect_seen = [&](auto allocate, auto release) {
    void* volatile block = nullptr;  // or the compiler removes what has no effect
    count_allocations([&] { block = allocate(); });
    EXPECT_EQ(tallies[kSnug].count, 1) << "way " << ways;
    EXPECT_GE(live_bytes, 100) << "way " << ways;
    count_allocations([&] { release(block); });
    EXPECT_EQ(live_blocks, -1) << "way " << ways;
    ++ways;
  };
  const auto give_back = [](void* block) { free(block); };
  expect_seen([] { return malloc(100); }, give_back);
  expect_seen([] { return calloc(10, 10); }, give_back);
  expect_seen([] { return realloc(nullptr, 100); }, give_back);
  expect_seen([] { return aligned_alloc(64, 128); }, give_back);
  expect_seen([] { return memalign(64, 100); }, give_back);
  expect_seen(
      [] {
        void* block = nullptr;
        return posix_memalign(&block, 64, 100) == 0 ? block : nullptr;
      },
      give_back);
  expect_seen([] { return ::operator new(100); }, [](void* block) { ::operator delete(block); });
  constexpr std::align_val_t kAlignment{64};
  expect_seen([] { return ::operator new(128, kAlignment); },
              [](void* block) { ::operator delete(block, kAlignment); });
}

config::Config wider_config() {
  config::Config config = small_config();
  config.n_head = 4;
  config.n_embd = 128;
  config.block_size = config.eval_block_size = 300;  // tiles of 256 and 44 rows in the loss head
  config.batch_size = 2;
  config.eval_batch_size = 3;  // the last batch of an evaluation is not full
  config.gradient_accumulation_steps = 2;
  config.checkpoint_blocks = 2;
  config.vocab_size = 500;
  return config;
}

void expect_nothing_allocated(const config::Config& config) {
  SmallRun run(config);
  for (std::int64_t iteration = 0; iteration < 2; ++iteration) run.engine().step(iteration);
  run.engine().evaluate(train::Split::kVal, 0);
  bool updated = true, evaluated = true;
  count_allocations([&] {
    for (std::int64_t iteration = 2; iteration < 6; ++iteration) {
      updated &= run.engine().step(iteration).updated;
      evaluated &= run.engine().evaluate(train::Split::kTrain, iteration).has_value();
      evaluated &= run.engine().evaluate(train::Split::kVal, iteration).has_value();
    }
  });
  EXPECT_TRUE(updated && evaluated);
  const char* names[kOwnerCount] = {"Snug", "OpenMP", "oneDNN brgemm", "oneDNN other"};
  for (int owner = 0; owner < kOwnerCount; ++owner) {
    const Tally& tally = tallies[owner];
    std::printf("  %-13s %6ld allocations, %9ld bytes, the largest %ld\n", names[owner],
                tally.count.load(), tally.bytes.load(), tally.largest.load());
  }
  EXPECT_EQ(tallies[kSnug].count, 0);
  // The arguments of a call, never its workspace. Where there is no brgemm (before AVX-512),
  // oneDNN's older product takes its packing buffers itself: docs/decisions/0001.
  EXPECT_LE(tallies[kBrgemm].largest, 4096);
  // What the libraries took they gave back. OpenMP keeps one team for the next parallel region,
  // which can be another one than at the start.
  EXPECT_EQ(live_blocks, 0);
  EXPECT_LE(live_bytes, 4096);
}

TEST(Allocation, NoneInSteadyState) { expect_nothing_allocated(small_config()); }

TEST(Allocation, NoneInSixteenBits) {
  for (const char* dtype : {"bfloat16", "float16"}) {
    SCOPED_TRACE(dtype);
    config::Config config = wider_config();
    config.dtype = dtype;
    expect_nothing_allocated(config);
  }
}

TEST(Allocation, NoneInSteadyStateOfAWiderModel) { expect_nothing_allocated(wider_config()); }

}  // namespace
}  // namespace snug

#endif
