#include "train/train_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <type_traits>

#include "base/bytes.h"
#include "base/error.h"
#include "console/progress_line.h"
#include "console/stop_signal.h"
#include "machine/host_memory.h"
#include "train/run_end.h"
#include "train/run_metrics.h"
#include "train/run_saver.h"
#include "train/schedule.h"
#include "train/start.h"

namespace snug::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// As Python prints it: NaN has no sign.
std::string loss_text(double loss) {
  return std::isnan(loss) ? "nan" : fmt::format("{:.4f}", loss);
}

// nanoGPT's moving average of the achieved share of the machine's peak.
class UtilizationMeter {
 public:
  UtilizationMeter(double flops_per_iteration, double peak_flops)
      : flops_per_iteration_(flops_per_iteration), peak_flops_(peak_flops) {}

  // In percent; -100 before the fifth iteration of this run, while times settle.
  double percent(std::int64_t local_iteration, double seconds) {
    if (local_iteration >= 5 && peak_flops_ > 0) {
      const double share = flops_per_iteration_ / seconds / peak_flops_;
      average_ = average_ < 0 ? share : 0.9 * average_ + 0.1 * share;
    }
    return average_ * 100;
  }

 private:
  double flops_per_iteration_, peak_flops_;
  double average_ = -1;
};

// The last good checkpoint is what to go on from: nothing is to be saved on its way out.
struct Diverged : DeviceError {
  using DeviceError::DeviceError;
};

class TrainLoop {
 public:
  TrainLoop(const StartedRun& run, console::Console& console, const StepWatch& watch)
      : config_(run.config.values),
        run_(run),
        engine_(*run.engine),
        console_(console),
        watch_(watch),
        meter_(model::flops_per_token(run.plan->model, config_.block_size) * tokens_per_iteration(),
               run.peak_flops),
        state_(run.state) {}

  // The exit code.
  int run() {
    try {
      return run_all();
    } catch (const Diverged&) {
      throw;  // says what is kept itself
    } catch (const DeviceError& error) {
      throw DeviceError(fmt::format("{}\n{}", error.what(), what_is_kept()));
    }
  }

 private:
  int run_all() {
    if (config_.eval_only) {
      evaluate_both();
      return stop_.requested() ? stop_.exit_code() : 0;
    }
    metrics_.emplace(config_.out_dir, state_.iteration, run_.entropy_floor);
    while (!finished()) {
      const Clock::time_point start = Clock::now();
      if (state_.iteration % config_.eval_interval == 0 && !evaluate_and_save()) break;
      if (stop_.requested() || !rescued([&] { return iterate(start); })) break;
      if (saver_.retry_due()) saver_.try_save(state_, false);
    }
    return finish();
  }

  double tokens_per_iteration() const {
    return static_cast<double>(config::effective_batch_of(config_) * config_.block_size);
  }

  bool finished() const { return state_.iteration > config_.max_iters; }

  // Validation loss; nothing when a signal asked to stop.
  std::optional<double> evaluate_both() {
    const auto train_loss = evaluate(Split::kTrain);
    const auto val_loss = train_loss ? evaluate(Split::kVal) : std::nullopt;
    if (!val_loss) return std::nullopt;
    console_.line(fmt::format("step {}: train loss {}, val loss {}{}", state_.iteration,
                              loss_text(*train_loss), loss_text(*val_loss), floor_note()));
    if (metrics_) metrics_->add_evaluation(state_.iteration, *train_loss, *val_loss);
    if (!std::isfinite(*val_loss)) fail_diverged("the validation loss", *val_loss);
    last_val_loss_ = *val_loss;
    return val_loss;
  }

  // What `work` gives. When it fails, on data that cannot be read say, the iteration under way is
  // lost but the weights are those of the last whole one: they are saved before the error goes on.
  template <typename Work>
  std::invoke_result_t<Work> rescued(Work work) {
    try {
      return work();
    } catch (const Diverged&) {
      throw;
    } catch (const DataError& error) {
      throw DataError(error.what() + save_what_is_done());
    } catch (const DeviceError& error) {
      throw DeviceError(error.what() + save_what_is_done());
    }
  }

  // The line that tells of it, for the end of an error's message.
  std::string save_what_is_done() {
    if (!unsaved()) return "";
    try {
      saver_.save(state_, false);
    } catch (const Error& error) {
      return fmt::format("\nwhat was done after iteration {} is lost: {}",
                         std::max<std::int64_t>(saver_.saved_iteration(), 0), error.what());
    }
    return fmt::format(
        "\nprogress up to iteration {} is saved in {}: go on with --init_from=resume",
        state_.iteration, config_.out_dir);
  }

  bool unsaved() const {
    return state_.iteration > run_.state.iteration && state_.iteration != saver_.saved_iteration();
  }

