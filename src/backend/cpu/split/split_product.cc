#include "backend/cpu/split/split_product.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/task_shares.h"
#include "base/error.h"
#include "hwy/cache_control.h"

namespace snug::cpu {
namespace {

// Sizes that change speed but no bits: an element's sum runs through the blocks in order, whatever
// they are grouped into. A's panel of a chunk stays in cache while B's pass by; so does what a
// group of rows has of C, which is read and written once per chunk. A section is what is packed of
// B at once.
constexpr std::int64_t kChunkBlocks = 8, kSmallChunkBlocks = 16;
constexpr std::int64_t kSectionBlocks = 24, kSectionPanels = 16;
constexpr std::int64_t kGroupPanels = 8;
// Of what is held packed, for which half of a second-level cache is enough.
constexpr std::int64_t kSmallBlocks = 192;
// Of each thread, for which a relay is worth its start.
constexpr std::int64_t kRelayBlocks = 4;

// The contraction in blocks of up to 32 terms, none of them across the end of a sequence.
class Blocks {
 public:
  explicit Blocks(const SplitProduct& p)
      : k_(p.k),
        sequence_(p.sequence > 0 ? p.sequence : p.k),
        offset_(p.offset),
        per_sequence_(ceil_div(sequence_, kBlockDepth)) {
    const std::int64_t end = k_ + offset_;
    count_ = end / sequence_ * per_sequence_ + ceil_div(end % sequence_, kBlockDepth) -
             offset_ / kBlockDepth;
  }

  std::int64_t count() const { return count_; }

  struct Block {
    std::int64_t k, depth;
  };
  Block at(std::int64_t index) const {
    const std::int64_t i = index + offset_ / kBlockDepth;
    const std::int64_t position = i % per_sequence_ * kBlockDepth;
    const std::int64_t k = i / per_sequence_ * sequence_ + position - offset_;
    return {k, std::min({kBlockDepth, sequence_ - position, k_ - k})};
  }

 private:
  std::int64_t k_, sequence_, offset_, per_sequence_, count_;
};

// Every thread packs what it needs of A and B by itself: to take what another core has packed would
// cost more than to pack it again. It has a rectangle of C, or, in a relay, a part of the
// contraction: the first thread adds its terms to the first row (or column) of panels and passes it
// on to the second. A weight's gradient goes that way, since each thread has its sequences in its
// cache. In a relay the operand with fewer panels is held packed while the other passes by.
struct Division {
  int threads;
  std::int64_t row_panels, column_panels, blocks;
  int row_parts, column_parts;
  bool relay;

