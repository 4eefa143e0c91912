// A file of torch.save: a pickled value whose tensors lie in the archive's other entries. Read
// without Python; what the pickle would call is never called. Format: docs/formats.md.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/byte_source.h"
#include "formats/stored_tensor.h"
#include "formats/torch/zip_archive.h"
#include "pickle/reader.h"

namespace snug::formats::torch {

// By its first bytes: a zip archive, or what torch.save wrote before PyTorch 1.6.
bool is_torch_file(const std::filesystem::path& path);

class TorchFile : public OpenFile {
 public:
  // Throws DataError for whatever is not such a file.
  explicit TorchFile(const std::filesystem::path& path);

  pickle::PickleValue root() const { return pickle_->root(); }
  const std::string& name() const { return name_; }

  // A value of kind kTensor as it lies in the file, which must outlive it. Throws DataError, by
  // `called`, for a layout or type that is not read, or data outside its storage.
  StoredTensor tensor(const pickle::PickleValue& value, const std::string& called);
  // A number, or a tensor of one element.
  double number(const pickle::PickleValue& value, const std::string& called);

 private:
  void open_archive(const std::filesystem::path& path);
  const ByteSource& storage(const std::string& key, const std::string& called);

  std::string name_;
  std::unique_ptr<ZipArchive> archive_;  // by pointer, as entries refer to it; null: an old file
  std::string prefix_;                   // "ckpt/": the folder inside the archive
  std::unique_ptr<FileBytes> old_file_;  // that the storages of an old file are parts of
  std::unique_ptr<pickle::PickleDocument> pickle_;
  std::unordered_map<std::string, std::unique_ptr<ByteSource>> storages_;
};

}  // namespace snug::formats::torch
