// What reads text and token ids: the tokenizer, packed streams, documents of a batch, token files,
// a run's metrics.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/token_file.h"
#include "fuzz_targets.h"
#include "memory_file.h"
#include "metrics/run_history.h"
#include "prepare/batch_encoder.h"
#include "prepare/byte_stream.h"
#include "report/plot/loss_chart.h"
#include "report/plot/page.h"
#include "tokenizer/gpt2_tokenizer.h"

namespace snug {
namespace {

using tokenizer::Gpt2Tokenizer;
using Ids = std::vector<std::uint16_t>;

const Gpt2Tokenizer& gpt2() {
  static const Gpt2Tokenizer tokenizer;
  return tokenizer;
}

Ids encoded(std::string_view text) {
  static tokenizer::Encoder encoder = gpt2().make_encoder();
  Ids ids;
  encoder.encode(text, ids);
  return ids;
}

}  // namespace

void fuzz_tokens(std::string_view bytes) {
  const Ids ids = encoded(bytes);
  require(gpt2().decode(std::vector<std::int32_t>(ids.begin(), ids.end())) == bytes,
          "decoding gives the bytes back");
  require(std::all_of(ids.begin(), ids.end(), [](std::uint16_t id) { return id < 50256; }),
          "no special token out of text");
  const std::size_t cut = tokenizer::last_safe_cut(bytes);
  Ids parts = encoded(bytes.substr(0, cut));
  const Ids rest = encoded(bytes.substr(cut));
  parts.insert(parts.end(), rest.begin(), rest.end());
  require(parts == ids, "a safe cut changes no token");
}

void fuzz_packed(std::string_view bytes) {
  constexpr std::size_t kEnough = 4 << 20;  // a small file may stand for terabytes
  const MemoryFile file(bytes);
  try {
    const auto stream = prepare::open_stream(file.path());
    std::array<char, 1 << 14> buffer;
    std::size_t total = 0;
    while (total < kEnough) {
      const std::size_t count = stream->read(buffer);
      require(count <= buffer.size(), "no more than asked for");
      if (count == 0) break;
      total += count;
    }
    require(stream->position() <= static_cast<std::int64_t>(bytes.size()), "taken from the file");
  } catch (const DataError&) {
  }
}

void fuzz_documents(std::string_view bytes) {
  if (bytes.empty()) return;
  prepare::BpeOptions options;
  options.inputs = {"fuzz"};
  options.documents = static_cast<prepare::DocumentKind>(static_cast<unsigned char>(bytes[0]) % 3);
  options.split = (bytes[0] & 8) != 0 ? prepare::Split::kCharacters : prepare::Split::kDocuments;
  options.val_share = 0.5;
  prepare::TextBatch batch;
  batch.text = bytes.substr(1);
  batch.ends_document = true;
  const auto run = [&](bool skip) {
    options.skip_bad_lines = skip;
    prepare::BatchEncoder encoder(options, gpt2(), 10);
    return encoder.encode(batch, 0);
  };
  const prepare::EncodedBatch skipped = run(true);
  const auto ends = [](const Ids& ids) { return std::count(ids.begin(), ids.end(), 50256); };
  require(ends(skipped.train) + ends(skipped.val) == skipped.counts.documents,
          "an end of text for each document");
  try {
    const prepare::EncodedBatch all = run(false);
    require(all.train == skipped.train && skipped.counts.bad_lines == 0, "nothing was bad");
  } catch (const DataError&) {
    require(skipped.counts.bad_lines > 0, "a bad line is counted");
  }
}

void fuzz_token_file(std::string_view bytes) {
  const MemoryFile memory(bytes);
  try {
    const data::TokenFile file(memory.path(), {50257, 4});
    require(file.token_count() * 2 <= static_cast<std::int64_t>(bytes.size()),
            "no more than is there");
    std::vector<std::int32_t> ids(static_cast<std::size_t>(file.token_count()));
    file.read(0, ids);
    require(std::ranges::max(ids) < 50257 && std::ranges::min(ids) >= 0, "ids of the vocabulary");
  } catch (const DataError&) {
  }
}

void fuzz_metrics(std::string_view bytes) {
  metrics::RunHistory run;
  run.name = bytes.substr(0, 40);
  while (!bytes.empty()) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    metrics::add_line(line, run);
    bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
  }
  if (run.loss.empty() && run.val_loss.empty()) return;
  const metrics::RunHistory runs[] = {run, run};
  const std::string page = report::plot_page(runs);
  require(page.find("=\"nan") == std::string::npos && page.find("=\"inf") == std::string::npos,
          "every coordinate is a number");
}

}  // namespace snug
