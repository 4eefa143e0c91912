// Writes plain data as a pickle of protocol 2, which every Python in use reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace snug::pickle {

// One value, usually a dict, and then finish(). Between begin_dict and end_dict values alternate:
// key, value, key, value. The caller keeps the order; nothing here checks it. The last four are for
// files that torch reads: see formats/nanogpt.
class PickleWriter {
 public:
  PickleWriter();

  void integer(std::int64_t value);
  void real(double value);
  void text(std::string_view utf8);  // valid UTF-8, below 4 GiB
  void boolean(bool value);
  void none();
  void begin_dict();
  void end_dict();
  void begin_list();
  void end_list();
  void begin_tuple();
  void end_tuple();

  void global(std::string_view module, std::string_view name);
  void persistent_id();  // makes one of the value before it
  void reduce();         // calls the value before the last with the last, a tuple
  void begin_items();    // of a dict that reduce() made, until end_dict()

  // The pickle; the writer is spent.
  std::string finish();

 private:
  void little_endian(std::uint64_t value, int byte_count);

  std::string bytes_;
};

}  // namespace snug::pickle
