// Amounts as a reader's language writes them: German has a decimal comma and points for thousands.
#pragma once

#include <cstdint>
#include <string>

#include "report/catalogue/messages.h"

namespace snug::report {

// A number, or an amount with its unit, that was written in English: "1,234.5 MiB".
std::string number_in(Language language, std::string text);

// The same, and other texts stay: an amount ends in a unit of bytes, % or M, or is a whole number
// with its thousands parted.
std::string amount_in(Language language, std::string text);

std::string bytes_in(Language language, std::int64_t bytes);       // "1.96 GiB", "1,96 GiB"
std::string thousands_in(Language language, std::int64_t number);  // "1,234,567", "1.234.567"
std::string millions_in(Language language, std::int64_t number);   // "123.6M", "123,6 Mio."
std::string percent_in(Language language, double percent, int decimals = 0);  // "12%", "12 %"
std::string gib_in(Language language, std::int64_t bytes);                    // "1.96": no unit

}  // namespace snug::report
