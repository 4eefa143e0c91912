#include "doctor/snapshot/places.h"

#include <algorithm>
#include <array>

namespace snug::doctor::snapshot {
namespace {

// A folder named torch may be the user's own; these parts of a path are PyTorch's.
constexpr std::array<std::string_view, 12> kTorchPaths = {"packages/torch/",
                                                          "/torch/nn/",
                                                          "/torch/optim/",
                                                          "/torch/utils/",
                                                          "/torch/autograd",
                                                          "/torch/amp/",
                                                          "/torch/cuda/",
                                                          "/torch/distributed/",
                                                          "/torch/_",
                                                          "/torch/fx/",
                                                          "/torch/serialization.py",
                                                          "/torch/functional.py"};

struct OperatorRow {
  std::string_view file;      // how the path ends, or what it contains with a '/' at its end
  std::string_view function;  // empty: any
  Operator op;
};

// The first that matches any of PyTorch's frames counts.
constexpr std::array<OperatorRow, 31> kOperators = {{
    {"torch/optim/", "_multi_tensor_adam", Operator::kStep},
    {"torch/optim/", "_multi_tensor_adamw", Operator::kStep},
    {"torch/optim/", "", Operator::kOptimizer},
    {"amp/grad_scaler.py", "", Operator::kOptimizer},
    {"utils/clip_grad.py", "", Operator::kClip},
    {"nn/parallel/", "__init__", Operator::kDdp},
    {"nn/parallel/", "_ddp_init_helper", Operator::kDdp},
    {"torch/serialization.py", "", Operator::kLoad},
    {"modules/module.py", "convert", Operator::kMove},
    {"modules/module.py", "_apply", Operator::kMove},
    {"torch/nn/modules/", "__init__", Operator::kMove},
    {"torch/nn/modules/", "reset_parameters", Operator::kMove},
    {"nn/functional.py", "cross_entropy", Operator::kCrossEntropy},
    {"nn/functional.py", "nll_loss", Operator::kCrossEntropy},
    {"nn/functional.py", "log_softmax", Operator::kCrossEntropy},
    {"nn/functional.py", "layer_norm", Operator::kLayerNorm},
    {"nn/functional.py", "rms_norm", Operator::kLayerNorm},
    {"nn/functional.py", "embedding", Operator::kEmbedding},
    {"nn/functional.py", "dropout", Operator::kDropout},
    {"nn/functional.py", "softmax", Operator::kSoftmax},
    {"nn/functional.py", "gelu", Operator::kActivation},
    {"nn/functional.py", "silu", Operator::kActivation},
    {"nn/functional.py", "relu", Operator::kActivation},
    {"nn/functional.py", "linear", Operator::kLinear},
    {"modules/linear.py", "forward", Operator::kLinear},
    {"modules/normalization.py", "forward", Operator::kLayerNorm},
    {"modules/activation.py", "forward", Operator::kActivation},
    {"modules/sparse.py", "forward", Operator::kEmbedding},
    {"modules/dropout.py", "forward", Operator::kDropout},
    {"torch/_functorch/", "backward", Operator::kBackward},
    {"torch/autograd/", "", Operator::kBackward},
}};

bool is_file(std::string_view path, std::string_view wanted) {
  return wanted.ends_with('/') ? path.find(wanted) != std::string_view::npos
                               : path.ends_with(wanted);
}

bool is_torch(std::string_view path) {
  return path.starts_with('<') || path.starts_with("torch/") ||
         std::any_of(kTorchPaths.begin(), kTorchPaths.end(), [&](std::string_view part) {
           return path.find(part) != std::string_view::npos;
         });
}

bool is_inductor(std::string_view path) {
  return path.find("torchinductor") != std::string_view::npos;
}

Operator operator_of(std::string_view path, std::string_view function) {
  for (const OperatorRow& row : kOperators) {
    if (is_file(path, row.file) && (row.function.empty() || row.function == function))
      return row.op;
  }
  return Operator::kOther;
}

// Of two operators that the frames show the one that says more: an optimizer's step runs under
// other wrappers, Module.to() calls itself.
bool says_more(Operator op, Operator than) {
  if (than == Operator::kDirect || than == Operator::kOther) return op != Operator::kOther;
  if (than == Operator::kStep) return false;
  return op == Operator::kOptimizer || op == Operator::kLoad || op == Operator::kMove;
}

class StackReader {
 public:
  explicit StackReader(const Snapshot& snapshot) : snapshot_(snapshot) {}

  Place read(std::span<const std::uint32_t> stack) {
    Place place;
    if (stack.empty()) return place;
    place.op = Operator::kDirect;
    for (const std::uint32_t index : stack) add(index, place);
    std::reverse(place.lines.begin(), place.lines.end());
    return place;
  }

 private:
  void add(std::uint32_t index, Place& place) {
    const Frame& frame = snapshot_.frames[index];
    const std::string& path = snapshot_.texts[frame.file];
    const std::string& function = snapshot_.texts[frame.function];
    if (function == "estimate_loss") place.evaluates = true;
    if (is_inductor(path)) {
      place.compiled = true;
    } else if (is_torch(path)) {
      if (path.ends_with("utils/checkpoint.py") && function.starts_with("recompute"))
        place.recomputes = true;
      // What stands outside of the user's code says how that was called, not what it does; but an
      // optimizer or a load is called from it.
      const Operator op = operator_of(path, function);
      if (place.frame == kNoFrame && says_more(op, place.op)) place.op = op;
    } else {
      add_own(index, frame, function, place);
    }
  }

  void add_own(std::uint32_t index, const Frame& frame, const std::string& function, Place& place) {
    if (place.frame == kNoFrame) {
      place.frame = index;
      place.takes_batch = function == "get_batch";
    }
    if (function.ends_with("from_pretrained") || function.starts_with("_load_pretrained"))
      place.op = Operator::kMove;
    if (function != "forward") return;
    place.in_forward = true;
    if (frame.file == snapshot_.frames[place.frame].file) place.lines.push_back(frame.line);
  }

  const Snapshot& snapshot_;
};

}  // namespace

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::vector<Place> places_of(const Snapshot& snapshot) {
  StackReader reader(snapshot);
  std::vector<Place> places;
  places.reserve(snapshot.stacks.size());
  for (std::uint32_t i = 0; i < snapshot.stacks.size(); ++i) {
    places.push_back(reader.read(snapshot.stack(i)));
  }
  return places;
}

}  // namespace snug::doctor::snapshot
