// Calls of every kernel at GPT-2's shapes, as small as shows what it does per row.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace snug::device {

struct CountedCall {
  std::string name;
  std::function<void()> run;
  bool streams = true;
  double min_multiply_adds = 0;  // of all its kernels, on tensor cores
};
std::vector<CountedCall> counted_calls();

}  // namespace snug::device
