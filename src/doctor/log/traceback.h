// Follows Python tracebacks: CPython's, rich's boxes and IPython's, each rank's by itself.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/log/prefix.h"
#include "doctor/log/summary.h"

namespace snug::doctor::log {

class TracebackReader {
 public:
  TracebackReader() = default;
  TracebackReader(const TracebackReader&) = delete;  // it points into itself
  TracebackReader& operator=(const TracebackReader&) = delete;

  // "Traceback (most recent call last)": a new one begins. Right after a frame, where a traceback
  // cannot end, it is another process's, and without ranks the frames of both are kept.
  void begin(const LogLine& line);

  // The line may hold the head of a frame; `at` is after the phrase that made it look so. True
  // when it does, or begins one.
  bool read_head(const LogLine& line, std::size_t at);

  // Must be called for every line in which no head was read. True when the line is source text of a
  // frame, which quotes messages rather than prints them.
  bool read_other(const LogLine& line);

  // The frames read since the last begin() or take() of that rank.
  std::vector<LogFrame> take(std::optional<int> rank);

 private:
  // nanoGPT's frames are outermost and the failing operator's innermost, so the middle goes first.
  static constexpr std::size_t kMaxFrames = 48;
  static constexpr std::size_t kSlotCount = 9;

  struct Slot {
    explicit Slot(int slot_rank = -1) : rank(slot_rank) {}
    int rank;
    std::vector<LogFrame> frames;
    std::string head;  // of a frame, while it is not complete
    int head_lines = 0;
    std::int64_t line = 0;       // of the last head
    std::int64_t last_line = 0;  // of what belongs to it
    bool is_indented = false;    // the last head
    bool awaits_source = false;
  };

  // Ranks share slots when there are more of them; the later one then starts afresh.
  Slot& slot_of(std::optional<int> rank);
  // A line without a rank may be the rest of a wrapped one.
  Slot& slot_continued_by(const LogLine& line);
  void read_marked(const LogLine& line);
  void note_underline(const LogLine& line);
  bool read_source(Slot& slot, const LogLine& line, std::string_view text);
  bool finish_head(Slot& slot, bool is_last_try);
  static void add(Slot& slot, LogFrame frame);

  std::array<Slot, kSlotCount> slots_;
  Slot* last_head_ = nullptr;
  std::int64_t last_line_ = 0;  // of the last head or what followed it
  bool is_active_ = false;      // some slot waits for more of a head or for source
};

}  // namespace snug::doctor::log
