// What plan_page() puts together. Internal to it.
#pragma once

#include <string>
#include <string_view>

#include "report/plan/page.h"

namespace snug {

// The plans as JSON, safe inside a <script> element. The page's script is its only reader and says
// in its own words what the members are (kPageModel).
std::string plan_page_data(const PlanPage& page);

extern const std::string_view kPageStyle;  // CSS
extern const std::string_view kPageBody;   // HTML

// JavaScript, to be joined in this order.
extern const std::string_view kPageModel;  // from the data to bytes alive per op and role
extern const std::string_view kPageChart;  // the picture
extern const std::string_view kPageMarks;  // what is written on it
extern const std::string_view kPageTable;  // headline, budget and fixes
extern const std::string_view kPageView;   // what is selected, and how that is changed

}  // namespace snug
