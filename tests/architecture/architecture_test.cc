// The rules of the house over its own files, and each rule over a small tree that breaks it: a rule
// that finds nothing must be able to.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "architecture/rules.h"

namespace snug::architecture {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = SNUG_SOURCE;

// Where the namespace is not the folder's path; docs/decisions/0046 says why.
const std::map<std::string, std::string> kGivenNamespaces = {{"base", "snug"},
                                                             {"backend/cpu", "snug::cpu"},
                                                             {"backend/cuda", "snug::cuda"},
                                                             {"report", "snug::report"}};

// A model's description points at its family, which stands above it: declared there, never used.
const std::string kForwardDeclaration = "model/model_spec.h: opens snug::program, not snug::model";

// "folder/word", with the reason why these files stay together.
const std::set<std::string> kAllowedPrefixes = {};

// Longer than a file should be, with the reason.
const std::set<std::string> kLongFiles = {};

const SourceTree& sources() {
  static const SourceTree tree = read_tree(kSource / "src");
  return tree;
}

MayUse table() {
  std::ifstream page(kSource / "docs/architecture.md");
  std::stringstream text;
  text << page.rdbuf();
  return may_use_in(text.str());
}

void expect_none(const Finds& finds) {
  for (const std::string& find : finds) ADD_FAILURE() << find;
}

TEST(Architecture, IncludesFollowTheTable) {
  ASSERT_GT(sources().size(), 300u);
  ASSERT_GE(table().size(), 13u) << "docs/architecture.md has lost its table";
  expect_none(forbidden_includes(sources(), table()));
  expect_none(unused_permissions(sources(), table()));
  expect_none(rows_without_folder(sources(), table()));
}

TEST(Architecture, NamespacesFollowFolders) {
  Finds finds = foreign_namespaces(sources(), kGivenNamespaces);
  std::erase(finds, kForwardDeclaration);
  expect_none(finds);
}

TEST(Architecture, ATypeIsDefinedOnce) {
  std::size_t types = 0;
  for (const SourceFile& file : sources()) types += declarations_of(file).types.size();
  EXPECT_GT(types, 300u) << "the scanner no longer finds the types";
  expect_none(doubled_types(sources()));
}

TEST(Architecture, APrefixOfManyFilesIsAFolder) {
  expect_none(shared_prefixes(sources(), kAllowedPrefixes));
}

TEST(Architecture, FilesAreShort) {
  for (const char* folder : {"src", "tests", "bench", "fuzz", "emulator"}) {
    expect_none(long_files(read_tree(kSource / folder, {".h", ".cc", ".cu", ".cuh"}), kLongFiles));
  }
}

TEST(Architecture, TheEmulatorSeesAllOfTheKernels) {
  const SourceTree kernels = read_tree(kSource / "src", {".cu", ".cuh"});
  ASSERT_GT(kernels.size(), 3u);
  expect_none(unseen_by_emulator(kernels));
}

// Each rule, broken.

constexpr char kTable[] = R"(
| folder | may use | holds |
|---|---|---|
| base | - | errors |
| config | base | keys |
| backend | base, config | kernels |
| backend/cuda | base | a card |
)";

TEST(ArchitectureRule, ReadsTheTable) {
  const MayUse expected = {{"base", {}},
                           {"config", {"base"}},
                           {"backend", {"base", "config"}},
                           {"backend/cuda", {"base"}}};
  EXPECT_EQ(may_use_in(kTable), expected);
  EXPECT_TRUE(may_use_in("| folder | holds |\n|---|---|\n| base | errors |\n").empty());
}

Finds includes_in(const std::string& path, const std::string& include) {
  const SourceTree tree = {{"base/error.h", ""},
                           {"config/config.h", ""},
                           {"backend/executor.h", ""},
                           {"backend/cuda/card.h", ""},
                           {path, "#include \"" + include + "\"\n"}};
  return forbidden_includes(tree, may_use_in(kTable));
}

