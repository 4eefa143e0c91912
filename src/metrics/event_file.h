// TensorBoard's event files: records of a length, its checksum, a protobuf message and its
// checksum. Written here by hand, since a run needs three of its messages; format in
// docs/formats.md.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace snug::metrics {

// The folder in out_dir that `tensorboard --logdir` reads.
constexpr const char* kEventFolder = "tensorboard";

struct Scalar {
  std::string_view tag;  // "loss/val"
  double value;
};

// The record that holds `message`.
std::string event_record(std::string_view message);

// Messages of type tensorflow.Event.
std::string version_event(double wall_time);
std::string start_event(double wall_time, std::int64_t step);
std::string scalar_event(double wall_time, std::int64_t step,
                         std::initializer_list<Scalar> scalars);

class EventFile {
 public:
  // A new file in `folder`, which is made. TensorBoard then forgets what earlier files of the
  // folder have from `first_step` on: a resumed run reads as if it had never stopped. Throws
  // DeviceError.
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);

  // On the disk's way when it returns. A full disk does not end the run here: the next save does.
  void add(std::int64_t step, std::initializer_list<Scalar> scalars);

 private:
  void write(const std::string& message);

  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace snug::metrics