  // False when a signal asked to stop.
  bool evaluate_and_save() {
    const auto val_loss = rescued([&] { return evaluate_both(); });
    if (!val_loss) return false;
    const double best_before = state_.best_val_loss;
    const bool is_best = *val_loss < best_before;
    if (is_best) state_.best_val_loss = *val_loss;
    // A run that was stopped here saved before it evaluated: whether that one is the best is only
    // known now.
    const bool wanted =
        is_best || (config_.always_save_checkpoint && state_.iteration != saver_.saved_iteration());
    const bool saved = !wanted || state_.iteration == 0 || saver_.try_save(state_, is_best);
    if (!saved) state_.best_val_loss = best_before;  // the best is the best that was saved
    return true;
  }

  std::optional<double> evaluate(Split split) {
    const Clock::time_point start = Clock::now();
    bool told = split != Split::kTrain || local_iteration_ > 0;
    return engine_.evaluate(split, state_.iteration, [&](std::int64_t done, std::int64_t total) {
      const char* name = split == Split::kTrain ? "train" : "val";
      const double share = static_cast<double>(done) / static_cast<double>(total);
      const double seconds = seconds_since(start);
      if (!told && seconds > kPredictionSeconds && share < 1) {
        told = true;
        tell_evaluation_time(2 * seconds / share);
      }
      const auto text = [&] {
        return fmt::format("evaluating {} {:3.0f}%  ETA {}", name, share * 100,
                           console::format_duration(seconds_since(start) * (1 - share) / share));
      };
      if (console_.wants_progress()) console_.progress(text());
      if (console_.wants_plain_progress()) console_.line(text());
      return !stop_.requested();
    });
  }

  // Once, from the first batches: what an evaluation takes, where that is long.
  void tell_evaluation_time(double seconds) {
    if (seconds < kLongEvaluationSeconds) return;
    console_.line(
        fmt::format("an evaluation takes about {} (2 x {} batches, every {} iterations): "
                    "--eval_iters={} takes a tenth of it",
                    console::format_duration(seconds), config_.eval_iters, config_.eval_interval,
                    std::max<std::int64_t>(config_.eval_iters / 10, 1)));
  }

  // One iteration; false when a signal cut it short, and then nothing of it remains.
  bool iterate(Clock::time_point start) {
    const Clock::time_point step_start = Clock::now();
    StepResult result;
    const auto step = [&] {
      result = engine_.step(state_.iteration, [&](std::int64_t done, std::int64_t total) {
        show_progress(done, total, step_start);
        const double per_batch = seconds_since(step_start) / static_cast<double>(done);
        const double left = per_batch * static_cast<double>(total - done);
        return !(stop_.requested() && left > kPatienceSeconds);
      });
    };
    watch_ ? watch_(engine_.executor(), step) : step();
    if (!result.updated && !(result.skipped && may_go_on())) {
      if (!std::isfinite(result.loss)) fail_diverged("the loss", result.loss);
      if (!std::isfinite(result.gradient_norm)) {
        fail_diverged("the gradient norm", result.gradient_norm);
      }
      return false;
    }
    if (result.skipped) {
      console_.line(fmt::format("iter {}: overflow in float16, update skipped, loss scale now {:g}",
                                state_.iteration, engine_.loss_scale().factor));
    }
    last_loss_ = result.loss;
    step_seconds_ = seconds_since(step_start);
    if (state_.iteration % config_.log_interval == 0) log(result, seconds_since(start));
    state_.iteration += 1;
    state_.sequences_drawn += config::effective_batch_of(config_);
    local_iteration_ += 1;
    return true;
  }

  // Once the loss scale has fallen this far it is not what overflows.
  bool may_go_on() const { return engine_.loss_scale().factor >= 1; }

  void log(const StepResult& result, double seconds) {
    const double mfu = meter_.percent(local_iteration_, step_seconds_);
    const double rate = tokens_per_iteration() / step_seconds_;
    if (metrics_) {
      metrics_->add({state_.iteration, result.loss, learning_rate_at(config_, state_.iteration),
                     result.gradient_norm, seconds * 1e3, rate},
                    {mfu, machine::resident_bytes()});
    }
    // Beside a line that is redrawn, the history goes by at a pace that can be read.
    if (console_.redraws() && seconds_since(last_log_) < kHistorySeconds) return;
    last_log_ = Clock::now();
    console_.line(fmt::format("iter {}: loss {:.4f}, time {:.2f}ms, mfu {:.2f}%, {} tok/s",
                              state_.iteration, result.loss, seconds * 1e3, mfu,
                              with_thousands(std::llround(rate))));
  }

