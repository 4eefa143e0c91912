// A file format of checkpoints: how its files are known, a reader and a writer. One row each in
// format.cc; `convert`, `init_from`, `eval` and `sample` go through them and name no format.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/source.h"

namespace snug::formats {

struct WriteOptions {
  DType dtype = DType::kF32;  // of the weights, where the format leaves a choice
};

struct Format {
  std::string_view name;         // as --to= takes it
  std::string_view description;  // "nanoGPT's ckpt.pt"
  std::string_view gelu;         // the form that its program computes; "": whichever the model has
  bool keeps_training;           // a place for the optimizer's state
  bool has_dtypes;               // WriteOptions::dtype counts; else float32
  bool (*is_one)(const checkpoint::Path& path);  // null: not read
  Source (*open)(const checkpoint::Path& path);  // null: not read
  // Null: not written. Writes under `to`, which does not exist, what appears whole or not at all.
  void (*write)(const Source& source, const checkpoint::Path& to, const WriteOptions& options);
  bool (*names_one)(
      const checkpoint::Path& to);  // whether a name that does not exist yet asks for this format
};

std::span<const Format> all_formats();
// Null when there is none of that name.
const Format* find_format(std::string_view name);

// By what the file or folder holds. Throws DataError, saying what can be read, for what is none.
Source open_checkpoint(const checkpoint::Path& path);

// By --to, or else by the form of `to`: .pt, .bin, .gguf, and for a folder Hugging Face's from our
// own checkpoint and our own from any other. Throws ConfigError for what cannot be written.
const Format& format_to_write(const Source& source, const checkpoint::Path& to,
                              std::string_view wanted);

}  // namespace snug::formats
