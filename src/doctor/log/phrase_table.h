// The phrases that are looked for in every line, and what each is taken for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "doctor/log/summary.h"

namespace snug::doctor::log {

enum class PhraseRole : std::uint8_t {
  // These are in failure messages.
  kStrong,  // names the kind
  kWeak,    // "out of memory": a failure of yet unknown kind
  kPart,  // stands once in a message of PyTorch's allocator; alone it is a message without its head
  kMore,  // may repeat within a message, and is none alone
  kKilled,  // the word alone on its line, as shells print it
  kException,
  // These are in the evidence around them.
  kTraceback,
  kFrame,
  kStrided,
  kSetting,
  kCommand,
  kAllocConf,
  kTorch,
  kWsl,
  kCardName,
};

// What must stand near a phrase for it to count.
enum class PhraseCheck : std::uint8_t {
  kNone,
  kOutOfMemoryFollows,
  kDeprecatedFollows,
  kAllocatorFollows,
  kNoDigitFollows,
  kStartsException,  // it ends the class name of the exception that the line begins with
};

struct LogPhrase {
  std::string_view text;  // folded
  PhraseRole role;
  LogEventKind kind = LogEventKind::kUnspecifiedOutOfMemory;  // of kStrong
  PhraseCheck check = PhraseCheck::kNone;
};

std::span<const LogPhrase> log_phrases();

}  // namespace snug::doctor::log