  void show_progress(std::int64_t done, std::int64_t total, Clock::time_point step_start) {
    if (total > 1 && console_.wants_plain_progress()) {
      console_.line(fmt::format("iter {}: micro-step {} of {}", state_.iteration, done, total));
    }
    if (!console_.wants_progress()) return;
    const double in_step = static_cast<double>(done) / static_cast<double>(total);
    const double step = step_seconds_ > 0 ? step_seconds_ : seconds_since(step_start) / in_step;
    const double at = static_cast<double>(state_.iteration) + in_step;
    const auto all = static_cast<double>(config_.max_iters + 1);
    const console::ProgressFacts facts{
        .iteration = state_.iteration,
        .last_iteration = config_.max_iters,
        .done_share = at / all,
        .loss = last_loss_,
        .val_loss = last_val_loss_,
        .val_note = floor_note(),
        .tokens_per_second = tokens_per_iteration() / step,
        .resident_bytes = machine::resident_bytes(),
        .planned_bytes = run_.plan->total_bytes(),
        .seconds_left = (all - at) * step,
    };
    console_.progress(console::progress_line(facts, console_.columns()));
  }

  std::string floor_note() const {
    return run_.entropy_floor ? fmt::format(" (floor {:.4f})", *run_.entropy_floor) : "";
  }

  int finish() {
    const bool stopped = stop_.requested() && !finished();
    // always_save_checkpoint=False keeps the best one; but a run never ends with nothing.
    if (unsaved() && (stopped || config_.always_save_checkpoint || saver_.saved_iteration() < 0)) {
      saver_.save(state_, false);
    }
    if (stopped) {
      console_.line(fmt::format(
          "stopped by {} after {} iterations; {}", stop_.name(), state_.iteration,
          saver_.saved_iteration() < 0 ? "nothing was saved, as nothing was done yet"
                                       : "go on with the same command and --init_from=resume"));
    }
    const RunEnd end{.seconds = seconds_since(started_),
                     .iterations = local_iteration_,
                     .last_loss = last_loss_,
                     .best_val_loss = state_.best_val_loss,
                     .iteration = state_.iteration,
                     .saved_iteration = saver_.saved_iteration(),
                     .folder = saver_.folder(),
                     .out_dir = config_.out_dir};
    for (const std::string& line : end_lines(end)) console_.line(line);
    const bool on_card = run_.plan->plan.space == Space::kDevice;
    console_.line(on_card ? fmt::format("memory on the card: {}, as planned",
                                        format_bytes(run_.plan->plan.arena_bytes))
                          : fmt::format("peak memory {} of {} planned",
                                        format_bytes(machine::peak_resident_bytes()),
                                        format_bytes(run_.plan->total_bytes())));
    return stopped ? stop_.exit_code() : 0;
  }

  std::string what_is_kept() const {
    const std::int64_t saved = saver_.saved_iteration();
    if (saved < 0) return "no checkpoint had been saved yet";
    return fmt::format("the checkpoint of iteration {} in {} is untouched", saved, config_.out_dir);
  }

  [[noreturn]] void fail_diverged(const char* what, double value) const {
    throw Diverged(
        fmt::format("{} became {} at iteration {}: training has diverged\n{}\n"
                    "a smaller learning_rate (now {}) or a longer warmup_iters (now {}) may help",
                    what, std::isnan(value) ? "NaN" : "infinite", state_.iteration, what_is_kept(),
                    config_.learning_rate, config_.warmup_iters));
  }

  // A signal waits for the iteration to end if that takes no longer than this; otherwise the
  // iteration is given up, to be done again, with the same bits, by the resumed run.
  static constexpr double kPatienceSeconds = 5;
  static constexpr double kHistorySeconds = 10;
  static constexpr double kPredictionSeconds = 0.5, kLongEvaluationSeconds = 20;

  const config::Config& config_;
  const StartedRun& run_;
  TrainingEngine& engine_;
  console::Console& console_;
  const StepWatch& watch_;
  std::optional<RunMetrics> metrics_;  // none when only evaluating, or while they cannot be opened
  UtilizationMeter meter_;
  console::StopSignal stop_{
      "\nstopping after this micro-step, then saving; again to quit without saving\n"};
  checkpoint::TrainingState state_;
  RunSaver saver_{run_, metrics_, console_, {}};
  const Clock::time_point started_ = Clock::now();
  Clock::time_point last_log_{};
  std::int64_t local_iteration_ = 0;
  double last_loss_ = NAN, last_val_loss_ = NAN, step_seconds_ = 0;
};

}  // namespace

int train(config::LoadedConfig config, console::Console& console, const StepWatch& watch) {
  const StartedRun run = start_training(std::move(config), console);
  return TrainLoop(run, console, watch).run();
}

}  // namespace snug::train
