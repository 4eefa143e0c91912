// Inputs that can be read only once (standard input, pipes), kept as files for work that goes
// through them twice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "prepare/byte_stream.h"

namespace snug::prepare {

// Standard input, and any file that is not a regular one.
bool is_read_once(const std::string& input);

class KeptInputs {
 public:
  KeptInputs() = default;
  ~KeptInputs();  // removes the files
  KeptInputs(const KeptInputs&) = delete;
  KeptInputs& operator=(const KeptInputs&) = delete;

  // Called after each piece with the bytes taken so far; may throw to leave.
  using Taken = std::function<void(std::int64_t byte_count)>;

  // Copies, as they come, those of `inputs` that can be read only once into `folder`. Throws
  // DeviceError when that fails.
  void keep(const std::vector<std::string>& inputs, const std::filesystem::path& folder,
            const Taken& taken);

  // The bytes of all `inputs` on the disk; -1 when that is not known.
  std::int64_t byte_count_of(const std::vector<std::string>& inputs) const;

  // As open_stream, of the file where there is one; messages have the input's own name.
  std::unique_ptr<ByteStream> open(const std::string& input) const;

 private:
  std::string path_of(const std::string& input) const;

  std::map<std::string, std::string> files_;  // by the input's name
};

}  // namespace snug::prepare
