// Causes (headline, explanation) and the parts of a run.
#include "report/catalogue/tables.h"

namespace snug::report {
namespace {

// clang-format off
constexpr std::array<MessagePairRow<doctor::diagnosis::Cause>, kCauseCount> kCauses = {{
{doctor::diagnosis::Cause::kCapacity,
 {"The card is full.",
  "显存已满。",
  "GPU のメモリがいっぱいです。",
  "Die Karte ist voll."},
 {"The run's own tensors need more than the card has.",
  "本次运行自己的张量超出了显卡的容量。",
  "この実行自身のテンソルが、GPU の容量を超えています。",
  "Die Tensoren dieses Laufs brauchen mehr Speicher, als die Karte hat."}},
{doctor::diagnosis::Cause::kStatesExceedCard,
 {"No batch size fits this card.",
  "无论批次大小取多小，这张显卡都放不下。",
  "バッチサイズをいくら小さくしても、この GPU には収まりません。",
  "Der Lauf passt mit keiner Batchgröße auf diese Karte."},
 {"Weights, gradients and optimizer state alone are more than it has, before a single activation.",
  "还没有任何激活值，仅权重、梯度和优化器状态就已超出显卡容量。",
  "アクティベーションを除いても、重み・勾配・オプティマイザ状態だけで容量を超えます。",
  "Allein Gewichte, Gradienten und Optimizer-Zustand sind größer als ihr Speicher, noch vor der ersten Aktivierung."}},
{doctor::diagnosis::Cause::kFragmentation,
 {"There is enough memory, but in pieces.",
  "显存总量足够，但已碎片化。",
  "メモリは足りていますが、断片化しています。",
  "Der Speicher reicht, ist aber fragmentiert."},
 {"PyTorch has reserved more than it uses, yet no free piece is large enough.",
  "PyTorch 预留的比实际使用的多，但没有一块足够大的连续空间。",
  "PyTorch は使用量より多くを予約していますが、十分に大きな連続した空きがありません。",
  "PyTorch hat mehr reserviert, als es nutzt, doch kein zusammenhängender freier Block ist groß genug."}},
{doctor::diagnosis::Cause::kCoTenant,
 {"Another process holds the card.",
  "显卡被其他进程占用。",
  "他のプロセスが GPU を使っています。",
  "Ein anderer Prozess belegt die Karte."},
 {"What the other processes hold is what this run lacks; nvidia-smi lists them.",
  "本次运行缺少的，正是其他进程占用的；可用 nvidia-smi 查看它们。",
  "この実行に足りない分を、他のプロセスが使っています。nvidia-smi で確認できます。",
  "Was die anderen Prozesse belegen, fehlt diesem Lauf; nvidia-smi zeigt sie."}},
{doctor::diagnosis::Cause::kFreeExceedsRequest,
 {"More was free than was asked for.",
  "空闲显存比申请的还多。",
  "要求された量より多くの空きがありました。",
  "Es war mehr frei, als verlangt wurde."},
 {"Either another process left between the failure and the message, or a limit applies to this process (a memory fraction, a MIG slice).",
  "要么在出错与打印信息之间有别的进程退出，要么本进程受到限制（显存比例上限、MIG 切分）。",
  "失敗からメッセージ表示までの間に他のプロセスが終了したか、このプロセスに制限（メモリ割合の上限、MIG スライス）があります。",
  "Entweder wurde zwischen dem Fehler und der Meldung ein anderer Prozess beendet, oder für diesen Prozess gilt eine Grenze (Speicheranteil, MIG-Slice)."}},
{doctor::diagnosis::Cause::kHostMemory,
 {"The RAM ran out, not the card.",
  "耗尽的是内存（RAM），不是显存。",
  "不足したのは GPU ではなく RAM です。",
  "Der Arbeitsspeicher war voll, nicht der VRAM."},
 {"Usual reasons: preparing data with many workers, loading a checkpoint, compiling with many threads.",
  "常见原因：用过多进程准备数据、加载检查点、用过多线程编译。",
  "よくある原因は、多数のワーカーでのデータ準備、チェックポイントの読み込み、多数のスレッドでのコンパイルです。",
  "Häufige Ursachen: Datenaufbereitung mit vielen Workern, das Laden eines Checkpoints, Kompilieren mit vielen Threads."}},
{doctor::diagnosis::Cause::kDriver,
 {"The driver refused, without numbers.",
  "驱动拒绝了申请，没有给出数字。",
  "ドライバが拒否しましたが、数値は示されていません。",
  "Der Treiber hat abgelehnt, ohne Zahlen zu nennen."},
 {"The failure is outside PyTorch's allocator, so the message cannot say which tensor it was.",
  "失败发生在 PyTorch 分配器之外，因此报错无法说明是哪个张量。",
  "PyTorch のアロケータの外で失敗しているため、どのテンソルかはメッセージからわかりません。",
  "Der Fehler liegt außerhalb des Allokators von PyTorch, deshalb kann die Meldung keinen Tensor nennen."}},
{doctor::diagnosis::Cause::kLibrary,
 {"A library of the card failed.",
  "某个 GPU 库出错。",
  "GPU 用ライブラリでエラーが発生しました。",
  "Eine GPU-Bibliothek hat einen Fehler gemeldet."},
 {"cuBLAS, cuDNN and NCCL take memory outside PyTorch's allocator, and report other faults in the same words.",
  "cuBLAS、cuDNN 和 NCCL 在 PyTorch 分配器之外占用显存，其他故障也会以同样的措辞报出。",
  "cuBLAS・cuDNN・NCCL は PyTorch のアロケータの外でメモリを使い、別の不具合も同じ文言で報告します。",
  "cuBLAS, cuDNN und NCCL belegen Speicher außerhalb des Allokators von PyTorch und melden andere Fehler mit denselben Worten."}},
{doctor::diagnosis::Cause::kNotMemory,
 {"This is not about VRAM.",
  "这不是显存问题。",
  "これは VRAM の問題ではありません。",
  "Am VRAM liegt es nicht."},
 {"No setting that saves memory will help.",
  "任何省显存的设置都不会有帮助。",
  "メモリを減らす設定では解決しません。",
  "Keine Einstellung, die Speicher spart, wird helfen."}},
{doctor::diagnosis::Cause::kUnknown,
 {"The log does not tell the cause.",
  "从日志看不出原因。",
  "ログからは原因がわかりません。",
  "Aus dem Log geht die Ursache nicht hervor."},
 {"It holds no complete out-of-memory message; the lines around the failure would help.",
  "其中没有完整的显存不足信息；请提供出错处前后的内容。",
  "完全なメモリ不足メッセージが含まれていません。失敗の前後の行があれば判断できます。",
  "Es enthält keine vollständige Meldung über fehlenden Speicher; die Zeilen um den Fehler herum würden helfen."}},
}};

constexpr std::array<MessageRow<doctor::torch::TorchPhase>, kTorchPhaseCount> kPhases = {{
{doctor::torch::TorchPhase::kStart, {
 "at the start, while the model is built or loaded",
 "启动阶段，正在构建或加载模型",
 "開始時（モデルの構築または読み込み中）",
 "beim Start, während das Modell gebaut oder geladen wird"}},
{doctor::torch::TorchPhase::kEvaluateFirst, {
 "first evaluation, before iteration 0",
 "首次评估，在第 0 次迭代之前",
 "最初の評価（イテレーション 0 の前）",
 "erste Auswertung, vor Iteration 0"}},
{doctor::torch::TorchPhase::kForward, {
 "forward pass of a training step",
 "训练步的前向传播",
 "学習ステップの順伝播",
 "Forward-Pass eines Trainingsschritts"}},
{doctor::torch::TorchPhase::kBackward, {
 "backward pass of a training step",
 "训练步的反向传播",
 "学習ステップの逆伝播",
 "Backward-Pass eines Trainingsschritts"}},
{doctor::torch::TorchPhase::kOptimizer, {
 "optimizer step: clipping and AdamW",
 "优化器更新：梯度裁剪和 AdamW",
 "オプティマイザの更新（クリッピングと AdamW）",
 "Optimizer-Schritt: Clipping und AdamW"}},
{doctor::torch::TorchPhase::kEvaluateLater, {
 "a later evaluation, with optimizer state on the card",
 "后续评估，此时优化器状态已在显卡上",
 "以降の評価（オプティマイザ状態が GPU にある状態）",
 "eine spätere Auswertung, mit dem Optimizer-Zustand auf der Karte"}},
}};
// clang-format on
static_assert(in_order(kCauses), "a cause has no message");
static_assert(in_order(kPhases), "a part of the run has no message");

}  // namespace

std::span<const MessagePairRow<doctor::diagnosis::Cause>, kCauseCount> cause_table() {
  return kCauses;
}
std::span<const MessageRow<doctor::torch::TorchPhase>, kTorchPhaseCount> phase_table() {
  return kPhases;
}

}  // namespace snug::report
