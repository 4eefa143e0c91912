#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulator {
namespace {

std::size_t guard_bytes() {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

Stack::Stack() {
  void* mapped = mmap(nullptr, kBytes + guard_bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mprotect(mapped, guard_bytes(), PROT_NONE);
  base_ = static_cast<char*>(mapped) + guard_bytes();
}

Stack::~Stack() {
  if (base_) munmap(base_ - guard_bytes(), kBytes + guard_bytes());
}

namespace {

struct Beginning {
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;
};

}  // namespace

struct Context::State {
  Beginning beginning;
#if defined(__x86_64__)
  void* stack_pointer = nullptr;
#else
  ucontext_t registers;
#endif
  const void* bottom = nullptr;  // for the sanitizer
  std::size_t bytes = 0;
  void* fake_stack = nullptr;
};

Context::Context() : state_(std::make_unique<State>()) {}
Context::~Context() = default;

#if defined(__x86_64__)
// The six registers that a call preserves go on the stack that is left; then the other stack's come
// back. A new stack is laid out as if it had been left at the start of emulator_enter.
extern "C" void emulator_switch_stacks(void** left, void* entered);
extern "C" void emulator_enter_fiber();
asm(R"(
.text
.p2align 4
.type emulator_switch_stacks, @function
emulator_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulator_switch_stacks, .-emulator_switch_stacks
.p2align 4
.type emulator_enter_fiber, @function
emulator_enter_fiber:
  movq %r12, %rdi
  callq *%rbx
  ud2
.size emulator_enter_fiber, .-emulator_enter_fiber
)");
#endif

namespace {

void begin_fiber(void* state) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  const Beginning& beginning = *static_cast<const Beginning*>(state);
  beginning.entry(beginning.argument);
}

}  // namespace

void Context::start(const Stack& stack, void (*entry)(void*), void* argument) {
  State& state = *state_;
  state.beginning.entry = entry;
  state.beginning.argument = argument;
  state.bottom = stack.low();
  state.bytes = Stack::kBytes;
  state.fake_stack = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  // A fiber that a fault ended left its frames' red zones behind.
  __asan_unpoison_memory_region(stack.low(), Stack::kBytes);
#endif
#if defined(__x86_64__)
  void** top = reinterpret_cast<void**>(stack.high()) - 2;  // 16-byte aligned at the call
  *--top = reinterpret_cast<void*>(&emulator_enter_fiber);
  *--top = nullptr;                                // rbp
  *--top = reinterpret_cast<void*>(&begin_fiber);  // rbx
  *--top = &state.beginning;                       // r12
  *--top = nullptr;
  *--top = nullptr;
  *--top = nullptr;
  state.stack_pointer = top;
#else
  getcontext(&state.registers);
  state.registers.uc_stack.ss_sp = stack.low();
  state.registers.uc_stack.ss_size = Stack::kBytes;
  state.registers.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(&state.beginning);
  makecontext(&state.registers, reinterpret_cast<void (*)()>(+[](unsigned low, unsigned high) {
    begin_fiber(reinterpret_cast<void*>(static_cast<std::uintptr_t>(low) |
                                        static_cast<std::uintptr_t>(high) << 32));
  }),
              2, static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
#endif
}

void Context::switch_to(Context& next, bool last) {
#if defined(__SANITIZE_ADDRESS__)
  if (!state_->bottom) {  // the OS thread's own flow
    pthread_attr_t attributes;
    void* bottom = nullptr;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &bottom, &state_->bytes);
    pthread_attr_destroy(&attributes);
    state_->bottom = bottom;
  }
  __sanitizer_start_switch_fiber(last ? nullptr : &state_->fake_stack, next.state_->bottom,
                                 next.state_->bytes);
#else
  (void)last;
#endif
#if defined(__x86_64__)
  emulator_switch_stacks(&state_->stack_pointer, next.state_->stack_pointer);
#else
  swapcontext(&state_->registers, &next.state_->registers);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(state_->fake_stack, nullptr, nullptr);
#endif
}

}  // namespace emulator
