// For tests only: snapshots as PyTorch would write them of nanoGPT's train.py, from the tape of
// doctor/torch. Structure and frames are those of real ones (PyTorch 2.15), the sizes any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "doctor/torch/memory.h"
#include "doctor/torch/tape.h"
#include "doctor/torch/train.h"
#include "pickle/writer.h"

namespace snug::doctor::snapshot {

struct TestFrame {
  std::string file;
  std::int64_t line = 0;
  std::string function;
};
using TestStack = std::vector<TestFrame>;

struct TestOptions {
  bool frames = true, trace = true;
  std::size_t first_recorded = 0;  // earlier events are not in the trace
  std::int64_t line_shift = 0;     // an edited model.py: all its lines are elsewhere
  std::int64_t oom_bytes = 0;      // asked for in vain in the end, by cross_entropy
  std::int64_t device_free_bytes = 0;
  bool oom_in_backward = false;  // whose thread has no frames
};

struct TestSnapshot {
  std::string pickle;
  std::map<std::int64_t, torch::TorchTensor> live;  // truth, by address
};

class TapeSnapshot {
 public:
  explicit TapeSnapshot(const torch::TorchRun& run) : memory_(torch::torch_memory(run)) {
    torch::record_training(run, tape_);
  }
  const torch::TorchTape& tape() const { return tape_; }

  // The first event of a phase, and one more than its last; 0: there is none.
  std::size_t end_of(torch::TorchPhase phase, int iteration = 0, int micro_step = 0) const {
    const auto& sections = tape_.sections();
    for (std::size_t i = 0; i < sections.size(); ++i) {
      if (sections[i].phase != phase || sections[i].iteration != iteration ||
          sections[i].micro_step != micro_step)
        continue;
      return i + 1 < sections.size() ? static_cast<std::size_t>(sections[i + 1].first_event)
                                     : tape_.events().size();
    }
    return 0;
  }

  // After the first `event_count` events of the run.
  TestSnapshot make(std::size_t event_count, TestOptions options = {}) {
    options_ = options;
    TestSnapshot made;
    std::map<std::int32_t, std::int64_t> addresses;
    for (std::size_t i = 0; i < event_count; ++i) {
      const torch::TorchEvent& event = tape_.events()[i];
      if (event.allocates) addresses[event.tensor] = address_of(event.tensor);
      if (!event.allocates) addresses.erase(event.tensor);
    }
    pickle::PickleWriter out;
    out.begin_dict();
    out.text("segments");
    out.begin_list();
    for (const auto& [tensor, address] : addresses) {
      made.live[address] = tape_.tensors()[static_cast<std::size_t>(tensor)];
      write_segment(out, tensor, address);
    }
    out.end_list();
    write_traces(out, event_count);
    out.end_dict();
    made.pickle = out.finish();
    return made;
  }

 private:
  // Each tensor in a segment of its own.
  std::int64_t address_of(std::int32_t tensor) const {
    return (std::int64_t{1} << 40) + std::int64_t{tensor} * (std::int64_t{1} << 30);
  }

  static void number(pickle::PickleWriter& out, const char* key, std::int64_t value) {
    out.text(key);
    out.integer(value);
  }
  static void word(pickle::PickleWriter& out, const char* key, const std::string& value) {
    out.text(key);
    out.text(value);
  }

  void write_frames(pickle::PickleWriter& out, const TestStack& stack) const {
    out.text("frames");
    out.begin_list();
    for (const TestFrame& frame : options_.frames ? stack : TestStack{}) {
      out.begin_dict();
      word(out, "name", frame.function);
      word(out, "filename", frame.file);
      number(out, "line", frame.line);
      out.end_dict();
    }
    out.end_list();
  }

  void write_segment(pickle::PickleWriter& out, std::int32_t tensor, std::int64_t address) const {
    const torch::TorchTensor& t = tape_.tensors()[static_cast<std::size_t>(tensor)];
    const std::int64_t bytes = torch::allocator_rounding(t.bytes);
    out.begin_dict();
    number(out, "device", 0);
    number(out, "address", address);
    number(out, "total_size", torch::allocator_segment_bytes(t.bytes));
    number(out, "stream", 0);
    word(out, "segment_type", t.bytes <= (1 << 20) ? "small" : "large");
    out.text("blocks");
    out.begin_list();
    out.begin_dict();
    number(out, "address", address);
    number(out, "size", bytes);
    number(out, "requested_size", t.bytes);
    word(out, "state", "active_allocated");
    write_frames(out, stack_of(tensor));
    out.end_dict();
    out.end_list();
    out.end_dict();
  }

  void write_event(pickle::PickleWriter& out, const char* action, std::int64_t address,
                   std::int64_t bytes, const TestStack& stack, std::int64_t time) const {
    out.begin_dict();
    word(out, "action", action);
    number(out, "addr", address);
    number(out, "size", bytes);
    number(out, "stream", 0);
    number(out, "time_us", time);
    if (std::string(action) == "oom") number(out, "device_free", options_.device_free_bytes);
    write_frames(out, stack);
    out.end_dict();
  }

