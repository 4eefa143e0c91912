// Files and folders that appear whole or not at all: written under `name.partial` beside the name
// that they get in the end.
#pragma once

#include <string_view>

#include "checkpoint/file_system.h"

namespace snug::formats {

// One output. What was not published is removed by the destructor, with everything in it.
class Partial {
 public:
  // Throws ConfigError when something of the name `to` exists: nothing is ever overwritten. The
  // folder that it goes to is made if it is missing, but not that one's.
  explicit Partial(checkpoint::Path to);
  ~Partial();
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;

  const checkpoint::Path& path() const { return partial_; }
  // Makes what was written durable and gives it its name. Throws DeviceError.
  void publish();

 private:
  checkpoint::Path to_, partial_;
  bool published_ = false, made_parent_ = false;
};

// The same, of a folder that exists from the start.
class PartialFolder : public Partial {
 public:
  explicit PartialFolder(checkpoint::Path to);
};
using PartialFile = Partial;

void write_text(const checkpoint::Path& path, std::string_view text);

}  // namespace snug::formats
