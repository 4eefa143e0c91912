// One device thread that runs parsed PTX: its registers and its place. The warp's and the block's
// instructions go to the same primitives that compiled kernels use (emulator/lane.h).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "program.h"

namespace emulator::ptx {

struct Type {
  char kind = 'b';  // s, u, b, f (float), h (float16), t (bfloat16), p (predicate)
  unsigned bits = 32;
  bool pair = false;  // f16x2, bf16x2
};
Type type_of(const std::string& word);

class Thread;
struct Step;
using Handler = void (*)(Thread&, const Step&);

struct Step {
  Handler handler = nullptr;
  const Instruction* in = nullptr;
  Type type, from;  // the last type word, and cvt's, the one before
};

// A kernel made ready: handlers found, so that what is not known is said before it runs.
struct Prepared {
  const Kernel* kernel = nullptr;
  const Module* module = nullptr;
  std::vector<Step> steps;
};
Prepared prepare(const Kernel& kernel, const Module& module);

class Thread {
 public:
  Thread(const Prepared& program, const std::vector<unsigned char>& parameters,
         const std::map<std::string, std::size_t>& parameter_offsets);

  void run();

  std::uint64_t get(const Operand& operand, Type type) const;
  void set(const Operand& operand, std::uint64_t value) {
    if (operand.reg >= 0) registers_[static_cast<std::size_t>(operand.reg)] = value;
  }
  // The host's address of an address operand in a state space ("global", "shared", "param", ...).
  char* address(const Operand& operand, const Instruction& in) const;
  char* shared_base() const;
  char* symbol(const std::string& name) const;
  void jump(std::size_t place) { next_ = place; }
  void leave() { next_ = program_.steps.size(); }

 private:
  const Prepared& program_;
  const std::vector<unsigned char>& parameters_;
  const std::map<std::string, std::size_t>& parameter_offsets_;
  std::vector<std::uint64_t> registers_;
  mutable std::map<std::string, std::vector<char>> local_;
  std::size_t next_ = 0;
};

std::uint64_t truncated(std::uint64_t value, Type type);  // to the type's bits
std::int64_t as_signed(std::uint64_t value, Type type);
double as_float(std::uint64_t value, Type type);
std::uint64_t from_float(double value, Type type);  // rounds once to nearest even

// Handlers by opcode, each file's own.
const std::map<std::string, Handler>& arithmetic_handlers();
const std::map<std::string, Handler>& float_handlers();
const std::map<std::string, Handler>& memory_handlers();
const std::map<std::string, Handler>& warp_handlers();

}  // namespace emulator::ptx
