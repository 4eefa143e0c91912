// A card that work can be run on, as devices see it: no CUDA header is needed to ask. Which cards
// these are depends on the build: the machine's, the emulator's, or none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/phase_walk.h"
#include "plan/plan.h"

namespace snug::cuda {

struct OpenCard {
  int index = 0;
  std::string name;              // the driver's
  std::string pci_address;       // "0000:01:00", as NVML's readings have it
  int capability = 0;            // 86 for 8.6
  std::int64_t total_bytes = 0;  // as the driver tells programs
  // With the context made, and kLoadedLaterBytes set aside.
  std::int64_t free_bytes = 0;
  std::int64_t driver = 0, runtime = 0;  // versions, 13000 for 13.0

  bool has_bfloat16() const { return capability >= 80; }
  bool has_tf32() const { return capability >= 80; }
};

// What cuBLASLt loads of its kernels when products first run, after memory was looked at. An
// estimate: no card has been asked yet. `snug selftest` measures it.
constexpr std::int64_t kLoadedLaterBytes = std::int64_t{64} << 20;

// What `device` is called where this build's cards are meant: "cuda" or "emulated"; "": none.
std::string_view card_device();
// How many cards there are; 0 also where the driver or its library is missing.
int card_count();
// Why there is none, in a few words; "" where there is one.
std::string why_no_card();
// What is free of an open card now, without what is set aside.
std::int64_t free_bytes_now(const OpenCard& card);

// Makes the context on card `index`, then looks at what is free. `model` names the card to emulate,
// where cards are emulated. Throws DeviceError, saying what is wrong and what to do.
OpenCard open_card(int index, const std::string& model);

struct RunSettings {
  bool tf32 = false;  // float32 products may round their operands to 10 bits
  // What the card cannot do is thrown when its op runs, not when the program is bound; for
  // self-tests, which go on with the next op.
  bool refuses_late = false;
};
// Takes the plan's memory on the card and binds the program to it; both must outlive the executor.
// Throws CapacityError when the memory is refused.
std::unique_ptr<backend::Executor> make_executor(const OpenCard& card,
                                                 const program::Program& program,
                                                 const plan::Plan& plan,
                                                 const RunSettings& settings);

// An executor that make_executor() made, one op at a time; for self-tests, slow. run_op() waits for
// the op, read_bytes() and write_bytes() reach any tensor. All throw DeviceError.
void run_op(backend::Executor& executor, const program::Phase& phase, std::size_t op,
            const backend::StepContext& context, backend::RowRange rows);
void read_bytes(backend::Executor& executor, TensorId id, std::int64_t offset,
                std::span<std::byte> bytes);
void write_bytes(backend::Executor& executor, TensorId id, std::int64_t offset,
                 std::span<const std::byte> bytes);
// Whether the card can do nothing more for this process.
bool is_lost();

}  // namespace snug::cuda
