// What a training log says about a memory failure: every failure message with its numbers, and the
// evidence around them. Only what is printed; no conclusion is drawn here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace snug::doctor::log {

// A printed amount is rounded, so it stands for every byte count that prints so: "6.14 GiB" is
// 6.135 to 6.145 GiB, both ends included. Exact where bytes or the kernel's whole kB were printed.
struct LogAmount {
  std::int64_t low_bytes = 0;
  std::int64_t high_bytes = 0;
  bool is_exact() const noexcept { return low_bytes == high_bytes; }
  bool covers(std::int64_t bytes) const noexcept {
    return low_bytes <= bytes && bytes <= high_bytes;
  }
  bool operator==(const LogAmount&) const = default;
};

// Middle of a printed amount: what was printed.
inline std::int64_t middle(const LogAmount& amount) {
  return amount.low_bytes + (amount.high_bytes - amount.low_bytes) / 2;
}
inline std::optional<std::int64_t> middle(const std::optional<LogAmount>& amount) {
  return amount ? std::optional(middle(*amount)) : std::nullopt;
}

enum class LogEventKind : std::uint8_t {
  // The card's memory.
  kCudaOutOfMemory,         // PyTorch's caching allocator or cudaMallocAsync
  kHipOutOfMemory,          // the same on ROCm
  kXpuOutOfMemory,          // the same on Intel
  kMpsOutOfMemory,          // Metal: memory shared with the host
  kVendorOutOfMemory,       // NPU, MUSA, MLU forks
  kAllocatorWarning,        // PyTorch's byte-exact warning; a retry follows, so not fatal by itself
  kDriver,                  // the CUDA or HIP runtime or driver: no amounts
  kCublas,                  // `detail` is the status
  kCudnn,                   // `detail` is the status
  kNccl,                    // NCCL's own allocations
  kTensorFlow,              // TensorFlow, XLA, JAX
  kLlmC,                    // llm.c: file and line, no amounts
  kVllmCache,               // vLLM: no room for its cache of keys and values
  kUnspecifiedOutOfMemory,  // "out of memory" without saying whose
  // The host's memory.
  kHostAllocator,   // DefaultCPUAllocator, numpy, MemoryError, bad_alloc
  kKilledByKernel,  // the out-of-memory killer, of the machine or of a container
  kExit137,         // "Killed", exit 137 or -9: SIGKILL, nearly always the same killer
  // Neither.
  kTritonResources,  // shared memory on the chip, not VRAM: request and limit are of one kernel
  kSharedMemory,     // /dev/shm
  kDiskFull,
  kBitsandbytes,          // finds no CUDA library; `detail`, if any: fails in its own sources
  kNotEnoughSms,          // a harmless warning of inductor
  kMatmulPrecision,       // a harmless hint: TF32 would be faster
  kGradScalerDeprecated,  // a harmless warning; `detail` is the line of the program
  kDtypeUnsupported,      // `dtype` is what the card lacks
  kDeviceAssert,          // a kernel's own check: an index beyond its table
  kOtherError,            // an exception that is not about memory
};
constexpr std::size_t kLogEventKindCount = static_cast<std::size_t>(LogEventKind::kOtherError) + 1;

enum class LogMemory : std::uint8_t { kCard, kHost, kUnknown, kNeither };

// Whose memory ran out in an event of this kind.
LogMemory memory_of(LogEventKind kind) noexcept;

// The wordings of PyTorch's allocator. They differ in what is printed beside `allocated`.
enum class LogWording : std::uint8_t {
  kNone,           // no amounts, or not PyTorch's allocator
  kCached,         // 1.0 to 1.3: `unallocated`; a large request is a multiple of 128 KiB
  kReserved,       // 1.4 to 2.0: `reserved`
  kParenthesised,  // one of these two, cut before the word that tells
  kUnallocated,    // 2.1 on: `unallocated`
  kMallocAsync,    // cudaMallocAsync: the request is not rounded
  kMps,            // the request is not rounded; MB means MiB
};

struct LogShape {
  std::vector<std::int64_t> dims;
  std::string dtype;  // "float32", "bfloat16", ...; empty when not printed
  std::int64_t line = 0;
  bool operator==(const LogShape&) const = default;
};

// Bytes of a dense tensor of that shape; nothing when the dtype is unknown or the product
// overflows.
std::optional<std::int64_t> byte_count_of(const LogShape& shape);

