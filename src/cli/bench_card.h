// `snug bench --device=cuda`: a card's times op by op, against its limits and the fit's prediction.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "device/device.h"

namespace snug::cli {

// `device` is a card. `trace`: file for the ops of one iteration; "": none.
int bench_card(const config::Config& config, std::unique_ptr<device::Device> device, bool json,
               const std::string& trace);

}  // namespace snug::cli
