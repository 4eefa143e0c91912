// The program against PyTorch: three optimizer steps of small models whose every number is known
// from golden/*.safetensors. Run by ctest a second time with oneDNN held to AVX2.
#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>

#include "backend/cpu/kernels/kernel_testing.h"
#include "golden_fixture.h"
#include "program_testing.h"

namespace snug {
namespace {

using Results = std::map<std::string, Doubles>;  // by their names in the fixture

double mean(const Doubles& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void append(Doubles& to, const Doubles& values) {
  to.insert(to.end(), values.begin(), values.end());
}

// Replays the run that the fixture tells of.
class GoldenRun {
 public:
  GoldenRun(const GoldenFixture& fixture, const cpu::KernelTable& kernels,
            DType compute = DType::kF32)
      : fixture_(fixture),
        program_(fixture.model(), one_tile_per_chunk(fixture.shape(), compute), kernels),
        x_(fixture.tokens("x")),
        y_(fixture.tokens("y")) {
    const model::ModelSpec& model = program_.model();
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      fixture_.fill_weight(model.parameters[i].name, program_.weight(i));
      std::ranges::fill(program_.first_moment(i), 0.0f);
      std::ranges::fill(program_.second_moment(i), 0.0f);
    }
    program_.update_copies();
  }

  // Evaluation with the weights as they are, of step 0's micro-batches.
  Results evaluate() {
    Results results;
    for (std::int64_t micro = 0; micro < fixture_.shape().accumulation_steps; ++micro) {
      const Doubles losses = run_batch(program::PhaseKind::kEvaluate, 0, micro);
      append(results["losses"], losses);
      append(results["logits"], program_.logits());
      results["final_loss"].push_back(mean(losses));
    }
    results["loss"] = {mean(results["losses"])};
    return results;
  }

  // Losses, logits and gradients of the first step.
  Results first_step() {
    Results results;
    train_step(0, results);
    results["loss"] = {mean(results["losses"])};
    results.erase("step_loss");
    results.erase("grad_norm");
    return results;
  }

  Results train() {
    Results results;
    for (std::size_t step = 0; step < fixture_.learning_rates().size(); ++step) {
      train_step(step, results);
    }
    results["loss"] = {mean(results["losses"])};
    const auto& parameters = program_.model().parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto keep = [&](const char* prefix, std::span<float> values) {
        results[prefix + parameters[i].name] = Doubles(values.begin(), values.end());
      };
      keep("step3/", program_.weight(i));
      keep("exp_avg/", program_.first_moment(i));
      keep("exp_avg_sq/", program_.second_moment(i));
    }
    results["final_loss"] = evaluate()["final_loss"];
    return results;
  }

 private:
  // The more chunks, the more there is to get wrong.
  static program::TrainingShape one_tile_per_chunk(program::TrainingShape shape, DType compute) {
    shape.loss_chunk = shape.block_size;
    shape.compute = compute;
    return shape;
  }

  Doubles run_batch(program::PhaseKind kind, std::size_t step, std::int64_t micro) {
    const program::TrainingShape& shape = fixture_.shape();
    const auto count = static_cast<std::size_t>(shape.batch_size * shape.block_size);
    const auto batch =
        step * static_cast<std::size_t>(shape.accumulation_steps) + static_cast<std::size_t>(micro);
    backend::StepContext context;
    context.iteration = static_cast<std::int64_t>(step);
    context.first_sequence = micro * shape.batch_size;
    return program_.run_batch(kind, std::span(x_).subspan(batch * count, count),
                              std::span(y_).subspan(batch * count, count), context);
  }

  void train_step(std::size_t step, Results& results) {
    const program::TrainingShape& shape = fixture_.shape();
    program_.begin();
    for (std::int64_t micro = 0; micro < shape.accumulation_steps; ++micro) {
      const Doubles losses = run_batch(program::PhaseKind::kMicroStep, step, micro);
      results["step_loss"].push_back(mean(losses));
      if (step > 0) continue;
      append(results["losses"], losses);
      append(results["logits"], program_.logits());
    }
    backend::StepContext context;
    context.gradient_scale =
        1.0 / static_cast<double>(shape.sequences_per_iteration() * shape.block_size);
    context.gradient_clip = fixture_.number("grad_clip");
    context.learning_rate = fixture_.learning_rates()[step];
    context.beta1 = fixture_.number("beta1");
    context.beta2 = fixture_.number("beta2");
    context.epsilon = fixture_.number("adam_eps");
    context.update_count = static_cast<std::int64_t>(step) + 1;
    results["grad_norm"].push_back(program_.update(context));
    if (step > 0) return;
    const auto& parameters = program_.model().parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Doubles gradient = program_.gradient(i);
      for (double& value : gradient) value *= context.gradient_scale;
      results["grad/" + parameters[i].name] = std::move(gradient);
    }
  }

  const GoldenFixture& fixture_;
  BoundProgram program_;
  const std::vector<std::int32_t> x_, y_;
};

// sixteen_bits.safetensors: how far PyTorch in bfloat16 is from a result.
class DeviationFile {
 public:
  explicit DeviationFile(const checkpoint::SafetensorsReader& reader) {
    for (const checkpoint::SafetensorsEntry& entry : reader.entries()) {
      float value = 0;
      OneTensor bytes(std::as_writable_bytes(std::span(&value, 1)));
      reader.read(entry, {entry.label.name, DType::kF32, entry.label.shape, 0}, bytes);
      values_[entry.label.name] = value;
    }
  }
  double of(const std::string& name) const { return values_.at(name); }

 private:
  std::map<std::string, double> values_;
};

