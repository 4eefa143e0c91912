#include "architecture/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace snug::architecture {
namespace {

constexpr int kMaxLines = 450;
constexpr std::size_t kMaxFilesOfAPrefix = 5;

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream stream(row.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(" `");
    const std::size_t last = cell.find_last_not_of(" `");
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

std::set<std::string> names_in(std::string cell) {
  for (char& c : cell) c = c == ',' || c == '`' ? ' ' : c;
  std::istringstream stream(cell);
  std::set<std::string> names;
  for (std::string name; stream >> name;) {
    if (name != "-") names.insert(name);
  }
  return names;
}

std::string parent_of(const std::string& folder) { return folder_of(folder); }

// The folder itself or the nearest one above it that `rows` holds; "" if there is none.
template <typename Map>
std::string row_of(std::string folder, const Map& rows) {
  while (!folder.empty() && !rows.contains(folder)) folder = parent_of(folder);
  return folder;
}

bool is_within(const std::string& folder, const std::string& outer) {
  return folder == outer || folder.rfind(outer + "/", 0) == 0;
}

bool is_of_tests(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string stem = name.substr(0, name.find('.'));
  return stem.ends_with("_test") || stem.ends_with("_testing") || stem.ends_with("for_test");
}

std::string without_star(std::string name) {
  if (name.ends_with('*')) name.pop_back();
  return name;
}

std::set<std::string> top_folders(const SourceTree& tree) {
  std::set<std::string> folders;
  for (const SourceFile& file : tree) {
    if (const std::size_t slash = file.path.find('/'); slash != std::string::npos) {
      folders.insert(file.path.substr(0, slash));
    }
  }
  return folders;
}

// The name without extension and without _test.
std::string stem_of(const std::string& path) {
  std::string stem = path.substr(path.rfind('/') + 1);
  stem = stem.substr(0, stem.rfind('.'));
  if (stem.ends_with("_test")) stem.resize(stem.size() - 5);
  return stem;
}

std::string expected_namespace(const std::string& folder,
                               const std::map<std::string, std::string>& given) {
  if (const std::string row = row_of(folder, given); !row.empty()) return given.at(row);
  std::string name = "snug";
  std::istringstream parts(folder);
  for (std::string part; std::getline(parts, part, '/');) name += "::" + part;
  return name;
}

}  // namespace

MayUse may_use_in(const std::string& markdown) {
  MayUse may_use;
  std::istringstream lines(markdown);
  std::size_t column = 0;  // 0 outside the table
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("|", 0) != 0) {
      column = 0;
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    if (cells.front() == "folder") {
      const auto found = std::find(cells.begin(), cells.end(), "may use");
      column = found == cells.end() ? 0 : static_cast<std::size_t>(found - cells.begin());
    } else if (column > 0 && column < cells.size() && cells.front().rfind("---", 0) != 0) {
      may_use[cells.front()] = names_in(cells[column]);
    }
  }
  return may_use;
}

Finds forbidden_includes(const SourceTree& tree, const MayUse& may_use) {
  const std::set<std::string> folders = top_folders(tree);
  Finds finds;
  for (const SourceFile& file : tree) {
    const std::string folder = folder_of(file.path);
    if (folder.empty()) continue;  // main.cc
    const std::string row = row_of(folder, may_use);
    if (row.empty()) {
      finds.push_back(fmt::format("{}: its folder has no row in the table", file.path));
      continue;
    }
    for (const std::string& include : includes_of(file)) {
      if (!folders.contains(include.substr(0, include.find('/')))) continue;  // another project's
      const std::string used = folder_of(include);
      const auto allows = [&](const std::string& name) {
        return is_within(used, without_star(name)) &&
               (!name.ends_with('*') || is_of_tests(file.path));
      };
      const std::set<std::string>& allowed = may_use.at(row);
      if (row_of(used, may_use) == row || std::any_of(allowed.begin(), allowed.end(), allows)) {
        continue;
      }
      finds.push_back(fmt::format("{}: {} may not use {}", file.path, row, include));
    }
  }
  return finds;
}

