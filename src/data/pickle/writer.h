// Writes plain data as a pickle of protocol 2, which every Python in use reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace snug {

// One value, usually a dict, and then finish(). Between begin_dict and end_dict values alternate:
// key, value, key, value. The caller keeps the order; nothing here checks it.
class PickleWriter {
 public:
  PickleWriter();

  void integer(std::int64_t value);
  void real(double value);
  void text(std::string_view utf8);  // valid UTF-8, below 4 GiB
  void begin_dict();
  void end_dict();

  // The pickle; the writer is spent.
  std::string finish();

 private:
  void little_endian(std::uint64_t value, int byte_count);

  std::string bytes_;
};

}  // namespace snug
