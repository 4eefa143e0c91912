// A file from the network, by curl or wget, whichever the machine has: neither is linked, since
// what is linked is in memory in every run.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace snug::prepare {

struct RemoteFile {
  std::string url;
  std::int64_t byte_count = 0;
  std::uint64_t checksum = 0;  // xxh64
};

// nanoGPT's source of the Shakespeare data sets.
RemoteFile tiny_shakespeare();

bool is_intact(const std::filesystem::path& path, const RemoteFile& file);

// Puts the file at `path`, whole and with the right checksum, or throws DataError, which says what
// to do without a network. A server that sends a byte now and then is given up after `most_time`.
void fetch(const RemoteFile& file, const std::filesystem::path& path,
           std::chrono::milliseconds most_time = std::chrono::seconds(300));

}  // namespace snug::prepare
