// nanoGPT's own lines: how large the model is, and how far the run came.
#pragma once

#include <cstddef>
#include <string_view>

#include "doctor/log/summary.h"

namespace snug {

// Reads the line into the facts if nanoGPT's train.py or model.py prints such a line.
void read_progress(std::string_view line, LogFacts& facts);

// "torch" ends at `end` of the line: takes the version if one follows ("PyTorch version: 2.3.1",
// "torch==2.1.0+cu118", "PyTorch 2.9.1"). The first one stays, unless a later one says it more
// precisely.
void read_torch_version(std::string_view line, std::size_t end, LogFacts& facts);

}  // namespace snug
