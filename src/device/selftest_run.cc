#include "device/selftest_run.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "base/float16.h"
#include "base/philox.h"

namespace snug::device {
namespace {

void put_number(std::byte* to, DType dtype, float value) {
  const auto copy = [&](auto number) { std::memcpy(to, &number, sizeof number); };
  if (dtype == DType::kBF16) return copy(nearest<Bf16>(value));
  if (dtype == DType::kF16) return copy(nearest<F16>(value));
  copy(value);
}

// Matrices and biases as after some training: a standard deviation of 0.03. A norm's gain is
// about 1.
struct Spread {
  float mean, width;
};
Spread spread_of(const Tensor& tensor) {
  const bool is_gain = tensor.shape.rank() == 1 && tensor.name.ends_with("weight");
  return {is_gain ? 1.0f : 0.0f, 0.1f};
}

void fill(TensorBytes& bytes, TensorId id, const Tensor& tensor, std::uint32_t number,
          const Spread& spread) {
  const std::int64_t size = size_of(tensor.dtype);
  for_each_piece(tensor.byte_count(), [&](std::int64_t offset, std::int64_t count) {
    bytes.put(id, offset, count, [&](std::span<std::byte> piece) {
      for (std::int64_t i = 0; i < std::ssize(piece); i += size) {
        const auto element = static_cast<std::uint32_t>((offset + i) / size);
        const auto words = philox(1, {element, 0, number, 0});
        const auto uniform = static_cast<float>(uniform_double(words[0], words[1]) - 0.5);
        put_number(piece.data() + i, tensor.dtype, spread.mean + spread.width * uniform);
      }
    });
  });
}

}  // namespace

std::string SelftestCase::describe() const {
  return fmt::format("{} x {} tokens, {} head{} of {}, vocabulary of {}", batch, window, heads,
                     heads == 1 ? "" : "s", head_width, vocabulary);
}

config::Config config_of(const SelftestCase& model, const config::Config& wanted, DType precision) {
  config::Config config = wanted;
  config.n_layer = model.layers;
  config.n_head = model.heads;
  config.n_embd = model.width();
  config.block_size = config.eval_block_size = model.window;
  config.batch_size = config.eval_batch_size = model.batch;
  config.gradient_accumulation_steps = 2;
  config.checkpoint_blocks = model.layers > 1 ? 1 : 0;
  config.loss_chunk = model.window;
  config.vocab_size = model.vocabulary;
  config.bias = true;
  config.dropout = 0.1;
  config.eval_only = false;
  config.optimizer_dtype = model.optimizer_dtype;
  config.dtype = name_of(precision);
  return config;
}

backend::HostTransfer loading(const program::Program& program) {
  return [&program](TensorBytes& bytes) {
    std::uint32_t number = 0;
    for (const TensorId id : program.weights) {
      fill(bytes, id, program.tensor(id), number++, spread_of(program.tensor(id)));
    }
    // Not zero: what an update keeps of them is to be seen. Second ones are positive.
    for (const TensorId id : program.first_moments) {
      fill(bytes, id, program.tensor(id), number++, {0, 1e-3f});
    }
    for (const TensorId id : program.second_moments) {
      fill(bytes, id, program.tensor(id), number++, {1e-6f, 1e-6f});
    }
  };
}

void write_tokens(backend::Executor& executor, const program::Phase& phase, std::int64_t vocabulary,
                  std::uint32_t batch) {
  const auto write = [&](TensorId id, std::uint32_t kind) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(phase.batch_size * phase.block_size));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto words = philox(2, {static_cast<std::uint32_t>(i), kind, batch, 0});
      tokens[i] = static_cast<std::int32_t>(words[0] % static_cast<std::uint32_t>(vocabulary));
    }
    backend::write_elements<std::int32_t>(executor, id, 0, tokens);
  };
  if (phase.host.tokens != kNoTensor) write(phase.host.tokens, 0);
  if (phase.host.targets != kNoTensor) write(phase.host.targets, 1);
}

backend::StepContext step_context(std::int64_t iteration, std::int64_t sequences) {
  backend::StepContext context;
  context.seed = 3;
  context.iteration = iteration;
  context.sequence_count = sequences;
  context.dropout = 0.1;
  return context;
}

backend::StepContext update_context(std::int64_t iteration, std::int64_t tokens) {
  backend::StepContext context = step_context(iteration, 0);
  context.gradient_scale = 1.0 / static_cast<double>(tokens);
  context.gradient_clip = 1;
  context.learning_rate = 1e-3;
  context.beta1 = 0.9;
  context.beta2 = 0.95;
  context.update_count = iteration + 1;
  return context;
}

}  // namespace snug::device
