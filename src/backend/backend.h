// What the training loop, the sampler and the checkpoints need of a backend: an executor of planned
// phases, and a way to the tensors that the host fills and reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/tensor_bytes.h"
#include "program/program.h"

namespace snug::backend {

// What the host does while a load or save phase runs, with its way to the tensors' bytes.
using HostTransfer = std::function<void(TensorBytes&)>;

// The numbers that change from step to step; everything else is in the Program.
struct StepContext {
  std::uint64_t seed = 0;
  std::int64_t iteration = 0;
  std::int64_t first_sequence = 0;  // number, within the iteration, of the batch's first sequence
  std::int64_t sequence_count = 0;  // sequences in use, at most the phase's batch_size
  std::int64_t position = 0;        // sampling: the row whose logits are wanted
  double dropout = 0;               // probability of dropping
  double loss_scale = 1;            // factor of every gradient, from the losses' on
  // Update only.
  double gradient_scale = 1;  // what makes a sum of gradients their mean, without loss_scale
  double gradient_clip = 0;   // largest allowed norm; 0: off
  double learning_rate = 0, beta1 = 0, beta2 = 0, epsilon = 1e-8;
  std::int64_t update_count = 0;  // AdamW's t, 1 for the first update
  // Load and save only: called by the phase's checkpoint op; lives until the phase is done.
  const HostTransfer* transfer = nullptr;
};

// An op as it was run, in the loss head once per chunk. Of two that run as one, the first has the
// time of both.
struct TimedOp {
  const program::Phase* phase = nullptr;
  const ops::Op* op = nullptr;
  std::int64_t row_count = 0;
  double start_seconds = 0, seconds = 0;  // the start from that of the work
};

// A Program bound to the memory that its Plan asks for, on one device. Nothing is allocated after
// construction. One thread of the host calls it.
class Executor {
 public:
  virtual ~Executor() = default;

  // Starts every op of the phase, in order, after all that was started before. It may return
  // before the work is done; `context` is copied. An update whose gradient norm is not finite
  // changes nothing.
  // What goes wrong in work that has been started is thrown by the first call that has to wait for
  // it: read, write, wait or the next run. Nothing that was started after it has then run.
  virtual void run(const program::Phase& phase, const StepContext& context) = 0;

  // The host's way to the tensors that a phase names as filled or read by the host: bytes from
  // `offset` on. write() waits for the work that still uses the tensor, read() for the work that
  // makes it. Both have copied the bytes when they return.
  virtual void write(TensorId id, std::int64_t offset, std::span<const std::byte> bytes) = 0;
  virtual void read(TensorId id, std::int64_t offset, std::span<std::byte> bytes) = 0;

  // Returns when everything that was started is done.
  virtual void wait() = 0;

  // FLOP/s of square products at the precision of the arithmetic, measured for a fraction of a
  // second in the executor's own memory, whose content is lost: before the first load. 0: unknown.
  virtual double measure_peak_flops() = 0;
  // Bytes per second, read and written, of what streams through the device's memory, in the same
  // way; for a small run on the processor in 700 MiB beside the plan's. 0: unknown.
  virtual double measure_byte_rate() = 0;

  // What `work` has this executor do, op by op, by the device's own clock.
  virtual std::vector<TimedOp> time_ops(const std::function<void()>& work) = 0;
};

// Runs a load or save phase to its end. What `transfer` throws passes through.
inline void run_transfer(Executor& executor, const program::Phase& phase,
                         const HostTransfer& transfer) {
  StepContext context;
  context.transfer = &transfer;
  executor.run(phase, context);
  executor.wait();
}

// The same in elements of the tensor's type.
template <class Element>
void write_elements(Executor& executor, TensorId id, std::int64_t first,
                    std::span<const Element> elements) {
  executor.write(id, first * static_cast<std::int64_t>(sizeof(Element)), std::as_bytes(elements));
}
template <class Element>
void read_elements(Executor& executor, TensorId id, std::int64_t first,
                   std::span<Element> elements) {
  executor.read(id, first * static_cast<std::int64_t>(sizeof(Element)),
                std::as_writable_bytes(elements));
}

}  // namespace snug::backend
