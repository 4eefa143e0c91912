#include "pickle/reader.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/input_file.h"
#include "pickle/machine.h"

namespace snug::pickle {

PickleDocument parse_pickle(std::string_view bytes, const std::string& name,
                            PickleDialect dialect) {
  if (static_cast<std::int64_t>(bytes.size()) > PickleLimits::kFileBytes) {
    throw DataError(fmt::format("{} is larger than the {} a pickle may have", name,
                                format_bytes(PickleLimits::kFileBytes)));
  }
  return take_pickle(bytes, name, dialect);
}

PickleDocument take_pickle(std::string_view& bytes, const std::string& name,
                           PickleDialect dialect) {
  PickleMachine machine(bytes, name, dialect);
  PickleDocument document = machine.run();
  bytes.remove_prefix(machine.taken_bytes());
  return document;
}

PickleDocument read_pickle(const std::filesystem::path& path) {
  return parse_pickle(read_whole_file(path, PickleLimits::kFileBytes), path.string());
}

}  // namespace snug::pickle
