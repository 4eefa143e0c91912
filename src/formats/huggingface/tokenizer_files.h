// The tokenizer's files of a Hugging Face folder: written from what a checkpoint carries, and what
// they tell of a folder that is read.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/run_records.h"
#include "formats/source.h"

namespace snug::formats::huggingface {

// GPT-2's tokenizer or characters, as AutoTokenizer reads them; no file where the source does not
// know its tokenizer. The result is the id of the end-of-text token, -1 where there is none.
std::int64_t write_tokenizer_files(const Source& source, const checkpoint::Path& folder);

// What the folder's files tell, or else the size of the vocabulary; of kind "" for a tokenizer that
// Snug does not have.
checkpoint::TokenizerRecord tokenizer_of(const checkpoint::Path& folder, std::int64_t vocab_size);

// tokenizer.json with a token for each character.
std::string make_character_tokenizer(const std::vector<std::string>& characters);
// What a tokenizer.json holds: the characters of such a file, by id, or GPT-2's pairs; of kind ""
// when it is anything else.
checkpoint::TokenizerRecord tokenizer_in(std::string_view tokenizer_json);

}  // namespace snug::formats::huggingface