// The largest excess over all results.
GoldenFixture::Excess expect_golden(const GoldenFixture& fixture, const Results& results) {
  GoldenFixture::Excess worst;
  for (const auto& [name, found] : results) {
    const GoldenFixture::Excess excess = fixture.worst(name, found);
    EXPECT_LE(excess.of_tolerance, 1) << name << ", stored element " << excess.element << ": "
                                      << excess.found << " for " << excess.wanted;
    if (!(excess.of_tolerance <= worst.of_tolerance)) worst = excess;
  }
  return worst;
}

void expect_golden(const std::string& name, const char* label, const cpu::KernelTable& kernels) {
  const GoldenFixture fixture(name);
  GoldenRun run(fixture, kernels);
  Results evaluation = run.evaluate();
  evaluation.erase("final_loss");  // that is with the weights after training
  expect_golden(fixture, evaluation);
  const Results results = run.train();
  const std::size_t parameter_count = fixture.model().parameters.size();
  EXPECT_EQ(results.size(), 6 + 4 * parameter_count);
  const GoldenFixture::Excess worst = expect_golden(fixture, results);
  std::printf("  %-17s %-10s worst error %.2f of the tolerance, in %s\n", name.c_str(), label,
              worst.of_tolerance, worst.name.c_str());
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, FastKernels) { expect_golden(GetParam(), "fast", cpu::fast_kernels()); }

TEST_P(Golden, ReferenceKernels) {
  expect_golden(GetParam(), "reference", cpu::reference_kernels());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Golden,
                         testing::Values("head1", "head128", "head3_accumulate", "head64",
                                         "head64_pair", "head8_long", "head8_short", "one_head",
                                         "one_token", "sharp", "unclipped"),
                         [](const auto& param_info) { return std::string(param_info.param); });

TEST(GoldenOnEveryIsa, FastKernels) {
  cpu::testing::for_each_target([] {
    const std::string isa = hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets());
    for (const char* name : {"head3_accumulate", "head8_long"}) {
      expect_golden(name, isa.c_str(), cpu::fast_kernels());
    }
  });
}

// In 16 bits: as near to the truth as PyTorch in bfloat16 is, times three, or an eighth of that in
// float16, which has three bits more. PyTorch's distance is the larger of two ways to round, one of
// which rounds wherever we do and more (docs/decisions/0028); ours is a third way, whose elements
// err independently and no more. Then the largest of 32 normal errors exceeds the larger of two
// such by 2 in one of 1000 draws and by 2.5 in one of 20000. Of a single number, the loss, three
// times is exceeded in one of 16: that it is not, of six losses, is what these runs gave once and
// for all.
TEST(GoldenInSixteenBits, IsAsNearAsPyTorch) {
  const checkpoint::SafetensorsReader reader(std::string(SNUG_GOLDEN) +
                                             "/sixteen_bits.safetensors");
  const DeviationFile deviations(reader);
  constexpr double kFactor = 3;
  for (const char* name :
       {"one_head", "head3_accumulate", "head8_long", "unclipped", "head64_pair", "head128"}) {
    const GoldenFixture fixture(name);
    for (const auto& [dtype, share] : {std::pair{DType::kBF16, 1.0}, {DType::kF16, 0.125}}) {
      for (const auto* kernels : {&cpu::fast_kernels(), &cpu::reference_kernels()}) {
        double worst = 0;
        for (const auto& [result, found] : GoldenRun(fixture, *kernels, dtype).first_step()) {
          const auto [distance, largest] = fixture.distance(result, found);
          const double allowed = share * kFactor * deviations.of(std::string(name) + "/" + result);
          EXPECT_LE(distance, allowed) << name << " " << result << " " << name_of(dtype);
          worst = std::max(worst, distance / allowed);
        }
        EXPECT_GT(worst, 0.02) << "a run that rounds nothing is not in 16 bits";
      }
    }
  }
}

// The comparison itself: one wrong element is seen, and so is NaN.
TEST(GoldenComparison, SeesAWrongElement) {
  const GoldenFixture fixture("one_head");
  GoldenRun run(fixture, cpu::reference_kernels());
  for (const auto& [name, values] : run.train()) {
    for (const double wrong : {values.back() * 1.01 + 0.1, std::nan("")}) {
      Doubles changed = values;
      changed.back() = wrong;
      EXPECT_FALSE(fixture.worst(name, changed).of_tolerance <= 1) << name << " " << wrong;
    }
  }
}

// Faults of the kind that a loss curve does not show.
TEST(GoldenComparison, SeesSubtleFaults) {
  std::map<std::string, cpu::KernelTable> faults;
  for (const char* name : {"adam epsilon", "tanh GELU", "decay of 0.101"}) {
    faults[name] = cpu::reference_kernels();
  }
  faults["adam epsilon"].adamw = [](const cpu::AdamW& op) noexcept {
    cpu::AdamW wrong = op;
    wrong.epsilon = 1e-6;
    cpu::reference_kernels().adamw(wrong);
  };
  faults["decay of 0.101"].adamw = [](const cpu::AdamW& op) noexcept {
    cpu::AdamW wrong = op;
    wrong.weight_decay *= 1.01;
    cpu::reference_kernels().adamw(wrong);
  };
  faults["tanh GELU"].f32.gelu = [](const cpu::Gelu& op) noexcept {
    for (std::int64_t i = 0; i < op.count; ++i) {
      const float x = op.x[i];
      op.y[i] = 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
    }
  };
  const GoldenFixture fixture("unclipped");
  for (const auto& [fault, kernels] : faults) {
    double worst = 0;
    for (const auto& [name, found] : GoldenRun(fixture, kernels).train()) {
      worst = std::max(worst, fixture.worst(name, found).of_tolerance);
    }
    EXPECT_GT(worst, 1) << fault;
  }
}

}  // namespace
}  // namespace snug
