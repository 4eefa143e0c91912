#include "data/meta.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "data/atomic_file.h"
#include "data/dataset_publication.h"
#include "pickle/reader.h"
#include "pickle/writer.h"

namespace snug::data {
namespace {

constexpr const char* kVocabSize = "vocab_size";
constexpr const char* kItos = "itos";
constexpr const char* kStoi = "stoi";
constexpr const char* kEntropy = "entropy_per_char";

// Checks one meta.pkl, key by key.
class MetaReader {
 public:
  MetaReader(std::string name, pickle::PickleDocument document)
      : name_(std::move(name)), document_(std::move(document)) {}

  Meta read() const {
    const pickle::PickleValue root = document_.root();
    if (root.kind() != pickle::PickleKind::kDict) {
      fail(fmt::format("wanted a dict, found a {}", pickle::name_of(root.kind())));
    }
    Meta meta;
    read_vocab_size(root, meta);
    if (const auto itos = root.find(kItos)) read_itos(*itos, meta);
    if (const auto stoi = root.find(kStoi)) check_stoi(*stoi, meta);
    if (const auto entropy = root.find(kEntropy)) read_entropy(*entropy, meta);
    return meta;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(
        fmt::format("{} is not usable: {}\nmake the dataset again with `snug prepare`, "
                    "or remove meta.pkl to train with the default vocabulary",
                    name_, what));
  }

  void read_vocab_size(const pickle::PickleValue& root, Meta& meta) const {
    const auto value = root.find(kVocabSize);
    if (!value) fail("it has no vocab_size");
    if (value->kind() != pickle::PickleKind::kInt) {
      fail(fmt::format("vocab_size must be an int and is a {}", pickle::name_of(value->kind())));
    }
    meta.vocab_size = value->integer();
    if (meta.vocab_size <= 0 || meta.vocab_size > std::numeric_limits<std::int32_t>::max()) {
      fail(fmt::format("vocab_size must be from 1 to {} and is {}",
                       with_thousands(std::numeric_limits<std::int32_t>::max()),
                       with_thousands(meta.vocab_size)));
    }
  }

  // The number of pairs bounds what is allocated, whatever vocab_size says.
  void read_itos(const pickle::PickleValue& itos, Meta& meta) const {
    if (itos.kind() != pickle::PickleKind::kDict) {
      fail(fmt::format("itos must be a dict and is a {}", pickle::name_of(itos.kind())));
    }
    if (itos.size() == 0) return;  // no characters, as if it were not there
    if (static_cast<std::int64_t>(itos.size()) != meta.vocab_size) {
      fail(fmt::format("vocab_size is {}, but itos has {} entries", meta.vocab_size, itos.size()));
    }
    std::vector<std::string> texts(itos.size());
    std::vector<bool> seen(itos.size());
    for (std::size_t i = 0; i < itos.size(); ++i) {
      const pickle::PickleValue id = itos.key(i), text = itos.value(i);
      if (id.kind() != pickle::PickleKind::kInt || text.kind() != pickle::PickleKind::kString) {
        fail(fmt::format("itos must map int to str and has {} to {}", pickle::name_of(id.kind()),
                         pickle::name_of(text.kind())));
      }
      if (id.integer() < 0 || id.integer() >= meta.vocab_size) {
        fail(fmt::format("itos has the id {}, vocab_size is {}", id.integer(), meta.vocab_size));
      }
      const auto index = static_cast<std::size_t>(id.integer());
      if (seen[index]) fail(fmt::format("itos has the id {} twice", index));
      seen[index] = true;
      texts[index] = text.text();
    }
    const std::int64_t vocab_size = meta.vocab_size;
    meta = make_meta(std::move(texts));
    if (static_cast<std::int64_t>(meta.stoi.size()) != vocab_size) {
      fail("itos gives two ids the same text");
    }
  }

  void check_stoi(const pickle::PickleValue& stoi, const Meta& meta) const {
    if (stoi.kind() != pickle::PickleKind::kDict) {
      fail(fmt::format("stoi must be a dict and is a {}", pickle::name_of(stoi.kind())));
    }
    if (meta.itos.empty()) return;
    if (stoi.size() != meta.itos.size()) {
      fail(fmt::format("itos has {} entries and stoi {}", meta.itos.size(), stoi.size()));
    }
    for (std::size_t i = 0; i < stoi.size(); ++i) {
      const pickle::PickleValue text = stoi.key(i), id = stoi.value(i);
      if (text.kind() != pickle::PickleKind::kString || id.kind() != pickle::PickleKind::kInt) {
        fail(fmt::format("stoi must map str to int and has {} to {}", pickle::name_of(text.kind()),
                         pickle::name_of(id.kind())));
      }
      const auto found = meta.stoi.find(std::string(text.text()));
      if (found == meta.stoi.end() || found->second != id.integer()) {
        fail(fmt::format("stoi and itos disagree about the id {}", id.integer()));
      }
    }
  }

  void read_entropy(const pickle::PickleValue& entropy, Meta& meta) const {
    const bool usable = entropy.kind() == pickle::PickleKind::kFloat &&
                        std::isfinite(entropy.real()) && entropy.real() >= 0;
    if (!usable) fail("entropy_per_char must be a float, finite and not negative");
    meta.entropy_floor = entropy.real();
  }

  std::string name_;
  pickle::PickleDocument document_;
};

}  // namespace

Meta make_meta(std::vector<std::string> itos) {
  Meta meta;
  meta.vocab_size = static_cast<std::int64_t>(itos.size());
  meta.stoi.reserve(itos.size());
  for (std::size_t id = 0; id < itos.size(); ++id) {
    meta.stoi.emplace(itos[id], static_cast<std::int32_t>(id));
  }
  meta.itos = std::move(itos);
  return meta;
}

std::optional<Meta> read_meta(const std::filesystem::path& directory) {
  require_whole_dataset(directory);
  const std::filesystem::path path = directory / "meta.pkl";
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::not_found) return std::nullopt;
  return MetaReader(path.string(), pickle::read_pickle(path)).read();
}

Meta parse_meta(std::string_view bytes, const std::string& name) {
  return MetaReader(name, pickle::parse_pickle(bytes, name)).read();
}

std::string pickle_of(const Meta& meta) {
  pickle::PickleWriter writer;
  writer.begin_dict();
  writer.text(kVocabSize);
  writer.integer(meta.vocab_size);
  if (!meta.itos.empty()) {
    writer.text(kItos);
    writer.begin_dict();
    for (std::size_t id = 0; id < meta.itos.size(); ++id) {
      writer.integer(static_cast<std::int64_t>(id));
      writer.text(meta.itos[id]);
    }
    writer.end_dict();
    writer.text(kStoi);
    writer.begin_dict();
    for (std::size_t id = 0; id < meta.itos.size(); ++id) {
      writer.text(meta.itos[id]);
      writer.integer(static_cast<std::int64_t>(id));
    }
    writer.end_dict();
  }
  if (meta.entropy_floor) {
    writer.text(kEntropy);
    writer.real(*meta.entropy_floor);
  }
  writer.end_dict();
  return writer.finish();
}

void write_meta(const std::filesystem::path& directory, const Meta& meta) {
  AtomicFile file(directory / "meta.pkl");
  file.append(pickle_of(meta));
  file.stage();
  file.publish();
}

}  // namespace snug::data
