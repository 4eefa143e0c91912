// Loads, stores, atomics, asynchronous copies.
#include <cmath>

#include "cuda_shim/atomics.h"
#include "emulator/access.h"
#include "emulator/lane.h"
#include "thread.h"

namespace emulator::ptx {
namespace {

std::size_t bytes_of(Type type) { return type.bits / 8; }

std::uint64_t extended(std::uint64_t value, Type type) {
  return type.kind == 's' ? static_cast<std::uint64_t>(as_signed(value, type)) : value;
}

void load(Thread& t, const Step& step) {
  const Operand& to = step.in->operands[0];
  const char* from = t.address(step.in->operands[1], *step.in);
  const std::size_t width = bytes_of(step.type);
  unsigned char bytes[64];
  const std::size_t count = to.kind == Operand::Kind::kVector ? to.parts.size() : 1;
  if (step.in->has("global") || step.in->has("shared")) {
    read_wide(bytes, from, width * count);
  } else {
    std::memcpy(bytes, from, width * count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes + i * width, width);
    t.set(to.kind == Operand::Kind::kVector ? to.parts[i] : to, extended(value, step.type));
  }
}

void store(Thread& t, const Step& step) {
  const Operand& from = step.in->operands[1];
  char* to = t.address(step.in->operands[0], *step.in);
  const std::size_t width = bytes_of(step.type);
  unsigned char bytes[64];
  const std::size_t count = from.kind == Operand::Kind::kVector ? from.parts.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Operand& part = from.kind == Operand::Kind::kVector ? from.parts[i] : from;
    const std::uint64_t value = t.get(part, step.type);
    std::memcpy(bytes + i * width, &value, width);
  }
  if (step.in->has("local")) {
    std::memcpy(to, bytes, width * count);
  } else {
    write_wide(to, bytes, width * count);
  }
}

std::uint64_t updated(const Instruction& in, Type type, std::uint64_t old, std::uint64_t value) {
  if (in.has("add") && type.kind == 'f') {
    return type.bits == 32 ? std::bit_cast<std::uint32_t>(static_cast<float>(as_float(old, type)) +
                                                          static_cast<float>(as_float(value, type)))
                           : from_float(as_float(old, type) + as_float(value, type), type);
  }
  if (in.has("add")) return old + value;
  if (in.has("exch")) return value;
  if (in.has("or")) return old | value;
  if (in.has("and")) return old & value;
  const bool less = type.kind == 's' ? as_signed(old, type) < as_signed(value, type) : old < value;
  if (in.has("max")) return less ? value : old;
  if (in.has("min")) return less ? old : value;
  throw std::runtime_error("atomic: " + in.text);
}

template <typename Word>
std::uint64_t update(Thread& t, const Step& step, char* address, const Operand& operand) {
  return atomic_update(reinterpret_cast<Word*>(address), [&](Word old) {
    return static_cast<Word>(updated(*step.in, step.type, old, t.get(operand, step.type)));
  });
}

void atomic(Thread& t, const Step& step) {
  const bool returns = step.in->opcode == "atom";
  const Operand& where = step.in->operands[returns ? 1 : 0];
  const Operand& value = step.in->operands[returns ? 2 : 1];
  char* address = t.address(where, *step.in);
  const std::uint64_t old = step.type.bits == 64 ? update<std::uint64_t>(t, step, address, value)
                                                 : update<std::uint32_t>(t, step, address, value);
  if (returns) t.set(step.in->operands[0], old);
}

// cp.async.cg.shared.global [target], [source], bytes, source_bytes; and its groups.
void copy(Thread& t, const Step& step) {
  const Instruction& in = *step.in;
  if (in.has("commit_group")) return copy_async_commit();
  if (in.has("wait_group")) {
    return copy_async_wait(static_cast<unsigned>(in.operands[0].value), Site::current());
  }
  const Type word{'u', 32, false}, wide{'u', 64, false};
  Operand target = in.operands[0], source = in.operands[1];
  target.kind = source.kind = Operand::Kind::kRegister;
  const std::uint64_t shared = truncated(t.get(target, word) + target.value, word);
  const std::uint64_t global = t.get(source, wide) + source.value;
  const std::size_t bytes = in.operands[2].value;
  const std::size_t source_bytes = in.operands.size() > 3 ? t.get(in.operands[3], word) : bytes;
  copy_async(t.shared_base() + shared, reinterpret_cast<const void*>(global), bytes, source_bytes,
             Site::current());
}

void nothing(Thread&, const Step&) {}

}  // namespace

const std::map<std::string, Handler>& memory_handlers() {
  static const std::map<std::string, Handler> handlers = {
      {"ld", load},          {"ldu", load},         {"st", store},       {"atom", atomic},
      {"red", atomic},       {"cp", copy},          {"membar", nothing}, {"fence", nothing},
      {"prefetch", nothing}, {"prefetchu", nothing}};
  return handlers;
}

}  // namespace emulator::ptx
