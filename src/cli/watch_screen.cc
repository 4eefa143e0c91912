#include "cli/watch_screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "cli/devices_report.h"
#include "console/output_filter.h"

namespace snug::cli {
namespace {

constexpr std::size_t kKeptSamples = 512;  // more than a terminal is wide
constexpr std::size_t kCardProcesses = 4;  // shown of each card

struct Line {
  std::string text;
  bool detail = false;  // goes first where there is no room for all
};

void append(std::vector<MemorySample>& samples, MemorySample sample) {
  if (samples.size() == kKeptSamples) samples.erase(samples.begin());
  samples.push_back(sample);
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Each character that is shown here takes one column.
std::size_t columns_of(const std::string& utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), starts_character));
}

std::string first_columns(const std::string& utf8, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    if (starts_character(utf8[i]) && seen++ == columns) return utf8.substr(0, i);
  }
  return utf8;
}

// "3.10 of 11.63 GiB", or "812.00 MiB of 11.63 GiB" where the units differ.
std::string used_of(MemorySample used, MemorySample total) {
  if (!used || !total) return "memory unknown";
  std::string first = format_bytes(*used);
  const std::string second = format_bytes(*total);
  const std::size_t unit = first.find(' ');
  if (first.substr(unit) == second.substr(second.find(' '))) first.resize(unit);
  return fmt::format("{} of {}", first, second);
}

std::string share_of(MemorySample used, MemorySample total) {
  if (!used || !total || *total <= 0) return "";
  return fmt::format("  {:.0f}%", 100 * static_cast<double>(*used) / static_cast<double>(*total));
}

// The curve, and after it the maximum that was seen.
std::string curve_line(const std::vector<MemorySample>& samples, MemorySample total,
                       std::size_t columns) {
  const MemorySample peak =
      samples.empty() ? MemorySample() : *std::max_element(samples.begin(), samples.end());
  const std::string note = peak ? fmt::format("  peak {}", format_bytes(*peak)) : "";
  const std::size_t indent = 2, taken = indent + note.size();
  const std::size_t width = columns > taken ? columns - taken : 0;
  return fmt::format("  {}{}", sparkline(samples, total.value_or(0), width), note);
}

void add_card(std::vector<Line>& lines, const cuda::CardReading& card, const WatchHistory& history,
              std::size_t columns) {
  std::string head =
      fmt::format("card {}  {}{}", card_number(card), used_of(card.used_bytes, card.total_bytes),
                  share_of(card.used_bytes, card.total_bytes));
  if (card.busy_percent) head += fmt::format("  busy {}%", *card.busy_percent);
  if (card.celsius) head += fmt::format("  {} C", *card.celsius);
  lines.push_back({fmt::format("{}  {}", head, machine::terminal_text(card.name))});
  lines.push_back({curve_line(history.card(card.index), card.total_bytes, columns)});
  if (!card.problem.empty())
    lines.push_back({fmt::format("  {}", machine::terminal_text(card.problem))});
  const std::size_t shown = std::min(card.processes.size(), kCardProcesses);
  for (std::size_t i = 0; i < shown; ++i) {
    const cuda::CardProcess& process = card.processes[i];
    lines.push_back(
        {process_row(process.pid, process.bytes, machine::name_of_drivers_process(process.pid)),
         true});
  }
  if (shown < card.processes.size()) {
    lines.push_back({fmt::format("            and {} more", card.processes.size() - shown), true});
  }
}

void add_memory(std::vector<Line>& lines, const DeviceSnapshot& snapshot,
                const WatchHistory& history, std::size_t columns) {
  const MemoryFacts& memory = snapshot.memory;
  lines.push_back({fmt::format(
      "RAM     {}{}  limited by the {}", used_of(memory.used_bytes(), memory.now.total_bytes),
      share_of(memory.used_bytes(), memory.now.total_bytes), memory.now.limited_by)});
  lines.push_back({curve_line(history.ram(), memory.now.total_bytes, columns)});
  for (const machine::HostProcess& process : snapshot.processes) {
    lines.push_back({process_row(process.pid, process.resident_bytes, process.name), true});
  }
}

