// What a run says about itself in its checkpoints, and what a resume makes of the differences.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/run_records.h"
#include "data/meta.h"
#include "data/token_file.h"
#include "data/vocabulary.h"
#include "device/device.h"

namespace snug::train {

// kCharTokenizer from a meta.pkl with characters; kGpt2Tokenizer without a meta.pkl, where the
// vocabulary can hold GPT-2's; else not known.
checkpoint::TokenizerRecord tokenizer_record(const data::Vocabulary& vocabulary);
// The characters of a record of kCharTokenizer.
data::Meta meta_of(const checkpoint::TokenizerRecord& record);

// Size and checksum: of the whole file up to TokenFile::kCheckAllLimitBytes, of samples spread over
// it where it is larger.
checkpoint::DataFileRecord data_file_record(const data::TokenSource& tokens);

checkpoint::ArithmeticRecord arithmetic_record(const device::Device& device);

// Throws DataError when the data set has another alphabet than the checkpoint's model was trained
// with, whatever their sizes: its ids mean other characters.
void require_same_tokenizer(const checkpoint::TokenizerRecord& saved,
                            const checkpoint::TokenizerRecord& now, const std::string& folder);

// A line for each difference that lets training go on, but not as it would have.
std::vector<std::string> tell_changes(const checkpoint::RunRecords& saved,
                                      const checkpoint::RunRecords& now, const std::string& folder);

}  // namespace snug::train
