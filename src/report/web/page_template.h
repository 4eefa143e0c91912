// The HTML pages of the reports: real .html, .css and .js files that the build embeds (the page
// folders beside the reports, and shared.css here). A page's file has placeholders, {{name}}, which
// are filled here. The result is one file that needs no other: its policy forbids it to ask for
// anything.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace snug::report {

// What takes the place of {{name}}.
struct PageValue {
  std::string_view name;
  std::string html;
};

// Any bytes: they are escaped for text and double-quoted attributes.
PageValue page_text(std::string_view name, std::string_view text);

// HTML, CSS or JavaScript, put in as it is: what it holds must be safe there already.
PageValue page_markup(std::string_view name, std::string markup);

// JSON for a script element: "<" is escaped, so that neither </script> nor <!-- can come about.
PageValue page_json(std::string_view name, std::string_view json);

// The page with every placeholder filled; placeholders inside of values are left alone. Throws
// InternalError when a placeholder has no value, or a value no placeholder.
std::string fill_page(std::string_view page, std::span<const PageValue> values);

// CSS that all pages begin with: colours, type, and the elements that they have in common.
std::string_view shared_page_style();

}  // namespace snug::report