Finds unused_permissions(const SourceTree& tree, const MayUse& may_use) {
  MayUse unused = may_use;
  for (const SourceFile& file : tree) {
    const std::string row = row_of(folder_of(file.path), may_use);
    if (row.empty()) continue;
    for (const std::string& include : includes_of(file)) {
      std::erase_if(unused[row], [&](const std::string& name) {
        return is_within(folder_of(include), without_star(name)) &&
               name.ends_with('*') == is_of_tests(file.path);
      });
    }
  }
  Finds finds;
  for (const auto& [row, names] : unused) {
    for (const std::string& name : names) {
      finds.push_back(fmt::format("the table lets {} use {}, and no file does", row, name));
    }
  }
  return finds;
}

Finds rows_without_folder(const SourceTree& tree, const MayUse& may_use) {
  Finds finds;
  const auto check = [&](const std::string& name) {
    const auto inside = [&](const SourceFile& file) {
      return is_within(folder_of(file.path), name);
    };
    if (std::none_of(tree.begin(), tree.end(), inside)) {
      finds.push_back(fmt::format("the table names {}, which has no file", name));
    }
  };
  for (const auto& [folder, used] : may_use) {
    check(folder);
    for (const std::string& name : used) check(without_star(name));
  }
  return finds;
}

Finds foreign_namespaces(const SourceTree& tree, const std::map<std::string, std::string>& given) {
  Finds finds;
  for (const SourceFile& file : tree) {
    const std::string folder = folder_of(file.path);
    if (folder.empty()) continue;
    const std::string expected = expected_namespace(folder, given);
    for (const std::string& opened : declarations_of(file).namespaces) {
      if (opened == expected || opened.rfind(expected + "::", 0) == 0) continue;
      finds.push_back(fmt::format("{}: opens {}, not {}", file.path, opened, expected));
    }
  }
  return finds;
}

Finds doubled_types(const SourceTree& tree) {
  std::map<std::string, std::set<std::string>> files_of;
  for (const SourceFile& file : tree) {
    for (const TypeDefinition& type : declarations_of(file).types) {
      const bool is_local = type.name_space.find("(anonymous)") != std::string::npos;
      if (is_local && file.path.ends_with(".cc")) continue;
      files_of[type.name_space + "::" + type.name].insert(file.path);
    }
  }
  Finds finds;
  for (const auto& [name, files] : files_of) {
    if (files.size() < 2) continue;
    finds.push_back(
        fmt::format("{} is defined in {} and {}", name, *files.begin(), *std::next(files.begin())));
  }
  return finds;
}

Finds shared_prefixes(const SourceTree& tree, const std::set<std::string>& allowed) {
  std::map<std::string, std::set<std::string>> stems_of;
  for (const SourceFile& file : tree) {
    const std::string stem = stem_of(file.path);
    const std::string word = stem.substr(0, stem.find_first_of("_-"));
    stems_of[folder_of(file.path) + "/" + word].insert(stem);
  }
  Finds finds;
  for (const auto& [prefix, stems] : stems_of) {
    if (stems.size() <= kMaxFilesOfAPrefix || allowed.contains(prefix)) continue;
    finds.push_back(fmt::format("{}_: {} files share it, make a folder", prefix, stems.size()));
  }
  return finds;
}

Finds long_files(const SourceTree& tree, const std::set<std::string>& allowed) {
  Finds finds;
  for (const SourceFile& file : tree) {
    if (lines_of(file) <= kMaxLines || allowed.contains(file.path)) continue;
    finds.push_back(
        fmt::format("{}: {} lines, more than {}", file.path, lines_of(file), kMaxLines));
  }
  return finds;
}

Finds unseen_by_emulator(const SourceTree& kernels) {
  Finds finds;
  for (const SourceFile& file : kernels) {
    if (file.path.find("kernels/device") != std::string::npos) continue;
    for (const char* word : {"__shared__", "asm(", "asm volatile"}) {
      if (file.text.find(word) == std::string::npos) continue;
      finds.push_back(fmt::format("{}: {} stands outside of kernels/device", file.path, word));
    }
  }
  return finds;
}

}  // namespace snug::architecture
