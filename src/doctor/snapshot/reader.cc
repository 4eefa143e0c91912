#include "doctor/snapshot/reader.h"

#include <algorithm>
#include <utility>

#include "base/input_file.h"
#include "doctor/snapshot/builder.h"
#include "pickle/stream/reader.h"

namespace snug::doctor::snapshot {
namespace {

Snapshot read_from(pickle::stream::ByteSource source, const std::string& name) {
  Snapshot snapshot;
  SnapshotBuilder builder(snapshot, name);
  const pickle::stream::Item root =
      pickle::stream::read_pickle_stream(std::move(source), name, builder);
  builder.finish(root);
  return snapshot;
}

}  // namespace

Snapshot read_snapshot(std::string_view bytes, const std::string& name) {
  Snapshot snapshot = read_from(
      [rest = bytes](std::span<char> out) mutable {
        const std::size_t count = std::min(out.size(), rest.size());
        std::copy_n(rest.begin(), count, out.begin());
        rest.remove_prefix(count);
        return count;
      },
      name);
  snapshot.byte_count = static_cast<std::int64_t>(bytes.size());
  return snapshot;
}

Snapshot read_snapshot_file(const std::filesystem::path& path) {
  const InputFile file(path);
  Snapshot snapshot = read_from(
      [&file, offset = std::int64_t{0}](std::span<char> out) mutable {
        const std::int64_t count = file.read_at(offset, std::as_writable_bytes(out));
        offset += count;
        return static_cast<std::size_t>(count);
      },
      path.string());
  snapshot.byte_count = file.byte_count();
  return snapshot;
}

}  // namespace snug::doctor::snapshot