TEST(ArchitectureRule, FindsAnIncludeThatTurnsBack) {
  EXPECT_EQ(includes_in("base/x.cc", "config/config.h"),
            Finds{"base/x.cc: base may not use config/config.h"});
  EXPECT_EQ(includes_in("backend/cuda/x.cc", "config/config.h"),
            Finds{"backend/cuda/x.cc: backend/cuda may not use config/config.h"});
  EXPECT_EQ(includes_in("elsewhere/x.cc", "base/error.h"),
            Finds{"elsewhere/x.cc: its folder has no row in the table"});
  EXPECT_EQ(includes_in("backend/cpu/x.cc", "config/config.h"), Finds{});
  EXPECT_EQ(includes_in("backend/cpu/x.cc", "backend/executor.h"), Finds{});
  EXPECT_EQ(includes_in("base/x.cc", "hwy/highway.h"), Finds{});
  EXPECT_EQ(includes_in("main.cc", "config/config.h"), Finds{});
}

TEST(ArchitectureRule, FindsAPermissionThatNobodyUses) {
  const MayUse table = {{"base", {}}, {"config", {"base"}}, {"backend", {"base", "config"}}};
  const SourceTree tree = {{"config/config.h", "#include \"base/error.h\"\n"},
                           {"backend/cpu/x.h", "#include \"config/config.h\"\n"}};
  EXPECT_EQ(unused_permissions(tree, table),
            Finds{"the table lets backend use base, and no file does"});
}

TEST(ArchitectureRule, KnowsWhatIsForTestsOnly) {
  const MayUse table = {{"gpt2", {}}, {"backend", {"gpt2*"}}};
  const auto tree = [](const std::string& path) {
    return SourceTree{{"gpt2/spec.h", ""}, {path, "#include \"gpt2/spec.h\"\n"}};
  };
  for (const char* path : {"backend/cpu/x_test.cc", "backend/x_testing.h", "backend/for_test.h"}) {
    EXPECT_EQ(forbidden_includes(tree(path), table), Finds{}) << path;
    EXPECT_EQ(unused_permissions(tree(path), table), Finds{}) << path;
  }
  EXPECT_EQ(forbidden_includes(tree("backend/x.cc"), table),
            Finds{"backend/x.cc: backend may not use gpt2/spec.h"});
  EXPECT_EQ(unused_permissions(tree("backend/x.cc"), table),
            Finds{"the table lets backend use gpt2*, and no file does"});
}

TEST(ArchitectureRule, FindsARowWithoutAFolder) {
  const SourceTree tree = {{"base/error.h", ""}, {"config/config.h", ""}, {"backend/x.h", ""}};
  EXPECT_EQ(rows_without_folder(tree, may_use_in(kTable)),
            Finds{"the table names backend/cuda, which has no file"});
}

TEST(ArchitectureRule, FindsAForeignNamespace) {
  const auto finds = [](const std::string& path, const std::string& text) {
    return foreign_namespaces({{path, text}}, kGivenNamespaces);
  };
  EXPECT_EQ(finds("config/python/x.h", "namespace snug::config::python {}"), Finds{});
  EXPECT_EQ(finds("config/python/x.h", "namespace snug::config::python::detail {}"), Finds{});
  EXPECT_EQ(finds("base/x.h", "namespace snug {}"), Finds{});
  EXPECT_EQ(finds("backend/cpu/kernels/x.h", "namespace snug::cpu {}"), Finds{});
  EXPECT_EQ(finds("config/x.h", "namespace fs = std::filesystem;\nnamespace snug::config {}"),
            Finds{});
  EXPECT_EQ(finds("config/python/x.h", "namespace snug::config {}"),
            Finds{"config/python/x.h: opens snug::config, not snug::config::python"});
  EXPECT_EQ(finds("config/x.cc", "namespace {}"),
            Finds{"config/x.cc: opens (anonymous), not snug::config"});
}

