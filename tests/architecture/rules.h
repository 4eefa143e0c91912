// The rules of the house about its files. Each returns what breaks it, a sentence per find, and
// nothing for a tree that keeps it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "architecture/source_tree.h"

namespace snug::architecture {

using Finds = std::vector<std::string>;

// folder -> the folders whose headers it may include, besides its own.
using MayUse = std::map<std::string, std::set<std::string>>;

// The table of a page whose columns "folder" and "may use" hold names with blanks or commas between
// them. The row of a folder is also its sub-folders', unless they have one; "-" stands for none,
// and "name*" is for files of tests only: x_test.cc, x_testing.h, for_test.h.
MayUse may_use_in(const std::string& markdown);

// Includes that the table does not allow, and folders without a row.
Finds forbidden_includes(const SourceTree& tree, const MayUse& may_use);

// What the table allows and nobody does; of "name" nobody but tests.
Finds unused_permissions(const SourceTree& tree, const MayUse& may_use);

// Rows that name a folder which does not exist.
Finds rows_without_folder(const SourceTree& tree, const MayUse& may_use);

// Files that open another namespace than their folder's: src/x/y is snug::x::y. `given` holds the
// folders with a name of their own ("base" -> "snug"), which is also their sub-folders'.
Finds foreign_namespaces(const SourceTree& tree, const std::map<std::string, std::string>& given);

// Types of one name, defined in one namespace by two files. What has no linkage (an unnamed
// namespace in a .cc file) is the file's own.
Finds doubled_types(const SourceTree& tree);

// More than five files of a folder whose names start with the same word; x.h, x.cc and x_test.cc
// count once. `allowed` holds "folder/word".
Finds shared_prefixes(const SourceTree& tree, const std::set<std::string>& allowed);

// Files over 450 lines that are not listed.
Finds long_files(const SourceTree& tree, const std::set<std::string>& allowed);

// Kernels that declare shared memory past the macros that the emulator sees it by, or write inline
// assembly outside of kernels/device, where it has an emulated twin.
Finds unseen_by_emulator(const SourceTree& kernels);

}  // namespace snug::architecture
