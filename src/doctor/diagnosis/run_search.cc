#include "doctor/diagnosis/run_search.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "doctor/diagnosis/match.h"
#include "doctor/diagnosis/run_hypotheses.h"

namespace snug::doctor::diagnosis {
namespace {

constexpr std::size_t kMaxRuns = 6;
constexpr std::size_t kMaxToRefine = 10;
// Farther from what was allocated than this, a run explains nothing.
constexpr double kExplains = 0.01;
// Weight of no common run at all: one of unusual sizes agrees by chance.
constexpr double kNoCommonRun = 0.004;
// Its train.py has nanoGPT's lines around another model.
constexpr std::string_view kOtherModel = "llama2.c";

// Lines of train.py and model.py that no other program has.
constexpr std::string_view kLines[] = {
    "logits, loss = model(X, Y)",
    "losses = estimate_loss()",
    "scaler.scale(loss).backward()",
    "scaler.step(optimizer)",
    "x = block(x)",
    "logits = self.lm_head(x)",
};
constexpr std::string_view kFiles[] = {"train.py", "model.py"};

struct Scored {
  RunHypothesis hypothesis;
  double score = 0;
  double promise = 0;  // with dropout or a bias its distance may become less
};

bool is_better(const Scored& a, const Scored& b) { return a.score > b.score; }

Scored scored(const FailureEvidence& evidence, const RunHypothesis& hypothesis) {
  constexpr double kScale = 0.05;
  const RunMatch match = match_run(evidence, torch::torch_memory(hypothesis.run));
  if (match.score <= 0) return {hypothesis, 0, 0};
  const double off = match.distance / kScale;
  return {hypothesis, hypothesis.prior * match.score, hypothesis.prior / (1 + off * off)};
}

// The best of `all`, each once more with what the log leaves open.
std::vector<Scored> refined(const FailureEvidence& evidence, std::vector<Scored> all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Scored& a, const Scored& b) { return a.promise > b.promise; });
  if (all.size() > kMaxToRefine) all.resize(kMaxToRefine);
  std::vector<Scored> result = all;
  for (const Scored& one : all) {
    for (const RunHypothesis& variant : variants_of(one.hypothesis, evidence)) {
      result.push_back(scored(evidence, variant));
    }
  }
  std::stable_sort(result.begin(), result.end(), is_better);
  if (result.size() > kMaxRuns) result.resize(kMaxRuns);
  return result;
}

ExplainingRun explained(const FailureEvidence& evidence, const Scored& one) {
  ExplainingRun run;
  run.memory = torch::torch_memory(one.hypothesis.run);
  RunMatch match = match_run(evidence, run.memory);
  run.weight = one.score;
  run.distance = match.distance;
  run.alike_count = match.alike_count;
  run.candidates = std::move(match.candidates);
  return run;
}

bool is_same(const Candidate& a, const Candidate& b) {
  return a.tensor == b.tensor && a.shape == b.shape && a.dtype == b.dtype && a.phase == b.phase;
}

void add(const Candidate& candidate, std::vector<Candidate>& all) {
  const auto same = std::find_if(all.begin(), all.end(),
                                 [&](const Candidate& other) { return is_same(candidate, other); });
  if (same == all.end()) {
    all.push_back(candidate);
  } else {
    same->confidence += candidate.confidence;
  }
}

// Both half types take the same memory: which one it was, sizes do not tell.
void add_half_twins(std::vector<Candidate>& all) {
  constexpr double kOther = 0.4;
  std::vector<Candidate> twins;
  for (Candidate& candidate : all) {
    if (candidate.dtype != "bfloat16") continue;
    twins.push_back(candidate);
    twins.back().dtype = "float16";
    twins.back().confidence *= kOther;
    candidate.confidence *= 1 - kOther;
  }
  all.insert(all.end(), twins.begin(), twins.end());
}

}  // namespace

bool shows_nanogpt(const log::LogEvent& event) {
  return std::any_of(event.frames.begin(), event.frames.end(), [](const log::LogFrame& frame) {
    if (frame.file.find(kOtherModel) != std::string::npos) return false;
    const bool is_its_file =
        std::any_of(std::begin(kFiles), std::end(kFiles),
                    [&](std::string_view name) { return frame.file.ends_with(name); });
    if (is_its_file && frame.source.find("model.to(device)") != std::string::npos) return true;
    return is_its_file &&
           std::any_of(std::begin(kLines), std::end(kLines), [&](std::string_view line) {
             return frame.source.find(line) != std::string::npos;
           });
  });
}

std::vector<ExplainingRun> explaining_runs(const FailureEvidence& evidence) {
  if (!evidence.request || !evidence.event.allocated) return {};
  std::vector<Scored> all;
  for (const RunHypothesis& hypothesis : run_hypotheses(evidence)) {
    Scored one = scored(evidence, hypothesis);
    if (one.score > 0) all.push_back(std::move(one));
  }
  std::vector<ExplainingRun> runs;
  double total = kNoCommonRun;
  for (const Scored& one : refined(evidence, std::move(all))) {
    ExplainingRun run = explained(evidence, one);
    if (run.distance > kExplains) continue;
    total += run.weight;
    runs.push_back(std::move(run));
  }
  for (ExplainingRun& run : runs) run.weight /= total;
  return runs;
}

std::vector<Candidate> candidates_of(const std::vector<ExplainingRun>& runs,
                                     const FailureEvidence& evidence) {
  constexpr double kNegligible = 0.01, kSomeOtherRun = 0.9;
  std::vector<Candidate> all;
  for (const ExplainingRun& run : runs) {
    for (Candidate candidate : run.candidates) {
      candidate.confidence *= run.weight * kSomeOtherRun;
      add(candidate, all);
    }
  }
  const bool tells_type =
      std::any_of(evidence.log.facts.settings.begin(), evidence.log.facts.settings.end(),
                  [](const log::LogSetting& setting) { return setting.key == "dtype"; });
  if (!tells_type) add_half_twins(all);
  std::erase_if(all, [](const Candidate& c) { return c.confidence < kNegligible; });
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.confidence > b.confidence;
  });
  return all;
}

}  // namespace snug::doctor::diagnosis
