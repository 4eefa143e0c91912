// A snapshot of the devices as text and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "backend/cpu/processor_facts.h"
#include "cli/device_snapshot.h"

namespace snug::cli {

std::string devices_text(const DeviceSnapshot& snapshot, const cpu::ProcessorFacts& processor);

// One object: cards, driver, problem, cpu, memory. What is not known is null.
nlohmann::ordered_json devices_json(const DeviceSnapshot& snapshot,
                                    const cpu::ProcessorFacts& processor);

// "1.96 GiB" or "unknown".
std::string bytes_or_unknown(std::optional<std::int64_t> bytes);

// "            12345       1.96 GiB  python train.py": a row of the tables of processes.
std::string process_row(std::int64_t pid, std::optional<std::int64_t> bytes,
                        const std::string& name);

}  // namespace snug::cli
