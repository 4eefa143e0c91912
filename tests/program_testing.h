// A training program bound to the CPU without data or loop around it, for tests that feed it tokens
// and look at its numbers: logits, losses, gradients, weights, moments.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_executor.h"
#include "backend/cpu/cpu_target.h"
#include "backend/cpu/threads.h"
#include "model/model_spec.h"
#include "plan/plan.h"
#include "program/training_program.h"

namespace snug {

using Doubles = std::vector<double>;

class BoundProgram {
 public:
  // The evaluation has the shape of the micro-step.
  BoundProgram(const model::ModelSpec& model, program::TrainingShape shape,
               const cpu::KernelTable& kernels, int threads = 0)
      : model_(model),
        shape_(with_evaluation(shape)),
        program_(program::build_training_program(model_, shape_,
                                                 cpu::CpuTarget(cpu::thread_count(threads)))),
        plan_(plan::make_plan(program_)),
        executor_(program_, plan_, kernels) {
    plan::verify_plan(program_, plan_);
    executor_.observe([this](const program::Phase&, const ops::Op& op, std::int64_t first,
                             std::int64_t end) { look(op, end - first); });
  }
  BoundProgram(const BoundProgram&) = delete;
  BoundProgram& operator=(const BoundProgram&) = delete;

  const model::ModelSpec& model() const { return model_; }
  // Parallel to the model's parameters.
  std::span<float> weight(std::size_t i) const { return floats(program_.weights[i]); }
  std::span<float> first_moment(std::size_t i) const { return floats(program_.first_moments[i]); }
  std::span<float> second_moment(std::size_t i) const { return floats(program_.second_moments[i]); }

  // After weights were written: the copies that 16-bit arithmetic takes follow them.
  void update_copies() {
    backend::run_transfer(executor_, program_.phase(program::PhaseKind::kLoad),
                          [](TensorBytes&) {});
  }

  void begin() { executor_.run(program_.phase(program::PhaseKind::kBeginIteration), {}); }

  // One batch through the evaluation or the micro-step; the losses of its rows.
  Doubles run_batch(program::PhaseKind kind, std::span<const std::int32_t> x,
                    std::span<const std::int32_t> y, backend::StepContext context = {}) {
    const program::Phase& phase = program_.phase(kind);
    std::ranges::copy(x, executor_.view(phase.io.tokens).i32());
    std::ranges::copy(y, executor_.view(phase.io.targets).i32());
    context.sequence_count = phase.batch_size;
    logits_.clear();
    executor_.run(phase, context);
    const std::span<float> losses = floats(phase.io.losses);
    return Doubles(losses.begin(), losses.end());
  }

  // Returns the gradient's norm. Gradients are sums until here: `context` has their scale.
  double update(const backend::StepContext& context) {
    const program::Phase& phase = program_.phase(program::PhaseKind::kUpdate);
    executor_.run(phase, context);
    return *executor_.view(phase.io.norm).f64();
  }

  // Of the last batch: (B, T, V), put together from the chunks of the loss head.
  const Doubles& logits() const { return logits_; }
  // Of the last update, as the norm saw them: summed over all rows, not yet scaled.
  const Doubles& gradient(std::size_t i) const { return gradients_[i]; }

 private:
  static program::TrainingShape with_evaluation(program::TrainingShape shape) {
    shape.eval_batch_size = shape.batch_size;
    shape.eval_block_size = shape.block_size;
    return shape;
  }

  std::span<float> floats(TensorId id) const {
    const cpu::TensorView view = executor_.view(id);
    return {view.f32(), static_cast<std::size_t>(view.element_count())};
  }

  static void append_numbers(const cpu::TensorView& view, std::size_t count, Doubles& to) {
    for (std::size_t i = 0; i < count; ++i) {
      to.push_back(view.dtype == DType::kF32    ? view.f32()[i]
                   : view.dtype == DType::kBF16 ? to_float(view.as<Bf16>()[i])
                                                : to_float(view.as<F16>()[i]));
    }
  }

  // Called before every op: the loss overwrites the logits that it reads, and only at the norm has
  // wte's gradient both of its shares.
  void look(const ops::Op& op, std::int64_t row_count) {
    if (const auto* loss = op.as<ops::CrossEntropy>()) {
      const auto count = static_cast<std::size_t>(row_count * model_.vocab_size);
      append_numbers(executor_.view(loss->logits), count, logits_);
    } else if (op.is<ops::GradientNorm>()) {
      gradients_.clear();
      for (const TensorId id : program_.gradients) {
        gradients_.emplace_back(floats(id).begin(), floats(id).end());
      }
    }
  }

  const model::ModelSpec model_;
  const program::TrainingShape shape_;
  const program::Program program_;
  const plan::Plan plan_;
  cpu::CpuExecutor executor_;
  Doubles logits_;
  std::vector<Doubles> gradients_;
};

}  // namespace snug