  std::int64_t most_columns() const { return ceil_div(column_panels, column_parts); }
  // B stays packed from the first row to the last, and rows may go to any thread that has it.
  bool small() const {
    return blocks <= kSectionBlocks && most_columns() <= kSectionPanels &&
           blocks * most_columns() <= kSmallBlocks;
  }
  std::int64_t chunk_blocks() const { return small() || relay ? kSmallChunkBlocks : kChunkBlocks; }
  bool holds_a() const { return relay && row_panels < column_panels; }
  std::int64_t held_panels() const { return std::min(row_panels, column_panels); }
  std::int64_t passing_panels() const { return std::max(row_panels, column_panels); }
  // Held panels that are passed on at once: few enough for the last thread to start soon.
  std::int64_t leg_panels() const {
    return ceil_div(held_panels(), ceil_div(16 * threads, passing_panels()));
  }
  std::int64_t relay_blocks() const { return ceil_div(blocks, threads); }
  bool relay_possible() const {
    return threads > 1 && blocks >= kRelayBlocks * threads && passing_panels() >= 2 * threads &&
           held_panels() <= kSectionPanels && relay_blocks() <= kSectionBlocks &&
           held_panels() * relay_blocks() <= kSmallBlocks;
  }
  std::int64_t a_bytes() const {
    const std::int64_t panels = holds_a() ? row_panels : 1;
    return panels * (relay ? relay_blocks() : std::min(blocks, chunk_blocks())) * kPanelBlockBytes;
  }
};

Division divide(const SplitProduct& p, int threads) {
  Division d;
  d.threads = threads;
  d.row_panels = ceil_div(p.m, kPanelWidth);
  d.column_panels = ceil_div(p.n, kPanelWidth);
  d.blocks = Blocks(p).count();
  std::int64_t least = 0;
  // By rows, as other kernels divide, unless columns are better.
  for (int parts = threads; parts >= 1; --parts) {
    if (threads % parts != 0) continue;
    const std::int64_t rows = ceil_div(d.row_panels, parts);
    const std::int64_t columns = ceil_div(d.column_panels, threads / parts);
    // In units of some 100 ns: packing a block of A, one of B, and multiplying the two.
    const std::int64_t cost = 2 * rows + 3 * columns + 2 * rows * columns;
    if (parts < threads && cost >= least) continue;
    least = cost;
    d.row_parts = parts, d.column_parts = threads / parts;
  }
  d.relay = p.accumulate && d.relay_possible();
  return d;
}

// Room for what a thread packs of A and B, and no less than any product with fewer rows or terms
// needs: cut elsewhere, a sequence's short last block may come on top.
std::int64_t thread_bytes(const SplitProduct& p, int threads) {
  const Division d = divide(p, threads);
  const std::int64_t extra = p.sequence % kBlockDepth == 0 ? 0 : 1;
  // With fewer terms, what is a relay may be none.
  const std::int64_t most = d.relay ? kRelayBlocks * threads : d.blocks + extra;
  const std::int64_t panels = std::min(d.column_panels, kSectionPanels) + 1;
  const std::int64_t blocks = panels * std::min(most, kSectionBlocks);
  const std::int64_t in_relay = d.relay ? (d.held_panels() + 1) * (d.relay_blocks() + extra) : 0;
  return std::max(blocks, in_relay) * kPanelBlockBytes;
}

std::int64_t lines_of(std::int64_t panel, std::int64_t lines) {
  return std::min(kPanelWidth, lines - panel * kPanelWidth);
}

// fn(range) for consecutive ranges of up to `size`.
template <class Fn>
void for_each_part(const Range& whole, std::int64_t size, Fn&& fn) {
  for (std::int64_t first = whole.first; first < whole.end; first += size) {
    fn(Range{first, std::min(whole.end, first + size)});
  }
}

// How far the threads of a relay have come: legs that the next one may take over.
class Relay {
 public:
  explicit Relay(int threads) {
    for (int t = 0; t < threads; ++t) done_[index(t)].legs = 0;
  }
  void wait_for(int thread, std::int64_t legs) {
    int spins = 2000;
    while (legs_of(thread).load(std::memory_order_acquire) < legs) {
      if (spins > 0) {
        --spins;
        hwy::Pause();
      } else {
        sched_yield();
      }
    }
  }
  void pass_on(int thread, std::int64_t legs) {
    legs_of(thread).store(legs, std::memory_order_release);
  }

 private:
  struct alignas(64) Done {
    std::int64_t legs;
  };
  static std::size_t index(int thread) { return static_cast<std::size_t>(thread); }
  std::atomic_ref<std::int64_t> legs_of(int thread) {
    return std::atomic_ref(done_[index(thread)].legs);
  }

  std::array<Done, kMostThreads> done_;
};

// One thread's part of a product.
class Worker {
 public:
  // `scratch` is the thread's own: A's panel of a chunk, then B's section.
  Worker(const SplitProduct& product, const Division& division, std::byte* scratch)
      : p_(product), d_(division), blocks_(product), a_(scratch), b_(scratch + d_.a_bytes()) {}

  void run(const Range& rows, const Range& columns) {
    for_each_part(columns, kSectionPanels, [&](const Range& some_columns) {
      for_each_part({0, d_.blocks}, kSectionBlocks,
                    [&](const Range& section) { run_section(rows, some_columns, section); });
    });
  }

  void run_relay(Relay& relay, int thread) {
    const Range mine = part_of(d_.blocks, thread, d_.threads);
    std::int64_t legs = 0;
    const auto run_leg = [&](const Range& rows, const Range& columns) {
      ++legs;
      if (thread > 0) relay.wait_for(thread - 1, legs);
      for (std::int64_t row = rows.first; row < rows.end; ++row) {
        const std::byte* a = a_ + (d_.holds_a() ? row * mine.count() * kPanelBlockBytes : 0);
        for_each_part(mine, d_.chunk_blocks(), [&](const Range& chunk) {
          multiply_packed_row(a + (chunk.first - mine.first) * kPanelBlockBytes, chunk, row,
                              columns);
        });
      }
      relay.pass_on(thread, legs);
    };
    const Range all_rows{0, d_.row_panels}, all_columns{0, d_.column_panels};
    if (d_.holds_a()) {
      for (std::int64_t row = 0; row < d_.row_panels; ++row) {
        pack_a_panel(mine, row, a_ + row * mine.count() * kPanelBlockBytes);
      }
      for_each_part(all_columns, 1, [&](const Range& column) {
        pack_section(column, mine);
        for_each_part(all_rows, d_.leg_panels(), [&](const Range& rows) { run_leg(rows, column); });
      });
    } else {
      pack_section(all_columns, mine);
      for_each_part(all_rows, 1, [&](const Range& row) {
        pack_a_panel(mine, row.first, a_);
        for_each_part(all_columns, d_.leg_panels(),
                      [&](const Range& columns) { run_leg(row, columns); });
      });
    }
  }

