// For tests only: GPT-2's pre-tokenizer as the regular expression it is published as, run by PCRE2.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <gtest/gtest.h>
#include <pcre2.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace snug::tokenizer {

// \s is written out: PCRE2's also holds U+180E, which is no White_Space.
#define SNUG_TEST_SPACE                                            \
  "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}" \
  "\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

class PcreMatcher {
 public:
  explicit PcreMatcher(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
    if (!code_) throw std::runtime_error("pattern");
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
    match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

  // The end of the match at `begin`, which must be there and not be empty; 0 if there is none.
  std::size_t match_end(std::string_view utf8, std::size_t begin) const {
    const int found =
        pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(utf8.data()), utf8.size(), begin,
                    PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, match_.get(), nullptr);
    return found < 1 ? 0 : pcre2_get_ovector_pointer(match_.get())[1];
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> match_;
};

class PcreSplitter {
 public:
  // The ends of the pieces of any bytes. A byte that is not UTF-8 stands as U+FFFD for PCRE2, which
  // is no space, letter or number either.
  std::vector<std::size_t> piece_ends(std::string_view bytes) const {
    std::string utf8;
    std::vector<std::size_t> origin;  // in `bytes`, of each position of `utf8`
    for (std::size_t at = 0; at < bytes.size();) {
      const Utf8Char next = decode_utf8(bytes.substr(at));
      const std::size_t taken = next.length > 0 ? static_cast<std::size_t>(next.length) : 1;
      utf8 += next.length > 0 ? std::string(bytes.substr(at, taken)) : "\xEF\xBF\xBD";
      origin.resize(utf8.size(), at);
      at += taken;
    }
    origin.push_back(bytes.size());
    std::vector<std::size_t> ends;
    for (std::size_t at = 0; at < utf8.size();) {
      at = matcher_.match_end(utf8, at);
      if (at == 0) {
        ADD_FAILURE() << "the pattern matches everywhere";
        break;
      }
      ends.push_back(origin[at]);
    }
    return ends;
  }

 private:
  PcreMatcher matcher_{"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^" SNUG_TEST_SPACE
                       "\\p{L}\\p{N}]+|[" SNUG_TEST_SPACE "]+(?![^" SNUG_TEST_SPACE
                       "])|[" SNUG_TEST_SPACE "]+"};
};

}  // namespace snug::tokenizer
