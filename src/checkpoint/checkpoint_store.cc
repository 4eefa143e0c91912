#include "checkpoint/checkpoint_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace snug {
namespace {

constexpr const char* kLatest = "latest";
constexpr const char* kBest = "best";

std::string one_line(std::string text) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    text.replace(at, 1, "; ");
  }
  return text;
}

std::string skipped(const std::string& problem) { return "checkpoint skipped: " + problem; }

bool holds_bytes(const Path& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  return !error && bytes > 0;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n" + line;
  return text;
}

}  // namespace

// A step folder with its state.json, or with the reason why it cannot be used.
struct CheckpointStore::Candidate {
  StepFolder step;
  std::optional<Manifest> manifest;
  std::string problem;
};

CheckpointStore::CheckpointStore(Path out_dir, int keep_count,
                                 std::unique_ptr<FileSystem> file_system)
    : file_system_(std::move(file_system)),
      out_(std::move(out_dir), *file_system_),
      keep_count_(keep_count) {
  if (keep_count < 1) {
    throw ConfigError(fmt::format("keep {} checkpoints: at least 1 must be kept", keep_count));
  }
}

void CheckpointStore::lock_out_dir() {
  if (lock_) return;
  auto lock = std::make_unique<FolderLock>(out_.path());
  if (!lock->held()) {
    throw DeviceError(fmt::format(
        "out_dir is in use by another training: {}\n"
        "wanted a folder of its own for each training, found this one locked by another process\n"
        "wait until the other one ends, stop it, or name another --out_dir",
        out_.path().string()));
  }
  lock_ = std::move(lock);
}

void CheckpointStore::check_writable() try {
  out_.create();
  lock_out_dir();
  std::vector<std::string> ignored;  // the probe tells whether out_dir can be written
  out_.clean_up(ignored);
  out_.probe();
} catch (const FileError& error) {
  throw DeviceError(fmt::format(
      "{}\ncheckpoints go to out_dir = '{}': make it writable or name another --out_dir",
      error.what(), out_.path().string()));
}

void CheckpointStore::check_space(const CheckpointTensors& tensors) {
  const std::int64_t needed = checkpoint_bytes(tensors);
  const std::int64_t available = file_system_->free_bytes(out_.nearest_existing());
  if (available >= needed) return;
  throw DeviceError(fmt::format(
      "not enough disk space for a checkpoint in {}\nneeds {} ({} bytes), {} ({} bytes) free\n"
      "free some space or name another out_dir",
      out_.path().string(), format_bytes(needed), needed, format_bytes(available), available));
}

std::optional<Path> CheckpointStore::set_aside(const std::vector<std::string>& companions) {
  std::vector<Path> earlier;
  for (const StepFolder& step : out_.steps()) earlier.push_back(step.folder.filename());
  const bool has_content = std::ranges::any_of(
      companions, [&](const std::string& name) { return holds_bytes(out_.path() / name); });
  if (earlier.empty() && !has_content) return std::nullopt;
  earlier.insert(earlier.end(), {kLatest, kBest});
  earlier.insert(earlier.end(), companions.begin(), companions.end());
  int number = 1;
  while (!file_system_->create_folder(out_.path() / fmt::format("earlier-{}", number))) ++number;
  Path aside = out_.path() / fmt::format("earlier-{}", number);
  for (const Path& name : earlier) {
    const Path from = out_.path() / name;
    if (std::filesystem::symlink_status(from).type() == std::filesystem::file_type::not_found) {
      continue;
    }
    file_system_->rename(from, aside / name);
  }
  out_.sync();
  return aside;
}

Saved CheckpointStore::save(const TrainingState& state, const CheckpointTensors& tensors,
                            bool is_best) {
  Saved saved;
  out_.create();
  out_.clean_up(saved.warnings);
  check_space(tensors);
  const Path folder = write_and_publish(state, tensors);
  std::erase(damaged_, folder);
  out_.point(kLatest, folder);
  if (is_best) out_.point(kBest, folder);
  out_.sync();
  prune(saved.warnings);
  saved.folder = folder.string();
  return saved;
}

Path CheckpointStore::write_and_publish(const TrainingState& state,
                                        const CheckpointTensors& tensors) {
  const Path temporary = out_.create_temporary();
  const FolderLock lock(temporary);
  try {
    write_checkpoint(*file_system_, temporary, state, next_save_number(), tensors);
    return out_.publish(temporary, state.iteration);
  } catch (const FileError& error) {
    out_.discard_temporary(temporary);
    const std::int64_t needed = checkpoint_bytes(tensors);
    const std::int64_t available = file_system_->free_bytes(out_.path());
    throw DeviceError(
        fmt::format("checkpoint of iteration {} not saved: {}\n"
                    "needs {} ({} bytes), {} ({} bytes) free in {}\n"
                    "the checkpoints saved before are intact: make room, then resume",
                    state.iteration, error.what(), format_bytes(needed), needed,
                    format_bytes(available), available, out_.path().string()));
  } catch (...) {
    out_.discard_temporary(temporary);
    throw;
  }
}

