#include "doctor/diagnosis/match.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "doctor/diagnosis/plausibility.h"
#include "doctor/diagnosis/run.h"
#include "doctor/diagnosis/run_hypotheses.h"

namespace snug::doctor::diagnosis {
namespace {

// How far the model may be from a real run: eager is exact but for version and kernels, compiled
// about one percent.
constexpr double kEagerScale = 0.007, kCompiledScale = 0.015;
// Where a traceback names the phase, a figure that is far from the model's does not refute it.
constexpr double kFarFromModel = 0.01;
// A setting that the config has and the log does not contradict is more likely than its opposite;
// compile = False is nobody's default and was meant.
constexpr double kOtherThanDefault = 0.5, kOtherThanMeant = 0.1;

// Where a run has more tensors than this, trying others takes seconds.
constexpr std::size_t kMaxTensorsToVary = 200000;

// A row of tensors that differ in layer, parameter, iteration or micro-step.
struct Row {
  std::int32_t best = 0;  // in TorchMemory::tensors
  double score = 0;
  double distance = 0;                                     // of allocated bytes, relative
  std::set<std::pair<std::int32_t, std::int32_t>> owners;  // layer, parameter
};

// Relative distance of a byte count from a printed amount, 0 within its rounding.
double distance_from(const log::LogAmount& printed, std::int64_t bytes) {
  const std::int64_t off =
      std::max({printed.low_bytes - bytes, bytes - printed.high_bytes, std::int64_t{0}});
  return static_cast<double>(off) /
         static_cast<double>(std::max<std::int64_t>(printed.high_bytes, 1));
}

struct Trial {
  const torch::TorchMemory* memory = nullptr;
  double prior = 1;
  std::vector<Row> rows;  // best first

