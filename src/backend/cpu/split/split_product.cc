#include "backend/cpu/split/split_product.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "backend/cpu/split/division.h"
#include "backend/cpu/task_shares.h"
#include "base/error.h"
#include "hwy/cache_control.h"

namespace snug::cpu {
namespace {

std::int64_t lines_of(std::int64_t panel, std::int64_t lines) {
  return std::min(kPanelWidth, lines - panel * kPanelWidth);
}

// Calls fn(range) for consecutive ranges of up to `size`.
template <class Fn>
void for_each_part(const Range& whole, std::int64_t size, Fn&& fn) {
  for (std::int64_t first = whole.first; first < whole.end; first += size) {
    fn(Range{first, std::min(whole.end, first + size)});
  }
}

// How many handovers each thread of a relay has made, which is what the next thread may continue
// with.
class RelayProgress {
 public:
  explicit RelayProgress(int threads) {
    for (int t = 0; t < threads; ++t) done_[index(t)].handovers = 0;
  }
  void wait_for(int thread, std::int64_t handovers) {
    int spins = 2000;
    while (handovers_of(thread).load(std::memory_order_acquire) < handovers) {
      if (spins > 0) {
        --spins;
        hwy::Pause();
      } else {
        sched_yield();
      }
    }
  }
  void pass_on(int thread, std::int64_t handovers) {
    handovers_of(thread).store(handovers, std::memory_order_release);
  }

 private:
  struct alignas(64) Done {
    std::int64_t handovers;
  };
  static std::size_t index(int thread) { return static_cast<std::size_t>(thread); }
  std::atomic_ref<std::int64_t> handovers_of(int thread) {
    return std::atomic_ref(done_[index(thread)].handovers);
  }

  std::array<Done, kMaxThreads> done_;
};

// One thread's part of a product.
class Worker {
 public:
  // `scratch` belongs to the thread: two passing panels that take turns, then the held blocks.
  Worker(const SplitProduct& product, const Division& division, std::byte* scratch)
      : p_(product),
        d_(division),
        blocks_(product),
        passing_{scratch, scratch + d_.passing_blocks() * kPanelBlockBytes},
        held_(scratch + 2 * d_.passing_blocks() * kPanelBlockBytes) {}

  void run(const Range& rows, const Range& columns) {
    for_each_part(columns, kSectionPanels, [&](const Range& some_columns) {
      for_each_part({0, d_.blocks}, kSectionBlocks,
                    [&](const Range& section) { run_section(rows, some_columns, section); });
    });
  }

  // `rows` are the shares of all threads; threads with the same columns are one group.
  void run_small(TaskShares& rows, int part, const Range& columns) {
    if (columns.count() == 0) return;
    pack_section(columns, {0, d_.blocks});
    rows.work(part, [&](std::int64_t task) {
      for_each_part(section_, d_.chunk_blocks(), [&](const Range& chunk) {
        multiply_soon({task % d_.row_panels, chunk});
      });
    });
    multiply_last();
  }

  void run_relay(RelayProgress& relay, int thread) {
    const Range mine = part_of(d_.blocks, thread, d_.threads);
    d_.holds_a() ? hold_a(mine) : pack_section({0, d_.column_panels}, mine);
    std::int64_t handovers = 0;
    pack_passing(0, mine, passing_[0]);
    for (std::int64_t panel = 0; panel < d_.passing_panels(); ++panel) {
      const bool is_last = panel + 1 == d_.passing_panels();
      if (!is_last) queue_passing(panel + 1, mine, passing_[1]);
      for_each_part({0, d_.held_panels()}, d_.handover_panels(), [&](const Range& held) {
        ++handovers;
        if (thread > 0) relay.wait_for(thread - 1, handovers);
        multiply_held(mine, panel, held);
        relay.pass_on(thread, handovers);
      });
      queue_.finish();
      std::swap(passing_[0], passing_[1]);
    }
  }

 private:
  // A row of panels of C and the terms to add to it.
  struct Step {
    std::int64_t row;
    Range chunk;
  };