Finds doubles(const std::string& one, const std::string& other, const std::string& path = "b.h") {
  return doubled_types({{"a.h", one}, {path, other}});
}

TEST(ArchitectureRule, FindsATypeDefinedTwice) {
  const std::string target = "namespace snug { struct Target { int x; }; }";
  EXPECT_EQ(doubles(target, target), Finds{"snug::Target is defined in a.h and b.h"});
  for (const char* other :
       {"namespace snug { class Target final : public Base<int> {}; }",
        "namespace snug { enum class Target : int { kOne }; }",
        "namespace snug { using Target = int; }",
        "namespace snug { template <typename T> struct alignas(64) Target {}; }",
        "namespace snug { const char* const kText = R\"(})\"; struct Target {}; }",
        "namespace snug { constexpr int kMany = 1'000; struct [[nodiscard]] Target {}; }"}) {
    EXPECT_EQ(doubles(target, other).size(), 1u) << other;
  }
}

TEST(ArchitectureRule, TypesThatAreNotTheSame) {
  const std::string target = "namespace snug { struct Target { int x; }; }";
  for (const char* other :
       {"namespace snug { struct Target; }", "namespace snug::config { struct Target {}; }",
        "namespace snug { struct Outer { struct Target {}; }; }",
        "namespace snug { void f() { struct Target {}; } }",
        "namespace snug { template <class Target> void f(); }",
        "namespace snug { // struct Target {};\n }",
        "namespace snug { template <> struct Target<int> {}; }",
        "#define SNUG_X struct Target {}; \\\n struct Target {};\nnamespace snug {}"}) {
    EXPECT_EQ(doubles(target, other), Finds{}) << other;
  }
  const std::string local = "namespace snug { namespace { struct Target {}; } }";
  EXPECT_EQ(doubled_types({{"a.cc", local}, {"b.cc", local}}), Finds{});
  EXPECT_EQ(doubles(local, local).size(), 1u) << "in a header it is every file's";
}

TEST(ArchitectureRule, FindsAPrefixOfManyFiles) {
  SourceTree tree;
  for (const char* name : {"log_a.h", "log_a.cc", "log_a_test.cc", "log_b.h", "log_c.h", "log_d.h",
                           "log.h", "logs_f.h"}) {
    tree.push_back({std::string("doctor/") + name, ""});
  }
  EXPECT_EQ(shared_prefixes(tree, {}), Finds{});
  tree.push_back({"doctor/log_e.h", ""});
  EXPECT_EQ(shared_prefixes(tree, {}), Finds{"doctor/log_: 6 files share it, make a folder"});
  EXPECT_EQ(shared_prefixes(tree, {"doctor/log"}), Finds{});
}

TEST(ArchitectureRule, FindsRawSharedMemoryAndAssembly) {
  EXPECT_EQ(unseen_by_emulator({{"x/kernels/device/a.cuh", "asm(\"\"); __shared__ int i;"}}),
            Finds{});
  EXPECT_EQ(unseen_by_emulator({{"x/kernels/a.cu", "__shared__ float tile[32];"}}),
            Finds{"x/kernels/a.cu: __shared__ stands outside of kernels/device"});
  EXPECT_EQ(unseen_by_emulator({{"x/kernels/a.cu", "asm volatile(\"\");"}}),
            Finds{"x/kernels/a.cu: asm volatile stands outside of kernels/device"});
}

TEST(ArchitectureRule, FindsALongFile) {
  const SourceTree tree = {{"a.cc", std::string(450, '\n')}, {"b.cc", std::string(451, '\n')}};
  EXPECT_EQ(long_files(tree, {}), Finds{"b.cc: 451 lines, more than 450"});
  EXPECT_EQ(long_files(tree, {"b.cc"}), Finds{});
}

}  // namespace
}  // namespace snug::architecture
