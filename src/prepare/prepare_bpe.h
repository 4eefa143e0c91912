// Makes a data set of GPT-2 tokens from text of any size: streams the inputs in bounded memory,
// encodes on all cores, and puts the files in place whole. The same files for any number of threads
// and after any number of interruptions.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "prepare/batch_encoder.h"
#include "prepare/options.h"

namespace snug::prepare {

struct BpeProgress {
  const char* phase = "";         // "counting", "encoding"
  std::int64_t taken_bytes = 0;   // of the inputs, as they lie on the disk
  std::int64_t total_bytes = -1;  // -1: not known, standard input
  std::int64_t tokens = 0;
};

struct BpeSummary {
  TextCounts counts;
  std::int64_t train_tokens = 0, val_tokens = 0;
  std::vector<std::string> files;
  bool went_on = false;  // from where an earlier run was interrupted
};

struct BpeHooks {
  std::function<void(const BpeProgress&)> progress;  // called often
  std::function<bool()> stop;                        // true: keep what is done and leave
  // At most so much work is lost by a kill.
  std::chrono::steady_clock::duration journal_interval = std::chrono::seconds(10);
};

// `stop` asked for it: nothing failed, so who asked decides on the exit code.
struct StoppedError : DeviceError {
  using DeviceError::DeviceError;
};

// Throws DataError for input that cannot be used, DeviceError when reading or writing fails, and
// StoppedError; then the data set that was there before is as it was.
BpeSummary prepare_bpe(const BpeOptions& options, const BpeHooks& hooks);

}  // namespace snug::prepare
