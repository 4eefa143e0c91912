// Source: a model out of a file, whatever program wrote it, and the training that it comes from as
// far as the file tells. A format makes one (format.h); training, sampling, evaluation and the
// writers of other formats know nothing but this.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/run_records.h"
#include "config/gpt_sizes.h"
#include "formats/stored_tensor.h"
#include "model/model_spec.h"

namespace snug::formats {

// AdamW's moments of a parameter, by the parameter's name and one of these.
constexpr const char* kFirstMoment = ".exp_avg";
constexpr const char* kSecondMoment = ".exp_avg_sq";

struct Source {
  std::string name;         // the file or folder, for messages
  std::string_view format;  // see format.h
  config::GptSizes sizes;   // vocab_size: rows of the token embedding; block_size: positions
  // Where the training stood, and the tokenizer; iteration 0 and the sizes as config for a file of
  // weights only.
  checkpoint::TrainingState state;
  bool has_optimizer = false;        // both moments of every parameter
  std::vector<std::string> notices;  // what was left out or assumed, a line each

  // Keyed by the names of model()'s parameters; moments have a suffix.
  std::unordered_map<std::string, StoredTensor> tensors;
  std::vector<std::unique_ptr<OpenFile>> files;  // that the tensors lie in

  const StoredTensor& tensor(const std::string& wanted) const;

  // Every parameter that these sizes ask for.
  model::ModelSpec model() const;
  // The same for a format that always has biases: zeros where the source has none.
  model::ModelSpec model_with_biases() const;
};

// Throws DataError, by tensor name, unless the source has every parameter of its model (and moment,
// if it has an optimizer), in the shape that its sizes ask for and within its bytes.
void check_complete(const Source& source);

// The names, sorted, of tensors that are no parameter of its model. Before moments are added.
std::vector<std::string> unknown_tensors(const Source& source);

// Throws DataError for sizes that no model can have.
void check_sizes(const config::GptSizes& sizes, const std::string& file);

// The tokenizer of a file that does not name one: GPT-2's where the vocabulary has room for it,
// else not known.
checkpoint::TokenizerRecord gpt2_by_size(std::int64_t vocab_size);

// The sizes as a saved config: what a file of weights only has for TrainingState::config_json.
std::string config_json_of(const config::GptSizes& sizes);

// Fills the caller's tensors, piece by piece and in their types. Of the positions there may be more
// than are wanted: the first ones are taken, as nanoGPT's crop_block_size does.
// Throws DataError, before a byte of a tensor changes, when a tensor is missing or of another
// shape.
void fill(const Source& source, const checkpoint::CheckpointTensors& wanted);

// All of a parameter.
std::vector<float> read_whole(const Source& source, const std::string& parameter);

}  // namespace snug::formats
