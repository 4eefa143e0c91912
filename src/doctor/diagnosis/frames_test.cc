// What frames of other programs than nanoGPT tell: phase, advice and causes outside of the model.
#include <gtest/gtest.h>

#include "doctor/diagnosis/for_test.h"

namespace snug::doctor::diagnosis {
namespace {

std::string frame(std::string_view file, std::string_view function, std::string_view source = "") {
  std::string text = fmt::format("  File \"{}\", line 12, in {}\n", file, function);
  if (!source.empty()) text += fmt::format("    {}\n", source);
  return text;
}

std::string oom() {
  return new_message("1.50 GiB", "23.69 GiB", "1.00 GiB", own_use("22.60 GiB"), "21.90 GiB",
                     "300.00 MiB");
}

constexpr std::string_view kTrainer = "/v/transformers/trainer.py";
constexpr std::string_view kEngine = "/v/deepspeed/runtime/engine.py";
constexpr std::string_view kZero = "/v/deepspeed/runtime/zero/stage_1_and_2.py";

TEST(DiagnosisFrames, DeepSpeed) {
  struct Row {
    std::string frames;
    torch::TorchPhase phase;
    NoteId advice;
  };
  const Row rows[] = {
      {frame(kEngine, "_configure_zero_optimizer") + frame(kZero, "initialize_optimizer_states"),
       torch::TorchPhase::kOptimizer, NoteId::kAdviceOptimizer},
      {frame(kEngine, "_configure_distributed_model", "self.module.to(self.device)"),
       torch::TorchPhase::kStart, NoteId::kAdviceLoading},
      {frame(kEngine, "backward") + frame(kZero, "reduce_partition_and_remove_grads"),
       torch::TorchPhase::kBackward, NoteId::kAdviceBatch},
      {frame(kEngine, "step") + frame(kZero, "get_flat_partition"), torch::TorchPhase::kOptimizer,
       NoteId::kAdviceOptimizer},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.frames);
    const Diagnosis diagnosis = diagnose_text(row.frames + oom());
    EXPECT_EQ(diagnosis.phase, row.phase);
    EXPECT_NE(find_note(diagnosis, row.advice), nullptr);
    EXPECT_NE(find_note(diagnosis, NoteId::kAdviceZero), nullptr);
  }
}

TEST(DiagnosisFrames, Trainer) {
  const std::string loop = frame(kTrainer, "_inner_training_loop");
  const Diagnosis evaluation = diagnose_text(loop + frame(kTrainer, "evaluate") +
                                             frame(kTrainer, "evaluation_loop") + oom());
  EXPECT_EQ(evaluation.phase, torch::TorchPhase::kEvaluateLater);
  EXPECT_NE(find_note(evaluation, NoteId::kAdviceEvaluation), nullptr);
  EXPECT_EQ(find_note(evaluation, NoteId::kAdviceBatch), nullptr);
  const Diagnosis moved =
      diagnose_text(frame(kTrainer, "_move_model_to_device", "model = model.to(device)") + oom());
  EXPECT_EQ(moved.phase, torch::TorchPhase::kStart);
  EXPECT_NE(find_note(moved, NoteId::kAdviceLoading), nullptr);
  EXPECT_EQ(find_note(moved, NoteId::kAdviceBatch), nullptr);
  // On Windows as elsewhere the key has Trainer's name.
  const Diagnosis windows = diagnose_text(
      frame("C:\\v\\transformers\\trainer.py", "training_step", "loss = self.compute_loss(model)") +
      frame("C:\\v\\gpt2.py", "forward", "x = self.mlp(x)") + oom());
  ASSERT_NE(find_note(windows, NoteId::kAdviceBatch), nullptr);
  EXPECT_EQ(find_note(windows, NoteId::kAdviceBatch)->arguments[0], "per_device_train_batch_size");
}

// Processes that write at once cut each other's messages.
TEST(DiagnosisFrames, TheWholeMessageOfInterleavedRanksCounts) {
  const std::string cut =
      "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.07 GiB. GPU 1 has "
      "a "
      "total capacity of 23.69 GiB of which 1.90\n";
  const Diagnosis diagnosis = diagnose_text(
      fmt::format("{}[rank0]: {}[rank1]: GiB is free. Including non-PyTorch\n", cut, oom()));
  ASSERT_TRUE(diagnosis.event);
  EXPECT_FALSE(diagnosis.event->is_cut);
  EXPECT_EQ(diagnosis.event->rank, 0);
  EXPECT_TRUE(diagnosis.allocated_bytes && diagnosis.unallocated_bytes);
  // Two on one line, without a mark whose they are.
  const Diagnosis merged = diagnose_text(fmt::format(
      "CUDA out of memory. Tried to allocate 3.07 GiB (GPU 1; 23.69 GiB total capacity; {}",
      oom()));
  EXPECT_FALSE(merged.event->is_cut);
  EXPECT_EQ(merged.event->device, 0);
}

TEST(DiagnosisFrames, BitsandbytesAndWsl) {
  const Diagnosis paged = diagnose_text(
      "Platform: Linux-5.10.16.3-microsoft-standard-WSL2-x86_64\n"
      "Error out of memory at line 380 in file /b/bitsandbytes/csrc/pythonInterface.c\n");
  EXPECT_EQ(paged.cause, Cause::kDriver);
  EXPECT_NE(find_note(paged, NoteId::kBitsandbytesCode), nullptr);
  EXPECT_NE(find_note(paged, NoteId::kWsl), nullptr);
  const Diagnosis setup =
      diagnose_text("RuntimeError: \n        CUDA Setup failed despite GPU being available.\n");
  EXPECT_EQ(setup.cause, Cause::kNotMemory);
  EXPECT_NE(find_note(setup, NoteId::kBitsandbytesSetup), nullptr);
  EXPECT_EQ(find_note(setup, NoteId::kWsl), nullptr);
  // A full card is the cause whatever else was said.
  EXPECT_EQ(diagnose_text("The installed version of bitsandbytes was compiled without GPU "
                          "support.\n" +
                          oom())
                .cause,
            Cause::kCapacity);
  const Diagnosis killed = diagnose_text("uname: 5.15-microsoft-standard-WSL2\nKilled\n");
  EXPECT_EQ(killed.cause, Cause::kHostMemory);
  EXPECT_NE(find_note(killed, NoteId::kWsl), nullptr);
  EXPECT_EQ(find_note(diagnose_text("Killed\n"), NoteId::kWsl), nullptr);
}

}  // namespace
}  // namespace snug::doctor::diagnosis
