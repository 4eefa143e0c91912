// The texts that the script of the plan's page puts together. Internal to plan_page().
#pragma once

#include <nlohmann/json.hpp>

#include "report/catalogue/messages.h"

namespace snug::report {

// By name, as page/*.js asks for them; `roles` and `phases` by their English names.
nlohmann::ordered_json browser_words(Language language);

}  // namespace snug::report
