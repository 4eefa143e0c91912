#include "base/own_colour.h"

#include <fmt/format.h>

#include <random>

namespace snug {
namespace {

std::string& mark() {
  // Never destroyed: the filters work until the C library has flushed its streams.
  static std::string& text = *new std::string;
  return text;
}

}  // namespace

void mark_own_colours() {
  std::random_device random;
  mark() = fmt::format(";{:010}{:010}", random(), random());
}

const std::string& own_colour_mark() { return mark(); }

std::string in_colour(std::string_view code, std::string_view text) {
  return fmt::format("\033[{0}{2}m{1}\033[0{2}m", code, text, mark());
}

}  // namespace snug
