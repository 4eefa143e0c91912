#include "prepare/byte_stream.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"
#include "base/shell_word.h"
#include "prepare/gzip_stream.h"
#include "prepare/raw_stream.h"
#include "prepare/zstd_stream.h"

namespace snug::prepare {
namespace {

using namespace std::string_view_literals;

// The line takes any number of files, and leaves rows without text out.
[[noreturn]] void fail_parquet(const std::string& name) {
  throw DataError(fmt::format(
      "{} is a Parquet file, which is not read directly. As JSON lines it is (pip install "
      "pyarrow):\n"
      "  python3 -c \"import json, sys, pyarrow.parquet as p; [print(json.dumps({{'text': t}})) "
      "for f "
      "in sys.argv[1:] for b in p.ParquetFile(f).iter_batches(1000, columns=['text']) for t in "
      "b['text'].to_pylist() if t]\" {} | snug prepare bpe - data/NAME --documents=json",
      name, shell_quoted(name)));
}

}  // namespace

std::unique_ptr<ByteStream> open_stream(const std::string& name) {
  return unpacked(std::make_unique<RawStream>(name));
}

std::unique_ptr<ByteStream> unpacked(std::unique_ptr<RawStream> raw) {
  const std::string_view head = raw->head();
  if (head.starts_with("\x1F\x8B")) return std::make_unique<GzipStream>(std::move(raw));
  if (head.starts_with("\x28\xB5\x2F\xFD")) return std::make_unique<ZstdStream>(std::move(raw));
  if (head.starts_with("PAR1")) fail_parquet(raw->name());
  struct Kind {
    std::string_view magic, name, tool;
  };
  constexpr Kind kOthers[] = {{"BZh", "bzip2", "bzcat"},
                              {"\xFD"
                               "7zXZ\0"sv,
                               "xz", "xzcat"},
                              {"PK\3\4", "zip", "unzip -p"}};
  for (const Kind& kind : kOthers) {
    if (!head.starts_with(kind.magic)) continue;
    throw DataError(
        fmt::format("{} is packed with {}; unpack it on the way:\n"
                    "  {} '{}' | snug prepare bpe - data/NAME",
                    raw->name(), kind.name, kind.tool, raw->name()));
  }
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) {
    throw DataError(
        fmt::format("{} is text in UTF-16; turn it into UTF-8 on the way:\n"
                    "  iconv -f utf-16 -t utf-8 '{}' | snug prepare bpe - data/NAME",
                    raw->name(), raw->name()));
  }
  return raw;
}

}  // namespace snug::prepare
