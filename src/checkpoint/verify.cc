#include "checkpoint/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "checkpoint/out_folder.h"

namespace snug::checkpoint {
namespace {

constexpr std::int64_t kPieceBytes = kMiB;

class Verifier {
 public:
  Verifier(FileSystem& file_system, const std::function<void(std::int64_t)>& progress)
      : file_system_(file_system), progress_(progress) {}

  CheckpointVerdict verify(const StepFolder& step) {
    CheckpointVerdict verdict;
    verdict.folder = step.folder;
    verdict.iteration = step.iteration;
    try {
      const Manifest manifest =
          read_manifest(file_system_, step.folder, Parts::kWeightsAndOptimizer);
      verdict.save_number = manifest.save_number;
      verdict.iteration = manifest.state.iteration;
      verdict.byte_count = manifest.model_file.byte_count + manifest.optimizer_file.byte_count;
      require_file(step.folder / kModelFile, manifest.model_file, manifest.weights);
      require_file(step.folder / kOptimizerFile, manifest.optimizer_file, manifest.optimizer);
    } catch (const DataError& error) {
      verdict.problem = error.what();
    } catch (const DeviceError& error) {
      verdict.problem = error.what();
      verdict.unreadable = true;
    }
    return verdict;
  }

 private:
  void require_file(const Path& path, const FileDigest& digest,
                    const std::vector<TensorLabel>& labels) {
    const SafetensorsReader reader(file_system_.open_file(path));
    const bool same_labels = std::ranges::equal(
        reader.entries(), labels, [](const SafetensorsEntry& entry, const TensorLabel& label) {
          return entry.label == label;
        });
    if (!same_labels) {
      throw DataError(fmt::format("{}: holds other tensors than state.json tells", path.string()));
    }
    const std::uint64_t found = checksum_of(path);
    if (found == digest.checksum) return;
    throw DataError(fmt::format("{}: the content has changed since it was saved", path.string()));
  }

  std::uint64_t checksum_of(const Path& path) {
    const auto file = file_system_.open_file(path);
    Checksum checksum;
    std::vector<std::byte> buffer(static_cast<std::size_t>(kPieceBytes));
    for (std::int64_t at = 0; at < file->byte_count(); at += kPieceBytes) {
      const auto piece = std::span(buffer).first(
          static_cast<std::size_t>(std::min(kPieceBytes, file->byte_count() - at)));
      file->read_exactly(at, piece);
      checksum.update(piece);
      bytes_read_ += std::ssize(piece);
      progress_(bytes_read_);
    }
    return checksum.value();
  }

  FileSystem& file_system_;
  const std::function<void(std::int64_t)>& progress_;
  std::int64_t bytes_read_ = 0;
};

// A kill between the steps of a save leaves links a step behind: `latest` at the checkpoint before,
// or a link to one that was moved aside and not yet replaced. All of it is whole, a resume takes
// the newest, and the next run sets the names right.
void check_target(const Path& link, const std::string& target, OutDirVerdict& verdict) {
  const auto& found = verdict.checkpoints;
  const auto named = [&](const std::string& name) {
    return std::ranges::find_if(
        found, [&](const CheckpointVerdict& v) { return v.folder.filename() == name; });
  };
  const auto checkpoint = named(target);
  if (checkpoint == found.end()) {
    const auto aside = named(target + std::string(kReplacedSuffix));
    if (aside == found.end()) {
      verdict.problems.push_back(
          fmt::format("{} leads to {}, which is not there", link.string(), target));
    } else {
      verdict.notes.push_back(
          fmt::format("{} leads to {}, which is in {}: a save was stopped before it replaced it; "
                      "the next run gives it its name back",
                      link.string(), target, aside->folder.string()));
    }
  } else if (link.filename() == "latest" && checkpoint + 1 != found.end()) {
    verdict.notes.push_back(fmt::format(
        "{} leads to {}, but {} was saved later{}", link.string(), target,
        found.back().folder.filename().string(),
        found.back().problem.empty() ? ": a resume takes that one" : ", and is damaged"));
  }
}

void check_links(const OutFolder& out, FileSystem& file_system, OutDirVerdict& verdict) {
  for (const char* name : {"latest", "best"}) {
    const auto target = out.pointed(name);
    const Path link = out.path() / name;
    if (target) {
      check_target(link, *target, verdict);
    } else if (file_system.kind(link) != std::filesystem::file_type::not_found) {
      verdict.problems.push_back(fmt::format("{} leads to no checkpoint", link.string()));
    }
  }
}

}  // namespace

bool OutDirVerdict::whole() const {
  return problems.empty() && std::ranges::all_of(checkpoints, [](const CheckpointVerdict& verdict) {
           return verdict.problem.empty();
         });
}

OutDirVerdict verify_out_dir(const Path& path, FileSystem& file_system,
                             const std::function<void(std::int64_t)>& progress) {
  OutDirVerdict verdict;
  Verifier verifier(file_system, progress);
  if (file_system.kind(path / kStateFile) == std::filesystem::file_type::regular) {
    verdict.checkpoints.push_back(verifier.verify({path, 0}));
    return verdict;
  }
  const OutFolder out(path, file_system);
  for (const StepFolder& step : out.steps()) verdict.checkpoints.push_back(verifier.verify(step));
  if (verdict.checkpoints.empty()) {
    throw DataError(fmt::format(
        "nothing to verify: {} holds no checkpoint\nname a run's out_dir, or a checkpoint in it",
        path.string()));
  }
  std::ranges::sort(verdict.checkpoints, std::less(), [](const CheckpointVerdict& v) {
    return std::pair(v.save_number, v.iteration);
  });
  check_links(out, file_system, verdict);
  return verdict;
}

}  // namespace snug::checkpoint
