#include "train/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"
#include "train/checkpoint_list.h"
#include "train/narrowing_bytes.h"

namespace snug::train {
namespace {

// Up to so many uncached positions are decoded one by one: cheaper than a prefill of the window.
constexpr std::int64_t kMaxDecode = 8;

// The largest logit. With a NaN there is no order among them, and with an infinite one no
// distribution.
float finite_maximum(std::span<const float> logits) {
  float maximum = -std::numeric_limits<float>::infinity();
  bool comparable = true;
  for (const float logit : logits) {
    comparable = comparable && !std::isnan(logit);
    maximum = std::max(maximum, logit);
  }
  if (comparable && std::isfinite(maximum)) return maximum;
  throw DataError(
      "the model's logits are NaN or infinite: the checkpoint's weights are not finite\n"
      "finite numbers were wanted; the run that saved them has diverged, or the file was changed\n"
      "train again, with a smaller learning_rate, or name another run with --out_dir");
}

// Of all ids the highest, as many as `ids` has (which come in as the first of all), in order of
// their numbers. A heap of them has the lowest in front; few of the others are above it.
template <class Higher>
void keep_highest(std::span<const float> logits, std::span<std::int32_t> ids, Higher higher) {
  std::ranges::make_heap(ids, higher);
  for (std::size_t id = ids.size(); id < logits.size(); ++id) {
    // Of equals the one that came first stays.
    if (logits[id] <= logits[static_cast<std::size_t>(ids.front())]) continue;
    std::ranges::pop_heap(ids, higher);
    ids.back() = static_cast<std::int32_t>(id);
    std::ranges::push_heap(ids, higher);
  }
  std::ranges::sort(ids);
}

}  // namespace

Generator::Generator(const plan::RunPlan& run, const device::Device& device)
    : run_(run),
      executor_(device.make_executor(run.program, run.plan)),
      prefill_(run.program.phase(program::PhaseKind::kPrefill)),
      decode_(run.program.phase(program::PhaseKind::kDecode)),
      window_(prefill_.block_size),
      order_(static_cast<std::size_t>(run.model.vocab_size)),
      input_(static_cast<std::size_t>(window_)),
      logits_(order_.size()) {}

checkpoint::Loaded Generator::load(const checkpoint::CheckpointStore& store) {
  checkpoint::Loaded loaded;
  const CheckpointList list(run_.program);
  backend::run_transfer(*executor_, run_.program.phase(program::PhaseKind::kLoad),
                        [&](TensorBytes& held) {
                          NarrowingBytes bytes(held, run_.program);
                          loaded = store.load(list.tensors(&bytes));
                        });
  return loaded;
}

void Generator::load(const formats::Source& source) {
  const CheckpointList list(run_.program);
  backend::run_transfer(*executor_, run_.program.phase(program::PhaseKind::kLoad),
                        [&](TensorBytes& held) {
                          NarrowingBytes bytes(held, run_.program);
                          formats::fill(source, list.tensors(&bytes));
                        });
}

std::span<const float> Generator::logits_after_all(std::span<const std::int32_t> tokens) {
  check_ids(tokens);
  prefill(tokens);
  cached_ = 0;
  return logits_;
}

void Generator::prefill(std::span<const std::int32_t> tokens) {
  // Positions after the last token are computed too, from token 0: causality keeps them away from
  // the ones that matter.
  std::fill(std::copy(tokens.begin(), tokens.end(), input_.begin()), input_.end(), 0);
  backend::write_elements<std::int32_t>(*executor_, prefill_.host.tokens, 0, input_);
  backend::StepContext context;
  context.sequence_count = 1;
  context.position = static_cast<std::int64_t>(tokens.size()) - 1;
  executor_->run(prefill_, context);
  backend::read_elements(*executor_, prefill_.host.logits, 0, std::span(logits_));
}

void Generator::decode(std::int32_t token, std::int64_t position) {
  backend::write_elements<std::int32_t>(*executor_, decode_.host.tokens, 0, {&token, 1});
  backend::StepContext context;
  context.sequence_count = 1;
  context.position = position;
  executor_->run(decode_, context);
}

std::span<const float> Generator::logits_after(std::span<const std::int32_t> tokens) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  if (length > window_) {
    prefill(tokens.last(static_cast<std::size_t>(window_)));
  } else if (length - cached_ > kMaxDecode) {
    cached_ = length;
    prefill(tokens);
  } else {
    for (; cached_ < length; ++cached_) {
      decode(tokens[static_cast<std::size_t>(cached_)], cached_);
    }
    backend::read_elements(*executor_, decode_.host.logits, 0, std::span(logits_));
  }
  return logits_;
}

void Generator::check_ids(std::span<const std::int32_t> tokens) const {
  const auto known = [&](std::int32_t id) { return id >= 0 && id < run_.model.vocab_size; };
  const auto bad = std::find_if_not(tokens.begin(), tokens.end(), known);
  if (bad == tokens.end()) return;
  throw DataError(
      fmt::format("the token {} of the prompt is {}, which the model does not have\n"
                  "its vocabulary has {} tokens, from 0 on\n"
                  "use the tokenizer of the data set the model was trained on",
                  bad - tokens.begin(), *bad, run_.model.vocab_size));
}

std::int32_t Generator::draw(const Settings& settings, std::span<const float> logits,
                             double uniform) {
  const float maximum = finite_maximum(logits);
  if (settings.temperature == 0) {
    return static_cast<std::int32_t>(std::ranges::find(logits, maximum) - logits.begin());
  }
  const auto higher = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::size_t kept = logits.size();
  if (settings.top_k > 0) kept = std::min(kept, static_cast<std::size_t>(settings.top_k));
  order_.resize(kept);
  std::iota(order_.begin(), order_.end(), 0);
  if (kept < logits.size()) keep_highest(logits, order_, higher);
  std::span<std::int32_t> candidates = order_;
  const auto weight = [&](std::int32_t id) {
    const double logit = logits[static_cast<std::size_t>(id)];
    return std::exp((logit - static_cast<double>(maximum)) / settings.temperature);
  };
  double total = 0;
  for (const std::int32_t id : candidates) total += weight(id);
  if (settings.top_p < 1) {
    std::sort(candidates.begin(), candidates.end(), higher);
    const double wanted = settings.top_p * total;
    std::size_t count = 0;
    for (total = 0; count < candidates.size() && total < wanted; ++count) {
      total += weight(candidates[count]);
    }
    candidates = candidates.first(count);
  }
  double left = uniform * total;
  for (const std::int32_t id : candidates) {
    left -= weight(id);
    if (left < 0) return id;
  }
  return candidates.back();
}

void Generator::generate(const Settings& settings, std::uint32_t sample_index,
                         std::vector<std::int32_t>& tokens,
                         const std::function<bool(std::int32_t)>& on_token) {
  check_ids(tokens);
  const std::int64_t vocabulary = run_.model.vocab_size;
  const auto drawable = static_cast<std::size_t>(
      settings.token_count > 0 ? std::min(settings.token_count, vocabulary) : vocabulary);
  cached_ = 0;
  for (std::int64_t i = 0; i < settings.max_new_tokens; ++i) {
    const std::span<const float> logits = logits_after(tokens).first(drawable);
    const PhiloxBlock words = philox(
        settings.seed, {static_cast<std::uint32_t>(i),
                        static_cast<std::uint32_t>(RandomPurpose::kSample), sample_index, 0});
    const std::int32_t token = draw(settings, logits, uniform_double(words[0], words[1]));
    tokens.push_back(token);
    if (!on_token(token)) return;
  }
}

}  // namespace snug::train
