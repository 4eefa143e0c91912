#include "metrics/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <system_error>

#include "base/error.h"
#include "metrics/crc32c.h"

namespace snug::metrics {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

template <typename Number>
void put_fixed(std::string& out, Number number) {
  std::array<char, sizeof(Number)> bytes;
  std::memcpy(bytes.data(), &number, sizeof(Number));
  out.append(bytes.data(), bytes.size());
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// Protobuf's wire types, in the low three bits of a field's key.
enum WireType : std::uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void put_key(std::string& out, int field, WireType type) {
  put_varint(out, (static_cast<std::uint64_t>(field) << 3) | type);
}

void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

// Event: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log.
std::string event(double wall_time, std::int64_t step) {
  std::string out;
  put_key(out, 1, kFixed64);
  put_fixed(out, wall_time);
  if (step != 0) {
    put_key(out, 2, kVarint);
    put_varint(out, static_cast<std::uint64_t>(step));
  }
  return out;
}

double now() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace

std::string event_record(std::string_view message) {
  std::string length, record;
  put_fixed(length, static_cast<std::uint64_t>(message.size()));
  record = length;
  put_fixed(record, masked(crc32c(length)));
  record += message;
  put_fixed(record, masked(crc32c(message)));
  return record;
}

std::string version_event(double wall_time) {
  std::string out = event(wall_time, 0);
  put_bytes(out, 3, "brain.Event:2");
  return out;
}

std::string start_event(double wall_time, std::int64_t step) {
  std::string out = event(wall_time, step), session;
  put_key(session, 1, kVarint);  // SessionLog: 1 status, of which START is 1
  put_varint(session, 1);
  put_bytes(out, 7, session);
  return out;
}

std::string scalar_event(double wall_time, std::int64_t step,
                         std::initializer_list<Scalar> scalars) {
  std::string out = event(wall_time, step), summary;
  for (const Scalar& scalar : scalars) {
    std::string value;  // Summary.Value: 1 tag, 2 simple_value
    put_bytes(value, 1, scalar.tag);
    put_key(value, 2, kFixed32);
    put_fixed(value, static_cast<float>(scalar.value));
    put_bytes(summary, 1, value);
  }
  put_bytes(out, 5, summary);
  return out;
}

EventFile::EventFile(const std::filesystem::path& folder, std::int64_t first_step) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const double wall_time = now();
  // TensorBoard reads files in the order of their names: seconds first, then what tells two files
  // of one second apart.
  std::string path;
  for (int number = 0; number < 1000; ++number) {
    path = (folder / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                                 static_cast<std::int64_t>(wall_time), host_name(), ::getpid(),
                                 number))
               .string();
    file_.reset(std::fopen(path.c_str(), "wbx"));
    if (file_ || errno != EEXIST) break;
  }
  if (!file_) {
    throw DeviceError(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
  }
  write(version_event(wall_time));
  write(start_event(wall_time, first_step));
}

void EventFile::add(std::int64_t step, std::initializer_list<Scalar> scalars) {
  write(scalar_event(now(), step, scalars));
}

void EventFile::write(const std::string& message) {
  const std::string record = event_record(message);
  std::fwrite(record.data(), 1, record.size(), file_.get());
  std::fflush(file_.get());
}

}  // namespace snug::metrics