// Usable ones first, the newest of them at the front.
std::vector<CheckpointStore::Candidate> CheckpointStore::scan(Parts parts) const {
  std::vector<Candidate> found;
  for (const StepFolder& step : out_.steps()) {
    try {
      found.push_back({step, read_manifest(step.folder, parts), {}});
    } catch (const CorruptCheckpoint& error) {
      found.push_back({step, std::nullopt, one_line(error.what())});
    }
  }
  std::ranges::sort(found, std::greater(), [](const Candidate& candidate) {
    return std::pair(candidate.manifest ? candidate.manifest->save_number : -1,
                     candidate.step.iteration);
  });
  return found;
}

// The usable ones in the order to try them; what is passed over becomes warnings. Throws DataError
// when there are step folders but not one to try.
std::vector<CheckpointStore::Candidate> CheckpointStore::candidates(
    Parts parts, Pick pick, std::vector<std::string>& warnings) const {
  std::vector<Candidate> found = scan(parts);
  const auto unusable =
      std::ranges::find_if(found, [](const Candidate& candidate) { return !candidate.manifest; });
  const bool none = unusable == found.begin();
  for (auto candidate = unusable; candidate != found.end(); ++candidate) {
    const bool older = !none && candidate->step.iteration < found.front().step.iteration;
    if (!older) warnings.push_back(skipped(candidate->problem));
  }
  if (none && !found.empty()) {
    throw DataError(
        fmt::format("no usable checkpoint in {}{}\n"
                    "restore one from a copy, or start anew in another --out_dir",
                    out_.path().string(), joined(warnings)));
  }
  found.erase(unusable, found.end());
  if (pick != Pick::kBest || found.empty()) return found;
  const auto best_name = out_.pointed(kBest);
  const auto best = std::ranges::find_if(found, [&](const Candidate& candidate) {
    return candidate.step.folder.filename() == best_name.value_or("");
  });
  if (best == found.end()) {
    warnings.push_back(fmt::format("{} leads to no usable checkpoint: the newest is taken",
                                   (out_.path() / kBest).string()));
  } else {
    std::rotate(found.begin(), best, best + 1);
  }
  return found;
}

std::optional<Loaded> CheckpointStore::peek(Parts parts, Pick pick) const {
  Loaded loaded;
  const std::vector<Candidate> usable = candidates(parts, pick, loaded.warnings);
  if (usable.empty()) return std::nullopt;
  loaded.state = usable.front().manifest->state;
  loaded.folder = usable.front().step.folder.string();
  return loaded;
}

Loaded CheckpointStore::load(const CheckpointTensors& tensors, Pick pick) const {
  Loaded loaded;
  damaged_.clear();
  const Parts parts = tensors.optimizer.empty() ? Parts::kWeights : Parts::kWeightsAndOptimizer;
  for (const Candidate& candidate : candidates(parts, pick, loaded.warnings)) {
    try {
      read_checkpoint(candidate.step.folder, *candidate.manifest, tensors);
      loaded.state = candidate.manifest->state;
      loaded.folder = candidate.step.folder.string();
      return loaded;
    } catch (const CorruptCheckpoint& error) {
      loaded.warnings.push_back(skipped(one_line(error.what())));
      damaged_.push_back(candidate.step.folder);
    } catch (const DataError& error) {  // another model's: an older one would not serve either
      throw DataError(error.what() + joined(loaded.warnings));
    }
  }
  throw DataError(
      fmt::format("no checkpoint to load in {}{}\n"
                  "looked for step-* folders; train from scratch or name the out_dir "
                  "of an earlier run",
                  out_.path().string(), joined(loaded.warnings)));
}

std::int64_t CheckpointStore::next_save_number() const {
  const std::vector<Candidate> found = scan(Parts::kWeights);
  const bool none = found.empty() || !found.front().manifest;
  return none ? 1 : found.front().manifest->save_number + 1;
}

// Folders that cannot be read are neither counted nor removed: they may be of a newer Snug. Those
// known to be damaged are not counted, and go when enough newer ones are kept.
void CheckpointStore::prune(std::vector<std::string>& warnings) {
  out_.clean_up(warnings);
  const auto best = out_.pointed(kBest);
  int kept_count = 0;
  for (const Candidate& candidate : scan(Parts::kWeights)) {
    if (!candidate.manifest) continue;
    if (kept_count < keep_count_) {
      const bool is_damaged = std::ranges::find(damaged_, candidate.step.folder) != damaged_.end();
      kept_count += is_damaged ? 0 : 1;
      continue;
    }
    if (candidate.step.folder.filename() == best.value_or("")) continue;
    try {
      out_.discard(candidate.step.folder);
    } catch (const FileError& error) {
      warnings.push_back(one_line(error.what()));
    }
  }
}

}  // namespace snug