  void run_section(const Range& rows, const Range& columns, const Range& section) {
    pack_section(columns, section);
    for_each_part(rows, kGroupPanels, [&](const Range& group) {
      for_each_part(section, d_.chunk_blocks(), [&](const Range& chunk) {
        for (std::int64_t row = group.first; row < group.end; ++row) multiply_soon({row, chunk});
      });
    });
    multiply_last();
  }

  // Packs A's panel for `next` while the step before it is multiplied.
  void multiply_soon(const Step& next) {
    if (has_step_) {
      for_each_a(next.chunk, next.row, passing_[1], [&](const PanelBlock& b) { queue_.add(b); });
      queue_.spread_over(step_.chunk.count() * columns_.count());
      multiply_last();
      std::swap(passing_[0], passing_[1]);
    } else {
      for_each_a(next.chunk, next.row, passing_[0], [](const PanelBlock& b) { pack(b); });
    }
    step_ = next;
    has_step_ = true;
  }

  void multiply_last() {
    if (!has_step_) return;
    multiply_row(passing_[0], step_.chunk, step_.row, columns_);
    queue_.finish();
    has_step_ = false;
  }

  // Calls fn(PanelBlock) for every block of a panel of A; they are packed side by side from `to`
  // on.
  template <class Fn>
  void for_each_a(const Range& chunk, std::int64_t row, std::byte* to, Fn&& fn) const {
    for (std::int64_t i = chunk.first; i < chunk.end; ++i, to += kPanelBlockBytes) {
      const Blocks::Block block = blocks_.at(i);
      fn(PanelBlock{Operand::kA, p_.a, row * kPanelWidth, lines_of(row, p_.m), block.k, block.depth,
                    to});
    }
  }
  PanelBlock block_of_b(std::int64_t i, std::int64_t column, std::byte* to) const {
    const Blocks::Block block = blocks_.at(i);
    return {Operand::kB, p_.b, column * kPanelWidth, lines_of(column, p_.n), block.k,
            block.depth, to};
  }

  void hold_a(const Range& mine) {
    for (std::int64_t row = 0; row < d_.row_panels; ++row) {
      for_each_a(mine, row, held_ + row * mine.count() * kPanelBlockBytes,
                 [](const PanelBlock& b) { pack(b); });
    }
  }

  void pack_section(const Range& columns, const Range& section) {
    columns_ = columns;
    section_ = section;
    for_each_part(section, d_.chunk_blocks(), [&](const Range& chunk) { pack_b_chunk(chunk); });
  }

  // B is packed chunk after chunk, and panel after panel within a chunk.
  std::byte* packed_b(const Range& chunk, std::int64_t column) const {
    const std::int64_t before = (chunk.first - section_.first) * columns_.count();
    return held_ + (before + (column - columns_.first) * chunk.count()) * kPanelBlockBytes;
  }

  void pack_b_chunk(const Range& chunk) const {
    const auto pack_one = [&](std::int64_t i, std::int64_t column) {
      pack(block_of_b(i, column, packed_b(chunk, column) + (i - chunk.first) * kPanelBlockBytes));
    };
    // In the order of memory.
    if (p_.b.k_along_stride) {
      for (std::int64_t i = chunk.first; i < chunk.end; ++i) {
        for (std::int64_t c = columns_.first; c < columns_.end; ++c) pack_one(i, c);
      }
    } else {
      for (std::int64_t c = columns_.first; c < columns_.end; ++c) {
        for (std::int64_t i = chunk.first; i < chunk.end; ++i) pack_one(i, c);
      }
    }
  }

  // For a relay: the blocks of panel `panel` of the passing operand.
  template <class Fn>
  void for_each_passing(std::int64_t panel, const Range& mine, std::byte* to, Fn&& fn) const {
    if (!d_.holds_a()) return for_each_a(mine, panel, to, fn);
    for (std::int64_t i = mine.first; i < mine.end; ++i, to += kPanelBlockBytes) {
      fn(block_of_b(i, panel, to));
    }
  }
  void pack_passing(std::int64_t panel, const Range& mine, std::byte* to) const {
    for_each_passing(panel, mine, to, [](const PanelBlock& b) { pack(b); });
  }
  void queue_passing(std::int64_t panel, const Range& mine, std::byte* to) {
    for_each_passing(panel, mine, to, [&](const PanelBlock& b) { queue_.add(b); });
    queue_.spread_over(mine.count() * d_.held_panels());
  }

