// The opcodes with which torch.save writes tensors. Python would import and call what they name;
// here the names are compared with a short list, and the arguments are kept as data.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/error.h"
#include "pickle/machine.h"

namespace snug::pickle {
namespace {

constexpr std::string_view kOrderedDict = "collections OrderedDict";
constexpr std::string_view kRebuildTensor = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils _rebuild_parameter";

constexpr std::array<std::string_view, 13> kNames = {
    kOrderedDict,          kRebuildTensor,       kRebuildParameter,   "torch FloatStorage",
    "torch DoubleStorage", "torch HalfStorage",  "torch LongStorage", "torch BFloat16Storage",
    "torch IntStorage",    "torch ShortStorage", "torch CharStorage", "torch ByteStorage",
    "torch BoolStorage"};

}  // namespace

std::string_view PickleMachine::text_of(std::uint32_t node) const {
  const PickleNode& found = nodes_[node];
  if (found.kind != PickleKind::kString && found.kind != PickleKind::kGlobal) return {};
  return std::string_view(text_).substr(static_cast<std::size_t>(found.integer), found.text_length);
}

void PickleMachine::push_global(std::string_view module, std::string_view name) {
  const std::string both = fmt::format("{} {}", module, name);
  if (std::find(kNames.begin(), kNames.end(), both) == kNames.end()) {
    throw DataError(
        fmt::format("{} cannot be read: it names {}.{}, and only tensors, dicts, numbers and text "
                    "are read (byte {})\nload it where it was made and save it again without that",
                    name_, module.substr(0, 60), name.substr(0, 60),
                    with_thousands(static_cast<std::int64_t>(opcode_at_))));
  }
  push_text(PickleKind::kGlobal, both);
}

void PickleMachine::make_storage() {
  const std::uint32_t id = pop();
  constexpr std::size_t kIdItems = 5;
  std::vector<std::uint32_t> items = nodes_[id].children;
  // Before PyTorch 1.6 a sixth one said which part of the storage was meant: None for all of it.
  if (items.size() == kIdItems + 1 && nodes_[items.back()].kind == PickleKind::kNone) {
    items.pop_back();
  }
  const bool is_storage =
      nodes_[id].kind == PickleKind::kTuple && items.size() == kIdItems &&
      text_of(items[0]) == "storage" && nodes_[items[1]].kind == PickleKind::kGlobal &&
      nodes_[items[2]].kind == PickleKind::kString && nodes_[items[4]].kind == PickleKind::kInt;
  if (!is_storage) fail("a persistent id is not that of a tensor's storage");
  push_container(PickleKind::kStorage, items);
}

void PickleMachine::reduce() {
  const std::uint32_t arguments = pop();
  const std::uint32_t callee = pop();
  if (nodes_[callee].kind != PickleKind::kGlobal || nodes_[arguments].kind != PickleKind::kTuple) {
    fail("REDUCE without a known name and a tuple");
  }
  const std::vector<std::uint32_t> items = nodes_[arguments].children;
  const std::string_view name = text_of(callee);
  if (name == kOrderedDict && items.empty()) {
    push_new(PickleKind::kDict);
  } else if (name == kRebuildTensor && items.size() >= 4 &&
             nodes_[items[0]].kind == PickleKind::kStorage) {
    push_container(PickleKind::kTensor, items);
  } else if (name == kRebuildParameter && !items.empty() &&
             nodes_[items[0]].kind == PickleKind::kTensor) {
    push(items[0]);
  } else {
    fail(fmt::format("{} is called in a way that torch.save does not", name));
  }
}

// Attributes of an OrderedDict (its _metadata): of no use here.
void PickleMachine::build() {
  pop();
  if (nodes_[top()].kind != PickleKind::kDict) fail("BUILD of something that is not a dict");
}

bool PickleMachine::run_torch(std::uint8_t opcode) {
  switch (opcode) {
    case 'c': {  // GLOBAL
      const std::string_view module = take_line();
      return push_global(module, take_line()), true;
    }
    case 0x93: {  // STACK_GLOBAL
      const std::uint32_t name = pop();
      const std::string module(text_of(pop()));
      return push_global(module, std::string(text_of(name))), true;
    }
    case 'Q':  // BINPERSID
      return make_storage(), true;
    case 'R':  // REDUCE
      return reduce(), true;
    case 'b':  // BUILD
      return build(), true;
    default:
      return false;
  }
}

}  // namespace snug::pickle
