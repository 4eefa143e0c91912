// Any content, as eighty columns of text and as the sections of a page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/doctor/content.h"

namespace snug::report {

std::string content_text(const DoctorContent& content, bool color);
std::string sections_html(const std::vector<DoctorBlock>& blocks);
std::string_view name_of(Tone tone) noexcept;  // "bad", as the pages' style has it

// With blanks between numbers and their units at which no line of a page breaks.
std::string with_kept_units(std::string text);

}  // namespace snug::report
