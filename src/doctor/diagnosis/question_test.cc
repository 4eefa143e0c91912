// Questions that people ask about nanoGPT's own configs, and notes and myths in the answers.
#include <gtest/gtest.h>

#include <limits>

#include "doctor/diagnosis/for_test.h"
#include "doctor/diagnosis/log_notes.h"

namespace snug::doctor::diagnosis {
namespace {

TEST(DiagnosisQuestion, BatchOf16On12GB) {
  const fit::Card& card = fit::card_named("rtx3060");
  for (const char* settings : {"batch_size=16 gradient_accumulation_steps=32",
                               "batch_size=16 gradient_accumulation_steps=32 compile=False"}) {
    const torch::TorchMemory memory = memory_of(settings);
    const Diagnosis diagnosis = predict(memory, &card);
    EXPECT_EQ(diagnosis.cause, Cause::kCapacity) << settings;
    ASSERT_EQ(diagnosis.candidates.size(), 1U);
    EXPECT_EQ(diagnosis.candidates[0].shape.back(), 50304);
    EXPECT_EQ(diagnosis.phase, torch::TorchPhase::kBackward);
    EXPECT_EQ(diagnosis.worst_peak_bytes, memory.worst().allocated_bytes);
  }
}

// Nothing is wrong with it; what batch_size does, how to watch a run and myths are told all the
// same.
TEST(DiagnosisQuestion, WhatFitsHasNotesAndMyths) {
  const torch::TorchMemory memory = memory_of("batch_size=2 gradient_accumulation_steps=32");
  const Diagnosis diagnosis = predict(memory, &fit::card_named("rtx3060"));
  EXPECT_EQ(diagnosis.cause, Cause::kUnknown);
  EXPECT_TRUE(diagnosis.candidates.empty());
  for (const fit::Card* card :
       {&fit::card_named("rtx3060"), static_cast<const fit::Card*>(nullptr)}) {
    const Diagnosis told = predict(memory, card);
    ASSERT_NE(find_note(told, NoteId::kEffectiveBatch), nullptr);
    EXPECT_EQ(find_note(told, NoteId::kEffectiveBatch)->arguments,
              (std::vector<std::string>{"2", "32", "64"}));
    EXPECT_NE(find_note(told, NoteId::kAdviceMonitor), nullptr);
    EXPECT_NE(find_note(told, NoteId::kMythKvCache), nullptr);
    EXPECT_NE(find_note(told, NoteId::kMythHalvingHalves), nullptr);
  }
  EXPECT_EQ(predict(memory, nullptr).cause, Cause::kUnknown);
  EXPECT_EQ(diagnose(log::LogSummary{}, nullptr, nullptr).diagnosis.cause, Cause::kUnknown);
}

TEST(DiagnosisQuestion, StatesAloneArePredicted) {
  const torch::TorchMemory memory = memory_of("init_from=gpt2-xl batch_size=1");
  const Diagnosis diagnosis = predict(memory, &fit::card_named("rtx3060"));
  EXPECT_EQ(diagnosis.cause, Cause::kStatesExceedCard);
  ASSERT_NE(find_note(diagnosis, NoteId::kStatesAlone), nullptr);
  EXPECT_EQ(find_note(diagnosis, NoteId::kStatesAlone)->arguments[0], "23.21 GiB");
}

// 6.14 GiB is the half-precision logits of 64 sequences, and the second batch of an evaluation asks
// for them while the first one's still stand: 6.78 GiB allocated. Eager would have come to 7.22, so
// that compile = False does not go with the message.
TEST(DiagnosisQuestion, BatchOf64) {
  const std::string log = new_message("6.14 GiB", "11.69 GiB", "2.68 GiB", own_use("7.04 GiB"),
                                      "6.78 GiB", "31.42 MiB");
  for (const char* settings : {"batch_size=64", "batch_size=64 compile=False"}) {
    SCOPED_TRACE(settings);
    const Diagnosis diagnosis = diagnose_text(log, settings);
    EXPECT_EQ(diagnosis.cause, Cause::kCapacity);
    ASSERT_FALSE(diagnosis.candidates.empty());
    EXPECT_EQ(diagnosis.candidates[0].tensor, "logits");
    EXPECT_EQ(diagnosis.candidates[0].shape, (std::vector<std::int64_t>{65536, 50304}));
    EXPECT_EQ(diagnosis.candidates[0].dtype, "bfloat16");
    EXPECT_EQ(diagnosis.candidates[0].evidence, Evidence::kSizeAndAllocated);
    EXPECT_GE(diagnosis.candidates[0].confidence, 0.95);
    EXPECT_EQ(diagnosis.phase, torch::TorchPhase::kEvaluateFirst);
    EXPECT_NE(find_note(diagnosis, NoteId::kFirstStepNeedsMore), nullptr);
    EXPECT_NEAR(static_cast<double>(*diagnosis.others_bytes), 1.97 * kGiB, 0.02 * kGiB);
  }
}

// All of one report is of one run: the one that goes with the message.
TEST(DiagnosisQuestion, FiguresAreOfTheMatchedRun) {
  const std::string log = new_message("6.14 GiB", "11.69 GiB", "2.68 GiB", own_use("7.04 GiB"),
                                      "6.78 GiB", "31.42 MiB");
  const auto [diagnosis, matched] = match_text(log, "batch_size=64 compile=False");
  ASSERT_TRUE(matched);
  EXPECT_TRUE(matched->run.compiled);
  EXPECT_EQ(diagnosis.worst_peak_bytes, torch::torch_memory(matched->run).worst().allocated_bytes);
  EXPECT_EQ(matched->tensors.size(), torch::torch_memory(matched->run).tensors.size());
  ASSERT_NE(find_note(diagnosis, NoteId::kMatchedRun), nullptr);
  EXPECT_EQ(find_note(diagnosis, NoteId::kMatchedRun)->arguments[0], "compile = True");
  const auto [as_given, other] = match_text(log, "batch_size=64");
  EXPECT_FALSE(other);
  EXPECT_EQ(find_note(as_given, NoteId::kMatchedRun), nullptr);
  EXPECT_EQ(as_given.worst_peak_bytes, diagnosis.worst_peak_bytes);
}

// A run without flash attention is of PyTorch 1, which cannot compile.
TEST(DiagnosisQuestion, TheMatchedRunIsOneThatCanBe) {
  const std::string log =
      old_message("100.00 MiB", "23.68 GiB", "21.67 GiB", "85.06 MiB", "21.92 GiB");
  for (const char* settings : {"init_from=gpt2-xl batch_size=1", "init_from=gpt2-xl batch_size=2",
                               "init_from=gpt2-xl batch_size=4"}) {
    const std::optional<torch::TorchMemory> matched = match_text(log, settings).matched;
    if (!matched) continue;
    EXPECT_TRUE(matched->run.flash || !matched->run.compiled) << settings;
  }
  EXPECT_TRUE(match_text(log, "init_from=gpt2-xl batch_size=1").matched);
}

// Both figures of the note are those that were compared. Autocast's copies are no states: where
// only they are too much, another setting of the run may help.
TEST(DiagnosisQuestion, StatesAloneAreMoreThanPyTorchCanHave) {
  const std::string settings = "init_from=gpt2-large batch_size=1 compile=False";
  const torch::TorchMemory memory = memory_of(settings);
  const std::int64_t states = memory.params_bytes + memory.gradient_bytes + memory.optimizer_bytes;
  const auto gib = [](std::int64_t bytes) {
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / kGiB);
  };
  const auto log_with = [&](std::int64_t room) {
    return new_message("20.00 MiB", gib(room + 300 * kMiB), "12.00 MiB",
                       own_use(gib(room + 290 * kMiB)), gib(room - 20 * kMiB), "10.00 MiB");
  };
  const std::int64_t too_little = states - 200 * kMiB;
  const Diagnosis diagnosis = diagnose_text(log_with(too_little), settings);
  EXPECT_EQ(diagnosis.cause, Cause::kStatesExceedCard);
  const Note* const note = find_note(diagnosis, NoteId::kStatesAlone);
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(note->arguments[0], gib(states));
  EXPECT_NEAR(std::stod(note->arguments[1]), static_cast<double>(too_little) / kGiB, 0.05);
  const std::int64_t with_half_of_copies = states + memory.half_copies_bytes / 2;
  EXPECT_EQ(diagnose_text(log_with(with_half_of_copies), settings).cause, Cause::kCapacity);
}

TEST(DiagnosisQuestion, TheShapeInTheLogWins) {
  const std::string log = fmt::format(
      "  File \"/tmp/torchinductor_u/c.py\", line 9, in call\n"
      "    buf1 = empty_strided_cuda((65536, 50304), (50304, 1), torch.bfloat16)\n{}",
      new_message("6.14 GiB", "11.69 GiB", "2.68 GiB", own_use("7.04 GiB"), "6.78 GiB",
                  "224.90 MiB"));
  const Diagnosis diagnosis = diagnose_text(log, "batch_size=64");
  ASSERT_EQ(diagnosis.candidates.size(), 1U);
  EXPECT_EQ(diagnosis.candidates[0].shape, (std::vector<std::int64_t>{65536, 50304}));
  EXPECT_EQ(diagnosis.candidates[0].evidence, Evidence::kShapeInLog);
  EXPECT_GE(diagnosis.candidates[0].confidence, 0.95);
  EXPECT_EQ(find_note(diagnosis, NoteId::kShapeFromConfigDiffers), nullptr);
  // No tensor of a batch of 32 has this shape in that type.
  EXPECT_NE(find_note(diagnose_text(log, "batch_size=32"), NoteId::kShapeFromConfigDiffers),
            nullptr);
}

// The third evaluation batch's log-probabilities in fp32, 3.07 GiB, on a 4070 of 12 GB.
TEST(DiagnosisQuestion, FailsInEstimateLoss) {
  const std::string settings =
      "n_embd=576 n_head=12 dtype=float16 batch_size=16 compile=False "
      "gradient_accumulation_steps=4";
  const torch::TorchMemory memory = memory_of(settings);
  std::int64_t before = 0;
  for (const torch::TorchTensor& tensor : memory.tensors) {
    if (tensor.phase == torch::TorchPhase::kEvaluateLater &&
        tensor.what == "log-probabilities in fp32") {
      before = tensor.allocated_before_bytes;
    }
  }
  const std::string log = fmt::format(
      "number of parameters: 76.77M\nstep 0: train loss 10.9, val loss 10.9\n"
      "iter 0: loss 10.9, time 900.00ms, mfu -100.00%\n"
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 264, in <module>\n    losses = estimate_loss()\n"
      "  File \"train.py\", line 224, in estimate_loss\n    logits, loss = model(X, Y)\n"
      "  File \"model.py\", line 187, in forward\n    loss = F.cross_entropy(logits, targets)\n{}",
      new_message("3.07 GiB", "11.58 GiB", "1.60 GiB", own_use("9.90 GiB"),
                  fmt::format("{:.2f} GiB", static_cast<double>(before) / kGiB), "41.00 MiB"));
  const Diagnosis diagnosis = diagnose_text(log, settings);
  EXPECT_EQ(diagnosis.cause, Cause::kCapacity);
  EXPECT_EQ(diagnosis.phase, torch::TorchPhase::kEvaluateLater);
  ASSERT_FALSE(diagnosis.candidates.empty());
  EXPECT_EQ(diagnosis.candidates[0].tensor, "log-probabilities in fp32") << to_text(diagnosis);
  EXPECT_GE(diagnosis.candidates[0].confidence, 0.9);
  EXPECT_NE(find_note(diagnosis, NoteId::kMythEvaluationKeepsGraph), nullptr);
  EXPECT_NE(find_note(diagnosis, NoteId::kMythEvalIters), nullptr);
  EXPECT_NE(find_note(diagnosis, NoteId::kLogitsKeptAlive), nullptr);
}

TEST(DiagnosisQuestion, HeadsThatDoNotDivide) {
  const std::optional<Note> note = heads_note(512, 12);
  ASSERT_TRUE(note);
  EXPECT_EQ(note->arguments, (std::vector<std::string>{"512", "12", "8", "480"}));
  EXPECT_EQ(heads_note(448, 12)->arguments[2], "14");
  EXPECT_FALSE(heads_note(768, 12));
  EXPECT_FALSE(heads_note(0, 0));
  EXPECT_FALSE(heads_note(768, std::numeric_limits<std::int64_t>::max()));
  EXPECT_FALSE(heads_note(std::numeric_limits<std::int64_t>::max(), 12));
  const Diagnosis diagnosis = diagnose_text(
      "Overriding: n_embd = 512\n"
      "  File \"model.py\", line 33, in __init__\n    assert config.n_embd % config.n_head == 0\n"
      "AssertionError\n");
  EXPECT_EQ(diagnosis.cause, Cause::kNotMemory);
  ASSERT_NE(find_note(diagnosis, NoteId::kHeadsDoNotDivide), nullptr);
  EXPECT_EQ(find_note(diagnosis, NoteId::kHeadsDoNotDivide)->arguments, note->arguments);
}

// Numbers that no config takes are misprints of the log.
TEST(DiagnosisQuestion, ImpossibleHeadsInTheLog) {
  for (const char* value :
       {"99999999999999999999999", "-99999999999999999999999", "9223372036854775807", "-1", "''"}) {
    const Diagnosis diagnosis = diagnose_text(fmt::format(
        "Overriding: n_embd = 512\nOverriding: n_embd = {0}\nOverriding: n_head = {0}\n"
        "  File \"model.py\", line 33, in __init__\n    assert config.n_embd % config.n_head == 0\n"
        "AssertionError\n",
        value));
    ASSERT_NE(find_note(diagnosis, NoteId::kHeadsDoNotDivide), nullptr) << value;
    EXPECT_EQ(find_note(diagnosis, NoteId::kHeadsDoNotDivide)->arguments[0], "512") << value;
    EXPECT_EQ(find_note(diagnosis, NoteId::kHeadsDoNotDivide)->arguments[1], "12") << value;
  }
}

TEST(DiagnosisQuestion, AtMostFiveMyths) {
  const Diagnosis diagnosis =
      diagnose_text(new_message("6.14 GiB", "11.69 GiB", "2.68 GiB", own_use("7.04 GiB"),
                                "6.78 GiB", "24.90 MiB"),
                    "batch_size=64 grad_checkpoint=True");
  int myths = 0;
  for (const Note& note : diagnosis.notes) {
    if (note.id >= NoteId::kMythEvaluationKeepsGraph) ++myths;
  }
  EXPECT_GE(myths, 1);
  EXPECT_LE(myths, 5);
}

// The same shape is made in evaluation and in training: what was held tells them apart.
TEST(DiagnosisQuestion, AShapeIsOfTheMomentThatHeldAsMuch) {
  const std::string shape =
      "    buf1 = empty_strided_cuda((16384, 50304), (50304, 1), torch.bfloat16)\n";
  const auto phase_at = [&](const char* free, const char* use, const char* allocated) {
    return diagnose_text(shape + new_message("1.54 GiB", "79.15 GiB", free, own_use(use), allocated,
                                             "1.00 MiB"),
                         "batch_size=16")
        .phase;
  };
  EXPECT_EQ(phase_at("77.00 GiB", "2.10 GiB", "1.60 GiB"), torch::TorchPhase::kEvaluateFirst);
  const std::optional<torch::TorchPhase> late = phase_at("69.00 GiB", "10.20 GiB", "9.70 GiB");
  EXPECT_TRUE(late == torch::TorchPhase::kForward || late == torch::TorchPhase::kBackward);
}

TEST(DiagnosisNotes, GradScalerGetsItsLineCorrected) {
  const log::LogSummary summary = log::read_text(
      "train.py:196: FutureWarning: `torch.cuda.amp.GradScaler(args...)` is deprecated. Please use "
      "`torch.amp.GradScaler('cuda', args...)` instead.\n"
      "  scaler = torch.cuda.amp.GradScaler(enabled=(dtype == 'float16'))\n");
  ASSERT_EQ(summary.events.size(), 1U);
  EXPECT_EQ(summary.events[0].kind, log::LogEventKind::kGradScalerDeprecated);
  EXPECT_EQ(corrected_gradscaler(summary.events[0].detail),
            "scaler = torch.amp.GradScaler('cuda', enabled=(dtype == 'float16'))");
  EXPECT_EQ(corrected_gradscaler("s = torch.cuda.amp.GradScaler()"),
            "s = torch.amp.GradScaler('cuda')");
  EXPECT_EQ(corrected_gradscaler("x = 1"), "x = 1");
  EXPECT_EQ(log::events_in("scaler = torch.cuda.amp.GradScaler(enabled=True)\n"), "");
}

}  // namespace
}  // namespace snug::doctor::diagnosis
