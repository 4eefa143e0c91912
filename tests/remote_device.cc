#include "remote_device.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace snug {
namespace {

void set_protection(const cpu::Arena& arena, int protection) {
  const std::int64_t bytes =
      align_up(std::max<std::int64_t>(arena.byte_count(), 1), sysconf(_SC_PAGESIZE));
  if (mprotect(arena.data(), static_cast<std::size_t>(bytes), protection) != 0) {
    throw DeviceError("mprotect failed");
  }
}

TensorId staging_of(const program::Phase& phase) {
  for (const ops::Op& op : phase.ops) {
    if (const auto* read = op.as<ops::CheckpointRead>()) return read->staging;
    if (const auto* write = op.as<ops::CheckpointWrite>()) return write->staging;
  }
  throw InternalError("a transfer in a phase without a checkpoint op");
}

fit::Budget remote_budget(const config::Config& config, std::int64_t capacity_bytes) {
  return fit::plain_budget(capacity_bytes, fit::BudgetSource::kMemoryBudget, config.headroom);
}

}  // namespace

// While one lives, the arena's pages can be reached.
class RemoteExecutor::Reachable {
 public:
  explicit Reachable(RemoteExecutor& executor) : executor_(executor) {
    if (executor_.reachable_depth_++ == 0) {
      set_protection(executor_.inner_.arena(), PROT_READ | PROT_WRITE);
    }
  }
  ~Reachable() {
    if (--executor_.reachable_depth_ == 0) set_protection(executor_.inner_.arena(), PROT_NONE);
  }
  Reachable(const Reachable&) = delete;
  Reachable& operator=(const Reachable&) = delete;

 private:
  RemoteExecutor& executor_;
};

// Every piece through the staging buffer; what the host does with a piece it does with the pages
// out of reach.
class RemoteExecutor::StagedBytes : public TensorBytes {
 public:
  StagedBytes(RemoteExecutor& executor, cpu::TensorView staging)
      : executor_(executor), staging_(staging) {}

  std::span<const std::byte> get(TensorId id, std::int64_t offset,
                                 std::int64_t byte_count) override {
    const std::span<std::byte> piece = staged(byte_count);
    const Reachable reachable(executor_);
    executor_.inner_.read(id, offset, piece);
    return piece;
  }
  void put(TensorId id, std::int64_t offset, std::int64_t byte_count, const Fill& fill) override {
    const std::span<std::byte> piece = staged(byte_count);
    fill(piece);
    const Reachable reachable(executor_);
    executor_.inner_.write(id, offset, piece);
  }

 private:
  std::span<std::byte> staged(std::int64_t byte_count) {
    if (byte_count > staging_.byte_count()) throw InternalError("a piece larger than its staging");
    return {staging_.data, static_cast<std::size_t>(byte_count)};
  }

  RemoteExecutor& executor_;
  cpu::TensorView staging_;  // booked by the checkpoint op, in pinned memory
};

RemoteExecutor::RemoteExecutor(const program::Program& program, const plan::Plan& plan)
    : program_(program), inner_(program, plan) {
  set_protection(inner_.arena(), PROT_NONE);
}

RemoteExecutor::~RemoteExecutor() = default;

void RemoteExecutor::run(const program::Phase& phase, const backend::StepContext& context) {
  wait();
  started_ = Started{&phase, context};
}

void RemoteExecutor::wait() {
  if (!started_) return;
  const Started work = *std::exchange(started_, std::nullopt);
  if (work.context.transfer != nullptr) {
    run_transfer_phase(work);
    return;
  }
  const Reachable reachable(*this);
  inner_.run(*work.phase, work.context);
}

// The device works on the phase, but while the host has its turn nothing can be reached.
void RemoteExecutor::run_transfer_phase(const Started& work) {
  backend::StepContext context = work.context;
  const backend::HostTransfer staged = [&](TensorBytes&) {
    struct HostsTurn {
      explicit HostsTurn(RemoteExecutor& e)
          : executor(e), depth(std::exchange(e.reachable_depth_, 0)) {
        set_protection(executor.inner_.arena(), PROT_NONE);
      }
      ~HostsTurn() {
        executor.reachable_depth_ = depth;
        set_protection(executor.inner_.arena(), PROT_READ | PROT_WRITE);
      }
      RemoteExecutor& executor;
      int depth;
    } const turn(*this);
    StagedBytes bytes(*this, inner_.view(staging_of(*work.phase)));
    (*work.context.transfer)(bytes);
  };
  context.transfer = &staged;
  const Reachable reachable(*this);
  inner_.run(*work.phase, context);
}

void RemoteExecutor::write(TensorId id, std::int64_t offset, std::span<const std::byte> bytes) {
  require_shared(id);
  wait();
  inner_.write(id, offset, bytes);
}

void RemoteExecutor::read(TensorId id, std::int64_t offset, std::span<std::byte> bytes) {
  require_shared(id);
  wait();
  inner_.read(id, offset, bytes);
}

void RemoteExecutor::require_shared(TensorId id) const {
  if (program_.tensor(id).space != Space::kDevice) return;
  throw InternalError(
      fmt::format("the host cannot reach '{}' on the device", program_.tensor(id).name));
}

double RemoteExecutor::measure_peak_flops() {
  wait();
  const Reachable reachable(*this);
  return inner_.measure_peak_flops();
}

double RemoteExecutor::measure_byte_rate() { return inner_.measure_byte_rate(); }

std::vector<backend::TimedOp> RemoteExecutor::time_ops(const std::function<void()>& work) {
  wait();
  return inner_.time_ops([&] {
    work();
    wait();
  });
}

RemoteDevice::RemoteDevice(const config::Config& config, std::int64_t capacity_bytes)
    : device::Device(remote_budget(config, capacity_bytes)),
      cpu_(config),
      target_(cpu_.target()),
      capacity_bytes_(capacity_bytes) {}

fit::Rates RemoteDevice::rates(const config::Config& config, std::int64_t vocab_size) const {
  return cpu_.rates(config, vocab_size);
}

std::unique_ptr<backend::Executor> RemoteDevice::make_executor(const program::Program& program,
                                                               const plan::Plan& plan) const {
  if (plan.arena_bytes > capacity_bytes_) {
    throw CapacityError(fmt::format("the plan needs {}, the remote device has {}",
                                    format_bytes(plan.arena_bytes), format_bytes(capacity_bytes_)));
  }
  return std::make_unique<RemoteExecutor>(program, plan);
}

}  // namespace snug
