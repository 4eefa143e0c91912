// The files of a source tree, as text, and what a rule about them needs to know: folders, includes,
// namespaces, types. A scanner of tokens, not a compiler: it knows the C++ that this house writes.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace snug::architecture {

struct SourceFile {
  std::string path;  // from the tree's root, with '/': "config/python/tree.h"
  std::string text;
};
using SourceTree = std::vector<SourceFile>;

// Every .h and .cc below the root, in the order of their paths.
SourceTree read_tree(const std::filesystem::path& root,
                     const std::set<std::string>& extensions = {".h", ".cc"});

std::string folder_of(std::string_view path);  // "config/python"; "" at the root
int lines_of(const SourceFile& file);

// What stands in quotes after #include.
std::vector<std::string> includes_of(const SourceFile& file);

struct TypeDefinition {
  std::string name_space;  // "snug::cpu"; with "(anonymous)" for one without a name
  std::string name;
};
struct Declarations {
  std::vector<std::string> namespaces;  // opened at the top of the file, "(anonymous)" included
  std::vector<TypeDefinition> types;    // at namespace scope: class, struct, union, enum, using
};
Declarations declarations_of(const SourceFile& file);

}  // namespace snug::architecture
