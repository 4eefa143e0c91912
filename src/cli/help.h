// The help texts: `snug --help` and `snug COMMAND --help`.
#pragma once

#include <string>

#include "report/catalogue/messages.h"

namespace snug::cli {

std::string overview_help();
std::string train_help();
std::string plan_help();
std::string sample_help();
std::string prepare_help();
std::string data_help();
std::string tokenize_help();
std::string plot_help();
std::string config_help();
std::string bench_help();
std::string cards_help();
std::string doctor_help();  // in English; see doctor_help_in()
std::string doctor_help_in(report::Language language);
std::string completion_help();
std::string verify_help();

}  // namespace snug::cli
