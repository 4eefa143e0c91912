// What the report says, in its order and language, before it is text or HTML. Internal to both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/doctor/report.h"

namespace snug::report {

enum class Tone : std::uint8_t { kPlain, kGood, kWarn, kBad };

// "When   first evaluation, before iteration 0"
struct DoctorFact {
  std::string label;
  std::vector<std::string> lines;
  bool is_command = false;  // to copy: `lines` are the words of one command, quoted
};
struct DoctorFacts {
  std::vector<DoctorFact> facts;
};

// The colour of a bar: one per role, the same as on the plan's page; see web/shared.css.
enum class Band : std::uint8_t {
  kOutside,  // CUDA's context; in a plan the program itself
  kWeights,
  kOptimizer,
  kGradients,
  kActivations,
  kLossHead,
  kWorkspace,  // reserved, but in no tensor
  kInputs,     // on the plan's page only
  kHalfCopies,
  kTensors,  // of any role: a message does not tell them apart
  kOthers,
  kUnknown,
};

struct DoctorBar {
  std::string label;
  std::int64_t bytes = 0;
  bool is_free = false;  // shown as empty
  Band band = Band::kUnknown;
};
struct DoctorBars {
  Language language = Language::kEnglish;  // of the amounts
  std::string title;
  std::vector<DoctorBar> bars;
  std::int64_t whole_bytes = 0;  // of the card or of all bars
  std::vector<std::string> lines;
};

struct DoctorPoints {
  std::string title;
  std::vector<std::string> points;
};

struct DoctorColumn {
  std::string heading;
  std::size_t columns = 0;  // of a terminal; longer cells wrap
  bool is_number = false;   // stands right
};
struct DoctorRow {
  Tone mark = Tone::kPlain;  // kGood: fits, kBad: does not
  std::vector<std::string> cells;
};
struct DoctorTable {
  std::string title;
  bool has_marks = false;
  std::vector<DoctorColumn> columns;
  std::vector<DoctorRow> rows;
  std::size_t rows_in_text = 0;  // more are left out there; 0: all
  std::string more;              // says so
  std::vector<std::string> lines;
};

struct DoctorCode {
  std::string title;
  std::string note;
  std::vector<std::string> code;  // lines
};

using DoctorBlock = std::variant<DoctorFacts, DoctorBars, DoctorPoints, DoctorTable, DoctorCode>;

struct DoctorContent {
  Tone tone = Tone::kPlain;
  std::string headline;
  std::string explanation;
  std::vector<DoctorBlock> blocks;
};

DoctorContent doctor_content(const DoctorReport& report);

// The parts that doctor_content() puts together.
void add_diagnosis(const DoctorReport& report, DoctorContent& content);  // with a log
void add_need(const DoctorReport& report, DoctorContent& content);       // without one
void add_fixes(const DoctorReport& report, DoctorContent& content);

DoctorBars held_by_model(const DoctorReport& report);
DoctorTable phase_table_of(const DoctorReport& report);
// What the times of fixes rest on.
std::string time_assumption(const DoctorReport& report);

// "logits, (65536, 50304) bfloat16, 6.14 GiB"
std::string candidate_line(Language language, const doctor::diagnosis::Candidate& candidate);
// "batch 64 × 1024 tokens × vocabulary 50304"; empty when the shape says nothing.
std::string shape_in_words(const DoctorReport& report,
                           const doctor::diagnosis::Candidate& candidate);
// "certain (99%): the shape is in the log"
std::string candidate_confidence(Language language, const doctor::diagnosis::Candidate& candidate);

// "batch 4, accumulate 128", in the language.
std::string fix_name(const DoctorReport& report, const fit::Fix& fix);
TextId fix_effect(const fit::Fix& fix);
// A split that comes with checkpointing, which has no kind of its own.
bool has_checkpointing(const fit::Fix& fix);

// What PyTorch itself needs: without CUDA's context, as all needs are shown. Null: not known.
ByteRange without_context(const doctor::torch::TorchMemory* memory, const ByteRange& need);

// "5.20 GiB to 6.10 GiB", one amount when both are the same.
std::string range_text(Language language, const ByteRange& range);
std::string range_text(Language language, std::int64_t low_bytes, std::int64_t high_bytes);

}  // namespace snug::report
