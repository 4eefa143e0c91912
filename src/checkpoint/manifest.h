// state.json: where a run stands, and what the other two files of a checkpoint must be. Text in,
// text out; knows nothing of files. Format: docs/formats.md.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checksum.h"
#include "checkpoint/run_records.h"
#include "checkpoint/tensor_label.h"

namespace snug::checkpoint {

constexpr std::int64_t kManifestVersion = 1;
constexpr std::int64_t kManifestMaxBytes = 4 << 20;  // some 90 bytes per tensor; GPT-2 XL has 1,740

// Dynamic loss scaling of a run in float16, see train/loss_scaler.h.
struct LossScale {
  double factor = 65536;
  std::int64_t good_updates = 0;     // in a row, since the factor changed
  std::int64_t skipped_updates = 0;  // of the whole run: AdamW counts only those that were made
};

// Where a run stands: with the weights and the optimizer, all that a resume needs.
struct TrainingState {
  std::int64_t iteration = 0;                                      // iterations done
  double best_val_loss = std::numeric_limits<double>::infinity();  // infinite: not evaluated yet
  std::uint64_t seed = 0;
  std::int64_t sequences_drawn = 0;    // training sequences used so far
  LossScale loss_scale;                // as it began, in a run that is not in float16
  std::string config_json = "{}";      // a JSON object; comes back compact, with keys sorted
  std::string fits_json = "[]";        // a JSON list of objects, see train/fit_story.h; likewise
  std::vector<std::string> fit_texts;  // the same as an older Snug kept it: lines for people
  RunRecords records;                  // tokenizer, data files, arithmetic
};

struct Manifest {
  TrainingState state;
  std::int64_t save_number = 0;  // counts the saves into one out_dir; the newest has the highest
  FileDigest model_file;
  FileDigest optimizer_file;
  std::vector<TensorLabel> weights;
  std::vector<TensorLabel> optimizer;
};

// Throws InternalError when config_json or fits_json is not what it should be. A best_val_loss that
// is not finite is read back as infinity.
std::string to_json(const Manifest& manifest);

// Throws DataError that names `file` and what is wrong. Unknown fields are ignored.
Manifest parse_manifest(std::string_view text, const Path& file);

}  // namespace snug::checkpoint