  void write_traces(pickle::PickleWriter& out, std::size_t event_count) const {
    out.text("device_traces");
    out.begin_list();
    out.begin_list();
    for (std::size_t i = options_.first_recorded; options_.trace && i < event_count; ++i) {
      const torch::TorchEvent& event = tape_.events()[i];
      const std::int64_t bytes = tape_.tensors()[static_cast<std::size_t>(event.tensor)].bytes;
      const auto time = static_cast<std::int64_t>(1000 + i);
      write_event(out, event.allocates ? "alloc" : "free_completed", address_of(event.tensor),
                  bytes, event.allocates ? stack_of(event.tensor) : TestStack{}, time);
    }
    if (options_.oom_bytes > 0) {
      const TestStack stack =
          options_.oom_in_backward ? TestStack{} : in_model({187}, "cross_entropy", false);
      write_event(out, "oom", 0, options_.oom_bytes, stack, 9999);
    }
    out.end_list();
    out.end_list();
  }

  // Innermost first: an operator of PyTorch, the lines of model.py, train.py.
  TestStack in_model(std::vector<std::int64_t> lines, const std::string& op, bool evaluates) const {
    const std::string torch = "/usr/lib/python3/dist-packages/torch/";
    TestStack stack;
    if (op == "linear" || op == "activation")
      stack = {{torch + "nn/modules/" + op + ".py", 134, "forward"},
               {torch + "nn/modules/module.py", 1798, "_call_impl"}};
    else if (!op.empty())
      stack = {{torch + "nn/functional.py", 2993, op}};
    for (const std::int64_t line : lines)
      stack.push_back({"/home/user/nanoGPT/model.py", line + options_.line_shift, "forward"});
    if (evaluates) {
      stack.push_back({"train.py", 224, "estimate_loss"});
      stack.push_back({torch + "utils/_contextlib.py", 158, "no_grad"});
    }
    stack.push_back({"train.py", evaluates ? 264 : 300, "<module>"});
    return stack;
  }

  TestStack stack_of(std::int32_t index) const;
  TestStack stack_of_forward(std::int32_t index, bool evaluates) const;

  torch::TorchMemory memory_;
  torch::TorchTape tape_;
  TestOptions options_;
};

inline TestStack TapeSnapshot::stack_of(std::int32_t index) const {
  const torch::TorchTensor& t = tape_.tensors()[static_cast<std::size_t>(index)];
  const std::string torch = "/usr/lib/python3/dist-packages/torch/";
  if (t.role == torch::TorchRole::kInput)
    return {{"train.py", 128, "get_batch"}, {"train.py", 250, "<module>"}};
  if (t.phase == torch::TorchPhase::kStart)
    return {{torch + "nn/modules/module.py", 1374, "convert"},
            {torch + "nn/modules/module.py", 966, "_apply"},
            {"train.py", 193, "<module>"}};
  if (t.phase == torch::TorchPhase::kBackward) return {};
  if (t.phase == torch::TorchPhase::kOptimizer)
    return {{torch + "optim/adam.py", 179, "_init_group"}, {"train.py", 311, "<module>"}};
  return stack_of_forward(index, t.phase != torch::TorchPhase::kForward);
}

inline TestStack TapeSnapshot::stack_of_forward(std::int32_t index, bool evaluates) const {
  // Norms' statistics follow the norm's output, a workspace and a copy stand around its product.
  std::string label(tape_.tensors()[static_cast<std::size_t>(index)].what);
  const torch::TorchTensor& t = tape_.tensors()[static_cast<std::size_t>(index)];
  for (std::int32_t i = index; label.starts_with("layer norm's") || label.ends_with("workspace");)
    label = std::string(tape_.tensors()[static_cast<std::size_t>(--i)].what);
  if (t.parameter >= 0) label = memory_.parameter_names[static_cast<std::size_t>(t.parameter)];
  const auto has = [&](const char* part) { return label.find(part) != std::string::npos; };
  const auto block = [&](std::int64_t line, std::int64_t branch, const char* op) {
    return in_model({line, branch, 181}, op, evaluates);
  };
  if (has("ln_1")) return block(27, 104, "layer_norm");
  if (has("ln_2")) return block(27, 105, "layer_norm");
  if (has("attn.c_attn")) return block(56, 104, "linear");
  if (has("attn.c_proj")) return block(75, 104, "linear");
  if (has("mlp.c_fc")) return block(88, 105, "linear");
  if (has("gelu")) return block(89, 105, "activation");
  if (has("mlp.c_proj")) return block(90, 105, "linear");
  if (has("after attn")) return in_model({104, 181}, "", evaluates);
  if (has("after mlp")) return in_model({105, 181}, "", evaluates);
  if (has("mlp output")) return block(91, 105, "dropout");
  if (has("attn output, dropped out")) return block(75, 104, "dropout");
  if (has("dropout mask") && t.layer >= 0) return block(91, 105, "dropout");
  if (has("attn")) return block(64, 104, "");
  if (has("ln_f")) return in_model({27, 182}, "layer_norm", evaluates);
  if (has("lm_head") || label == "logits" || has("wte"))
    return in_model({186}, "linear", evaluates);
  if (has("token emb")) return in_model({177}, "embedding", evaluates);
  if (has("position emb")) return in_model({178}, "embedding", evaluates);
  if (has("dropout mask") || has("embeddings, dropped"))
    return in_model({179}, "dropout", evaluates);
  if (has("embeddings")) return in_model({179}, "", evaluates);
  if (label == "positions") return in_model({174}, "", evaluates);
  if (label == "loss, divided") return {{"train.py", 301, "<module>"}};
  return in_model({187}, "cross_entropy", evaluates);
}

}  // namespace snug::doctor::snapshot
