// `snug bench --emulated`.
#pragma once

namespace snug::cli {

// Counts the kernels of the CUDA backend on two emulated cards and prints the tables.
int bench_emulated(bool json);

}  // namespace snug::cli
