// Token ids to train on, wherever they lie: one file or many.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace snug::data {

struct TokenFileNeeds {
  std::int64_t vocab_size = 0;  // every id must be below it
  std::int64_t block_size = 0;  // there must be more tokens than this
  // Whose vocabulary it is, for messages: a model's file or folder; empty: the data set's own.
  std::string model = "";
};

class TokenSource {
 public:
  virtual ~TokenSource() = default;

  virtual std::int64_t token_count() const noexcept = 0;
  virtual const std::string& name() const noexcept = 0;
  virtual std::vector<std::string> files() const = 0;  // their paths, in order
  virtual bool has_header() const noexcept = 0;        // that says how many bytes an id takes

  // Fills `out` with the tokens from position `first`, which must be there. Any number of threads
  // may read; nothing is allocated. Throws DataError for an id outside the vocabulary and for a
  // file that has become shorter since it was opened.
  virtual void read(std::int64_t first, std::span<std::int32_t> out) const = 0;

  // Reads everything once, in constant memory, for read()'s errors, where it is small enough to
  // wait for. Returns whether it did.
  virtual bool check_all_ids() const = 0;
};

// The tokens of a data set's `side`, "train" or "val": SIDE.bin, else the shards *_SIDE_*.bin
// and *_SIDE.bin as one. Throws DataError, saying what to do, for what cannot serve `needs`.
std::unique_ptr<TokenSource> open_tokens(const std::filesystem::path& folder,
                                         const std::string& side, const TokenFileNeeds& needs);

}  // namespace snug::data
