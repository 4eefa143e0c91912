#include "pickle/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace snug::pickle {
namespace {

void require(bool holds, PickleKind kind, std::string_view wanted) {
  if (!holds) throw InternalError(fmt::format("a pickled {} has no {}", name_of(kind), wanted));
}

// A walk in post-order, without recursion: the input decides how deep it goes.
class TreeCheck {
 public:
  TreeCheck(const std::vector<PickleNode>& nodes, const std::string& name)
      : nodes_(nodes), name_(name), marks_(nodes.size()) {}

  void run(std::uint32_t root) {
    path_.push_back({root, 0});
    while (!path_.empty()) {
      const auto [index, next] = path_.back();
      const std::vector<std::uint32_t>& children = nodes_[index].children;
      marks_[index].open = true;
      if (next == children.size()) {
        close(index);
        path_.pop_back();
      } else {
        ++path_.back().next;
        if (marks_[children[next]].tree_nodes == 0) enter(children[next]);
      }
    }
  }

 private:
  struct Mark {
    bool open = false;
    std::uint32_t depth = 0;
    std::uint64_t tree_nodes = 0;  // 0 until the node is closed
  };
  struct Step {
    std::uint32_t index;
    std::size_t next;
  };

  void enter(std::uint32_t index) {
    if (marks_[index].open) fail("holds a value that contains itself");
    path_.push_back({index, 0});
  }

  void close(std::uint32_t index) {
    Mark& mark = marks_[index];
    mark.tree_nodes = 1;
    for (const std::uint32_t child : nodes_[index].children) {
      mark.depth = std::max(mark.depth, marks_[child].depth + 1);
      mark.tree_nodes += marks_[child].tree_nodes;  // at most 2^22 terms of 2^24
    }
    if (mark.depth > PickleLimits::kDepth) fail("is nested too deeply");
    if (mark.tree_nodes > PickleLimits::kTreeNodes) fail("expands to too many values");
  }

  [[noreturn]] void fail(const char* what) const {
    throw DataError(
        fmt::format("{} {}\nit is damaged or made to do harm; make it again", name_, what));
  }

  const std::vector<PickleNode>& nodes_;
  const std::string& name_;
  std::vector<Mark> marks_;
  std::vector<Step> path_;
};

}  // namespace

std::string_view name_of(PickleKind kind) noexcept {
  switch (kind) {
    case PickleKind::kNone:
      return "None";
    case PickleKind::kBool:
      return "bool";
    case PickleKind::kInt:
      return "int";
    case PickleKind::kFloat:
      return "float";
    case PickleKind::kString:
      return "str";
    case PickleKind::kBytes:
      return "bytes";
    case PickleKind::kGlobal:
      return "type or function";
    case PickleKind::kList:
      return "list";
    case PickleKind::kTuple:
      return "tuple";
    case PickleKind::kDict:
      return "dict";
    case PickleKind::kSet:
      return "set";
    case PickleKind::kStorage:
      return "storage";
    case PickleKind::kTensor:
      return "tensor";
  }
  return "?";
}

PickleDocument::PickleDocument(std::vector<PickleNode> nodes, std::string text, std::uint32_t root,
                               const std::string& name)
    : nodes_(std::move(nodes)), text_(std::move(text)), root_(root) {
  TreeCheck(nodes_, name).run(root_);
}

const PickleNode& PickleValue::node() const { return document_->nodes_[index_]; }

PickleKind PickleValue::kind() const { return node().kind; }

std::int64_t PickleValue::integer() const {
  require(kind() == PickleKind::kInt || kind() == PickleKind::kBool, kind(), "integer");
  return node().integer;
}

double PickleValue::real() const {
  require(kind() == PickleKind::kFloat, kind(), "real number");
  return node().real;
}

std::string_view PickleValue::text() const {
  require(kind() >= PickleKind::kString && kind() <= PickleKind::kGlobal, kind(), "text");
  return std::string_view(document_->text_)
      .substr(static_cast<std::size_t>(node().integer), node().text_length);
}

std::size_t PickleValue::size() const {
  require(kind() >= PickleKind::kList, kind(), "size");
  return kind() == PickleKind::kDict ? node().children.size() / 2 : node().children.size();
}

PickleValue PickleValue::child(std::size_t index) const {
  require(index < node().children.size(), kind(), "item of that index");
  return {document_, node().children[index]};
}

PickleValue PickleValue::item(std::size_t index) const {
  require(kind() >= PickleKind::kList && kind() != PickleKind::kDict, kind(), "items");
  return child(index);
}

PickleValue PickleValue::key(std::size_t index) const {
  require(kind() == PickleKind::kDict, kind(), "keys");
  return child(2 * index);
}

PickleValue PickleValue::value(std::size_t index) const {
  require(kind() == PickleKind::kDict, kind(), "values");
  return child(2 * index + 1);
}

std::optional<PickleValue> PickleValue::find(std::string_view wanted) const {
  for (std::size_t i = size(); i-- > 0;) {
    const PickleValue candidate = key(i);
    if (candidate.kind() == PickleKind::kString && candidate.text() == wanted) return value(i);
  }
  return std::nullopt;
}

}  // namespace snug::pickle
