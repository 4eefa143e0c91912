// What doctor_page() puts together. Internal to it.
#pragma once

#include <string_view>

namespace snug {

// CSS on top of the plan page's (kPageStyle), whose colours and type it uses.
extern const std::string_view kDoctorStyle;

}  // namespace snug
