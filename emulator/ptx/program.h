// A kernel as nvcc's PTX text tells it, parsed. Registers are numbered, labels are places.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace emulator::ptx {

struct Operand {
  enum class Kind { kRegister, kImmediate, kAddress, kSymbol, kSpecial, kLabel, kVector, kSink };
  Kind kind = Kind::kSink;
  int reg = -1;                // of a register, or an address's base
  std::uint64_t value = 0;     // immediate bits; an address's offset; a label's place
  std::string name;            // of a symbol, a special register, an address's symbol
  std::vector<Operand> parts;  // of a vector
};

struct Instruction {
  int guard = -1;  // predicate register
  bool guard_negated = false;
  std::string opcode;              // "ld"
  std::vector<std::string> words;  // what follows it: "global", "v4", "f32"
  std::vector<Operand> operands;
  std::string text;  // as it stands, for reports
  std::uint32_t code = 0;

  bool has(const char* word) const;
  const std::string& type() const { return words.back(); }
};

struct Variable {  // a parameter, or an object in shared or local memory
  std::string name;
  std::size_t bytes = 0, alignment = 1;
};

struct Kernel {
  std::string name;
  std::vector<Variable> parameters, shared, local;
  std::vector<Instruction> code;
  int registers = 0;
  std::size_t max_threads = 0;  // by .maxntid; 0: not told

  // Whether an instruction's result is defined by a bound only (.approx).
  bool has_approximations() const;
  // Whether it was compiled for other cards only and refuses to run.
  bool only_traps() const { return !code.empty() && code.front().opcode == "trap"; }
};

struct Module {
  std::map<std::string, std::shared_ptr<Kernel>> kernels;
  std::map<std::string, std::vector<unsigned char>> constants;  // .global and .const with values
};

// Throws std::runtime_error with the line for text that it does not understand.
Module parse(const std::string& text);

// nvcc's name for an unnamed namespace, as g++ has it.
std::string common_symbol(std::string symbol);

}  // namespace emulator::ptx
