#include "report/web/page_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "report/text.h"

namespace snug::report {
namespace {

constexpr std::string_view kSharedStyle =
#include "report/web/shared.css.inc"
    ;

}  // namespace

PageValue page_text(std::string_view name, std::string_view text) {
  return {name, escape_html(text)};
}

PageValue page_markup(std::string_view name, std::string markup) {
  return {name, std::move(markup)};
}

PageValue page_json(std::string_view name, std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return {name, safe};
}

std::string fill_page(std::string_view page, std::span<const PageValue> values) {
  std::string filled;
  std::vector<bool> is_used(values.size(), false);
  for (;;) {
    const std::size_t open = page.find("{{");
    filled += page.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = page.find("}}", open);
    if (close == std::string_view::npos) throw InternalError("a page has {{ without }}");
    const std::string_view name = page.substr(open + 2, close - open - 2);
    const auto value = std::find_if(values.begin(), values.end(),
                                    [&](const PageValue& one) { return one.name == name; });
    if (value == values.end()) throw InternalError(fmt::format("a page asks for '{}'", name));
    filled += value->html;
    is_used[static_cast<std::size_t>(value - values.begin())] = true;
    page.remove_prefix(close + 2);
  }
  const auto unused = std::find(is_used.begin(), is_used.end(), false) - is_used.begin();
  if (static_cast<std::size_t>(unused) < values.size()) {
    throw InternalError(
        fmt::format("a page has no place for '{}'", values[static_cast<std::size_t>(unused)].name));
  }
  return filled;
}

std::string_view shared_page_style() { return kSharedStyle; }

}  // namespace snug::report
