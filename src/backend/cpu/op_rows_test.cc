// Walks every op's definition: what each must have before a program can use it.
#include "backend/cpu/op_rows.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "backend/cpu/cpu_target.h"
#include "backend/cpu/kernels/kernels.h"
#include "base/error.h"
#include "gpt2/spec.h"
#include "program/sampling_program.h"
#include "program/training_program.h"

namespace snug::cpu {
namespace {

// visit(Definition{}) for every alternative of AnyOp.
template <class Visit, std::size_t... kinds>
void for_each_definition(Visit&& visit, std::index_sequence<kinds...>) {
  (visit(std::variant_alternative_t<kinds, ops::AnyOp>{}), ...);
}
template <class Visit>
void for_each_definition(Visit&& visit) {
  for_each_definition(visit, std::make_index_sequence<ops::kOpKindCount>());
}

template <class Definition>
concept TakesUnknownOperand = requires {
  Definition{.no_such_operand = 0};
};
static_assert(!TakesUnknownOperand<ops::Linear>, "an operand that is not defined must not compile");

TEST(OpDefinitions, EveryOpHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for_each_definition([&](const auto& definition) {
    EXPECT_FALSE(definition.kName.empty());
    EXPECT_TRUE(names.insert(definition.kName).second) << definition.kName;
  });
  EXPECT_EQ(names.size(), ops::kOpKindCount);
}

TEST(OpDefinitions, EveryOperandIsListedOnceByName) {
  for_each_definition([&](const auto& definition) {
    std::set<std::string_view> names;
    std::apply([&](const auto&... rows) { (names.insert(rows.name), ...); }, definition.operands());
    EXPECT_EQ(names.size(), std::tuple_size_v<decltype(definition.operands())>) << definition.kName;
    EXPECT_FALSE(names.contains("")) << definition.kName;
  });
}

TEST(OpDefinitions, EveryOpHasARowOfTheCpu) {
  std::set<ops::OpKind> with_row;
  for (const OpRow& row : op_rows()) {
    EXPECT_NE(row.run, nullptr) << ops::name_of(row.kind);
    with_row.insert(row.kind);
  }
  for (ops::OpKind kind = 0; kind < ops::kOpKindCount; ++kind) {
    EXPECT_TRUE(with_row.contains(kind)) << ops::name_of(kind);
  }
}

// A KernelTable is nothing but pointers to functions.
TEST(OpDefinitions, EveryKernelHasAReference) {
  constexpr std::size_t kKernelCount = sizeof(KernelTable) / sizeof(void (*)());
  for (const KernelTable* table : {&fast_kernels(), &reference_kernels()}) {
    const auto* pointers = reinterpret_cast<void (*const*)()>(table);
    for (std::size_t i = 0; i < kKernelCount; ++i) EXPECT_NE(pointers[i], nullptr) << i;
  }
}

// Bytes for all but what the host does; arithmetic for products and attention.
void expect_work(const ops::Op& op, const ops::Shapes& shapes) {
  const ops::Work work = ops::work_of(op, shapes);
  const bool by_host = op.is<ops::CheckpointRead>() || op.is<ops::CheckpointWrite>();
  EXPECT_EQ(work.bytes > 0, !by_host) << op.label;
  const bool multiplies = op.is<ops::Linear>() || op.is<ops::LinearDx>() ||
                          op.is<ops::LinearDw>() || op.is<ops::Attention>() ||
                          op.is<ops::AttentionBackward>();
  EXPECT_EQ(work.flops > 0, multiplies) << op.label;
}

TEST(OpDefinitions, EveryOpHasWork) {
  const std::vector<Tensor> tensors(
      1, {"any", {2, 3, 12}, DType::kF32, Role::kActivations, Lifetime::kOps});
  for_each_definition([&](auto definition) {
    const auto fill = [&](auto member) {
      if constexpr (requires { (definition.*member).ids; }) {
        (definition.*member).ids = {0};
      } else {
        definition.*member = TensorId{0};
      }
    };
    std::apply([&](const auto&... rows) { (fill(rows.member), ...); }, definition.operands());
    expect_work({std::string(definition.kName), definition}, {tensors, 2, 3, nullptr});
  });
}

TEST(OpDefinitions, EveryOpOfAProgramHasWork) {
  config::GptSizes sizes{
      .n_layer = 1, .n_head = 2, .n_embd = 16, .block_size = 8, .vocab_size = 11};
  sizes.dropout = 0.1;
  sizes.bias = true;
  const model::ModelSpec model = gpt2::make_model_spec(sizes);
  program::TrainingShape shape;
  shape.batch_size = shape.eval_batch_size = 2;
  shape.block_size = shape.eval_block_size = 8;
  const CpuTarget target(1);
  for (const program::Program& program :
       {program::build_training_program(model, shape, target),
        program::build_sampling_program(model, 8, DType::kF32, target)}) {
    for (const program::Phase& phase : program.phases) {
      for (std::size_t o = 0; o < phase.ops.size(); ++o) {
        expect_work(phase.ops[o], program::shapes_of(program, phase, o));
      }
    }
  }
}

TEST(OpDefinitions, APrecisionWithoutAKernelIsRefusedByName) {
  std::vector<Tensor> tensors;
  for (const char* name : {"x", "weight", "y"}) {
    tensors.push_back({name, {2, 2}, DType::kI32, Role::kActivations, Lifetime::kOps});
  }
  const ops::Op op{"h.0.attn.c_attn", ops::Linear{.x = 0, .weight = 1, .y = 2}};
  try {
    row_of(op, {tensors, 1, 2, nullptr});
    FAIL() << "no product is made of integers";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    for (const char* part : {"linear", "int32", "h.0.attn.c_attn"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace snug::cpu
