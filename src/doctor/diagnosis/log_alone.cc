#include "doctor/diagnosis/log_alone.h"

#include <algorithm>
#include <map>
#include <utility>

namespace snug::doctor::diagnosis {
namespace {

constexpr std::size_t kMaxVoters = 4;
constexpr double kMinWeight = 0.05, kAssumable = 0.5;

struct Vote {
  double weight = 0;
  LogAloneVerdict best;
};

// The same model with as many tokens a micro-step: variants of bias or dropout are one run here.
double weight_of_kin(const std::vector<ExplainingRun>& runs, const torch::TorchRun& run) {
  double weight = 0;
  for (const ExplainingRun& other : runs) {
    const torch::TorchRun& o = other.memory.run;
    const bool is_kin = o.n_layer == run.n_layer && o.n_embd == run.n_embd &&
                        o.batch_size * o.block_size == run.batch_size * run.block_size &&
                        o.compute == run.compute;
    if (is_kin) weight += other.weight;
  }
  return weight;
}

}  // namespace

LogAloneVerdict judge_log_alone(const FailureEvidence& evidence,
                                const std::vector<ExplainingRun>& runs) {
  // Another process that holds most of the card needs no run to be seen.
  constexpr double kObvious = 0.9;
  const CauseVerdict by_figures = verdict_of_card(evidence, nullptr, nullptr);
  const bool is_obvious = by_figures.cause == Cause::kCoTenant && by_figures.confidence >= kObvious;
  std::map<Cause, Vote> votes;
  double total = 0;
  for (std::size_t i = 0; i < std::min(runs.size(), kMaxVoters); ++i) {
    if (i > 0 && runs[i].weight < kMinWeight) break;
    const torch::TorchMemory& memory = runs[i].memory;
    std::optional<CardTrial> trial = try_on_card(evidence, memory);
    const CauseVerdict verdict =
        is_obvious ? by_figures : verdict_of_card(evidence, &memory, trial ? &*trial : nullptr);
    Vote& vote = votes[verdict.cause];
    if (vote.weight == 0) vote.best = {verdict, i, std::move(trial), false};
    vote.weight += runs[i].weight;
    total += runs[i].weight;
  }
  auto winner = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
    return a.second.weight < b.second.weight;
  });
  LogAloneVerdict result = std::move(winner->second.best);
  // Where none of the runs may be it, the figures alone speak.
  double none = 1;
  for (const ExplainingRun& run : runs) none -= run.weight;
  none = std::max(0.0, none);
  const double by_none = by_figures.cause == result.verdict.cause ? by_figures.confidence : 0;
  result.verdict.confidence =
      (winner->second.weight * result.verdict.confidence + none * by_none) / (total + none);
  result.is_assumable = weight_of_kin(runs, runs[result.run].memory.run) >= kAssumable;
  return result;
}

}  // namespace snug::doctor::diagnosis
