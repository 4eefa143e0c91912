// Why a log gives no answer, in the reader's language.
#pragma once

#include <string>

#include "doctor/log/reader.h"
#include "report/catalogue/messages.h"

namespace snug::report {

std::string log_error_text(Language language, const doctor::log::LogError& error);

}  // namespace snug::report
