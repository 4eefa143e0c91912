// The parts that checkpoint_testing.h declares; named _test so that it stays out of the library.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <ranges>
#include <sstream>

#include "checkpoint/checkpoint_testing.h"

namespace snug::checkpoint::testing {

namespace fs = std::filesystem;

std::string read_text(const Path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const Path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::set<std::string> names_in(const Path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

TinyModel::TinyModel(int width) {
  weights = {add("wte.weight", DType::kF32, {7, width}), add("h.0.bias", DType::kBF16, {3}),
             add("step", DType::kI32, {})};
  optimizer = {add("exp_avg.wte.weight", DType::kF32, {7, width}),
               add("exp_avg_sq.wte.weight", DType::kF32, {7, width})};
}

NamedTensor TinyModel::add(const std::string& name, DType dtype, const Shape& shape) {
  const NamedTensor tensor{name, dtype, shape, static_cast<std::int32_t>(buffers_.size())};
  buffers_.emplace_back(static_cast<std::size_t>(tensor.byte_count()));
  return tensor;
}

std::span<const std::byte> TinyModel::get(std::int32_t id, std::int64_t offset,
                                          std::int64_t byte_count) {
  return std::span(buffers_.at(static_cast<std::size_t>(id)))
      .subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(byte_count));
}

void TinyModel::put(std::int32_t id, std::int64_t offset, std::int64_t byte_count,
                    const Fill& fill) {
  fill(std::span(buffers_.at(static_cast<std::size_t>(id)))
           .subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(byte_count)));
}

namespace {
std::byte value_at(int seed, std::size_t buffer, std::size_t at) {
  return std::byte((static_cast<std::size_t>(seed) * 31 + buffer * 17 + at * 7 + 1) & 0xff);
}
}  // namespace

void TinyModel::fill(int seed) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    for (std::size_t at = 0; at < buffers_[i].size(); ++at) buffers_[i][at] = value_at(seed, i, at);
  }
}

bool TinyModel::holds(int seed) const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    for (std::size_t at = 0; at < buffers_[i].size(); ++at) {
      if (buffers_[i][at] != value_at(seed, i, at)) return false;
    }
  }
  return true;
}

TrainingState state_at(std::int64_t iteration) {
  TrainingState state;
  state.iteration = iteration;
  state.best_val_loss = 1.0 / 3.0;
  state.seed = 0xfedcba9876543210;
  state.sequences_drawn = iteration * 480;
  state.config_json = R"({"learning_rate":0.0006,"n_layer":2})";
  state.fit_texts = {"batch_size 12 -> 6"};
  state.records.tokenizer = {kCharTokenizer, {"\n", "a", "\xC3\xA9"}};
  state.records.data_files = {{"train.bin", {1000, 0x0123456789abcdef}}};
  state.records.arithmetic = {"AVX2", 4};
  state.fits_json = R"([{"iteration":7,"outcome":"nothing_fits"}])";
  return state;
}

namespace {
// The files of a folder that was given another name.
void follow_rename(std::set<Path>& files, const Path& from, const Path& to) {
  std::set<Path> followed;
  for (const Path& file : files) {
    followed.insert(file.parent_path() == from ? to / file.filename() : file);
  }
  files = std::move(followed);
}
}  // namespace

void FaultPlan::lose_unsynced() {
  for (const Path& file : unsynced_files) {
    std::error_code ignored;
    const auto bytes = fs::file_size(file, ignored);
    if (!ignored) fs::resize_file(file, bytes / 2, ignored);
  }
  for (const Path& file : unsynced_names) ::unlink(file.c_str());
  for (const Undo& entry : std::views::reverse(undo)) entry.action();
}

// Counts the operation and lets it happen, or not.
void FaultyFileSystem::pass(const Path& path) {
  const int operation = plan_.operation_count++;
  const bool power_lost =
      plan_.fault_at >= 0 && plan_.error_number == 0 && operation >= plan_.fault_at;
  if (power_lost) throw PowerLoss();
  if (operation == plan_.fault_at) throw FileError("do with", path, plan_.error_number);
}

// Puts aside what a rename or removal is about to end, so that it can be undone.
void FaultyFileSystem::bury(const Path& path) {
  if (plan_.graveyard.empty() || !fs::exists(fs::symlink_status(path))) return;
  const Path grave = plan_.graveyard / std::to_string(plan_.operation_count);
  if (fs::is_symlink(path)) {
    fs::copy_symlink(path, grave);
  } else {
    fs::create_hard_link(path, grave);
  }
  plan_.undo.push_back({path.parent_path(), [=] {
                          std::error_code ignored;
                          fs::rename(grave, path, ignored);
                        }});
}

