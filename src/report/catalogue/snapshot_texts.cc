// The words of the report on a memory snapshot.
#include "report/catalogue/snapshot_texts.h"

#include <fmt/format.h>

#include "report/catalogue/tables.h"

namespace snug::report {
namespace {

// clang-format off
constexpr std::array<MessageRow<SnapshotTextId>, kSnapshotTextCount> kSnapshotTexts = {{
{SnapshotTextId::kWeights, {"weights", "权重", "重み", "Gewichte"}},
{SnapshotTextId::kOptimizer, {"optimizer state", "优化器状态", "オプティマイザ状態", "Optimizer-Zustand"}},
{SnapshotTextId::kGradients, {"gradients", "梯度", "勾配", "Gradienten"}},
{SnapshotTextId::kWeightCopies, {"half-precision weight copies", "权重的半精度副本", "重みの半精度コピー", "Gewichtskopien, 16 Bit"}},
{SnapshotTextId::kActivations, {"activations", "激活值", "アクティベーション", "Aktivierungen"}},
{SnapshotTextId::kLogits, {"logits and loss", "logits 与损失", "logits と損失", "Logits und Loss"}},
{SnapshotTextId::kInputs, {"inputs", "输入", "入力", "Eingaben"}},
{SnapshotTextId::kTemporary, {"backward pass, temporary", "反向传播的临时张量", "逆伝播の一時テンソル", "Backward-Pass, temporär"}},
{SnapshotTextId::kWorkspace, {"cuBLAS workspace", "cuBLAS 工作区", "cuBLAS のワークスペース", "cuBLAS-Arbeitsbereich"}},
{SnapshotTextId::kCommunication, {"DDP buckets", "DDP 通信桶", "DDP のバケット", "DDP-Buckets"}},
{SnapshotTextId::kLoaded, {"loaded checkpoint", "加载的检查点", "読み込んだチェックポイント", "geladener Checkpoint"}},
{SnapshotTextId::kUnknown, {"unknown", "未知", "不明", "unbekannt"}},
{SnapshotTextId::kPageTitle, {"Snug · memory snapshot", "Snug · 显存快照", "Snug · メモリスナップショット", "Snug · Speicher-Snapshot"}},
{SnapshotTextId::kFailed, {"Out of memory: {0} asked for, {1} free on the card.", "显存不足：申请 {0}，显卡上仅剩 {1}。", "メモリ不足：{0} の要求に対し、GPU の空きは {1} でした。", "Speicher voll: {0} angefordert, {1} auf der Karte frei."}},
{SnapshotTextId::kHolds, {"{0} held in {1} tensors.", "{1} 个张量共占用 {0}。", "{1} 個のテンソルが {0} を使用しています。", "{1} Tensoren belegen {0}."}},
{SnapshotTextId::kHoldsNothing, {"Nothing was held when this snapshot was made.", "生成此快照时没有占用任何显存。", "このスナップショットの時点では何も確保されていません。", "Als der Snapshot entstand, war nichts belegt."}},
{SnapshotTextId::kCapacity, {"The card is full: with the {0} that was free in PyTorch's own cache (at most {1} in one piece) it would still not have been enough.", "显存已满：即使加上 PyTorch 缓存中空闲的 {0}（最大连续块 {1}），仍然不够。", "GPU のメモリがいっぱいです。PyTorch のキャッシュ内の空き {0}（連続した最大の領域は {1}）を足しても足りません。", "Die Karte ist voll: Auch mit den {0}, die im Cache von PyTorch frei waren (am Stück höchstens {1}), hätte es nicht gereicht."}},
{SnapshotTextId::kFragmented, {"This is fragmentation: {0} was free in PyTorch's cache and {1} on the card, together enough, but the largest piece had {2}.", "这是显存碎片：PyTorch 缓存中空闲 {0}，显卡上空闲 {1}，合计足够，但最大连续块只有 {2}。", "断片化です。PyTorch のキャッシュに {0}、GPU に {1} の空きがあり合計では足りますが、連続した最大の領域は {2} でした。", "Das ist Fragmentierung: {0} im Cache von PyTorch und {1} auf der Karte waren frei und zusammen genug, das größte Stück hatte aber nur {2}."}},
{SnapshotTextId::kNothingFailed, {"No allocation failed while it was recorded.", "记录期间没有分配失败。", "記録中に割り当ての失敗はありません。", "Während der Aufzeichnung ist keine Anforderung gescheitert."}},
{SnapshotTextId::kWhere, {"Where", "位置", "場所", "Wo"}},
{SnapshotTextId::kRecord, {"Record", "记录", "記録", "Aufzeichnung"}},
{SnapshotTextId::kRecordText, {"{0} events, {1} allocations followed", "{0} 个事件，跟踪了 {1} 次分配", "{0} 件のイベント、{1} 件の割り当てを追跡", "{0} Ereignisse, {1} Anforderungen verfolgt"}},
{SnapshotTextId::kRecordCut, {"the first {0} events were left out: there are too many to follow all", "事件过多，略去了最早的 {0} 个", "イベントが多すぎるため、最初の {0} 件を省きました", "die ersten {0} Ereignisse sind ausgelassen: Es sind zu viele, um alle zu verfolgen"}},
{SnapshotTextId::kNoRecord, {"none: only what is held now is known. `torch.cuda.memory._record_memory_history()` before the run adds where and when", "无：只知道当前占用。在运行前调用 `torch.cuda.memory._record_memory_history()` 可记录位置和时间", "なし：現在の使用量だけがわかります。実行前に `torch.cuda.memory._record_memory_history()` を呼ぶと、場所と時刻も記録されます", "keine: Bekannt ist nur, was jetzt belegt ist. `torch.cuda.memory._record_memory_history()` vor dem Lauf ergänzt Ort und Zeit"}},
{SnapshotTextId::kNoFrames, {"without Python frames: tensors are told by their sizes", "没有 Python 调用栈：按大小判断张量", "Python のフレームがないため、テンソルは大きさから判断しています", "ohne Python-Frames: Tensoren sind an ihrer Größe erkannt"}},
{SnapshotTextId::kModelSeen, {"Model", "模型", "モデル", "Modell"}},
{SnapshotTextId::kModelText, {"{0} layers × {1} · vocabulary {2} · batch {3} × {4} tokens · {5}", "{0} 层 × {1} · 词表 {2} · 批次大小 {3} × {4} 个 token · {5}", "{0} 層 × {1} · 語彙 {2} · バッチ {3} × {4} トークン · {5}", "{0} Schichten × {1} · Vokabular {2} · Batch {3} × {4} Token · {5}"}},
{SnapshotTextId::kModelOfFile, {"read from the snapshot, which does not hold gradient_accumulation_steps: nanoGPT's 40 is assumed; with its config the advice is exact", "由快照推断；快照中没有 gradient_accumulation_steps，按 nanoGPT 的默认值 40 计算；提供配置文件后建议即为精确值", "スナップショットから読み取った値です。gradient_accumulation_steps は含まれないため nanoGPT の既定値 40 と仮定しています。設定ファイルを渡すと提案が正確になります", "aus dem Snapshot gelesen; gradient_accumulation_steps steht nicht darin, angenommen ist 40 wie bei nanoGPT; mit der Konfiguration werden die Empfehlungen exakt"}},
{SnapshotTextId::kNotGpt, {"no nanoGPT is recognised: tensors are told by file and line", "未识别出 nanoGPT：按文件和行号列出张量", "nanoGPT とは認識できません。テンソルはファイルと行で示します", "kein nanoGPT erkannt: Tensoren sind nach Datei und Zeile benannt"}},
{SnapshotTextId::kNamed, {"Named", "已识别", "判明した割合", "Zugeordnet"}},
{SnapshotTextId::kNamedText, {"{0} of {1}: by Python frames {2}, by size {3}", "{1} 中的 {0}：按调用栈 {2}，按大小 {3}", "{1} のうち {0}：フレームから {2}、大きさから {3}", "{0} von {1}: nach Python-Frames {2}, nach Größe {3}"}},
{SnapshotTextId::kCacheFree, {"Free in the cache", "缓存空闲", "キャッシュの空き", "Frei im Cache"}},
{SnapshotTextId::kCacheFreeText, {"{0} of {1} reserved, in {2} pieces, the largest {3}", "已预留 {1} 中的 {0}，共 {2} 块，最大 {3}", "予約済み {1} のうち {0}、{2} 個に分かれ、最大は {3}", "{0} von {1} reserviert, in {2} Stücken, das größte {3}"}},
{SnapshotTextId::kCacheFreeAsked, {"asked for in one piece: {0}", "申请的连续空间：{0}", "連続して要求された量：{0}", "am Stück angefordert: {0}"}},
{SnapshotTextId::kExpandable, {"expandable_segments is on", "expandable_segments 已开启", "expandable_segments は有効です", "expandable_segments ist eingeschaltet"}},
{SnapshotTextId::kPeak, {"Peak of the record", "记录中的峰值", "記録中のピーク", "Spitze"}},
{SnapshotTextId::kPeakText, {"{0} in tensors, event {1} of {2}", "张量占用 {0}，第 {1} / {2} 个事件", "テンソルで {0}、イベント {1} / {2}", "{0} in Tensoren, Ereignis {1} von {2}"}},
{SnapshotTextId::kDevices, {"card {0} of {1}, the one that holds most", "共 {1} 张卡，显示占用最多的第 {0} 张", "{1} 枚中、使用量が最大の GPU {0}", "Karte {0} von {1}, die am meisten belegt"}},
{SnapshotTextId::kHeldTitle, {"What holds the memory", "显存被什么占用", "メモリの内訳", "Was den Speicher belegt"}},
{SnapshotTextId::kHeldThenTitle, {"What held the memory when it failed", "失败时显存被什么占用", "失敗した時点のメモリの内訳", "Was den Speicher beim Fehler belegte"}},
{SnapshotTextId::kPartCached, {"cached by PyTorch, in no tensor", "PyTorch 缓存，未被张量使用", "PyTorch のキャッシュ（未使用）", "im Cache, in keinem Tensor"}},
{SnapshotTextId::kPartReserved, {"reserved by PyTorch", "PyTorch 预留合计", "PyTorch の予約合計", "von PyTorch reserviert"}},
{SnapshotTextId::kTensorsTitle, {"Tensor by tensor", "逐个张量", "テンソルごと", "Tensor für Tensor"}},
{SnapshotTextId::kHeadTensor, {"tensor", "张量", "テンソル", "Tensor"}},
{SnapshotTextId::kHeadWhere, {"made in", "分配位置", "割り当てた場所", "angelegt in"}},
{SnapshotTextId::kHeadMemory, {"memory", "显存", "メモリ", "Speicher"}},
{SnapshotTextId::kHeadNumber, {"number", "个数", "個数", "Anzahl"}},
{SnapshotTextId::kHeadLayers, {"layers", "层数", "層数", "Schichten"}},
{SnapshotTextId::kMoreTensors, {"{0} more in --html and --json", "其余 {0} 项见 --html 和 --json", "残り {0} 件は --html と --json にあります", "{0} weitere mit --html und --json"}},
{SnapshotTextId::kBackward, {"backward pass", "反向传播", "逆伝播", "Backward-Pass"}},
{SnapshotTextId::kBefore, {"before the record", "记录开始之前", "記録の開始前", "vor der Aufzeichnung"}},
{SnapshotTextId::kCompareTitle, {"Beside the model", "与模型计算对照", "モデル計算との比較", "Vergleich mit dem Modell"}},
{SnapshotTextId::kHeadModel, {"model", "模型", "モデル", "Modell"}},
{SnapshotTextId::kHeadHere, {"here", "实际", "実際", "hier"}},
{SnapshotTextId::kLayerSame, {"One layer keeps {0} for the backward pass, {1} BTC (B batch, T block_size, C n_embd): as the model says.", "每层为反向传播保留 {0}，即 {1} BTC（B 批次大小，T block_size，C n_embd）：与模型计算一致。", "1 層が逆伝播のために保持するのは {0}、{1} BTC（B バッチ、T block_size、C n_embd）で、モデル計算のとおりです。", "Eine Schicht behält {0} für den Backward-Pass, {1} BTC (B Batch, T block_size, C n_embd): wie vom Modell berechnet."}},
{SnapshotTextId::kLayerOther, {"The model says {0} per layer ({1} BTC: B batch, T block_size, C n_embd); here {2} ({3} BTC).", "模型计算每层 {0}（{1} BTC：B 批次大小，T block_size，C n_embd）；实际为 {2}（{3} BTC）。", "モデル計算では 1 層あたり {0}（{1} BTC：B バッチ、T block_size、C n_embd）、実際は {2}（{3} BTC）です。", "Das Modell rechnet mit {0} je Schicht ({1} BTC: B Batch, T block_size, C n_embd); hier sind es {2} ({3} BTC)."}},
{SnapshotTextId::kLayerNone, {"The blocks hold nothing for a backward pass at this moment; in training the model says {0} per layer ({1} BTC).", "此刻各层没有为反向传播保留任何内容；训练时模型计算为每层 {0}（{1} BTC）。", "この時点では逆伝播のために保持されているものはありません。学習時のモデル計算は 1 層あたり {0}（{1} BTC）です。", "In diesem Moment halten die Schichten nichts für den Backward-Pass; im Training sind es laut Modell {0} je Schicht ({1} BTC)."}},
{SnapshotTextId::kAllAlike, {"All {0} tensors have the size that the model says.", "全部 {0} 种张量的大小都与模型计算一致。", "{0} 種類のテンソルはすべてモデル計算と同じ大きさです。", "Alle {0} Tensoren haben die vom Modell berechnete Größe."}},
{SnapshotTextId::kPerLayer, {"per layer", "每层", "層あたり", "je Schicht"}},
{SnapshotTextId::kOthersTitle, {"The config is not that of this run", "配置与这次运行不符", "設定がこの実行と一致しません", "Die Konfiguration gehört nicht zu diesem Lauf"}},
{SnapshotTextId::kOtherSetting, {"{0}: the config has {1}, the snapshot shows {2}", "{0}：配置为 {1}，快照显示 {2}", "{0}：設定は {1}、スナップショットでは {2}", "{0}: Die Konfiguration hat {1}, der Snapshot zeigt {2}"}},
{SnapshotTextId::kAdviceTitle, {"What helps, for what holds most", "针对占用最多的部分", "使用量の大きいものへの対策", "Was hilft, das Größte zuerst"}},
{SnapshotTextId::kAdviceFragmented, {"Fragmentation: set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` (PyTorch 2.1 and later, not on Windows; before: `max_split_size_mb:512`). It gives back up to {0}.", "显存碎片：设置 `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`（PyTorch 2.1 及以后，Windows 不支持；更早版本用 `max_split_size_mb:512`），最多可收回 {0}。", "断片化：`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` を設定します（PyTorch 2.1 以降、Windows は非対応。それ以前は `max_split_size_mb:512`）。最大 {0} が戻ります。", "Fragmentierung: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` setzen (ab PyTorch 2.1, nicht unter Windows; davor `max_split_size_mb:512`). Das bringt bis zu {0} zurück."}},
{SnapshotTextId::kAdviceLogits, {"Logits and loss hold {0}: a smaller micro-batch with more accumulation steps, or a loss in chunks (Liger's fused linear cross-entropy), which never has all logits at once.", "logits 与损失占用 {0}：减小微批次并增加梯度累积步数，或分块计算损失（Liger 的融合线性交叉熵），避免一次性生成全部 logits。", "logits と損失が {0} を占めています。マイクロバッチを小さくして勾配累積を増やすか、損失を分割して計算します（Liger の fused linear cross-entropy）。全 logits が一度に存在しなくなります。", "Logits und Loss belegen {0}: kleinere Mikrobatches mit mehr Akkumulationsschritten oder eine blockweise Berechnung des Loss (Fused Linear Cross Entropy von Liger), bei der nie alle Logits gleichzeitig existieren."}},
{SnapshotTextId::kAdviceActivations, {"Activations hold {0}: gradient checkpointing (`torch.utils.checkpoint` around each block), a smaller micro-batch, a shorter context.", "激活值占用 {0}：使用梯度检查点（用 `torch.utils.checkpoint` 包住每一层）、减小微批次、缩短上下文。", "アクティベーションが {0} を占めています。勾配チェックポイント（各ブロックに `torch.utils.checkpoint`）、マイクロバッチの縮小、文脈長の短縮が有効です。", "Aktivierungen belegen {0}: Gradient Checkpointing (`torch.utils.checkpoint` um jeden Block), ein kleinerer Mikrobatch, ein kürzerer Kontext."}},
{SnapshotTextId::kAdviceOptimizer, {"Optimizer state holds {0}: 8-bit Adam (bitsandbytes) keeps a quarter of it; `fused=True` spares the temporary copies of a step.", "优化器状态占用 {0}：8 位 Adam（bitsandbytes）只需四分之一；`fused=True` 可省去更新时的临时副本。", "オプティマイザ状態が {0} を占めています。8 ビット Adam（bitsandbytes）なら 4 分の 1 になり、`fused=True` は更新時の一時コピーをなくします。", "Der Optimizer-Zustand belegt {0}: 8-Bit-Adam (bitsandbytes) braucht ein Viertel davon; `fused=True` spart die temporären Kopien eines Schritts."}},
{SnapshotTextId::kAdviceStates, {"Weights and gradients hold {0}, whatever the batch: only a smaller model, 16-bit weights, or sharing them among cards (FSDP) makes this less.", "权重和梯度占用 {0}，与批次大小无关：只有缩小模型、使用 16 位权重或在多卡间分片（FSDP）才能减少。", "重みと勾配が {0} を占めています。バッチサイズには左右されません。減らすには、小さいモデル、16 ビットの重み、複数 GPU への分割（FSDP）が必要です。", "Gewichte und Gradienten belegen {0}, unabhängig vom Batch: Weniger wird es nur mit einem kleineren Modell, 16-Bit-Gewichten oder verteilt auf mehrere Karten (FSDP)."}},
{SnapshotTextId::kAdviceRecord, {"To see what the {0} that is unknown is: `torch.cuda.memory._record_memory_history(max_entries=100000)` before the model is made.", "要弄清未知的 {0}：在创建模型之前调用 `torch.cuda.memory._record_memory_history(max_entries=100000)`。", "不明な {0} を調べるには、モデルを作る前に `torch.cuda.memory._record_memory_history(max_entries=100000)` を呼びます。", "Was die unbekannten {0} sind, zeigt `torch.cuda.memory._record_memory_history(max_entries=100000)`, bevor das Modell entsteht."}},
{SnapshotTextId::kTimelineTitle, {"Memory over time", "显存随时间的变化", "メモリの推移", "Speicher im Lauf der Zeit"}},
{SnapshotTextId::kTimelineCaption, {"Bytes of tensors by role, in the order of the allocator's events", "按用途堆叠的张量占用，横轴为分配器事件顺序", "用途ごとに積み上げたテンソルの量。横軸はアロケータのイベント順", "Bytes der Tensoren nach Zweck, in der Reihenfolge der Ereignisse des Allokators"}},
{SnapshotTextId::kTimelineHint, {"Point at the picture for the figures; arrow keys move, too.", "将鼠标移到图上查看数值，也可用方向键移动。", "図にカーソルを合わせると数値が表示されます。矢印キーでも動かせます。", "Werte erscheinen beim Zeigen ins Bild; auch die Pfeiltasten funktionieren."}},
{SnapshotTextId::kTimelineEvent, {"event", "事件", "イベント", "Ereignis"}},
{SnapshotTextId::kTimelineTotal, {"all tensors", "全部张量", "全テンソル", "alle Tensoren"}},
{SnapshotTextId::kTimelineLargest, {"largest that is allocated here", "此处最大的分配", "ここで最大の割り当て", "größte Anforderung hier"}},
{SnapshotTextId::kTimelineFailure, {"out of memory", "显存不足", "メモリ不足", "Speicher voll"}},
{SnapshotTextId::kTimelinePeak, {"peak", "峰值", "ピーク", "Spitze"}},
{SnapshotTextId::kErrorWithLog, {"--snapshot and --log cannot be read together\na snapshot says more than its log: leave --log out", "--snapshot 与 --log 不能同时使用\n快照的信息多于日志：请去掉 --log", "--snapshot と --log は同時に指定できません\nスナップショットのほうが情報が多いので、--log を外してください", "--snapshot und --log schließen sich aus\nein Snapshot sagt mehr als sein Log: bitte --log weglassen"}},
{SnapshotTextId::kErrorWithWrite, {"--write needs a config beside --snapshot\nname it: snug doctor --snapshot=snapshot.pickle config.py --write=fits.py", "--write 需要在 --snapshot 之外提供配置文件\n例如：snug doctor --snapshot=snapshot.pickle config.py --write=fits.py", "--write には --snapshot のほかに設定ファイルが必要です\n例：snug doctor --snapshot=snapshot.pickle config.py --write=fits.py", "--write braucht neben --snapshot eine Konfiguration\nzum Beispiel: snug doctor --snapshot=snapshot.pickle config.py --write=fits.py"}},
}};
// clang-format on
static_assert(in_order(kSnapshotTexts), "a text is missing or out of place");

}  // namespace

std::vector<CatalogueRow> snapshot_catalogue() {
  std::vector<CatalogueRow> rows;
  for (const auto& row : kSnapshotTexts) {
    rows.push_back({fmt::format("snapshot.{}", static_cast<std::size_t>(row.id)), row.texts});
  }
  return rows;
}

const Texts& texts_of(SnapshotTextId id) {
  return kSnapshotTexts[static_cast<std::size_t>(id)].texts;
}

std::string text_in(Language language, SnapshotTextId id,
                    std::initializer_list<std::string> arguments) {
  return text_in(language, texts_of(id), arguments);
}

std::string role_name(Language language, doctor::snapshot::Role role) {
  static_assert(static_cast<std::size_t>(SnapshotTextId::kUnknown) + 1 ==
                doctor::snapshot::kRoleCount);
  return text_in(language, static_cast<SnapshotTextId>(role));
}

}  // namespace snug::report
