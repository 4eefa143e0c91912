#include "backend/cpu/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "base/error.h"

namespace snug::cpu {
namespace {

constexpr std::int64_t kHugePageBytes = 2 * kMiB;

#ifndef MADV_POPULATE_WRITE
constexpr int kPopulateWrite = 23;  // Linux 5.14; older kernels answer EINVAL
#else
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#endif

[[noreturn]] void refuse(std::int64_t byte_count, int error) {
  throw CapacityError(
      fmt::format("the system refused {} for the arena: {}\n"
                  "a limit on the process (ulimit -v, a container) may be lower than the memory\n"
                  "free it, or give a smaller --memory_budget and see what `snug plan` says",
                  format_bytes(byte_count), std::strerror(error)));
}

}  // namespace

Arena::Arena(std::int64_t byte_count) : byte_count_(byte_count) {
  const std::int64_t page_bytes = sysconf(_SC_PAGESIZE);
  mapped_bytes_ = align_up(byte_count > 0 ? byte_count : 1, page_bytes);
  const bool huge = mapped_bytes_ >= 2 * kHugePageBytes;
  const std::int64_t reserve = mapped_bytes_ + (huge ? kHugePageBytes : 0);
  void* raw = mmap(nullptr, static_cast<std::size_t>(reserve), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) refuse(byte_count, errno);
  auto* start = static_cast<std::byte*>(raw);
  if (huge) {
    // Trims the reservation to a 2 MiB border so that large pages can back it.
    const auto address = reinterpret_cast<std::uintptr_t>(raw);
    const auto head = static_cast<std::int64_t>(-address % kHugePageBytes);
    if (head > 0) munmap(start, static_cast<std::size_t>(head));
    start += head;
    const std::int64_t tail = reserve - head - mapped_bytes_;
    if (tail > 0) munmap(start + mapped_bytes_, static_cast<std::size_t>(tail));
    madvise(start, static_cast<std::size_t>(mapped_bytes_), MADV_HUGEPAGE);
  }
  data_ = start;
  if (madvise(data_, static_cast<std::size_t>(mapped_bytes_), kPopulateWrite) == 0) return;
  if (errno != EINVAL) {
    const int error = errno;
    munmap(data_, static_cast<std::size_t>(mapped_bytes_));
    refuse(byte_count, error);
  }
  for (std::int64_t at = 0; at < mapped_bytes_; at += page_bytes) data_[at] = std::byte{0};
}

Arena::~Arena() { munmap(data_, static_cast<std::size_t>(mapped_bytes_)); }

}  // namespace snug::cpu
