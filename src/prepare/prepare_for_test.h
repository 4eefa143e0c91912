// For tests only: inputs, and what preparing them must give, made the simple way.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_directory.h"
#include "prepare/prepare_bpe.h"
#include "tokenizer/gpt2_tokenizer.h"

namespace snug::prepare {

using Tokens = std::vector<std::uint16_t>;

inline Tokens tokens_of(std::string_view text, bool end_of_text = false) {
  static const tokenizer::Gpt2Tokenizer gpt2;
  Tokens ids;
  gpt2.make_encoder().encode(text, ids);
  if (end_of_text) ids.push_back(tokenizer::Gpt2Vocabulary::kEndOfText);
  return ids;
}

inline Tokens tokens_in(const std::string& file_bytes, std::size_t header_bytes = 0) {
  Tokens ids((file_bytes.size() - header_bytes) / 2);
  std::memcpy(ids.data(), file_bytes.data() + header_bytes, ids.size() * 2);
  return ids;
}

// Words of several alphabets, lines and empty lines, about `size` bytes.
inline std::string some_text(std::size_t size, std::uint32_t seed = 1) {
  const char* const words[] = {"the",   " fox", " don't",       "\n",          "  ",
                               " 1234", ".",    "\u4F60\u597D", " na\u00EFve", " \U0001F600",
                               "\r\n",  "\tx",  " Zebra",       ",",           "\n\n"};
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < size) text += words[random() % std::size(words)];
  return text;
}

inline std::string gzipped(const std::string& text) {
  z_stream state{};
  deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&state, text.size()) + 64, '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  deflate(&state, Z_FINISH);
  out.resize(out.size() - state.avail_out);
  deflateEnd(&state);
  return out;
}

inline std::string zstd_packed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

class PrepareTest : public ::testing::Test {
 protected:
  BpeOptions options(std::vector<std::string> names, DocumentKind documents) const {
    BpeOptions options;
    for (std::string& name : names) name = (folder_.path() / name).string();
    options.inputs = std::move(names);
    options.directory = folder_.path() / "out";
    options.documents = documents;
    options.thread_count = 3;
    return options;
  }
  BpeOptions whole_text(const std::string& name) const {
    BpeOptions made = options({name}, DocumentKind::kFile);
    made.split = Split::kCharacters;
    made.val_share = 0.1;
    made.end_of_text = false;
    return made;
  }
  Tokens out(const std::string& name, std::size_t header_bytes = 0) const {
    return tokens_in(folder_.read("out/" + name), header_bytes);
  }

  TestDirectory folder_;
};

}  // namespace snug::prepare