  double score() const { return rows.empty() ? 0 : prior * rows.front().score; }
};

// What this process could have of the card; 0: the message does not tell.
std::int64_t limit_bytes_of(const CardAccount& account) {
  const bool over_capacity = account.capacity && account.allocated > account.capacity;
  if (!account.is_capacity_printed || over_capacity) return 0;
  const bool tells = account.free && account.tells_own_bytes();
  return tells ? account.own_bytes() + *account.free : *account.capacity;
}

// Could the run have come to a moment on whose way it needs so much? The model's own error and
// what is held in pieces blur the limit.
double reachability(std::int64_t limit_bytes, const torch::TorchMemory& memory,
                    std::int64_t highest_before) {
  if (limit_bytes == 0) return 1;
  const double excess = static_cast<double>(highest_before) / static_cast<double>(limit_bytes) - 1;
  if (excess <= 0) return 1;
  const double ratio = excess / (memory.run.compiled ? 0.1 : 0.06);
  return std::max(0.02, 1 / (1 + ratio * ratio));
}

void find_rows(const FailureEvidence& evidence, Trial& trial) {
  using Key = std::tuple<std::string_view, std::string_view, std::int64_t, torch::TorchDType,
                         torch::TorchPhase>;
  std::map<Key, Row> rows;
  const torch::TorchMemory& memory = *trial.memory;
  const double scale = memory.run.compiled ? kCompiledScale : kEagerScale;
  const std::optional<log::LogAmount>& allocated = evidence.event.allocated;
  const std::int64_t limit_bytes = limit_bytes_of(evidence.account);
  std::int64_t highest = 0;  // before the tensor
  for (std::size_t i = 0; i < memory.tensors.size(); ++i) {
    const torch::TorchTensor& tensor = memory.tensors[i];
    const std::int64_t before = tensor.allocated_before_bytes;
    const std::int64_t highest_before =
        std::exchange(highest, std::max(highest, before + torch::allocator_rounding(tensor.bytes)));
    if (!evidence.request->covers(tensor.bytes)) continue;
    const double distance = allocated ? distance_from(*allocated, before) : 0;
    const double minimum = evidence.moment.phases != 0 ? kFarFromModel : 0;
    const double nearness = std::max(minimum, 1 / (1 + distance / scale * distance / scale));
    const double score = plausibility(evidence.moment, tensor) *
                         reachability(limit_bytes, memory, highest_before) * nearness;
    Row& row = rows[{tensor.what, tensor.op, tensor.bytes, tensor.dtype, tensor.phase}];
    row.owners.insert({tensor.layer, tensor.parameter});
    if (score > row.score) {
      row.best = static_cast<std::int32_t>(i);
      row.score = score;
      row.distance = distance;
    }
  }
  for (auto& [key, row] : rows) trial.rows.push_back(std::move(row));
  std::stable_sort(trial.rows.begin(), trial.rows.end(),
                   [](const Row& a, const Row& b) { return a.score > b.score; });
}

// The given run first, then what the log leaves open.
std::vector<std::pair<torch::TorchRun, double>> plausible_runs(const torch::TorchRun& given,
                                                               const log::LogSummary& log) {
  const TorchTraits traits = torch_traits_of(log);
  std::vector<std::pair<torch::TorchRun, double>> runs{{given, 1.0}};
  const auto vary = [&runs](bool is_open, auto&& flip, double prior) {
    if (!is_open) return;
    const std::size_t count = runs.size();
    for (std::size_t i = 0; i < count; ++i) {
      runs.push_back(runs[i]);
      flip(runs.back().first);
      runs.back().second *= prior;
    }
  };
  // The older loss is known from its source, not measured: figures that agree with today's to the
  // byte outweigh the wording.
  const bool agrees = traits.version == given.version;
  const double other_version = agrees ? kOtherThanDefault : traits.version ? 1.0 : 0.9;
  vary(
      !agrees || given.version == torch::TorchVersion::kOlder,
      [](torch::TorchRun& run) {
        const bool is_older = run.version == torch::TorchVersion::kOlder;
        run.version = is_older ? torch::TorchVersion::kCurrent : torch::TorchVersion::kOlder;
      },
      other_version);
  vary(
      !traits.flash || *traits.flash != given.flash,
      [](torch::TorchRun& run) { run.flash = !run.flash; }, traits.flash ? 1.0 : 0.9);
  const bool is_told = traits.compiled.has_value();
  const double other = given.compiled ? kOtherThanDefault : kOtherThanMeant;
  vary(
      !is_told || *traits.compiled != given.compiled,
      [](torch::TorchRun& run) { run.compiled = !run.compiled; }, is_told ? 1.0 : other);
  // torch.compile and scaled_dot_product_attention both came with 2.0.
  const auto is_impossible = [](const auto& run) { return run.first.compiled && !run.first.flash; };
  runs.erase(std::remove_if(runs.begin() + 1, runs.end(), is_impossible), runs.end());
  return runs;
}

// Rows that are not negligible have one shape and type: only its role is open.
bool agree_in_shape(const Trial& trial) {
  const auto& tensors = trial.memory->tensors;
  const torch::TorchTensor& best = tensors[static_cast<std::size_t>(trial.rows.front().best)];
  return std::all_of(trial.rows.begin(), trial.rows.end(), [&](const Row& row) {
    const torch::TorchTensor& tensor = tensors[static_cast<std::size_t>(row.best)];
    const bool is_negligible = row.score < 0.02 * trial.rows.front().score;
    return is_negligible || (tensor.bytes == best.bytes && tensor.dtype == best.dtype);
  });
}

// How sure the best row can be, before it shares with others.
double certainty(const FailureEvidence& evidence, const Trial& trial) {
  const double by_size = agree_in_shape(trial) ? 0.8 : 0.45;
  const double distance = trial.rows.front().distance;
  if (!evidence.event.allocated) return evidence.moment.tells() ? 0.9 : 0.8;
  if (distance <= 0.005) return 0.97;
  if (distance <= 0.02) return 0.9;
  return distance <= 0.05 ? std::max(0.75, by_size) : by_size;
}

Evidence evidence_for(const FailureEvidence& evidence, const Row& row,
                      const torch::TorchTensor& tensor) {
  if (evidence.event.allocated && row.distance <= 0.02) return Evidence::kSizeAndAllocated;
  const bool goes_with = plausibility(evidence.moment, tensor) > 0.5;
  return evidence.moment.tells() && goes_with ? Evidence::kSizeAndFrame : Evidence::kSizeOnly;
}

// The operators of the loss head see rows of all sequences: (B*T, V), not (B, T, V).
std::vector<std::int64_t> allocated_shape(const torch::TorchTensor& tensor) {
  std::vector<std::int64_t> shape;
  for (int axis = 0; axis < tensor.shape.rank(); ++axis) shape.push_back(tensor.shape[axis]);
  if (tensor.role != torch::TorchRole::kLoss || shape.size() != 3) return shape;
  return {shape[0] * shape[1], shape[2]};
}

std::vector<Candidate> candidates_of(const FailureEvidence& evidence, const Trial& trial) {
  constexpr double kNegligible = 0.01;
  std::vector<Candidate> result;
  double total = 0;
  for (const Row& row : trial.rows) total += row.score;
  if (total <= 0) return result;
  const double share = certainty(evidence, trial) / total;
  for (const Row& row : trial.rows) {
    if (!result.empty() && row.score * share < kNegligible) break;
    const torch::TorchTensor& tensor = trial.memory->tensors[static_cast<std::size_t>(row.best)];
    Candidate candidate = candidate_of(*trial.memory, tensor);
    candidate.count = static_cast<std::int32_t>(row.owners.size());
    candidate.confidence = row.score * share;
    candidate.evidence = evidence_for(evidence, row, tensor);
    result.push_back(std::move(candidate));
  }
  return result;
}

}  // namespace

Candidate candidate_of(const torch::TorchMemory& memory, const torch::TorchTensor& tensor) {
  Candidate candidate;
  candidate.tensor = torch::torch_tensor_name(memory, tensor);
  candidate.label = tensor.what;
  candidate.owner = torch::torch_tensor_owner(memory, tensor);
  candidate.op = tensor.op;
  candidate.shape = allocated_shape(tensor);
  candidate.dtype = torch::name_of(tensor.dtype);
  candidate.bytes = tensor.bytes;
  candidate.phase = tensor.phase;
  return candidate;
}

RunMatch match_run(const FailureEvidence& evidence, const torch::TorchMemory& memory) {
  Trial trial{&memory, 1, {}};
  find_rows(evidence, trial);
  RunMatch match;
  if (trial.rows.empty()) return match;
  const Row& best = trial.rows.front();
  match.score = best.score;
  match.distance = best.distance;
  match.micro_step = memory.tensors[static_cast<std::size_t>(best.best)].micro_step;
  match.alike_count = static_cast<int>(trial.rows.size());
  match.candidates = candidates_of(evidence, trial);
  return match;
}

TensorMatch match_tensors(const FailureEvidence& evidence, const torch::TorchMemory& memory) {
  std::optional<torch::TorchMemory> best_memory;
  Trial best{&memory, 1, {}};
  find_rows(evidence, best);
  const auto runs = plausible_runs(memory.run, evidence.log);
  const std::size_t count = memory.tensors.size() > kMaxTensorsToVary ? 1 : runs.size();
  for (std::size_t i = 1; i < count; ++i) {
    torch::TorchMemory other = torch::torch_memory(runs[i].first);
    Trial trial{&other, runs[i].second, {}};
    find_rows(evidence, trial);
    if (trial.score() <= best.score()) continue;
    best_memory = std::move(other);
    best = std::move(trial);
    best.memory = &*best_memory;
  }
  constexpr double kFar = 0.05;
  if (best.rows.empty() || best.rows.front().distance > kFar) {
    for (const RunHypothesis& neighbour : neighbours_of(best.memory->run, evidence)) {
      torch::TorchMemory other = torch::torch_memory(neighbour.run);
      Trial trial{&other, neighbour.prior, {}};
      find_rows(evidence, trial);
      const bool explains = !trial.rows.empty() && trial.rows.front().distance <= kFar / 2;
      if (!explains || trial.score() <= best.score()) continue;
      best_memory = std::move(other);
      best = std::move(trial);
      best.memory = &*best_memory;
    }
  }
  TensorMatch result;
  result.candidates = candidates_of(evidence, best);
  result.alike_count = static_cast<int>(best.rows.size());
  result.memory = std::move(best_memory);
  return result;
}

std::optional<Candidate> peak_candidate(const torch::TorchMemory& memory,
                                        const torch::TorchPeak& peak) {
  if (peak.tensor < 0) return std::nullopt;
  return candidate_of(memory, memory.tensors[static_cast<std::size_t>(peak.tensor)]);
}

}  // namespace snug::doctor::diagnosis
