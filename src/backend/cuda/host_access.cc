// The host's way to the tensors that it shares with the card, and to all of them while a checkpoint
// is read or written.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/cuda/cuda_executor.h"
#include "backend/cuda/errors.h"
#include "base/error.h"

namespace snug::cuda {

CudaExecutor::HostTensor& CudaExecutor::host_tensor(TensorId id) {
  const auto found = std::ranges::find(host_tensors_, id, &HostTensor::id);
  if (found == host_tensors_.end()) {
    throw InternalError(
        fmt::format("the host cannot reach '{}' on the card", program_.tensor(id).name));
  }
  return *found;
}

void CudaExecutor::wait_for(const HostTensor& tensor) {
  require_done(tensor.copied.wait());
  started_.done_until(tensor.copied_by);
}

void CudaExecutor::copy(TensorId from, TensorId to) {
  const bool to_host = program_.tensor(to).space != plan_.space;
  const auto bytes = static_cast<std::size_t>(program_.tensor(from).byte_count());
  require(cudaMemcpyAsync(address(to), address(from), bytes,
                          to_host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, stream()),
          program_.tensor(to).name);
  HostTensor& shared = host_tensor(to_host ? to : from);
  shared.copied.record(stream());
  shared.copied_by = started_.last();
}

std::byte* CudaExecutor::bytes_at(TensorId id, std::int64_t offset, std::int64_t byte_count) const {
  const Tensor& tensor = program_.tensor(id);
  if (offset < 0 || byte_count > tensor.byte_count() - offset) {
    throw InternalError(fmt::format("bytes {} to {} of '{}', which has {}", offset,
                                    offset + byte_count, tensor.name, tensor.byte_count()));
  }
  return address(id) + offset;
}

// The rest of the phase may still run: only its copy of this tensor has to be done. Tensors of
// other phases may lie in the same pinned bytes, so that their copies have to be, too.
void CudaExecutor::write(TensorId id, std::int64_t offset, std::span<const std::byte> bytes) {
  const HostTensor& own = host_tensor(id);
  wait_for(own);
  for (const HostTensor& other : host_tensors_) {
    if (other.phase != own.phase) wait_for(other);
  }
  std::memcpy(bytes_at(id, offset, std::ssize(bytes)), bytes.data(), bytes.size());
}

void CudaExecutor::read(TensorId id, std::int64_t offset, std::span<std::byte> bytes) {
  wait_for(host_tensor(id));
  std::memcpy(bytes.data(), bytes_at(id, offset, std::ssize(bytes)), bytes.size());
}

// Every piece through the staging buffer, which is part of the plan.
class CudaExecutor::StagedBytes : public TensorBytes {
 public:
  StagedBytes(CudaExecutor& executor, TensorId staging) : executor_(executor), staging_(staging) {}

  std::span<const std::byte> get(TensorId id, std::int64_t offset,
                                 std::int64_t byte_count) override {
    const std::span<std::byte> piece = staged(byte_count);
    move(piece.data(), on_card(id, offset, byte_count), byte_count, cudaMemcpyDeviceToHost);
    return piece;
  }
  void put(TensorId id, std::int64_t offset, std::int64_t byte_count, const Fill& fill) override {
    const std::span<std::byte> piece = staged(byte_count);
    fill(piece);
    move(on_card(id, offset, byte_count), piece.data(), byte_count, cudaMemcpyHostToDevice);
  }

 private:
  std::span<std::byte> staged(std::int64_t byte_count) {
    return {executor_.bytes_at(staging_, 0, byte_count), static_cast<std::size_t>(byte_count)};
  }
  std::byte* on_card(TensorId id, std::int64_t offset, std::int64_t byte_count) const {
    return executor_.bytes_at(id, offset, byte_count);
  }
  void move(std::byte* to, const std::byte* from, std::int64_t byte_count, cudaMemcpyKind kind) {
    executor_.require_done(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(byte_count), kind, executor_.stream()));
    executor_.require_done(cudaStreamSynchronize(executor_.stream()));
  }

  CudaExecutor& executor_;
  TensorId staging_;
};

void CudaExecutor::transfer(TensorId staging, const backend::StepContext& context) {
  if (context.transfer == nullptr || staging == kNoTensor) {
    throw InternalError("a checkpoint without a host to give to or take from");
  }
  wait();  // staging may share its bytes with what other phases copy
  StagedBytes bytes(*this, staging);
  (*context.transfer)(bytes);
}

}  // namespace snug::cuda
