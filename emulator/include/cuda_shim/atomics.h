// Atomics of device code. They work across the OS threads that blocks run on; the checked build is
// told that they are atomic.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace emulator {

// Told of an atomic access before it happens; does nothing in the plain build.
void atomic_access(const void* address, std::size_t bytes);

template <typename T, typename Change>
T atomic_update(T* address, Change change) {
  atomic_access(address, sizeof(T));
  std::atomic_ref<T> target(*address);
  T old = target.load();
  while (!target.compare_exchange_weak(old, change(old))) {
  }
  return old;
}

}  // namespace emulator

template <typename T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return emulator::atomic_update(address, [=](T old) { return static_cast<T>(old + value); });
}
template <typename T>
T atomicSub(T* address, std::type_identity_t<T> value) {
  return emulator::atomic_update(address, [=](T old) { return static_cast<T>(old - value); });
}
template <typename T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return emulator::atomic_update(address, [=](T old) { return old < value ? value : old; });
}
template <typename T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return emulator::atomic_update(address, [=](T old) { return value < old ? value : old; });
}
template <typename T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return emulator::atomic_update(address, [=](T old) { return static_cast<T>(old | value); });
}
template <typename T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return emulator::atomic_update(address, [=](T old) { return static_cast<T>(old & value); });
}
template <typename T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return emulator::atomic_update(address, [=](T) { return value; });
}
template <typename T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  return emulator::atomic_update(address, [=](T old) { return old == compare ? value : old; });
}
// As in CUDA: the counter goes from 0 to `limit` and begins anew.
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return emulator::atomic_update(address, [=](unsigned old) { return old >= limit ? 0 : old + 1; });
}
