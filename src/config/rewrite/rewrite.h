// Gives a user's config file new values by editing its text: what need not change stays byte for
// byte. Knows nothing of where the values come from, nor of where the text goes.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace snug::config::rewrite {

struct Rewritten {
  std::string text;
  // One line each: keys that were added, the last of several settings, formulas that were cut off
  // from a key that changed.
  std::vector<std::string> notes;
};

// `source` is the file as it lies on disk: any line ends, with or without a byte-order mark (which
// is taken out, because nanoGPT's exec() refuses it). It is read by itself, over the defaults.
//
// The assignment that decides a changed key, its last, gets the new value in the old one's place:
//   eval_iters = 500 # a good estimate   ->   eval_iters = 100  # was: 500 # a good estimate
// Where a line holds several statements, or one that adds up, the note names it whole:
//   # was: eval_iters += 10
// A note that is there already keeps its value, the oldest, and goes when that value returns. A
// formula that reads a changed key gets the key's old value in its place, unless its own value is
// the wanted one anyway. A helper that loses its last reader becomes `pass` if the reader would now
// take its name for a mistyped key. Keys that the file does not set are added at its end under one
// comment that gives `reason`. `changes` need not say more than key and after; before is noted for
// added keys.
//
// Holds for the result, else InternalError: it reads to the values of `source`, other helpers
// included, but for the changed keys, which read to theirs; rewriting it again with the same
// changes gives the same text. Throws ConfigError where `source` cannot be read (or the result
// would be over kMaxConfigBytes), and InternalError at a change whose key is unknown or whose value
// is no literal of the key's type.
Rewritten rewrite_config(const std::string& file_name, const std::string& source,
                         const std::vector<Change>& changes, const std::string& reason);

}  // namespace snug::config::rewrite
