// Notes without their figures, and the names of all notes in JSON.
#include "report/catalogue/tables.h"

namespace snug::report {
namespace {

// For notes whose arguments may be missing.
// clang-format off
constexpr MessageRow<doctor::diagnosis::NoteId> kPlainNotes[] = {
{doctor::diagnosis::NoteId::kSharedMemoryOfChip, {
 "A Triton kernel wants more of the chip's shared memory than there is. That is not VRAM: a smaller batch does not help, a smaller tile or compile=False does.",
 "Triton 内核需要的片上共享内存超过了上限。这不是显存：减小批次大小没有用，缩小分块或设置 compile=False 才有用。",
 "Triton カーネルが、チップ上の共有メモリを上限を超えて要求しました。これは VRAM ではありません。バッチを小さくしても効果はなく、タイルを小さくするか compile=False にしてください。",
 "Ein Triton-Kernel verlangt mehr Shared Memory, als der Chip hat. Das ist kein VRAM: Ein kleinerer Batch hilft nicht, kleinere Kacheln oder compile=False schon."}},
{doctor::diagnosis::NoteId::kGradScalerDeprecated, {
 "The GradScaler warning is harmless.",
 "GradScaler 的弃用警告无害。",
 "GradScaler の非推奨警告は無害です。",
 "Die Warnung zu GradScaler ist harmlos."}},
{doctor::diagnosis::NoteId::kNoBfloat16, {
 "This card has no bfloat16, which came with Ampere. Set dtype = 'float16': train.py then scales the loss by itself.",
 "这张显卡不支持 bfloat16（Ampere 起才有）。请设置 dtype = 'float16'，train.py 会自动缩放损失。",
 "この GPU は bfloat16 に対応していません（Ampere 以降の機能です）。dtype = 'float16' にすると、train.py が損失のスケーリングを自動で行います。",
 "Diese Karte kennt kein bfloat16, das kam erst mit Ampere. Mit dtype = 'float16' skaliert train.py den Loss von selbst."}},
{doctor::diagnosis::NoteId::kOtherError, {
 "The run ended with an error that is not about memory.",
 "运行因与内存或显存无关的错误而终止。",
 "実行は、メモリとは関係のないエラーで終了しました。",
 "Der Lauf endete mit einem Fehler, der mit Speicher nichts zu tun hat."}},
{doctor::diagnosis::NoteId::kHostKilled, {
 "The kernel ended the process for lack of RAM.",
 "系统内核因内存（RAM）不足终止了该进程。",
 "RAM が不足したため、カーネルがプロセスを強制終了しました。",
 "Der Kernel hat den Prozess beendet, weil der Arbeitsspeicher ausging."}},
{doctor::diagnosis::NoteId::kHostAllocator, {
 "The request went to the RAM, not to the card.",
 "申请的是内存（RAM），不是显存。",
 "要求先は GPU ではなく RAM です。",
 "Verlangt wurde Arbeitsspeicher, nicht Speicher der Karte."}},
{doctor::diagnosis::NoteId::kLlmCNoSizes, {
 "llm.c prints no sizes. Weights, gradients and optimizer state alone take {0}.",
 "llm.c 不输出大小。仅权重、梯度和优化器状态就占 {0}。",
 "llm.c はサイズを表示しません。重み・勾配・オプティマイザ状態だけで {0} を使います。",
 "llm.c nennt keine Größen. Gewichte, Gradienten und Optimizer-Zustand allein brauchen {0}."}},
{doctor::diagnosis::NoteId::kLogitsKeptAlive, {
 "The global name `logits` in train.py keeps the last logits alive; `del logits` once the loss is computed gives them back.",
 "train.py 中的全局变量 `logits` 一直占着最近一次的 logits；计算完损失后执行 `del logits` 即可释放。",
 "train.py のグローバル変数 `logits` が直前の logits を保持し続けます。損失を計算した後に `del logits` すれば解放されます。",
 "Die globale Variable `logits` in train.py hält die letzten Logits fest; `del logits` nach der Berechnung des Loss gibt sie frei."}},
{doctor::diagnosis::NoteId::kEffectiveBatch, {
 "batch_size = {0} sequences are on the card at once, and every micro-step makes an update: {0} is the effective batch, too. With gradient_accumulation_steps above 1 the two can be chosen apart.",
 "batch_size = {0} 表示同时在显卡上的序列数；每个微步就是一次更新，因此有效批次大小也是 {0}。gradient_accumulation_steps 大于 1 时两者可以分开设置。",
 "batch_size = {0} は同時に GPU に置かれるシーケンスの数です。マイクロステップ 1 回で 1 回の更新になるため、実効バッチサイズも {0} です。gradient_accumulation_steps を 1 より大きくすると、両者を別々に決められます。",
 "batch_size = {0} Sequenzen liegen gleichzeitig auf der Karte, und jeder Mikroschritt ist ein Update: {0} ist also auch der effektive Batch. Mit gradient_accumulation_steps über 1 lassen sich beide getrennt wählen."}},
{doctor::diagnosis::NoteId::kMythHalvingHalves, {
 "\"Half the batch, half the memory\": no. Activations and logits halve; weights, gradients and optimizer state stay.",
 "“批次大小减半，显存就减半”：不对。激活值和 logits 减半，而权重、梯度和优化器状态不变。",
 "「バッチを半分にすればメモリも半分」：誤りです。アクティベーションと logits は半分になりますが、重み・勾配・オプティマイザ状態は変わりません。",
 "„Halber Batch, halber Speicher“: nein. Aktivierungen und Logits halbieren sich; Gewichte, Gradienten und Optimizer-Zustand bleiben."}},
{doctor::diagnosis::NoteId::kMythCompileOffSaves, {
 "\"compile=False saves memory\": no, the opposite. With torch.compile fused kernels keep fewer tensors of the loss.",
 "“compile=False 能省显存”：恰恰相反。使用 torch.compile 时，融合后的内核保留的损失张量更少。",
 "「compile=False でメモリが減る」：逆です。torch.compile を使うと、融合されたカーネルが保持する損失のテンソルは少なくなります。",
 "„compile=False spart Speicher“: im Gegenteil. Mit torch.compile behalten fusionierte Kernel weniger Tensoren des Loss."}},
{doctor::diagnosis::NoteId::kMythCheckpointHalves, {
 "\"Checkpointing halves the memory\": that depends. The loss's tensors, as wide as the vocabulary, are not part of the blocks.",
 "“梯度检查点能让显存减半”：视情况而定。与词表同宽的损失张量不在各层之内，不受影响。",
 "「勾配チェックポイントでメモリが半分になる」：場合によります。語彙の幅を持つ損失のテンソルはブロックに含まれないため、減りません。",
 "„Checkpointing halbiert den Speicher“: kommt darauf an. Die Loss-Tensoren, so breit wie das Vokabular, gehören nicht zu den Blöcken."}},
};
// clang-format on

struct NoteName {
  doctor::diagnosis::NoteId id;
  std::string_view name;
};
constexpr std::array<NoteName, doctor::diagnosis::kNoteCount> kNames = {{
    {doctor::diagnosis::NoteId::kOnlyAWarning, "only_a_warning"},
    {doctor::diagnosis::NoteId::kMessageCut, "message_cut"},
    {doctor::diagnosis::NoteId::kAllocatedOverCapacity, "allocated_over_capacity"},
    {doctor::diagnosis::NoteId::kNotAvailablePerProcess, "not_available_per_process"},
    {doctor::diagnosis::NoteId::kCorruptSize, "corrupt_size"},
    {doctor::diagnosis::NoteId::kOldRounding, "old_rounding"},
    {doctor::diagnosis::NoteId::kRoundedRequest, "rounded_request"},
    {doctor::diagnosis::NoteId::kSharedMemoryOfChip, "shared_memory_of_chip"},
    {doctor::diagnosis::NoteId::kNotEnoughSms, "not_enough_sms"},
    {doctor::diagnosis::NoteId::kMatmulPrecision, "matmul_precision"},
    {doctor::diagnosis::NoteId::kGradScalerDeprecated, "grad_scaler_deprecated"},
    {doctor::diagnosis::NoteId::kNoBfloat16, "no_bfloat16"},
    {doctor::diagnosis::NoteId::kDevShm, "dev_shm"},
    {doctor::diagnosis::NoteId::kDiskFull, "disk_full"},
    {doctor::diagnosis::NoteId::kTokenBeyondVocabulary, "token_beyond_vocabulary"},
    {doctor::diagnosis::NoteId::kOtherError, "other_error"},
    {doctor::diagnosis::NoteId::kHostKilled, "host_killed"},
    {doctor::diagnosis::NoteId::kHostAllocator, "host_allocator"},
    {doctor::diagnosis::NoteId::kPrepareWorkers, "prepare_workers"},
    {doctor::diagnosis::NoteId::kCublasThreeCauses, "cublas_three_causes"},
    {doctor::diagnosis::NoteId::kDriverThreeCauses, "driver_three_causes"},
    {doctor::diagnosis::NoteId::kBitsandbytesSetup, "bitsandbytes_setup"},
    {doctor::diagnosis::NoteId::kBitsandbytesCode, "bitsandbytes_code"},
    {doctor::diagnosis::NoteId::kWsl, "wsl"},
    {doctor::diagnosis::NoteId::kNcclBuffers, "nccl_buffers"},
    {doctor::diagnosis::NoteId::kMpsSharesRam, "mps_shares_ram"},
    {doctor::diagnosis::NoteId::kLlmCNoSizes, "llm_c_no_sizes"},
    {doctor::diagnosis::NoteId::kSelfIsProcess, "self_is_process"},
    {doctor::diagnosis::NoteId::kIdleContexts, "idle_contexts"},
    {doctor::diagnosis::NoteId::kTwoRanksOneCard, "two_ranks_one_card"},
    {doctor::diagnosis::NoteId::kSampling, "sampling"},
    {doctor::diagnosis::NoteId::kVllmCache, "vllm_cache"},
    {doctor::diagnosis::NoteId::kLogUnreadable, "log_unreadable"},
    {doctor::diagnosis::NoteId::kNoFailureInLog, "no_failure_in_log"},
    {doctor::diagnosis::NoteId::kLimitSet, "limit_set"},
    {doctor::diagnosis::NoteId::kStatesAlone, "states_alone"},
    {doctor::diagnosis::NoteId::kFirstStepNeedsMore, "first_step_needs_more"},
    {doctor::diagnosis::NoteId::kAccumulationAddsGradients, "accumulation_adds_gradients"},
    {doctor::diagnosis::NoteId::kLogitsKeptAlive, "logits_kept_alive"},
    {doctor::diagnosis::NoteId::kResumeKeepsACopy, "resume_keeps_a_copy"},
    {doctor::diagnosis::NoteId::kAmbiguous, "ambiguous"},
    {doctor::diagnosis::NoteId::kShapeFromConfigDiffers, "shape_from_config_differs"},
    {doctor::diagnosis::NoteId::kHeadsDoNotDivide, "heads_do_not_divide"},
    {doctor::diagnosis::NoteId::kVocabularyAssumed, "vocabulary_assumed"},
    {doctor::diagnosis::NoteId::kLittleInPieces, "little_in_pieces"},
    {doctor::diagnosis::NoteId::kMatchedRun, "matched_run"},
    {doctor::diagnosis::NoteId::kSettingsFromLog, "settings_from_log"},
    {doctor::diagnosis::NoteId::kLogSettingsNotUsed, "log_settings_not_used"},
    {doctor::diagnosis::NoteId::kOtherTokens, "other_tokens"},
    {doctor::diagnosis::NoteId::kOtherParameters, "other_parameters"},
    {doctor::diagnosis::NoteId::kSurvivesAlone, "survives_alone"},
    {doctor::diagnosis::NoteId::kSurvivesExpandable, "survives_expandable"},
    {doctor::diagnosis::NoteId::kSurvivesInOnePiece, "survives_in_one_piece"},
    {doctor::diagnosis::NoteId::kConfigDoesNotExplain, "config_does_not_explain"},
    {doctor::diagnosis::NoteId::kAssumedRun, "assumed_run"},
    {doctor::diagnosis::NoteId::kEffectiveBatch, "effective_batch"},
    {doctor::diagnosis::NoteId::kAdviceBatch, "advice_batch"},
    {doctor::diagnosis::NoteId::kAdviceCheckpointing, "advice_checkpointing"},
    {doctor::diagnosis::NoteId::kAdviceOptimizer, "advice_optimizer"},
    {doctor::diagnosis::NoteId::kAdviceLoading, "advice_loading"},
    {doctor::diagnosis::NoteId::kAdviceEvaluation, "advice_evaluation"},
    {doctor::diagnosis::NoteId::kAdviceZero, "advice_zero"},
    {doctor::diagnosis::NoteId::kAdviceNccl, "advice_nccl"},
    {doctor::diagnosis::NoteId::kAdviceMonitor, "advice_monitor"},
    {doctor::diagnosis::NoteId::kMythEvaluationKeepsGraph, "myth_evaluation_keeps_graph"},
    {doctor::diagnosis::NoteId::kMythKvCache, "myth_kv_cache"},
    {doctor::diagnosis::NoteId::kMythEvalIters, "myth_eval_iters"},
    {doctor::diagnosis::NoteId::kMythAccumulationSaves, "myth_accumulation_saves"},
    {doctor::diagnosis::NoteId::kMythHalvingHalves, "myth_halving_halves"},
    {doctor::diagnosis::NoteId::kMythCompileOffSaves, "myth_compile_off_saves"},
    {doctor::diagnosis::NoteId::kMythCheckpointHalves, "myth_checkpoint_halves"},
}};
static_assert(in_order(kNames), "a note of notes.h has no name");

}  // namespace

std::string_view name_of(doctor::diagnosis::NoteId note) noexcept {
  return kNames[static_cast<std::size_t>(note)].name;
}

std::span<const MessageRow<doctor::diagnosis::NoteId>> plain_note_table() { return kPlainNotes; }

}  // namespace snug::report
