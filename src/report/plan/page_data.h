// The data of the plan's page. Internal to plan_page().
#pragma once

#include <string>

#include "report/plan/page.h"

namespace snug::report {

// The plans as JSON. The page's script is its only reader;
// page/model.js lists the members.
std::string plan_page_data(const PlanPage& page);

}  // namespace snug::report
