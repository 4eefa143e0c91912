// nanoGPT's ckpt.pt, in and out: weights, AdamW's moments, iteration, best loss and config, as
// nanoGPT's train.py saves them. Format: docs/formats.md.
#pragma once

#include "formats/format.h"

namespace snug::formats::nanogpt {

bool is_nanogpt(const checkpoint::Path& path);  // the file, or a folder with a ckpt.pt
Source open_nanogpt(const checkpoint::Path& path);
void write_nanogpt(const Source& source, const checkpoint::Path& to, const WriteOptions& options);

}  // namespace snug::formats::nanogpt
