#include "thread.h"

#include <cmath>

#include "block.h"
#include "cuda_shim/narrow_floats.h"
#include "emulator/lane.h"

namespace emulator::ptx {

Type type_of(const std::string& word) {
  if (word == "pred") return {'p', 1, false};
  if (word == "f16x2") return {'h', 32, true};
  if (word == "bf16x2") return {'t', 32, true};
  if (word == "f16") return {'h', 16, false};
  if (word == "bf16") return {'t', 16, false};
  if (word == "f32") return {'f', 32, false};
  if (word == "f64") return {'f', 64, false};
  const bool known = word.size() > 1 && std::string("sub").find(word[0]) != std::string::npos &&
                     std::isdigit(static_cast<unsigned char>(word[1]));
  if (!known) return {'b', 32, false};
  return {word[0], static_cast<unsigned>(std::stoul(word.substr(1))), false};
}

std::uint64_t truncated(std::uint64_t value, Type type) {
  return type.bits >= 64 ? value : value & ((std::uint64_t{1} << type.bits) - 1);
}

std::int64_t as_signed(std::uint64_t value, Type type) {
  const unsigned shift = 64 - type.bits;
  return static_cast<std::int64_t>(value << shift) >> shift;
}

double as_float(std::uint64_t value, Type type) {
  if (type.kind == 'h') return half_value(static_cast<std::uint16_t>(value));
  if (type.kind == 't') return bf16_value(static_cast<std::uint16_t>(value));
  if (type.bits == 64) return std::bit_cast<double>(value);
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

std::uint64_t from_float(double value, Type type) {
  if (type.kind == 'h') return half_bits(static_cast<float>(value));
  if (type.kind == 't') return bf16_bits(static_cast<float>(value));
  if (type.bits == 64) return std::bit_cast<std::uint64_t>(value);
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

Prepared prepare(const Kernel& kernel, const Module& module) {
  Prepared made{&kernel, &module, {}};
  for (const Instruction& in : kernel.code) {
    Step step{nullptr, &in, type_of(in.type()), {}};
    if (in.words.size() > 1) step.from = type_of(in.words[in.words.size() - 2]);
    for (const auto* handlers :
         {&arithmetic_handlers(), &float_handlers(), &memory_handlers(), &warp_handlers()}) {
      if (const auto found = handlers->find(in.opcode); found != handlers->end()) {
        step.handler = found->second;
        const bool is_float =
            step.type.kind == 'f' || step.type.kind == 'h' || step.type.kind == 't';
        const auto& floats = float_handlers();
        if (is_float && floats.contains(in.opcode)) step.handler = floats.at(in.opcode);
        break;
      }
    }
    if (!step.handler) throw std::runtime_error(kernel.name + ": unknown instruction " + in.text);
    made.steps.push_back(step);
  }
  return made;
}

Thread::Thread(const Prepared& program, const std::vector<unsigned char>& parameters,
               const std::map<std::string, std::size_t>& parameter_offsets)
    : program_(program),
      parameters_(parameters),
      parameter_offsets_(parameter_offsets),
      registers_(static_cast<std::size_t>(program.kernel->registers)) {
  for (const Variable& variable : program.kernel->local) {
    local_[variable.name].resize(variable.bytes + 16);
  }
}

void Thread::run() {
  const std::size_t count = program_.steps.size();
  while (next_ < count) {
    const Step& step = program_.steps[next_++];
    if (step.in->guard >= 0) {
      const bool holds = registers_[static_cast<std::size_t>(step.in->guard)] & 1;
      if (holds == step.in->guard_negated) continue;
    }
    step.handler(*this, step);
  }
}

namespace {

std::uint64_t special(const std::string& name) {
  const LaneIdentity& lane = *t_lane;
  const auto pick = [&](auto v) {
    return static_cast<std::uint64_t>(name.back() == 'x' ? v.x : name.back() == 'y' ? v.y : v.z);
  };
  if (name.starts_with("%tid")) return pick(lane.thread);
  if (name.starts_with("%ntid")) return pick(lane.block_shape);
  if (name.starts_with("%ctaid")) return pick(lane.block);
  if (name.starts_with("%nctaid")) return pick(lane.grid_shape);
  if (name == "%laneid") return lane.index % kWarpLanes;
  return lane.index / kWarpLanes;
}

}  // namespace

std::uint64_t Thread::get(const Operand& operand, Type type) const {
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      return registers_[static_cast<std::size_t>(operand.reg)];
    case Operand::Kind::kImmediate:
      return truncated(operand.value, type);
    case Operand::Kind::kSpecial:
      return special(operand.name);
    case Operand::Kind::kSymbol: {
      // In its own space: shared objects count from the block's shared memory on.
      char* where = symbol(operand.name);
      const bool is_shared = where >= shared_base() && where < shared_base() + Block::kSharedRoom;
      if (is_shared) return static_cast<std::uint64_t>(where - shared_base());
      return reinterpret_cast<std::uint64_t>(where);
    }
    default:
      throw std::runtime_error("an operand that has no value");
  }
}

char* Thread::shared_base() const {
  return const_cast<char*>(static_cast<const Lane&>(*t_lane).owner->shared_begin());
}

char* Thread::symbol(const std::string& name) const {
  for (const Variable& variable : program_.kernel->shared) {
    if (variable.name != name) continue;
    if (variable.bytes == 0) return static_cast<char*>(dynamic_shared());
    return static_cast<char*>(shared_object(&variable, variable.bytes, variable.alignment));
  }
  if (const auto found = local_.find(name); found != local_.end()) {
    const auto start = reinterpret_cast<std::uintptr_t>(found->second.data());
    return reinterpret_cast<char*>((start + 15) / 16 * 16);
  }
  if (const auto found = parameter_offsets_.find(name); found != parameter_offsets_.end()) {
    return const_cast<char*>(reinterpret_cast<const char*>(parameters_.data())) + found->second;
  }
  const auto constant = program_.module->constants.find(name);
  if (constant == program_.module->constants.end()) throw std::runtime_error("symbol " + name);
  return const_cast<char*>(reinterpret_cast<const char*>(constant->second.data()));
}

char* Thread::address(const Operand& operand, const Instruction& in) const {
  const std::uint64_t offset = operand.value;
  if (!operand.name.empty()) return symbol(operand.name) + offset;
  const std::uint64_t base = registers_[static_cast<std::size_t>(operand.reg)] + offset;
  if (in.has("shared") && in.opcode != "cp")
    return shared_base() + truncated(base, {'u', 32, false});
  return reinterpret_cast<char*>(base);
}

}  // namespace emulator::ptx
