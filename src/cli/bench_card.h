// `snug bench --device=cuda`: a card's times op by op, against its limits and the fit's prediction.
#pragma once

#include <string>

#include "config/config.h"

namespace snug::cli {

// For a config whose device is a card. `trace`: file for the ops of one iteration; "": none.
int bench_card(config::LoadedConfig config, bool json, const std::string& trace);

}  // namespace snug::cli
