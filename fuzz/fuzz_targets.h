// What is fuzzed: any bytes through a whole path of the program, within this process and without
// touching a disk. All return normally whatever the bytes; errors that a user would be told are
// expected and dropped. An InternalError, a broken promise of a header or any other exception
// escapes.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace snug {

// How far a log goes. Each step takes some ten times as long as the one before.
enum class LogDepth {
  kDiagnosis,  // read, settings taken from it, diagnosed without a model
  kReport,     // and told as text and JSON
  kModel,      // diagnosed with the run that it shows
  kFixes,      // and told with its fixes and as a page, as `snug doctor --log=` does
};
void fuzz_log(std::string_view bytes, LogDepth depth);

// Goes as deep as the length of the input says: most go a short way.
void fuzz_log(std::string_view bytes);

// A config file: read, resolved, echoed, rewritten. Bytes that begin with "--" are a command line,
// an argument per line.
void fuzz_config(std::string_view bytes);

// A ckpt.pt or an llm.c model: opened, and every tensor read.
void fuzz_checkpoint(std::string_view bytes);
// The pickle inside a ckpt.pt.
void fuzz_torch_pickle(std::string_view bytes);
// A Hugging Face config.json: read, written and read again.
void fuzz_model_config(std::string_view bytes);
// Small JSON, as each of: an index of shards, a tokenizer.json of characters, rows of tokens for
// `eval`, a journal of `prepare`.
void fuzz_lists(std::string_view bytes);
// A meta.pkl: the pickle, its keys; what was taken from it is written and read back.
void fuzz_pickle(std::string_view bytes);

// A memory snapshot of PyTorch: read, its tensors named; some also examined with fixes and told.
void fuzz_snapshot(std::string_view bytes);

// The header of a safetensors file, after a line with the number of bytes that follow it.
void fuzz_safetensors(std::string_view bytes);

// A state.json: as it is, and with a checksum that fits, without which nothing but the checksum
// would be looked at. What was taken from it is written and read back.
void fuzz_state(std::string_view bytes);
// Any bytes as text: encoded and decoded, whole and cut in two.
void fuzz_tokens(std::string_view bytes);
// A file that `prepare` reads: plain, gzip, zstd, or of a kind that it refuses.
void fuzz_packed(std::string_view bytes);
// A batch of `prepare`: the first byte says what its documents are, the rest is their text.
void fuzz_documents(std::string_view bytes);
// A token file of nanoGPT or llm.c.
void fuzz_token_file(std::string_view bytes);
// A metrics.jsonl, drawn.
void fuzz_metrics(std::string_view bytes);

inline void require(bool holds, std::string_view promise) {
  if (!holds) throw std::logic_error("broken promise: " + std::string(promise));
}

}  // namespace snug
