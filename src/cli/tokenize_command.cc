// `snug tokenize`: text to GPT-2's ids and back.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "console/output_filter.h"
#include "data/token_file.h"
#include "prepare/batch_reader.h"
#include "prepare/inputs.h"
#include "prepare/raw_stream.h"
#include "tokenizer/gpt2_tokenizer.h"

namespace snug::cli {
namespace {

using tokenizer::Gpt2Tokenizer;
using tokenizer::Gpt2Vocabulary;

// Ids with a comma or a space between them, through a buffer: fmt::print per id is slow.
class IdPrinter {
 public:
  explicit IdPrinter(bool json) : json_(json) {
    if (json_) text_ = "[";
  }
  void add(std::span<const std::uint16_t> ids) {
    for (const std::uint16_t id : ids) {
      if (!first_) text_ += json_ ? ", " : " ";
      first_ = false;
      fmt::format_to(std::back_inserter(text_), "{}", id);
    }
    flush();
  }
  void finish() {
    text_ += json_ ? "]\n" : "\n";
    flush();
  }

 private:
  void flush() {
    std::fwrite(text_.data(), 1, text_.size(), stdout);
    text_.clear();
  }
  bool json_, first_ = true;
  std::string text_;
};

// Text is any bytes, those of a gzip file too.
std::unique_ptr<prepare::ByteStream> open_as_it_is(const std::string& name) {
  return std::make_unique<prepare::RawStream>(name);
}

// A word takes 34 times its bytes while it is merged.
constexpr std::size_t kMaxWordBytes = 64 << 20;

void encode(const std::string& name, bool json, bool special) {
  prepare::BpeOptions options;  // the whole input, as one document
  options.inputs = prepare::expand_inputs({name});
  const Gpt2Tokenizer gpt2;
  tokenizer::Encoder encoder = gpt2.make_encoder();
  prepare::BatchReader reader(options, {}, 0, open_as_it_is, kMaxWordBytes);
  IdPrinter printer(json);
  std::vector<std::uint16_t> ids;
  while (const std::optional<prepare::TextBatch> batch = reader.next()) {
    ids.clear();
    special ? encoder.encode_with_special(batch->text, ids) : encoder.encode(batch->text, ids);
    printer.add(ids);
  }
  printer.finish();
}

// Reads whole numbers with brackets, commas and white space between them, however they are grouped.
class IdReader {
 public:
  explicit IdReader(const std::string& name)
      : name_(name), stream_(std::make_unique<prepare::RawStream>(name)) {}

  std::optional<std::int32_t> next() {
    int c = get();
    while (c != kEnd &&
           std::string_view("[], \t\r\n").find(static_cast<char>(c)) != std::string_view::npos) {
      c = get();
    }
    if (c == kEnd) return std::nullopt;
    std::int64_t id = 0;
    const std::int64_t start = position_;
    for (; c >= '0' && c <= '9'; c = get()) {
      if (id < Gpt2Vocabulary::kSize) id = id * 10 + (c - '0');
    }
    const bool ends = c == kEnd || std::string_view("[], \t\r\n").find(static_cast<char>(c)) !=
                                       std::string_view::npos;
    if (!ends) fail(fmt::format("byte {} is no part of a list of ids", position_));
    if (id >= Gpt2Vocabulary::kSize) {
      fail(fmt::format("the id at byte {} is outside GPT-2's vocabulary of {}", start,
                       Gpt2Vocabulary::kSize));
    }
    return static_cast<std::int32_t>(id);
  }

 private:
  static constexpr int kEnd = -1;

  int get() {
    if (at_ == size_) {
      size_ = stream_->read(buffer_);
      at_ = 0;
      if (size_ == 0) return kEnd;
    }
    ++position_;
    return static_cast<unsigned char>(buffer_[at_++]);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(
        fmt::format("{}: {}\nwanted ids as `snug tokenize` prints them, such as "
                    "15496 995 or [15496, 995]",
                    name_ == prepare::kStandardInput ? "standard input" : name_, what));
  }

  std::string name_;
  std::unique_ptr<prepare::ByteStream> stream_;
  std::array<char, 1 << 16> buffer_;
  std::size_t at_ = 0, size_ = 0;
  std::int64_t position_ = 0;
};

// Text to standard output: the very bytes, but on a terminal through the filter.
class TextPrinter {
 public:
  ~TextPrinter() { flush(); }
  void add(std::string_view text) {
    text_ += text;
    if (text_.size() > (1 << 16)) flush();
  }

 private:
  void flush() {
    if (is_terminal_) {
      std::fwrite(text_.data(), 1, text_.size(), stdout);
    } else {
      console::put_unfiltered(stdout, text_);
    }
    text_.clear();
  }
  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::string text_;
};

void decode_token_file(const std::string& name) {
  const Gpt2Vocabulary vocabulary;
  const data::TokenFile file(name, {Gpt2Vocabulary::kSize, 0});
  TextPrinter printer;
  std::array<std::int32_t, 4096> ids;
  for (std::int64_t first = 0; first < file.token_count();) {
    const auto count = static_cast<std::size_t>(
        std::min<std::int64_t>(static_cast<std::int64_t>(ids.size()), file.token_count() - first));
    file.read(first, std::span(ids).first(count));
    for (const std::int32_t id : std::span(ids).first(count)) printer.add(vocabulary.bytes_of(id));
    first += static_cast<std::int64_t>(count);
  }
}

void decode(const std::string& name) {
  if (name.ends_with(".bin")) {
    decode_token_file(name);
    return;
  }
  const Gpt2Vocabulary vocabulary;
  IdReader reader(name);
  TextPrinter printer;
  while (const std::optional<std::int32_t> id = reader.next())
    printer.add(vocabulary.bytes_of(*id));
}

}  // namespace

int tokenize_command(Arguments arguments) {
  OptionReader reader("tokenize", arguments);
  const bool json = reader.flag("json"), decodes = reader.flag("decode");
  const bool special = reader.flag("special");
  const std::vector<std::string> names = reader.names();
  if (names.size() != 1) {
    throw ConfigError(
        "tokenize takes one file, or - for standard input:\n"
        "  snug tokenize [--json] [--special] FILE\n  snug tokenize --decode FILE");
  }
  if (decodes && (json || special)) {
    throw ConfigError("--decode writes text: --json and --special go the other way");
  }
  decodes ? decode(names[0]) : encode(names[0], json, special);
  return 0;
}

}  // namespace snug::cli
