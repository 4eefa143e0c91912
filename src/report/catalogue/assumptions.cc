// What the PyTorch model takes for granted. The arguments are those of doctor/torch/memory.h.
#include "report/catalogue/tables.h"

namespace snug::report {
namespace {

// clang-format off
constexpr std::array<MessageRow<doctor::torch::TorchAssumptionId>, doctor::torch::kTorchAssumptionCount> kAssumptions = {{
{doctor::torch::TorchAssumptionId::kLossCurrent, {
 "the loss as in PyTorch 2.15: log_softmax in the dtype of logits, nll_loss on an fp32 copy; cuBLAS workspaces are given back after each product",
 "损失按 PyTorch 2.15 计算：log_softmax 使用 logits 的 dtype，nll_loss 使用 fp32 副本；cuBLAS 工作区在每次乘法后归还",
 "損失は PyTorch 2.15 の方式です。log_softmax は logits の dtype、nll_loss は fp32 のコピーで計算し、cuBLAS のワークスペースは行列積のたびに返却されます",
 "der Loss wie in PyTorch 2.15: log_softmax im dtype der Logits, nll_loss auf einer fp32-Kopie; Arbeitsbereiche von cuBLAS werden nach jedem Matrixprodukt zurückgegeben"}},
{doctor::torch::TorchAssumptionId::kLossOlder, {
 "the loss as in older PyTorch: log_softmax in fp32, through an fp32 copy of bfloat16 logits; cuBLAS workspaces are held from the first product on",
 "损失按旧版 PyTorch 计算：log_softmax 使用 fp32，需要 bfloat16 logits 的 fp32 副本；cuBLAS 工作区从第一次乘法起一直保留",
 "損失は古い PyTorch の方式です。log_softmax は bfloat16 の logits の fp32 コピーを通して fp32 で計算し、cuBLAS のワークスペースは最初の行列積から保持されます",
 "der Loss wie in älterem PyTorch: log_softmax in fp32, über eine fp32-Kopie der bfloat16-Logits; Arbeitsbereiche von cuBLAS bleiben ab dem ersten Matrixprodukt belegt"}},
{doctor::torch::TorchAssumptionId::kNoAutocast, {
 "no autocast: every product runs on fp32 tensors",
 "没有 autocast：所有乘法都使用 fp32 张量",
 "autocast は使いません。行列積はすべて fp32 のテンソルで計算します",
 "kein Autocast: Jedes Matrixprodukt rechnet mit fp32-Tensoren"}},
{doctor::torch::TorchAssumptionId::kAutocast, {
 "autocast to {0}: products read {0} copies of weights and inputs, made once per pass and kept until backward has used them; layer norms, the residual stream and the loss are fp32",
 "autocast 到 {0}：乘法读取权重和输入的 {0} 副本，每次传播生成一次，保留到反向传播用完为止；层归一化、残差流和损失为 fp32",
 "autocast は {0} です。行列積は重みと入力の {0} コピーを読み、コピーは順伝播ごとに一度作られて逆伝播で使い終わるまで残ります。レイヤー正規化・残差ストリーム・損失は fp32 です",
 "Autocast nach {0}: Matrixprodukte lesen {0}-Kopien von Gewichten und Eingaben, die einmal je Durchgang entstehen und bleiben, bis der Backward-Pass sie verwendet hat; Layer-Norms, Residualstrom und Loss sind fp32"}},
{doctor::torch::TorchAssumptionId::kFlashAttention, {
 "scaled_dot_product_attention runs its flash kernel: no T x T tensor is kept",
 "scaled_dot_product_attention 使用 flash 内核：不保留 T x T 张量",
 "scaled_dot_product_attention は flash カーネルを使い、T x T のテンソルは保持しません",
 "scaled_dot_product_attention nutzt den Flash-Kernel: Kein T×T-Tensor bleibt im Speicher"}},
{doctor::torch::TorchAssumptionId::kEfficientAttention, {
 "scaled_dot_product_attention runs its memory-efficient kernel (fp32, or a head size that flash does not take): no T x T tensor is kept",
 "scaled_dot_product_attention 使用省显存内核（fp32，或 flash 不支持的头宽）：不保留 T x T 张量",
 "scaled_dot_product_attention は省メモリカーネルを使います（fp32、または flash が対応しないヘッド幅）。T x T のテンソルは保持しません",
 "scaled_dot_product_attention nutzt den speichersparenden Kernel (fp32 oder eine Head-Breite, die Flash nicht unterstützt): Kein T×T-Tensor bleibt im Speicher"}},
{doctor::torch::TorchAssumptionId::kMathAttention, {
 "no fused attention kernel takes this head size: T x T probabilities are kept in fp32",
 "没有融合的注意力内核支持这个头宽：保留 fp32 的 T x T 概率",
 "このヘッド幅に対応する融合アテンションカーネルがないため、T x T の確率を fp32 で保持します",
 "kein fusionierter Attention-Kernel unterstützt diese Head-Breite: T×T-Wahrscheinlichkeiten bleiben in fp32 im Speicher"}},
{doctor::torch::TorchAssumptionId::kSlowAttention, {
 "PyTorch has no scaled_dot_product_attention: T x T probabilities and a mask per layer are kept",
 "PyTorch 没有 scaled_dot_product_attention：每层保留 T x T 概率和一个掩码",
 "PyTorch に scaled_dot_product_attention がないため、T x T の確率と層ごとのマスクを保持します",
 "PyTorch hat kein scaled_dot_product_attention: T×T-Wahrscheinlichkeiten und eine Maske je Schicht bleiben im Speicher"}},
{doctor::torch::TorchAssumptionId::kFusedAdam, {
 "fused AdamW: two fp32 tensors per parameter from the first step on, no temporaries",
 "fused AdamW：从第一步起每个参数两个 fp32 张量，没有临时张量",
 "fused AdamW：最初の更新以降、パラメータごとに fp32 テンソルが二つあり、一時テンソルはありません",
 "fused AdamW: zwei fp32-Tensoren je Parameter ab dem ersten Schritt, keine temporären"}},
{doctor::torch::TorchAssumptionId::kForeachAdam, {
 "foreach AdamW: two fp32 tensors per parameter from the first step on, and a temporary as large as the parameters in each step",
 "foreach AdamW：从第一步起每个参数两个 fp32 张量，每步另有一个与全部参数同样大的临时张量",
 "foreach AdamW：最初の更新以降、パラメータごとに fp32 テンソルが二つあり、更新のたびに全パラメータと同じ大きさの一時テンソルが加わります",
 "foreach AdamW: zwei fp32-Tensoren je Parameter ab dem ersten Schritt, dazu in jedem Schritt temporär so viel wie alle Parameter zusammen"}},
{doctor::torch::TorchAssumptionId::kGradientsStand, {
 "gradients of earlier micro-steps stand while later ones run",
 "后面的微步运行时，前面微步的梯度仍然保留",
 "後のマイクロステップの実行中も、前のマイクロステップの勾配が残ります",
 "Gradienten früherer Mikroschritte bleiben im Speicher, während spätere laufen"}},
{doctor::torch::TorchAssumptionId::kGradientsAppear, {
 "one micro-step per iteration: gradients appear during backward",
 "每次迭代只有一个微步：梯度在反向传播中才出现",
 "1 イテレーションが 1 マイクロステップのため、勾配は逆伝播の途中で現れます",
 "ein Mikroschritt je Iteration: Gradienten entstehen erst im Backward-Pass"}},
{doctor::torch::TorchAssumptionId::kLogitsName, {
 "train.py's global name `logits` keeps the last micro-step's logits alive through backward, the next forward and every later evaluation",
 "train.py 的全局变量 `logits` 使最后一个微步的 logits 在反向传播、下一次前向传播和之后的每次评估中一直存活",
 "train.py のグローバル変数 `logits` により、最後のマイクロステップの logits は逆伝播、次の順伝播、以降のすべての評価の間残ります",
 "die globale Variable `logits` in train.py hält die Logits des letzten Mikroschritts fest: im Backward-Pass, im nächsten Forward-Pass und in jeder späteren Auswertung"}},
{doctor::torch::TorchAssumptionId::kEvaluation, {
 "evaluation builds no graph; while a batch is evaluated the logits of the one before are still named, and its size does not depend on eval_iters",
 "评估不建立计算图；评估一个批次时，上一批次的 logits 仍被引用；其占用与 eval_iters 无关",
 "評価は計算グラフを作りません。あるバッチの評価中も前のバッチの logits が変数に残ります。使用量は eval_iters に依存しません",
 "die Auswertung baut keinen Graphen auf; während ein Batch ausgewertet wird, sind die Logits des vorigen noch an eine Variable gebunden; der Bedarf hängt nicht von eval_iters ab"}},
{doctor::torch::TorchAssumptionId::kCompiled, {
 "torch.compile with inductor of PyTorch 2.15 partitions the graph; other versions keep other tensors, so the peak is a range",
 "由 PyTorch 2.15 的 inductor（torch.compile）切分计算图；其他版本保留的张量不同，因此峰值是一个范围",
 "PyTorch 2.15 の inductor（torch.compile）が計算グラフを分割します。他のバージョンでは保持するテンソルが異なるため、ピークは範囲で示します",
 "torch.compile mit dem Inductor von PyTorch 2.15 teilt den Graphen; andere Versionen behalten andere Tensoren, deshalb ist der Spitzenbedarf ein Bereich"}},
{doctor::torch::TorchAssumptionId::kCheckpoint, {
 "torch.utils.checkpoint (not reentrant) wraps the first {0} of {1} blocks: each keeps its fp32 input and is recomputed in backward",
 "torch.utils.checkpoint（非重入）包住 {1} 层中的前 {0} 层：每层只保留 fp32 输入，在反向传播时重新计算",
 "torch.utils.checkpoint（非再入）が {1} ブロック中の最初の {0} ブロックを包みます。各ブロックは fp32 の入力だけを保持し、逆伝播で再計算します",
 "torch.utils.checkpoint (nicht reentrant) umschließt die ersten {0} von {1} Blöcken: Jeder behält nur seine fp32-Eingabe und wird im Backward-Pass neu berechnet"}},
{doctor::torch::TorchAssumptionId::kResume, {
 "train.py keeps the loaded state_dict on the card for the whole run: one more fp32 copy of the weights",
 "train.py 在整个运行期间把加载的 state_dict 留在显卡上：多一份 fp32 权重",
 "train.py は読み込んだ state_dict を実行中ずっと GPU に保持します。fp32 の重みがもう一組増えます",
 "train.py behält das geladene state_dict den ganzen Lauf über auf der Karte: eine weitere fp32-Kopie der Gewichte"}},
{doctor::torch::TorchAssumptionId::kDdp, {
 "DistributedDataParallel without gradient_as_bucket_view: its buckets are one more fp32 copy of the gradients; NCCL's own buffers are in the context",
 "DistributedDataParallel 未启用 gradient_as_bucket_view：其桶相当于多一份 fp32 梯度；NCCL 自己的缓冲区计入上下文",
 "gradient_as_bucket_view なしの DistributedDataParallel です。バケットが fp32 の勾配のコピーをもう一組持ち、NCCL 自身のバッファはコンテキストに含みます",
 "DistributedDataParallel ohne gradient_as_bucket_view: Seine Buckets sind eine weitere fp32-Kopie der Gradienten; die Puffer von NCCL zählen zum Kontext"}},
{doctor::torch::TorchAssumptionId::kAllocator, {
 "tensors are rounded to 512 B; up to 1 MiB they share 2 MiB segments, below 10 MiB 20 MiB ones, larger ones have their own; expandable_segments is off",
 "张量向上取整到 512 B；1 MiB 以内的共用 2 MiB 段，10 MiB 以下的共用 20 MiB 段，更大的独占一段；expandable_segments 关闭",
 "テンソルは 512 B 単位に切り上げられます。1 MiB までは 2 MiB のセグメント、10 MiB 未満は 20 MiB のセグメントを共有し、それより大きいものは専用です。expandable_segments は無効です",
 "Tensoren werden auf 512 B aufgerundet; bis 1 MiB teilen sie sich Segmente von 2 MiB, unter 10 MiB solche von 20 MiB, größere haben ein eigenes; expandable_segments ist aus"}},
{doctor::torch::TorchAssumptionId::kCard, {
 "a card of sm_80 to sm_89 with {0} multiprocessors and a cuBLAS workspace of {1}",
 "显卡为 sm_80 至 sm_89，有 {0} 个多处理器，cuBLAS 工作区为 {1}",
 "GPU は sm_80 から sm_89、マルチプロセッサ {0} 個、cuBLAS のワークスペースは {1} です",
 "eine Karte von sm_80 bis sm_89 mit {0} Multiprozessoren und einem cuBLAS-Arbeitsbereich von {1}"}},
{doctor::torch::TorchAssumptionId::kContext, {
 "CUDA's context is outside PyTorch's figures: a range, by card and driver",
 "CUDA 上下文不在 PyTorch 的数字之内：它是一个范围，取决于显卡和驱动",
 "CUDA コンテキストは PyTorch の数値に含まれません。GPU とドライバによって幅があります",
 "der CUDA-Kontext ist in den Zahlen von PyTorch nicht enthalten: ein Bereich, je nach Karte und Treiber"}},
}};
// clang-format on
static_assert(in_order(kAssumptions), "an assumption has no message");

}  // namespace

std::span<const MessageRow<doctor::torch::TorchAssumptionId>, doctor::torch::kTorchAssumptionCount>
assumption_table() {
  return kAssumptions;
}

}  // namespace snug::report
