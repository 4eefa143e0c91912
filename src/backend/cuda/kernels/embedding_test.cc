// The embedding forward and backward against the CPU's reference, whose order of sums it has.
#include "backend/cpu/kernels/reference/kernels.h"
#include "backend/cuda/kernels/kernel_testing.h"

namespace snug::cuda {
namespace {

struct EmbeddingExtent {
  std::int64_t B, T, C, V;
};
constexpr std::array kEmbeddingExtents = {
    EmbeddingExtent{1, 1, 1, 1}, EmbeddingExtent{2, 5, 33, 7}, EmbeddingExtent{3, 16, 64, 40},
    EmbeddingExtent{2, 300, 8, 5000}, EmbeddingExtent{4, 260, 24, 3}};

TEST(CudaEmbed, ForwardIsTheReferences) {
  for (const DType dtype : kPrecisions) {
    for (const auto& [B, T, C, V] : kEmbeddingExtents) {
      for (const Dropout& dropout : {Dropout(), some_dropout()}) {
        const Ints tokens = random_tokens(B * T, static_cast<std::int32_t>(V), 1);
        const Floats wte = random_floats(V * C, dtype, 2),
                     wpe = random_floats((T + 3) * C, dtype, 3);
        Floats expected(static_cast<std::size_t>(B * T * C));
        cpu::reference::embed<float>({B, T, C, tokens.data(), wte.data(), wpe.data(),
                                      expected.data(), 3, as_cpu<cpu::Dropout>(dropout)});
        const CardArray card_tokens(tokens), card_wte(dtype, wte), card_wpe(dtype, wpe),
            out(dtype, expected.size());
        embed({dtype, B, T, C, card_tokens.i32(), card_wte.data(), card_wpe.data(), out.data(), 3,
               dropout},
              nullptr);
        expect_near(out.floats(), expected, rounding_of(dtype) + 2 * 0x1p-24, 1e-7, "embedding");
      }
    }
  }
}

// The table of an iteration, on the card and as the reference has it.
struct Table {
  Table(const EmbeddingExtent& e, std::int64_t of_capacity)
      : capacity(of_capacity),
        rows(static_cast<std::size_t>(capacity * e.C)),
        dwpe(random_floats(e.T * e.C, DType::kF32, 9)),
        slot(static_cast<std::size_t>(e.V), -1),
        row_token(static_cast<std::size_t>(capacity)),
        row_count(1),
        card_rows(DType::kF32, rows),
        card_dwpe(DType::kF32, dwpe),
        card_slot(slot),
        card_row_token(row_token),
        card_row_count(row_count) {}

  std::int64_t capacity;
  Floats rows, dwpe;
  Ints slot, row_token, row_count;
  CardArray card_rows, card_dwpe, card_slot, card_row_token, card_row_count;
};

// Two micro-batches: the second finds slots that are taken.
void check_backward(DType dtype, const EmbeddingExtent& e, const Dropout& dropout) {
  const auto& [B, T, C, V] = e;
  Table table(e, std::min(V, 2 * B * T));
  for (const unsigned batch : {0u, 1u}) {
    const Ints tokens = random_tokens(B * T, static_cast<std::int32_t>(V), 10 + batch);
    Floats dx = random_floats(B * T * C, dtype, 20 + batch);
    const CardArray card_tokens(tokens), card_dx(dtype, dx);
    const CardArray scratch(DType::kI32, static_cast<std::size_t>(3 * B * T));
    embed_backward({dtype, B, T, C, card_tokens.i32(), card_dx.data(), table.card_dwpe.f32(),
                    table.card_rows.f32(), table.capacity, table.card_slot.i32(),
                    table.card_row_token.i32(), table.card_row_count.i32(), scratch.i32(), dropout},
                   nullptr);
    // In 16 bits the masked gradient is rounded before it is added up.
    if (dropout.threshold != 0) {
      cpu::reference::dropout_backward<float>(
          {B, T, C, dx.data(), dx.data(), as_cpu<cpu::Dropout>(dropout)});
      for (float& x : dx) x = rounded_to(dtype, x);
    }
    EXPECT_EQ(card_dx.floats(), dx);
    cpu::reference::embed_backward<float>({B,
                                           T,
                                           C,
                                           tokens.data(),
                                           dx.data(),
                                           table.dwpe.data(),
                                           table.rows.data(),
                                           table.slot.data(),
                                           table.row_token.data(),
                                           table.row_count.data(),
                                           {}});
  }
  EXPECT_EQ(table.card_slot.ints(), table.slot);
  EXPECT_EQ(table.card_row_count.ints(), table.row_count);
  const auto used = static_cast<std::size_t>(table.row_count[0]);
  const Ints tokens = table.card_row_token.ints();
  EXPECT_TRUE(std::equal(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(used),
                         table.row_token.begin()));
  // One addition after the other in the same order: the same bits.
  EXPECT_EQ(table.card_rows.floats(), table.rows);
  EXPECT_EQ(table.card_dwpe.floats(), table.dwpe);
}

TEST(CudaEmbed, BackwardHasTheReferencesOrder) {
  for (const DType dtype : kPrecisions) {
    for (const EmbeddingExtent& extent : kEmbeddingExtents) {
      check_backward(dtype, extent, {});
      check_backward(dtype, extent, some_dropout());
    }
  }
}

TEST(CudaEmbed, MergeAddsTheRowsInUse) {
  for (const std::int64_t C : {3, 8}) {
    const Floats rows = random_floats(5 * C, DType::kF32, 1),
                 before = random_floats(9 * C, DType::kF32, 2);
    const Ints row_token = {7, 0, 4, -1, -1};
    const CardArray card_rows(DType::kF32, rows), tokens(row_token), count(Ints{3}),
        dwte(DType::kF32, before);
    Floats expected = before;
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t c = 0; c < C; ++c) {
        expected[static_cast<std::size_t>(row_token[static_cast<std::size_t>(r)] * C + c)] +=
            rows[static_cast<std::size_t>(r * C + c)];
      }
    }
    merge_embed_rows({5, C, card_rows.f32(), tokens.i32(), count.i32(), dwte.f32()}, nullptr);
    EXPECT_EQ(dwte.floats(), expected);
  }
}

}  // namespace
}  // namespace snug::cuda