  // `rows`: the shares of all threads, those with the same columns in one group.
  void run_small(TaskShares& rows, int part, const Range& columns) {
    pack_section(columns, {0, d_.blocks});
    rows.work(part, [&](std::int64_t task) {
      for_each_part(section_, d_.chunk_blocks(),
                    [&](const Range& chunk) { multiply_row(chunk, task % d_.row_panels); });
    });
  }

 private:
  void run_section(const Range& rows, const Range& columns, const Range& section) {
    pack_section(columns, section);
    for_each_part(rows, kGroupPanels, [&](const Range& group) {
      for_each_part(section, d_.chunk_blocks(), [&](const Range& chunk) {
        for (std::int64_t row = group.first; row < group.end; ++row) multiply_row(chunk, row);
      });
    });
  }

  void pack_section(const Range& columns, const Range& section) {
    columns_ = columns;
    section_ = section;
    for_each_part(section, d_.chunk_blocks(), [&](const Range& chunk) { pack_b_chunk(chunk); });
  }

  // B is packed chunk after chunk, within one panel after panel.
  std::byte* packed_b(const Range& chunk, std::int64_t column) const {
    const std::int64_t before = (chunk.first - section_.first) * columns_.count();
    return b_ + (before + (column - columns_.first) * chunk.count()) * kPanelBlockBytes;
  }

  // fn(k, depth, block of the chunk) for every run of neighbouring terms in a chunk: one, unless
  // sequences end within it that are no multiple of 32.
  template <class Fn>
  void for_each_run(const Range& chunk, Fn&& fn) const {
    for (std::int64_t i = chunk.first; i < chunk.end;) {
      const std::int64_t first = i;
      const std::int64_t k = blocks_.at(i).k;
      std::int64_t depth = 0;
      while (i < chunk.end && depth % kBlockDepth == 0 && blocks_.at(i).k == k + depth) {
        depth += blocks_.at(i++).depth;
      }
      fn(k, depth, first - chunk.first);
    }
  }

  void pack_b_chunk(const Range& chunk) const {
    for_each_run(chunk, [&](std::int64_t k, std::int64_t depth, std::int64_t block) {
      const auto pack = [&](std::int64_t done, std::int64_t column) {
        std::byte* to = packed_b(chunk, column) + (block + done / kBlockDepth) * kPanelBlockBytes;
        pack_b(p_.b, column * kPanelWidth, lines_of(column, p_.n), k + done,
               std::min(depth - done, kBlockDepth), to);
      };
      // In the order of memory.
      if (p_.b.k_along_stride) {
        for (std::int64_t done = 0; done < depth; done += kBlockDepth) {
          for (std::int64_t c = columns_.first; c < columns_.end; ++c) pack(done, c);
        }
      } else {
        for (std::int64_t c = columns_.first; c < columns_.end; ++c) {
          for (std::int64_t done = 0; done < depth; done += kBlockDepth) pack(done, c);
        }
      }
    });
  }

  void pack_a_panel(const Range& chunk, std::int64_t row, std::byte* to) const {
    for_each_run(chunk, [&](std::int64_t k, std::int64_t depth, std::int64_t block) {
      pack_a(p_.a, row * kPanelWidth, lines_of(row, p_.m), k, depth, to + block * kPanelBlockBytes);
    });
  }

  void multiply_row(const Range& chunk, std::int64_t row) const {
    pack_a_panel(chunk, row, a_);
    multiply_packed_row(a_, chunk, row, columns_);
  }

  void multiply_packed_row(const std::byte* a, const Range& chunk, std::int64_t row,
                           const Range& columns) const {
    const bool add = chunk.first > 0 || p_.accumulate;
    for (std::int64_t column = columns.first; column < columns.end; ++column) {
      const float* bias = !add && p_.bias != nullptr ? p_.bias + column * kPanelWidth : nullptr;
      multiply_panels(a, packed_b(chunk, column), chunk.count(),
                      {p_.c + row * kPanelWidth * p_.n + column * kPanelWidth, p_.n,
                       lines_of(row, p_.m), lines_of(column, p_.n), add, bias});
    }
  }

  const SplitProduct& p_;
  const Division& d_;
  const Blocks blocks_;
  std::byte* const a_;
  std::byte* const b_;
  Range columns_{}, section_{};
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
  return threads * thread_bytes(product, threads);
}

bool run_split_product(const SplitProduct& product, const Scratch& scratch) {
  if (product.k <= 0 || product.offset % kBlockDepth != 0) {
    throw InternalError("a split product of no terms, or from the midst of a block");
  }
  const int threads = team_size();
  const Division d = divide(product, threads);
  TaskShares shares(d.row_panels * d.column_parts, threads, d.row_parts);
  Relay relay(threads);
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