// One line of a traceback, outermost first. Empty or 0 where the log does not say.
struct LogFrame {
  std::string file;  // with / between folders, also on Windows
  std::int64_t line = 0;
  std::string function;
  std::string source;
};

struct LogProcess {
  std::int64_t pid = 0;
  std::optional<LogAmount> in_use;  // nothing when the driver could not tell
};

struct LogEvent {
  LogEventKind kind = LogEventKind::kOtherError;
  LogWording wording = LogWording::kNone;
  std::int64_t line = 0;  // 1-based, where the message begins
  std::string text;       // the message unwrapped into one line, to its last amount
  std::string exception;  // "torch.cuda.OutOfMemoryError"; empty when not printed
  std::string detail;     // see the kinds

  std::optional<LogAmount> request;         // as printed: PyTorch rounds it first (request_range)
  std::optional<LogAmount> capacity;        // of the device
  std::optional<LogAmount> allocated;       // in tensors, by this process's PyTorch
  std::optional<LogAmount> reserved;        // taken from the driver: allocated + unallocated
  std::optional<LogAmount> unallocated;     // reserved, but in no tensor: fragmentation
  std::optional<LogAmount> free;            // by the driver
  std::optional<LogAmount> limit;           // allowed to this process, or on the chip
  std::optional<LogAmount> process_in_use;  // by this process, context included; killed: its RSS
  std::vector<LogProcess> processes;        // others by pid; in a container this one is among them
  std::optional<int> device;
  std::optional<int> rank;
  std::optional<LogShape> shape;  // of the very tensor that failed
  std::string dtype;
  std::vector<LogFrame> frames;          // of the traceback that ends here
  bool has_expandable_segments = false;  // the message says that they are on
  bool is_corrupt = false;               // "more than 1EB": a broken size, the cause is elsewhere
  bool is_cut = false;                   // the wording has more to say than is there
};

// The bytes the program asked for, for a request as printed: PyTorch's allocator prints what it
// would take from the driver (rounded up), the others print the request.
std::optional<LogAmount> request_range(const LogEvent& event);

// Reserved but in no tensor, from whichever numbers the wording has.
std::optional<LogAmount> unallocated_range(const LogEvent& event);

enum class LogSettingSource : std::uint8_t {
  kConfigEcho,   // nanoGPT printed the file
  kOverride,     // "Overriding: key = value"
  kCommandLine,  // --key=value
  kEnvironment,  // PYTORCH_CUDA_ALLOC_CONF=...
  kMention,      // key=value somewhere in the text: a person's word, or a printed dict
};

struct LogSetting {
  std::string key;
  std::string value;  // as printed: a Python literal or a bare word
  LogSettingSource source = LogSettingSource::kMention;
  std::int64_t line = 0;
};

struct LogCard {
  std::string name;  // as printed; nvidia-smi may end it in "..."
};

// A count printed with few digits: "123.59M".
struct LogCount {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct LogFacts {
  std::vector<LogSetting> settings;       // in order: the last of a source wins
  std::vector<std::string> config_files;  // echoed, or named on the command line
  std::string config_text;                // what nanoGPT echoed of them, whole lines
  std::optional<LogCount> parameter_count;
  std::optional<std::int64_t> decayed_parameter_count;
  std::optional<std::int64_t> tokens_per_iteration;
  std::optional<std::int64_t> vocab_size;
  std::optional<std::int64_t> last_iteration;  // the highest of "iter N: loss"
  std::int64_t evaluation_count = 0;
  std::optional<bool> fused_adamw;
  bool is_compiled = false;
  bool is_resumed = false;
  bool uses_slow_attention = false;
  bool is_wsl = false;
  std::string pretrained;  // "gpt2-xl"
  std::string torch_version;
  std::optional<int> world_size;    // from a launcher's command line
  std::optional<int> highest_rank;  // of the ranks that wrote
  std::vector<LogShape> shapes;     // every buffer shape that was printed
  std::vector<LogCard> cards;
};

struct LogSummary {
  // Ordered by line: the first and the last few of each kind. event_counts counts all of them.
  std::vector<LogEvent> events;
  std::array<std::int64_t, kLogEventKindCount> event_counts{};
  LogFacts facts;
  std::int64_t byte_count = 0;
  std::int64_t line_count = 0;

  std::int64_t count_of(LogEventKind kind) const noexcept {
    return event_counts[static_cast<std::size_t>(kind)];
  }
};

}  // namespace snug::doctor::log