  void multiply_held(const Range& mine, std::int64_t panel, const Range& held) {
    for_each_part(mine, d_.chunk_blocks(), [&](const Range& chunk) {
      const std::byte* passing = passing_[0] + (chunk.first - mine.first) * kPanelBlockBytes;
      if (!d_.holds_a()) return multiply_row(passing, chunk, panel, held);
      for (std::int64_t row = held.first; row < held.end; ++row) {
        const std::int64_t before = row * mine.count() + chunk.first - mine.first;
        multiply_blocks(held_ + before * kPanelBlockBytes, passing, chunk, row, panel);
      }
    });
  }

  void multiply_row(const std::byte* a, const Range& chunk, std::int64_t row,
                    const Range& columns) {
    for (std::int64_t column = columns.first; column < columns.end; ++column) {
      multiply_blocks(a, packed_b(chunk, column), chunk, row, column);
    }
  }

  void multiply_blocks(const std::byte* a, const std::byte* b, const Range& chunk, std::int64_t row,
                       std::int64_t column) {
    const bool add = chunk.first > 0 || p_.accumulate;
    const float* bias = !add && p_.bias != nullptr ? p_.bias + column * kPanelWidth : nullptr;
    multiply_panels(a, b, chunk.count(),
                    {p_.c + row * kPanelWidth * p_.n + column * kPanelWidth, p_.n,
                     lines_of(row, p_.m), lines_of(column, p_.n), add, bias},
                    queue_);
  }

  const SplitProduct& p_;
  const Division& d_;
  const Blocks blocks_;
  std::byte* passing_[2];
  std::byte* const held_;
  Range columns_{}, section_{};
  Step step_{};
  bool has_step_ = false;
  PackingQueue queue_;
};

}  // namespace

SplitProduct split_product(const GemmShape& s) {
  SplitProduct p;
  p.m = s.m, p.n = s.n, p.k = s.k;
  p.a = {nullptr, s.transpose_a ? s.m : s.k, s.transpose_a, s.k};
  p.b = {nullptr, s.transpose_b ? s.k : s.n, !s.transpose_b, s.k};
  p.accumulate = s.accumulate;
  return p;
}

std::int64_t split_scratch_bytes(const SplitProduct& product, int threads) {
  return threads * blocks_to_book(product, threads) * kPanelBlockBytes;
}

bool run_split_product(const SplitProduct& product, const Scratch& scratch) {
  if (product.k <= 0 || product.offset % kBlockDepth != 0) {
    throw InternalError("a split product of no terms, or from the midst of a block");
  }
  const int threads = team_size();
  const Division d = divide(product, threads);
  if (scratch.part_bytes(threads) < d.packed_blocks() * kPanelBlockBytes) {
    throw InternalError("a split product needs more scratch than it is granted");
  }
  TaskShares shares(d.row_panels * d.column_parts, threads, d.row_parts);
  RelayProgress relay(threads);
  bool whole_team = true;
#pragma omp parallel num_threads(threads)
  {
    const TileRegisters tiles;
    const int part = omp_get_thread_num();
    if (part == 0) whole_team = omp_get_num_threads() == threads;
    const Range columns = part_of(d.column_panels, part / d.row_parts, d.column_parts);
    Worker worker(product, d, scratch.part(part, threads));
    if (d.relay) {
      worker.run_relay(relay, part);
    } else if (d.small()) {
      worker.run_small(shares, part, columns);
    } else {
      worker.run(part_of(d.row_panels, part % d.row_parts, d.row_parts), columns);
    }
  }
  return whole_team;
}

}  // namespace snug::cpu
