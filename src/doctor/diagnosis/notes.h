// Notes: single statements of the doctor, with their numbers, without words. The catalogue of the
// report has every one of them in every language.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace snug::doctor::diagnosis {

// The arguments of each, in order, as texts that need no translation (bytes already formatted).
enum class NoteId : std::uint8_t {
  // What the log shows.
  kOnlyAWarning,            // the allocator's warning alone is not fatal: it retries
  kMessageCut,              // the message is cut: what is missing was not used
  kAllocatedOverCapacity,   // {allocated} {capacity}: Windows moves memory to the host
  kNotAvailablePerProcess,  // the driver cannot tell what each process holds (Windows, WSL)
  kCorruptSize,             // "more than 1EB": a broken size, look at the first error
  kOldRounding,             // PyTorch before 1.4 rounded to 128 KiB
  kRoundedRequest,          // {printed} {low} {high}: the message rounds; the tensor is between
  kSharedMemoryOfChip,      // {required} {limit}: Triton's shared memory, not VRAM
  kNotEnoughSms,            // harmless: fewer multiprocessors than max_autotune wants
  kMatmulPrecision,         // harmless: TF32 is about speed
  kGradScalerDeprecated,    // {the corrected line}
  kNoBfloat16,              // {card}: before Ampere; float16 with scaling
  kDevShm,                  // /dev/shm is too small for the workers
  kDiskFull,
  kTokenBeyondVocabulary,  // a device-side assert: an index beyond its table
  kOtherError,             // {exception}: the failure is not about memory
  kHostKilled,             // {rss or ""}: the kernel ended the process for lack of RAM
  kHostAllocator,          // {bytes}: RAM, not the card
  kPrepareWorkers,         // lower num_proc in prepare.py
  kCublasThreeCauses,      // card full; token id beyond the vocabulary; broken installation
  kDriverThreeCauses,      // context, pinned memory, another process
  kBitsandbytesSetup,      // it finds no CUDA library
  kBitsandbytesCode,       // its own code failed; a paged optimizer takes managed memory
  kWsl,                    // WSL2 lends half of the RAM, and little of it pinned
  kNcclBuffers,            // NCCL's own buffers come on top
  kMpsSharesRam,           // Apple's card shares the RAM; other programs count
  kLlmCNoSizes,            // {states} {…}: llm.c prints no sizes; what the model needs
  kSelfIsProcess,          // {pid}: in a container this process is listed by its number
  kIdleContexts,           // {count}: processes that hold a bare context only
  kTwoRanksOneCard,        // ranks may share one card: CUDA_VISIBLE_DEVICES
  kSampling,               // generate() computes the whole context for each token, at batch 1
  kVllmCache,              // vLLM: weights leave no room for its cache within its share
  kLogUnreadable,          // nothing in the log is about a run: the answer is the config's
  kNoFailureInLog,         // the log shows a run and no failure: the answer is the config's
  kLimitSet,               // {limit}: a memory fraction or MIG slice is set
  // What the model shows.
  kStatesAlone,         // {standing} {what PyTorch can have}: weights + gradients + AdamW + copies
  kFirstStepNeedsMore,  // {peak} {what PyTorch can have}: this passed, the first step would not
  kAccumulationAddsGradients,
  kLogitsKeptAlive,         // {bytes}: train.py's global name `logits`
  kResumeKeepsACopy,        // {bytes}: state_dict after a resume
  kAmbiguous,               // {count}: several tensors have this size
  kShapeFromConfigDiffers,  // the shape in the log is not one of this config
  kHeadsDoNotDivide,        // {n_embd} {n_head} {heads that would} {width that would}
  kVocabularyAssumed,       // {50304}
  kLittleInPieces,          // {unallocated}: fragmentation, but there is little of it
  kMatchedRun,              // {settings}: the message goes with another run than the given
  kSettingsFromLog,         // {settings}: taken from the log
  kLogSettingsNotUsed,      // {settings}: of the log, which make no run
  kOtherTokens,             // {the log's} {the config's}: tokens per iteration
  kOtherParameters,         // {the log's} {the config's}: of the model
  kSurvivesAlone,           // {what it needs} {what the card has alone}
  kSurvivesExpandable,      // {needed with them} {what it had} {needed without}
  kSurvivesInOnePiece,      // the same, where PyTorch has no such segments
  kConfigDoesNotExplain,    // {the log's} {the config's}
  kAssumedRun,              // {settings}: no config; these explain the message
  // {batch_size} {micro-steps of all processes} {their product}; both "" with one micro-step
  kEffectiveBatch,
  // What usually helps, where there is no config to try it on.
  kAdviceBatch,          // {key of the batch} {key of the accumulation}
  kAdviceCheckpointing,  // {how it is switched on}
  kAdviceOptimizer,
  kAdviceLoading,     // weights alone are too much
  kAdviceEvaluation,  // Trainer keeps the logits of all evaluation batches
  kAdviceZero,        // DeepSpeed: stages, offloading, buckets
  kAdviceNccl,
  kAdviceMonitor,  // where there is one, too
  // Myths, where the question touches one.
  kMythEvaluationKeepsGraph,
  kMythKvCache,
  kMythEvalIters,
  kMythAccumulationSaves,  // by itself it adds the gradients
  kMythHalvingHalves,      // {before} {after}
  kMythCompileOffSaves,    // {eager} {compiled}
  kMythCheckpointHalves,   // {before} {after}
};
constexpr int kNoteCount = static_cast<int>(NoteId::kMythCheckpointHalves) + 1;

struct Note {
  NoteId id;
  std::vector<std::string> arguments;
};

}  // namespace snug::doctor::diagnosis
