#include "cli/doctor_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/bytes.h"
#include "base/error.h"
#include "config/fields.h"
#include "config/rewrite/rewrite.h"
#include "data/atomic_file.h"
#include "doctor/diagnosis/settings.h"
#include "report/doctor/report.h"

namespace snug {
namespace {

struct Source {
  std::string name, text;
};

// The last file of the command line; empty: none was named.
Source source_of(const DoctorOptions& options) {
  Source source;
  for (const std::string& word : options.config) {
    if (word.starts_with("-")) continue;
    std::ifstream file(word, std::ios::binary);
    source.text.assign(std::istreambuf_iterator<char>(file), {});
    source.name = word;
  }
  return source;
}

std::string repr(const Config& config, const Field& field) {
  return python_repr(field_value(config, field));
}

// Belongs into a config of nanoGPT, or of the doctor for it. effective_batch does not: nanoGPT has
// the accumulation that it makes.
bool is_written(const Field& field) {
  return field.source == KeySource::kNanoGpt ||
         (decides_memory(field.key) && field.key != "effective_batch");
}

// Decided by the run, its log or the fix; not derived from other keys.
bool is_decided(const DoctorCase& c, const Fix& fix, const Field& field) {
  if (c.config.is_set(field.key) || field.key == "compile") return true;
  if (field.key == "gradient_accumulation_steps") return true;
  if (field.key == "checkpoint_blocks") return fix.needs_edit;
  return std::any_of(fix.changes.begin(), fix.changes.end(),
                     [&](const Change& change) { return change.key == field.key; });
}

std::vector<Change> changes_of(const DoctorCase& c, const Fix& fix, const Source& source) {
  const std::vector<std::string> files =
      source.name.empty() ? std::vector<std::string>{} : std::vector{source.name};
  const LoadedConfig alone = read_config(Command::kPlan, files);
  std::vector<Change> changes;
  for (const Field& field : all_fields()) {
    if (!is_written(field) || !is_decided(c, fix, field)) continue;
    const std::string after = repr(fix.config, field);
    if (after == repr(alone.values, field)) continue;
    changes.push_back({std::string(field.key), repr(c.config.values, field), after});
  }
  return changes;
}

// In ASCII and English whatever the language: Python reads a file in the code page of its system.
std::string edit_header(const DoctorCase& c, const Fix& fix) {
  std::string text = fmt::format(
      "# By `snug doctor`: fits {} only with this edit of nanoGPT's code, which no key makes:\n",
      format_bytes(c.card_bytes));
  for (const std::string& line : fix_code(DoctorReport{}, fix)) {
    text += fmt::format("#   {}\n", line);
  }
  return text;
}

std::string reason_for(const DoctorCase& c, const Fix& fix) {
  if (fix.needs_edit) return "set by `snug doctor`, for use with the edit named at the top";
  return fmt::format("set by `snug doctor` so that it fits {}", format_bytes(c.card_bytes));
}

}  // namespace

std::string reason_not_to_write(const DoctorCase& c, const DoctorOptions& options) {
  std::error_code none;
  const std::string source = source_of(options).name;
  if (!source.empty() && std::filesystem::equivalent(source, *options.write, none)) {
    throw ConfigError(text_in(options.language, TextId::kErrorWriteOntoConfig, {source}));
  }
  const bool is_other = c.diagnosis && c.diagnosis->cause == Cause::kNotMemory;
  if (is_other) return text_in(options.language, TextId::kNotWrittenNotMemory);
  if (!c.fixes) return text_in(options.language, TextId::kNotWrittenNoConfig);
  if (c.fixes->chosen) return "";
  return text_in(options.language,
                 c.fixes->fits_as_is ? TextId::kNotWrittenFits : TextId::kNotWrittenNothingFits);
}

std::string corrected_config(const DoctorCase& c, const DoctorOptions& options) {
  const Fix& fix = *c.fixes->chosen;
  const Source source = source_of(options);
  const std::string name = source.name.empty() ? *options.write : source.name;
  const std::string text =
      rewrite_config(name, source.text, changes_of(c, fix, source), reason_for(c, fix)).text;
  return fix.needs_edit ? fmt::format("{}\n{}", edit_header(c, fix), text) : text;
}

void write_whole(const std::string& path, const std::string& text, Language language) {
  errno = 0;
  try {
    write_file(path, text);
  } catch (const DeviceError&) {
    const int reason = errno;
    if (reason == 0) throw;
    throw DeviceError(text_in(language, TextId::kErrorCannotWrite,
                              {path, std::generic_category().message(reason)}));
  }
}

}  // namespace snug