int FaultyFileSystem::create_file(const Path& path) {
  pass(path);
  const int descriptor = FileSystem::create_file(path);
  plan_.unsynced_files.insert(path);
  plan_.unsynced_names.insert(path);
  return descriptor;
}

std::size_t FaultyFileSystem::write_some(int descriptor, const Path& path,
                                         std::span<const std::byte> bytes) {
  const bool torn = plan_.operation_count == plan_.fault_at && bytes.size() > 1;
  if (torn) FileSystem::write_some(descriptor, path, bytes.first(bytes.size() / 2));
  pass(path);
  return FileSystem::write_some(descriptor, path,
                                bytes.first(std::min(bytes.size(), plan_.max_write_bytes)));
}

void FaultyFileSystem::sync_file(int, const Path& path) {
  pass(path);
  plan_.unsynced_files.erase(path);
}

bool FaultyFileSystem::create_folder(const Path& path) {
  pass(path);
  if (!FileSystem::create_folder(path)) return false;
  plan_.undo.push_back({path.parent_path(), [=] {
                          std::error_code ignored;
                          fs::remove_all(path, ignored);
                        }});
  return true;
}

void FaultyFileSystem::create_link(const Path& target, const Path& path) {
  pass(path);
  if (plan_.links_unsupported) throw FileError("create link", path, EPERM);
  FileSystem::create_link(target, path);
  plan_.undo.push_back({path.parent_path(), [=] { ::unlink(path.c_str()); }});
}

void FaultyFileSystem::rename(const Path& from, const Path& to) {
  pass(to);
  if (!fs::is_directory(fs::symlink_status(to))) bury(to);
  FileSystem::rename(from, to);
  follow_rename(plan_.unsynced_files, from, to);
  follow_rename(plan_.unsynced_names, from, to);
  plan_.undo.push_back({to.parent_path(), [=] { ::rename(to.c_str(), from.c_str()); }});
}

void FaultyFileSystem::remove_file(const Path& path) {
  pass(path);
  bury(path);
  FileSystem::remove_file(path);
}

void FaultyFileSystem::remove_empty_folder(const Path& path) {
  pass(path);
  FileSystem::remove_empty_folder(path);
  plan_.undo.push_back({path.parent_path(), [=] { ::mkdir(path.c_str(), 0777); }});
}

void FaultyFileSystem::sync_folder(const Path& path) {
  pass(path);
  std::erase_if(plan_.unsynced_names, [&](const Path& file) { return file.parent_path() == path; });
  std::erase_if(plan_.undo, [&](const FaultPlan::Undo& entry) { return entry.folder == path; });
}

bool FaultPlan::look_fails(const char* what, const Path& path) {
  const int look = read_count++;
  read_log.push_back(std::string(what) + " " + path.filename().string());
  return read_fault_at >= 0 && look >= read_fault_at && look < read_fault_at + read_fault_count;
}

void FaultyFileSystem::look(const char* what, const Path& path) {
  if (plan_.look_fails(what, path)) throw FileError(what, path, plan_.read_error_number);
}

fs::file_type FaultyFileSystem::kind(const Path& path) {
  look("look at", path);
  return FileSystem::kind(path);
}

std::vector<Path> FaultyFileSystem::list(const Path& folder) {
  look("list", folder);
  return FileSystem::list(folder);
}

Path FaultyFileSystem::read_link(const Path& path) {
  look("read the link", path);
  return FileSystem::read_link(path);
}

namespace {
class FaultyInputFile : public InputFile {
 public:
  FaultyInputFile(const Path& path, FaultPlan& plan) : InputFile(path), plan_(plan) {}

 protected:
  std::int64_t read_some(std::span<std::byte> out, std::int64_t offset) const override {
    if (!plan_.look_fails("read", name())) return InputFile::read_some(out, offset);
    errno = plan_.read_error_number;
    return -1;
  }

 private:
  FaultPlan& plan_;
};
}  // namespace

std::unique_ptr<InputFile> FaultyFileSystem::open_file(const Path& path) {
  look("open", path);
  FileSystem::open_file(path);  // for its errors
  return std::make_unique<FaultyInputFile>(path, plan_);
}

std::optional<std::int64_t> FaultyFileSystem::free_bytes(const Path& folder) {
  return plan_.free_bytes >= 0 ? plan_.free_bytes : FileSystem::free_bytes(folder);
}

}  // namespace snug::checkpoint::testing