// Leaves out details, the last first, then whatever is last, and says how many lines.
void fit_rows(std::vector<Line>& lines, std::size_t rows) {
  if (lines.size() <= rows) return;
  const std::size_t all = lines.size(), kept = rows - 1;
  for (std::size_t i = all; i-- > 0 && lines.size() > kept;) {
    if (lines[i].detail) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (lines.size() > kept) lines.resize(kept);
  lines.push_back({fmt::format("... {} more lines in a taller window", all - lines.size())});
}

}  // namespace

void WatchHistory::add(const DeviceSnapshot& snapshot) {
  // A card that is missing from a sample, or new in this one, has blanks for it.
  for (const cuda::CardReading& card : snapshot.gpu.cards) {
    cards_.try_emplace(card.index, std::vector<MemorySample>(std::min(count_, kKeptSamples)));
  }
  for (auto& [index, samples] : cards_) {
    const auto at = std::find_if(snapshot.gpu.cards.begin(), snapshot.gpu.cards.end(),
                                 [&, wanted = index](const auto& c) { return c.index == wanted; });
    append(samples, at == snapshot.gpu.cards.end() ? MemorySample() : at->used_bytes);
  }
  append(ram_, snapshot.memory.used_bytes());
  ++count_;
}

const std::vector<MemorySample>& WatchHistory::card(int index) const {
  static const std::vector<MemorySample> kNone;
  const auto found = cards_.find(index);
  return found == cards_.end() ? kNone : found->second;
}

std::vector<std::string> watch_lines(const DeviceSnapshot& snapshot, const WatchHistory& history,
                                     const std::string& title, ScreenSize size) {
  // The last column stays free: a terminal may wrap once it is written. So does the last row.
  const std::size_t columns = std::max<std::size_t>(size.columns, 2) - 1;
  const std::size_t rows = std::max<std::size_t>(size.rows, 2) - 1;
  std::vector<Line> lines{{title}};
  for (const cuda::CardReading& card : snapshot.gpu.cards) {
    add_card(lines, card, history, columns);
  }
  if (!snapshot.gpu.problem.empty())
    lines.push_back({machine::terminal_text(snapshot.gpu.problem)});
  add_memory(lines, snapshot, history, columns);
  fit_rows(lines, rows);
  std::vector<std::string> texts;
  texts.reserve(lines.size());
  for (const Line& line : lines) texts.push_back(first_columns(line.text, columns));
  return texts;
}

std::string watch_plain_line(const DeviceSnapshot& snapshot, const std::string& time) {
  std::string line = time;
  for (const cuda::CardReading& card : snapshot.gpu.cards) {
    line += fmt::format("  card {} {} of {}", card_number(card), bytes_or_unknown(card.used_bytes),
                        bytes_or_unknown(card.total_bytes));
    if (card.busy_percent) line += fmt::format(", {}% busy", *card.busy_percent);
  }
  if (snapshot.gpu.cards.empty()) line += "  no card";
  return line + fmt::format("  RAM {} of {}", format_bytes(snapshot.memory.used_bytes()),
                            format_bytes(snapshot.memory.now.total_bytes));
}

std::string Redraw::draw(const std::vector<std::string>& lines, ScreenSize size) {
  // A window that got narrower has wrapped the lines that were longer.
  std::size_t up = 0;
  const std::size_t columns = std::max<std::size_t>(size.columns, 1);
  for (const std::size_t width : widths_) {
    up += std::max<std::size_t>((width + columns - 1) / columns, 1);
  }
  std::string bytes = "\r";
  if (up > 0) bytes += fmt::format("\033[{}A", up);
  widths_.clear();
  for (const std::string& raw : lines) {
    const std::string line = console::shown(raw);
    bytes += fmt::format("{}\033[K\n", line);
    widths_.push_back(columns_of(line));
  }
  return bytes + "\033[J";
}

}  // namespace snug::cli
