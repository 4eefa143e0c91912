// Stacks and the switch between them. On x86-64 a switch saves six registers and the stack pointer;
// elsewhere it is ucontext's. Address sanitizer is told of every switch.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace emulator {

// A stack with an unreadable page below it. Pages are committed when touched.
class Stack {
 public:
  static constexpr std::size_t kBytes = 128 << 10;

  Stack();
  ~Stack();
  Stack(Stack&& other) noexcept : base_(other.base_) { other.base_ = nullptr; }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  Stack& operator=(Stack&&) = delete;

  char* low() const { return base_; }
  char* high() const { return base_ + kBytes; }

 private:
  char* base_ = nullptr;
};

// One flow of control that can be left and entered again. The flow of the OS thread itself is a
// Context that was never started.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The next switch to this context calls entry(argument) on `stack`; entry must never return.
  void start(const Stack& stack, void (*entry)(void*), void* argument);
  // Leaves this context, which runs now, and goes on in `next`. `last`: this one is not entered
  // again before another start().
  void switch_to(Context& next, bool last = false);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace emulator
