// Rewriting, with its contract checked independently.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "config/config_for_test.h"
#include "config/fields.h"
#include "config/python/reader.h"
#include "config/rewrite/rewrite.h"

namespace snug::config::rewrite {

using Values = std::map<std::string, std::string>;  // repr by key
using Changes = std::vector<Change>;

// What the reader makes of a file with these bytes. No range is checked.
inline Values read_values(const std::string& bytes) {
  const TestFile file(bytes);
  LoadedConfig config;
  python::PythonReader reader(config);
  reader.read(read_config_file(file.path()));
  Values values;
  for (const Field& field : all_fields()) {
    values[std::string(field.key)] = python_repr(field_value(config.values, field));
  }
  return values;
}

// The text, after the contract about values and about rewriting twice was checked independently.
inline std::string rewritten(const std::string& source, const Changes& changes) {
  std::string text = rewrite_config("mine.py", source, changes, "to fit").text;
  Values wanted = read_values(source);
  for (const Change& change : changes) wanted[change.key] = change.after;
  EXPECT_EQ(read_values(text), wanted) << source << "\n--- became ---\n" << text;
  EXPECT_EQ(rewrite_config("mine.py", text, changes, "to fit").text, text);
  return text;
}

}  // namespace snug::config::rewrite
