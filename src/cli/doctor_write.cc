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
#include "base/input_file.h"
#include "config/fields.h"
#include "config/rewrite/rewrite.h"
#include "data/atomic_file.h"
#include "doctor/diagnosis/settings.h"
#include "report/doctor/report.h"

namespace snug::cli {
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

std::string repr(const config::Config& config, const config::Field& field) {
  return config::python_repr(config::field_value(config, field));
}

// Belongs into a config of nanoGPT, or of the doctor for it. effective_batch does not: nanoGPT has
// the accumulation that it makes.
bool is_written(const config::Field& field) {
  return field.source == config::KeySource::kNanoGpt ||
         (doctor::diagnosis::decides_memory(field.key) && field.key != "effective_batch");
}

// Decided by the run, its log or the fix; not derived from other keys.
bool is_decided(const doctor::DoctorCase& c, const fit::Fix& fix, const config::Field& field) {
  if (c.config.is_set(field.key) || field.key == "compile") return true;
  if (field.key == "gradient_accumulation_steps") return true;
  if (field.key == "checkpoint_blocks") return fix.needs_edit;
  return std::any_of(fix.changes.begin(), fix.changes.end(),
                     [&](const config::Change& change) { return change.key == field.key; });
}

std::vector<config::Change> changes_of(const doctor::DoctorCase& c, const fit::Fix& fix,
                                       const Source& source) {
  const std::vector<std::string> files =
      source.name.empty() ? std::vector<std::string>{} : std::vector{source.name};
  const config::LoadedConfig alone = config::read_config(config::Command::kPlan, files);
  std::vector<config::Change> changes;
  for (const config::Field& field : config::all_fields()) {
    if (!is_written(field) || !is_decided(c, fix, field)) continue;
    const std::string after = repr(fix.config, field);
    if (after == repr(alone.values, field)) continue;
    changes.push_back({std::string(field.key), repr(c.config.values, field), after});
  }
  return changes;
}

// In ASCII and English whatever the language: Python reads a file in the code page of its system.
std::string edit_header(const doctor::DoctorCase& c, const fit::Fix& fix) {
  std::string text = fmt::format(
      "# By `snug doctor`: fits {} only with this edit of nanoGPT's code, which no key makes:\n",
      format_bytes(c.card_bytes));
  for (const std::string& line : report::fix_code(report::DoctorReport{}, fix)) {
    text += fmt::format("#   {}\n", line);
  }
  return text;
}

std::string reason_for(const doctor::DoctorCase& c, const fit::Fix& fix) {
  if (fix.needs_edit) return "set by `snug doctor`, for use with the edit named at the top";
  return fmt::format("set by `snug doctor` so that it fits {}", format_bytes(c.card_bytes));
}

// Every config that the doctor writes says so in its comments.
bool may_overwrite(const std::string& path) {
  std::error_code none;
  const std::filesystem::file_status status = std::filesystem::status(path, none);
  if (!std::filesystem::is_regular_file(status)) return true;  // a pipe, or an error of its own
  constexpr std::int64_t kMaxBytes = kMiB;
  if (std::filesystem::file_size(path, none) > kMaxBytes) return false;
  const std::string text = read_whole_file(path, kMaxBytes);
  return text.empty() || text.find("`snug doctor`") != std::string::npos;
}

}  // namespace

std::string reason_not_to_write(const doctor::DoctorCase& c, const DoctorOptions& options) {
  std::error_code none;
  const std::string source = source_of(options).name;
  if (!source.empty() && std::filesystem::equivalent(source, *options.write, none)) {
    throw ConfigError(
        report::text_in(options.language, report::TextId::kErrorWriteOntoConfig, {source}));
  }
  if (!may_overwrite(*options.write)) {
    throw ConfigError(
        fmt::format("--write={} exists, and `snug doctor` did not write it\n"
                    "name another file, or remove this one first",
                    *options.write));
  }
  const bool is_other = c.diagnosis && c.diagnosis->cause == doctor::diagnosis::Cause::kNotMemory;
  if (is_other) return report::text_in(options.language, report::TextId::kNotWrittenNotMemory);
  if (!c.fixes) return report::text_in(options.language, report::TextId::kNotWrittenNoConfig);
  if (c.fixes->chosen) return "";
  return report::text_in(options.language, c.fixes->fits_as_is
                                               ? report::TextId::kNotWrittenFits
                                               : report::TextId::kNotWrittenNothingFits);
}

std::string corrected_config(const doctor::DoctorCase& c, const DoctorOptions& options) {
  const fit::Fix& fix = *c.fixes->chosen;
  const Source source = source_of(options);
  const std::string name = source.name.empty() ? *options.write : source.name;
  const std::string text = config::rewrite::rewrite_config(
                               name, source.text, changes_of(c, fix, source), reason_for(c, fix))
                               .text;
  return fix.needs_edit ? fmt::format("{}\n{}", edit_header(c, fix), text) : text;
}

void write_whole(const std::string& path, const std::string& text, report::Language language) {
  errno = 0;
  try {
    data::write_file(path, text);
  } catch (const DeviceError&) {
    const int reason = errno;
    if (reason == 0) throw;
    throw DeviceError(report::text_in(language, report::TextId::kErrorCannotWrite,
                                      {path, std::generic_category().message(reason)}));
  }
}

}  // namespace snug::cli
