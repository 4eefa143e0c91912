#include "report/numbers.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace snug::report {

std::string number_in(Language language, std::string text) {
  if (language != Language::kGerman) return text;
  for (char& c : text) c = c == '.' ? ',' : c == ',' ? '.' : c;
  return text;
}

std::string amount_in(Language language, std::string text) {
  const bool begins = !text.empty() && text.front() >= '0' && text.front() <= '9';
  const bool ends = text.ends_with(" B") || text.ends_with("iB") || text.ends_with('%');
  return begins && ends ? number_in(language, std::move(text)) : text;
}

std::string bytes_in(Language language, std::int64_t bytes) {
  return number_in(language, format_bytes(bytes));
}

std::string thousands_in(Language language, std::int64_t number) {
  return number_in(language, with_thousands(number));
}

std::string gib_in(Language language, std::int64_t bytes) {
  return number_in(language,
                   fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(kGiB)));
}

}  // namespace snug::report
