#include "checkpoint/checkpoint_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "checkpoint/setting_aside.h"

namespace snug::checkpoint {
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

bool contains(const std::vector<Path>& paths, const Path& path) {
  return std::ranges::find(paths, path) != paths.end();
}

bool is_full(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

[[noreturn]] void refuse_unread(const Path& folder, const std::string& problem,
                                const char* consequence) {
  throw DeviceError(
      fmt::format("a checkpoint in out_dir cannot be read: {}\n{}\n"
                  "try again; if it stays, move {} away or name another --out_dir",
                  problem, consequence, folder.string()));
}

constexpr const char* kAnOlderOne =
    "an older one may be whole, but what was trained after it would be lost";
constexpr const char* kWhichIsNewest = "which one is the newest cannot be told without it";

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
  bool unreadable = false;  // now; it may be whole
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

std::vector<std::string> CheckpointStore::check_writable() try {
  std::vector<std::string> warnings;
  if (out_.is_checkpoint()) {
    throw ConfigError(fmt::format(
        "out_dir: {} is one checkpoint, not the folder of a run\nname the folder above it",
        out_.path().string()));
  }
  out_.create();
  lock_out_dir();
  if (!lock_->supported()) {
    warnings.push_back(fmt::format(
        "the file system of {} has no locks: take care that no second training writes there",
        out_.path().string()));
  }
  std::vector<std::string> ignored;  // the probe tells whether out_dir can be written
  out_.clean_up(ignored);
  out_.probe();
  next_save_number();
  set_latest_right();
  claimed_ = true;
  return warnings;
} catch (const FileError& error) {
  throw DeviceError(fmt::format(
      "{}\ncheckpoints go to out_dir = '{}': make it writable or name another --out_dir",
      error.what(), out_.path().string()));
}

// A kill between publishing a checkpoint and moving the link left it at the one before; and a run
// that has nothing left to do makes no save that would move it.
void CheckpointStore::set_latest_right() {
  const std::vector<Candidate> found = scan(Parts::kWeights);
  for (const Candidate& candidate : found) {
    if (candidate.unreadable) {
      refuse_unread(candidate.step.folder, candidate.problem, "it may be what latest must lead to");
    }
  }
  if (found.empty() || !found.front().manifest) return;
  const Path& newest = found.front().step.folder;
  if (newest.parent_path() != out_.path() || out_.pointed(kLatest) == newest.filename()) return;
  out_.point(kLatest, newest);
  out_.sync();
}

std::optional<std::string> CheckpointStore::reclaim() {
  if (!claimed_ || (lock_ && lock_->is_at(out_.path()))) return std::nullopt;
  lock_.reset();
  try {
    check_writable();
  } catch (const Error& error) {
    throw SaveFailed(error.what());
  }
  return fmt::format(
      "{} was moved or removed while the run was under way: it goes on in a new folder of that "
      "name; what was saved before is where the old one is",
      out_.path().string());
}

void CheckpointStore::check_space(const CheckpointTensors& tensors, Space space) {
  const std::int64_t one = checkpoint_bytes(tensors);
  std::int64_t count = 1;
  if (space != Space::kOneSave) {
    const auto there = space == Space::kResumedRun ? std::ssize(out_.steps()) : 0;
    count = std::max<std::int64_t>(keep_count_ + 2 - there, 1);
  }
  const std::int64_t needed = checked_mul(one, count);
  const auto available = file_system_->free_bytes(out_.nearest_existing());
  if (!available || *available >= needed) return;
  const std::string what =
      count == 1
          ? "a checkpoint"
          : fmt::format("the {} checkpoints that are there at once while this run saves", count);
  throw SaveFailed(fmt::format(
      "not enough disk space for {} in {}\nneeds {} ({} bytes), {} ({} bytes) free\n"
      "free some space{} or name another out_dir",
      what, out_.path().string(), format_bytes(needed), needed, format_bytes(*available),
      *available, count > 1 && keep_count_ > 1 ? ", lower --keep_checkpoints" : ""));
}

std::optional<Path> CheckpointStore::set_aside(const std::vector<std::string>& companions) {
  std::vector<Path> earlier;
  for (const StepFolder& step : out_.steps()) earlier.push_back(step.folder.filename());
  const bool has_content = std::ranges::any_of(companions, [&](const std::string& name) {
    const Path file = out_.path() / name;
    const auto kind = file_system_->kind(file);
    if (kind == std::filesystem::file_type::regular) {
      return file_system_->open_file(file)->byte_count() > 0;
    }
    return kind != std::filesystem::file_type::not_found;
  });
  if (earlier.empty() && !has_content) return std::nullopt;
  earlier.insert(earlier.end(), {kLatest, kBest});
  earlier.insert(earlier.end(), companions.begin(), companions.end());
  return checkpoint::set_aside(*file_system_, out_.path(), earlier);
}

Saved CheckpointStore::save(const TrainingState& state, const CheckpointTensors& tensors,
                            bool is_best) try {
  Saved saved;
  out_.create();
  out_.clean_up(saved.warnings);
  check_space(tensors);
  const Path folder = write_and_publish(state, tensors);
  std::erase(damaged_, folder);
  out_.point(kLatest, folder);
  if (is_best) out_.point(kBest, folder);
  out_.sync();
  prune(folder, saved.warnings);
  saved.folder = folder.string();
  return saved;
} catch (const FileError& error) {
  throw SaveFailed(save_failure(state, tensors, error));
}

Path CheckpointStore::write_and_publish(const TrainingState& state,
                                        const CheckpointTensors& tensors) {
  const std::int64_t save_number = next_save_number();
  const Path temporary = out_.create_temporary();
  const FolderLock lock(temporary);
  try {
    write_checkpoint(*file_system_, temporary, state, save_number, tensors);
    Path folder = out_.publish(temporary, state.iteration);
    last_save_number_ = save_number;
    return folder;
  } catch (const FileError& error) {
    out_.discard_temporary(temporary);
    throw SaveFailed(save_failure(state, tensors, error));
  } catch (...) {
    out_.discard_temporary(temporary);
    throw;
  }
}

std::string CheckpointStore::save_failure(const TrainingState& state,
                                          const CheckpointTensors& tensors,
                                          const FileError& error) {
  std::string text =
      fmt::format("checkpoint of iteration {} not saved: {}\n", state.iteration, error.what());
  const char* advice = "check the disk, then resume";
  if (is_full(error.error_number)) {
    advice = "make room, then resume";
    try {
      const std::int64_t needed = checkpoint_bytes(tensors);
      const auto available = file_system_->free_bytes(out_.path());
      if (available) {
        text += fmt::format("needs {} ({} bytes), {} ({} bytes) free in {}\n", format_bytes(needed),
                            needed, format_bytes(*available), *available, out_.path().string());
      }
    } catch (
        const FileError&) {  // NOLINT(bugprone-empty-catch): the first error is the one to tell
    }
  }
  return text + "the checkpoints saved before are intact: " + advice;
}

// Usable ones first, the newest of them at the front.
std::vector<CheckpointStore::Candidate> CheckpointStore::scan(Parts parts) const {
  std::vector<Candidate> found;
  std::vector<StepFolder> steps = out_.steps();
  if (out_.is_checkpoint()) steps = {{out_.path(), 0}};
  for (const StepFolder& step : steps) {
    try {
      found.push_back({step, read_manifest(*file_system_, step.folder, parts), {}, false});
    } catch (const CorruptCheckpoint& error) {
      found.push_back({step, std::nullopt, one_line(error.what())});
    } catch (const UnreadableCheckpoint& error) {
      found.push_back({step, std::nullopt, one_line(error.what()), true});
    }
  }
  std::ranges::sort(found, std::greater(), [](const Candidate& candidate) {
    return std::pair(candidate.manifest ? candidate.manifest->save_number : -1,
                     candidate.step.iteration);
  });
  return found;
}

// The usable ones in the order to try them; what is passed over becomes warnings. Throws DataError
// when there are step folders but not one to try, DeviceError when one cannot be read now and a
// training is to go on, or it would have been the only one.
std::vector<CheckpointStore::Candidate> CheckpointStore::candidates(
    Parts parts, WhichCheckpoint pick, std::vector<std::string>& warnings) const {
  std::vector<Candidate> found = scan(parts);
  const auto unusable =
      std::ranges::find_if(found, [](const Candidate& candidate) { return !candidate.manifest; });
  const bool none = unusable == found.begin();
  for (auto candidate = unusable; candidate != found.end(); ++candidate) {
    const bool older = !none && candidate->step.iteration < found.front().step.iteration;
    // Its save number is not known: by its iteration alone it may be the newest or not.
    const bool sampling = parts == Parts::kWeights && !none;
    if (candidate->unreadable && !sampling) {
      refuse_unread(candidate->step.folder, candidate->problem,
                    older ? kWhichIsNewest : kAnOlderOne);
    }
    if (!older) warnings.push_back(skipped(candidate->problem));
    if (candidate->unreadable && !contains(unread_, candidate->step.folder)) {
      unread_.push_back(candidate->step.folder);
    }
  }
  if (none && !found.empty()) {
    throw DataError(
        fmt::format("no usable checkpoint in {}{}\n"
                    "restore one from a copy, or start anew in another --out_dir",
                    out_.path().string(), joined(warnings)));
  }
  found.erase(unusable, found.end());
  if (pick != WhichCheckpoint::kBest || found.empty()) return found;
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

std::optional<Loaded> CheckpointStore::peek(Parts parts, WhichCheckpoint pick) const {
  Loaded loaded;
  const std::vector<Candidate> usable = candidates(parts, pick, loaded.warnings);
  if (usable.empty()) return std::nullopt;
  loaded.state = usable.front().manifest->state;
  loaded.folder = usable.front().step.folder.string();
  return loaded;
}

Loaded CheckpointStore::load(const CheckpointTensors& tensors, WhichCheckpoint pick) const {
  Loaded loaded;
  damaged_.clear();
  const Parts parts = tensors.optimizer.empty() ? Parts::kWeights : Parts::kWeightsAndOptimizer;
  for (const Candidate& candidate : candidates(parts, pick, loaded.warnings)) {
    try {
      read_checkpoint(*file_system_, candidate.step.folder, *candidate.manifest, tensors);
      loaded.state = candidate.manifest->state;
      loaded.folder = candidate.step.folder.string();
      return loaded;
    } catch (const CorruptCheckpoint& error) {
      loaded.warnings.push_back(skipped(one_line(error.what())));
      damaged_.push_back(candidate.step.folder);
    } catch (const UnreadableCheckpoint& error) {
      const std::string problem = one_line(error.what());
      if (parts != Parts::kWeights) refuse_unread(candidate.step.folder, problem, kAnOlderOne);
      loaded.warnings.push_back(skipped(problem));
      unread_.push_back(candidate.step.folder);
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

// One more than the highest of out_dir and of this store's own saves. What cannot be read may have
// any number, so that the first time all must be readable; after that the own count goes on.
std::int64_t CheckpointStore::next_save_number() {
  std::int64_t newest = last_save_number_.value_or(0);
  for (const Candidate& candidate : scan(Parts::kWeights)) {
    if (candidate.manifest) newest = std::max(newest, candidate.manifest->save_number);
    if (!candidate.unreadable || last_save_number_) continue;
    refuse_unread(candidate.step.folder, candidate.problem, kWhichIsNewest);
  }
  last_save_number_ = newest;
  return newest + 1;
}

// Folders that hold something else are neither counted nor removed: they may be of a newer Snug.
// Those known to be damaged are not counted, and go when enough newer ones are kept.
void CheckpointStore::prune(const Path& published, std::vector<std::string>& warnings) try {
  out_.clean_up(warnings);
  const std::optional<std::string> named[] = {out_.pointed(kLatest), out_.pointed(kBest)};
  const std::vector<Candidate> found = scan(Parts::kWeights);
  for (const Candidate& candidate : found) {
    if (!candidate.unreadable) continue;
    warnings.push_back("no older checkpoint was removed: " + candidate.problem);
    return;
  }
  int kept_count = 0;
  for (const Candidate& candidate : found) {
    const Path& folder = candidate.step.folder;
    if (!candidate.manifest) continue;
    if (kept_count < keep_count_) {
      kept_count += contains(damaged_, folder) ? 0 : 1;
      continue;
    }
    const bool is_named = std::ranges::find(named, folder.filename().string()) != std::end(named);
    if (folder == published || is_named || contains(unread_, folder)) continue;
    out_.discard(folder);
  }
} catch (const DeviceError& error) {  // the checkpoint is saved; the next save tries again
  warnings.push_back("no older checkpoint was removed: " + one_line(error.what()));
}

}  // namespace snug::checkpoint
