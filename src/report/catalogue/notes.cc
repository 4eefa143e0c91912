// What the doctor says beside the answer. The arguments are those of notes.h.
#include "report/catalogue/tables.h"

namespace snug::report {
namespace {

// clang-format off
constexpr std::array<MessageRow<doctor::diagnosis::NoteId>, doctor::diagnosis::kNoteCount> kNotes = {{
{doctor::diagnosis::NoteId::kOnlyAWarning, {
 "The allocator's warning alone is not fatal: PyTorch frees its cache and tries again. What counts is whether an error follows.",
 "分配器的警告本身并不致命：PyTorch 会释放缓存后重试。关键是其后是否出现报错。",
 "アロケータの警告だけでは致命的ではありません。PyTorch はキャッシュを解放して再試行します。重要なのは、その後にエラーが出ているかどうかです。",
 "Die Warnung des Allokators allein ist nicht fatal: PyTorch leert seinen Cache und versucht es noch einmal. Entscheidend ist, ob danach ein Fehler folgt."}},
{doctor::diagnosis::NoteId::kMessageCut, {
 "The message is cut off; what is missing was not used.",
 "报错信息不完整；缺失的部分没有参与判断。",
 "メッセージが途中で切れています。欠けている部分は判断に使っていません。",
 "Die Meldung ist abgeschnitten; was fehlt, wurde nicht verwendet."}},
{doctor::diagnosis::NoteId::kAllocatedOverCapacity, {
 "PyTorch holds {0}, more than the card's {1}: the Windows driver has moved a part to the host's RAM, which is slow.",
 "PyTorch 已占用 {0}，超过显卡的 {1}：Windows 驱动把一部分移到了内存中，速度会很慢。",
 "PyTorch は {0} を確保しており、GPU の {1} を超えています。Windows のドライバが一部をホストの RAM に退避しているため、低速になります。",
 "PyTorch belegt {0}, mehr als die {1} der Karte: Der Windows-Treiber hat einen Teil in den Arbeitsspeicher verschoben, und das ist langsam."}},
{doctor::diagnosis::NoteId::kNotAvailablePerProcess, {
 "The driver cannot tell what each process holds (Windows, WSL2); a figure like 17179869184.00 GiB only means \"not known\".",
 "驱动无法给出各个进程的占用量（Windows、WSL2）；17179869184.00 GiB 这样的数字只表示“未知”。",
 "プロセスごとの使用量はドライバから取得できません（Windows、WSL2）。17179869184.00 GiB のような値は「不明」を意味します。",
 "Der Treiber kann nicht sagen, was jeder Prozess belegt (Windows, WSL2); eine Zahl wie 17179869184.00 GiB heißt nur „unbekannt“."}},
{doctor::diagnosis::NoteId::kCorruptSize, {
 "\"more than 1EB\" is a broken size, not a request: look at the first error above it.",
 "“more than 1EB” 是损坏的数值，并非真实的申请：请查看它之前的第一个报错。",
 "「more than 1EB」は壊れた値で、実際の要求ではありません。その前に出た最初のエラーを確認してください。",
 "„more than 1EB“ ist ein fehlerhafter Wert, keine echte Anforderung: Maßgeblich ist der erste Fehler davor."}},
{doctor::diagnosis::NoteId::kOldRounding, {
 "PyTorch before 1.4 rounded large requests up to 128 KiB, not to 2 MiB.",
 "1.4 之前的 PyTorch 把较大的申请向上取整到 128 KiB，而不是 2 MiB。",
 "1.4 より前の PyTorch は、大きな要求を 2 MiB ではなく 128 KiB 単位に切り上げていました。",
 "PyTorch vor 1.4 rundete große Anforderungen auf 128 KiB auf, nicht auf 2 MiB."}},
{doctor::diagnosis::NoteId::kRoundedRequest, {
 "The message prints {0}, which is rounded: the tensor has between {1} and {2}.",
 "报错中的 {0} 是四舍五入后的数值：该张量的实际大小在 {1} 与 {2} 之间。",
 "メッセージの {0} は丸められた値です。実際のテンソルは {1} から {2} の間です。",
 "Die Meldung nennt {0}, das ist gerundet: Der Tensor ist zwischen {1} und {2} groß."}},
{doctor::diagnosis::NoteId::kSharedMemoryOfChip, {
 "A Triton kernel wants {0} of the chip's shared memory, the limit is {1}. That is not VRAM: a smaller batch does not help, a smaller tile or compile=False does.",
 "Triton 内核需要 {0} 的片上共享内存，上限是 {1}。这不是显存：减小批次大小没有用，缩小分块或设置 compile=False 才有用。",
 "Triton カーネルがチップ上の共有メモリを {0} 要求しましたが、上限は {1} です。これは VRAM ではありません。バッチを小さくしても効果はなく、タイルを小さくするか compile=False にしてください。",
 "Ein Triton-Kernel verlangt {0} vom Shared Memory des Chips, die Grenze ist {1}. Das ist kein VRAM: Ein kleinerer Batch hilft nicht, kleinere Kacheln oder compile=False schon."}},
{doctor::diagnosis::NoteId::kNotEnoughSms, {
 "\"Not enough SMs to use max_autotune_gemm mode\" is harmless: the card has fewer multiprocessors than that search wants. It takes no memory.",
 "“Not enough SMs to use max_autotune_gemm mode” 无害：只是显卡的多处理器数量少于该搜索的要求，不占用显存。",
 "「Not enough SMs to use max_autotune_gemm mode」は無害です。この探索が求めるよりマルチプロセッサが少ないというだけで、メモリは消費しません。",
 "„Not enough SMs to use max_autotune_gemm mode“ ist harmlos: Die Karte hat weniger Multiprozessoren, als diese Suche verlangt. Speicher kostet das nicht."}},
{doctor::diagnosis::NoteId::kMatmulPrecision, {
 "The hint about TensorFloat32 is harmless: it is about speed, not memory, and train.py allows TF32 by itself. The line of today: torch.set_float32_matmul_precision('high')",
 "关于 TensorFloat32 的提示无害：它只涉及速度，与显存无关，而且 train.py 自己会启用 TF32。现在的写法：torch.set_float32_matmul_precision('high')",
 "TensorFloat32 についての警告は無害です。速度に関するもので、メモリとは関係ありません。TF32 は train.py が自分で有効にします。現在の書き方：torch.set_float32_matmul_precision('high')",
 "Der Hinweis auf TensorFloat32 ist harmlos: Es geht um Tempo, nicht um Speicher, und train.py schaltet TF32 selbst ein. Heute schreibt man: torch.set_float32_matmul_precision('high')"}},
{doctor::diagnosis::NoteId::kGradScalerDeprecated, {
 "The GradScaler warning is harmless. The line of today: {0}",
 "GradScaler 的弃用警告无害。现在的写法：{0}",
 "GradScaler の非推奨警告は無害です。現在の書き方：{0}",
 "Die Warnung zu GradScaler ist harmlos. Heute schreibt man: {0}"}},
{doctor::diagnosis::NoteId::kNoBfloat16, {
 "{0} has no bfloat16, which came with Ampere. Set dtype = 'float16': train.py then scales the loss by itself.",
 "{0} 不支持 bfloat16（Ampere 起才有）。请设置 dtype = 'float16'，train.py 会自动缩放损失。",
 "{0} は bfloat16 に対応していません（Ampere 以降の機能です）。dtype = 'float16' にすると、train.py が損失のスケーリングを自動で行います。",
 "{0} kennt kein bfloat16, das kam erst mit Ampere. Mit dtype = 'float16' skaliert train.py den Loss von selbst."}},
{doctor::diagnosis::NoteId::kDevShm, {
 "/dev/shm is too small for the data workers: enlarge it (docker run --shm-size=8g) or use fewer workers.",
 "/dev/shm 对数据加载进程来说太小：请调大（docker run --shm-size=8g）或减少进程数。",
 "/dev/shm がデータ用ワーカーには小さすぎます。大きくするか（docker run --shm-size=8g）、ワーカーを減らしてください。",
 "/dev/shm ist für die Daten-Worker zu klein: vergrößern (docker run --shm-size=8g) oder weniger Worker verwenden."}},
{doctor::diagnosis::NoteId::kDiskFull, {
 "The disk is full, not the memory.",
 "是磁盘满了，不是内存或显存不足。",
 "不足しているのはメモリではなく、ディスクの空きです。",
 "Die Festplatte ist voll, nicht der Speicher."}},
{doctor::diagnosis::NoteId::kTokenBeyondVocabulary, {
 "A check on the card itself failed: an index was beyond its table. In nanoGPT that is nearly always a token id beyond the vocabulary (data of another tokenizer, an old meta.pkl) or a position beyond block_size. What cuBLAS or the driver report after it follows from it. One step with device='cpu' shows the line.",
 "显卡上的检查失败：有索引超出了表的范围。在 nanoGPT 中几乎总是某个 token 编号超出词表（数据来自另一种分词器，或 meta.pkl 已过时），或者位置超过 block_size。之后 cuBLAS 或驱动的报错都由此引起。用 device='cpu' 跑一步即可看到出错的代码行。",
 "GPU 上のチェックに失敗しました。インデックスが表の範囲を超えています。nanoGPT ではほとんどの場合、トークン番号が語彙を超えているか（別のトークナイザのデータ、古い meta.pkl）、位置が block_size を超えています。その後の cuBLAS やドライバのエラーはその結果です。device='cpu' で 1 ステップ実行すれば該当行がわかります。",
 "Eine Prüfung auf der Karte selbst ist fehlgeschlagen: Ein Index lag außerhalb seiner Tabelle. In nanoGPT ist das fast immer eine Token-ID außerhalb des Vokabulars (Daten eines anderen Tokenizers, eine alte meta.pkl) oder eine Position jenseits von block_size. Was cuBLAS oder der Treiber danach melden, folgt daraus. Ein Schritt mit device='cpu' zeigt die Zeile."}},
{doctor::diagnosis::NoteId::kOtherError, {
 "The run ended with {0}, which is not about memory.",
 "运行因 {0} 而终止，与内存或显存无关。",
 "実行は {0} で終了しました。メモリとは関係ありません。",
 "Der Lauf endete mit {0}; mit Speicher hat das nichts zu tun."}},
{doctor::diagnosis::NoteId::kHostKilled, {
 "The kernel ended the process for lack of RAM; it held {0}.",
 "系统内核因内存（RAM）不足终止了该进程；当时它占用 {0}。",
 "RAM が不足したため、カーネルがプロセスを強制終了しました。終了時の使用量は {0} です。",
 "Der Kernel hat den Prozess beendet, weil der Arbeitsspeicher ausging; er belegte {0}."}},
{doctor::diagnosis::NoteId::kHostAllocator, {
 "The {0} were asked of the RAM, not of the card.",
 "这 {0} 申请的是内存（RAM），不是显存。",
 "この {0} は GPU ではなく RAM への要求です。",
 "Die {0} wurden vom Arbeitsspeicher verlangt, nicht von der Karte."}},
{doctor::diagnosis::NoteId::kPrepareWorkers, {
 "Every worker of prepare.py holds its own part of the data in RAM: lower num_proc.",
 "prepare.py 的每个工作进程都会在内存中保留自己的一份数据：请调小 num_proc。",
 "prepare.py のワーカーはそれぞれ自分の分のデータを RAM に保持します。num_proc を小さくしてください。",
 "Jeder Worker von prepare.py hält seinen eigenen Teil der Daten im Arbeitsspeicher: num_proc verkleinern."}},
{doctor::diagnosis::NoteId::kCublasThreeCauses, {
 "cuBLAS fails like this for three reasons: the card is full, a token id is beyond the vocabulary, or the installation is broken. One step with device='cpu' tells a bad token id from the others.",
 "cuBLAS 这样报错有三种原因：显存已满、token 编号超出词表，或安装损坏。用 device='cpu' 运行一步即可判断是不是 token 编号的问题。",
 "cuBLAS がこのように失敗する原因は三つあります。GPU のメモリ不足、語彙を超えるトークン番号、壊れたインストールです。device='cpu' で 1 ステップ実行すれば、トークン番号の問題かどうかがわかります。",
 "Dass cuBLAS so scheitert, hat drei mögliche Gründe: Die Karte ist voll, eine Token-ID liegt außerhalb des Vokabulars, oder die Installation ist defekt. Ein Schritt mit device='cpu' zeigt, ob es an der Token-ID liegt."}},
{doctor::diagnosis::NoteId::kDriverThreeCauses, {
 "The driver prints no sizes. Usual reasons: no room for the CUDA context itself, too much pinned host memory, or another process on the card (nvidia-smi shows it).",
 "驱动没有给出大小。常见原因：放不下 CUDA 上下文、锁页内存过多，或显卡上有其他进程（可用 nvidia-smi 查看）。",
 "ドライバはサイズを表示しません。よくある原因は、CUDA コンテキスト自体が入らない、ピン留めしたホストメモリが多すぎる、他のプロセスが GPU を使っている（nvidia-smi で確認できます）、の三つです。",
 "Der Treiber nennt keine Größen. Häufige Ursachen: kein Platz für den CUDA-Kontext selbst, zu viel gepinnter Arbeitsspeicher oder ein anderer Prozess auf der Karte (nvidia-smi zeigt ihn)."}},
{doctor::diagnosis::NoteId::kBitsandbytesSetup, {
 "bitsandbytes does not work with this installation: it was built without support for the card, or does not find a CUDA library that goes with it. `python -m bitsandbytes` shows what is missing, `pip install -U bitsandbytes` brings a build for today's CUDA; until then torch.optim.AdamW works. A smaller batch does not help.",
 "bitsandbytes 在当前环境中无法使用：它在构建时没有启用 GPU 支持，或者找不到与之匹配的 CUDA 库。`python -m bitsandbytes` 会显示缺少什么，`pip install -U bitsandbytes` 可安装适配当前 CUDA 的版本；在此之前可以用 torch.optim.AdamW。减小批次大小没有用。",
 "この環境では bitsandbytes が動きません。GPU 非対応でビルドされているか、対応する CUDA ライブラリが見つかりません。不足しているものは `python -m bitsandbytes` で確認でき、`pip install -U bitsandbytes` で現在の CUDA に合うビルドが入ります。それまでは torch.optim.AdamW を使ってください。バッチを小さくしても効果はありません。",
 "bitsandbytes funktioniert in dieser Umgebung nicht: Es wurde ohne GPU-Unterstützung gebaut oder findet keine passende CUDA-Bibliothek. `python -m bitsandbytes` zeigt, was fehlt, `pip install -U bitsandbytes` bringt einen Build für das heutige CUDA; bis dahin torch.optim.AdamW verwenden. Ein kleinerer Batch hilft nicht."}},
{doctor::diagnosis::NoteId::kBitsandbytesCode, {
 "The error comes from bitsandbytes' own CUDA code, outside of PyTorch's allocator. Paged optimizers ask for managed memory, of which WSL2 and Windows give little: take AdamW8bit instead of PagedAdamW8bit (in Trainer optim='adamw_bnb_8bit'), or torch.optim.AdamW.",
 "报错来自 bitsandbytes 自己的 CUDA 代码，在 PyTorch 分配器之外。分页优化器要申请托管内存（managed memory），而 WSL2 和 Windows 能提供的很少：请把 PagedAdamW8bit 换成 AdamW8bit（Trainer 中为 optim='adamw_bnb_8bit'），或改用 torch.optim.AdamW。",
 "エラーは PyTorch のアロケータの外、bitsandbytes 自身の CUDA コードで起きています。ページ化オプティマイザはマネージドメモリを要求しますが、WSL2 と Windows ではわずかしか使えません。PagedAdamW8bit の代わりに AdamW8bit（Trainer では optim='adamw_bnb_8bit'）か torch.optim.AdamW を使ってください。",
 "Der Fehler stammt aus dem eigenen CUDA-Code von bitsandbytes, außerhalb des Allokators von PyTorch. Paged-Optimizer verlangen Managed Memory, und davon geben WSL2 und Windows nur wenig her: AdamW8bit statt PagedAdamW8bit verwenden (im Trainer optim='adamw_bnb_8bit') oder torch.optim.AdamW."}},
{doctor::diagnosis::NoteId::kWsl, {
 "This is WSL2: by default Linux gets half of the machine's RAM, and only a small part of it can be pinned. More RAM: `memory=` under [wsl2] in .wslconfig in the Windows user's folder, then `wsl --shutdown`. Without pinned memory: leave out pin_memory() in train.py's get_batch, or set pin_memory=False in the DataLoader.",
 "这是 WSL2：默认情况下 Linux 只能得到整机一半的内存，其中可锁页的又只占一小部分。要增加内存，请在 Windows 用户目录的 .wslconfig 中 [wsl2] 下设置 `memory=`，然后执行 `wsl --shutdown`。要避免锁页内存，请去掉 train.py 的 get_batch 中的 pin_memory()，或在 DataLoader 中设置 pin_memory=False。",
 "WSL2 での実行です。既定では Linux が使える RAM はマシン全体の半分で、ピン留めできるのはそのごく一部です。RAM を増やすには、Windows のユーザーフォルダにある .wslconfig の [wsl2] に `memory=` を書き、`wsl --shutdown` を実行します。ピン留めを避けるには、train.py の get_batch の pin_memory() を外すか、DataLoader で pin_memory=False とします。",
 "Das ist WSL2: Linux bekommt dort standardmäßig die Hälfte des Arbeitsspeichers, und nur ein kleiner Teil davon lässt sich pinnen. Mehr Arbeitsspeicher: `memory=` unter [wsl2] in der .wslconfig im Windows-Benutzerordner setzen, danach `wsl --shutdown`. Ohne gepinnten Speicher: pin_memory() in get_batch von train.py weglassen oder im DataLoader pin_memory=False setzen."}},
{doctor::diagnosis::NoteId::kNcclBuffers, {
 "NCCL's own buffers come on top of PyTorch's figures; with them the context can reach 3 GiB.",
 "NCCL 自己的缓冲区不计入 PyTorch 的数字；算上它，上下文可达 3 GiB。",
 "NCCL 自身のバッファは PyTorch の数値には含まれません。これを含めるとコンテキストは 3 GiB に達することがあります。",
 "Die eigenen Puffer von NCCL kommen zu den Zahlen von PyTorch hinzu; mit ihnen kann der Kontext 3 GiB erreichen."}},
{doctor::diagnosis::NoteId::kMpsSharesRam, {
 "On Apple chips the card shares the RAM: what other programs hold counts too.",
 "苹果芯片的显存与内存共用：其他程序占用的部分也算在内。",
 "Apple シリコンでは GPU と RAM が共有されるため、他のプログラムの使用量も影響します。",
 "Auf Apple-Chips nutzt die GPU den Arbeitsspeicher mit: Was andere Programme belegen, zählt mit."}},
{doctor::diagnosis::NoteId::kLlmCNoSizes, {
 "llm.c prints no sizes. Weights, gradients and optimizer state take {0}, all together {1}.",
 "llm.c 不输出大小。权重、梯度和优化器状态占 {0}，总共需要 {1}。",
 "llm.c はサイズを表示しません。重み・勾配・オプティマイザ状態で {0}、全体で {1} が必要です。",
 "llm.c nennt keine Größen. Gewichte, Gradienten und Optimizer-Zustand brauchen {0}, alles zusammen {1}."}},
{doctor::diagnosis::NoteId::kSelfIsProcess, {
 "Process {0} in the message is this run itself: in a container it is listed by its number.",
 "报错中的进程 {0} 就是本次运行自己：在容器里它以进程号列出。",
 "メッセージのプロセス {0} はこの実行自身です。コンテナ内では番号で表示されます。",
 "Prozess {0} in der Meldung ist dieser Lauf selbst: In einem Container erscheint er mit seiner Nummer."}},
{doctor::diagnosis::NoteId::kIdleContexts, {
 "Processes that hold nothing but a bare CUDA context: {0}.",
 "只占用一个空 CUDA 上下文的进程数：{0}。",
 "CUDA コンテキストだけを保持しているプロセスの数：{0}。",
 "Prozesse, die nur einen leeren CUDA-Kontext belegen: {0}."}},
{doctor::diagnosis::NoteId::kTwoRanksOneCard, {
 "Several ranks may be sharing one card: check CUDA_VISIBLE_DEVICES and LOCAL_RANK.",
 "可能有多个 rank 共用了一张显卡：请检查 CUDA_VISIBLE_DEVICES 和 LOCAL_RANK。",
 "複数の rank が 1 枚の GPU を共有している可能性があります。CUDA_VISIBLE_DEVICES と LOCAL_RANK を確認してください。",
 "Vielleicht teilen sich mehrere Prozesse (Ranks) eine Karte: CUDA_VISIBLE_DEVICES und LOCAL_RANK prüfen."}},
{doctor::diagnosis::NoteId::kSampling, {
 "This was sampling, not training. nanoGPT's generate() has no KV cache: every new token computes the whole context again, at batch 1, as sample.py draws its num_samples one after another. What it needs is the weights and one forward pass.",
 "这是在采样，不是训练。nanoGPT 的 generate() 没有 KV 缓存：每生成一个 token 都要重新计算整个上下文；批次大小为 1，因为 sample.py 逐个生成 num_samples 个样本。所需的只是权重和一次前向计算。",
 "これは学習ではなくサンプリングです。nanoGPT の generate() には KV キャッシュがなく、トークンを 1 つ生成するたびに文脈全体を計算し直します。sample.py は num_samples 個を 1 つずつ生成するため、バッチは 1 です。必要なのは重みと 1 回の順伝播だけです。",
 "Das war Sampling, kein Training. generate() von nanoGPT hat keinen KV-Cache: Für jedes neue Token wird der ganze Kontext neu berechnet, mit Batchgröße 1, denn sample.py erzeugt die num_samples nacheinander. Gebraucht werden nur die Gewichte und ein Forward-Pass."}},
{doctor::diagnosis::NoteId::kVllmCache, {
 "This is vLLM: the weights leave no room for its cache of keys and values within the share of the card that it may use. Raise gpu_memory_utilization, lower max_model_len or max_num_seqs, end other processes on the card, or take a smaller or quantised model. A smaller batch in training has nothing to do with it.",
 "这是 vLLM 的报错：在它可用的显存份额内，放下权重后已没有空间给 KV 缓存。可以调高 gpu_memory_utilization，调低 max_model_len 或 max_num_seqs，结束显卡上的其他进程，或换用更小的或量化的模型。这与训练的批次大小无关。",
 "これは vLLM のエラーです。使用を許された範囲では、重みを置くと KV キャッシュの場所が残りません。gpu_memory_utilization を上げる、max_model_len か max_num_seqs を下げる、GPU 上の他のプロセスを終了する、より小さいモデルや量子化モデルを使う、のいずれかで対処します。学習のバッチサイズとは関係ありません。",
 "Das ist vLLM: In dem Anteil der Karte, den es nutzen darf, lassen die Gewichte keinen Platz für den KV-Cache. Abhilfe: gpu_memory_utilization erhöhen, max_model_len oder max_num_seqs senken, andere Prozesse auf der Karte beenden oder ein kleineres oder quantisiertes Modell nehmen. Mit der Batchgröße beim Training hat das nichts zu tun."}},
{doctor::diagnosis::NoteId::kLogUnreadable, {
 "Nothing in the log could be read: what is said here follows from the config alone.",
 "日志中没有可识别的内容：这里的结论只依据配置得出。",
 "ログからは何も読み取れませんでした。ここでの内容は設定だけに基づきます。",
 "Im Log war nichts Verwertbares: Was hier steht, folgt allein aus der Konfiguration."}},
{doctor::diagnosis::NoteId::kNoFailureInLog, {
 "The log shows a run but no failure: what is said here follows from the config alone.",
 "日志中有运行记录，但没有报错：这里的结论只依据配置得出。",
 "ログには実行の記録がありますが、エラーがありません。ここでの内容は設定だけに基づきます。",
 "Das Log zeigt einen Lauf, aber keinen Fehler: Was hier steht, folgt allein aus der Konfiguration."}},
{doctor::diagnosis::NoteId::kLimitSet, {
 "This process may use only {0} of the card: a memory fraction or a MIG slice is set.",
 "本进程最多只能使用显卡的 {0}：设置了显存比例上限或 MIG 切分。",
 "このプロセスが使えるのは GPU のうち {0} だけです。メモリ割合の上限か MIG スライスが設定されています。",
 "Dieser Prozess darf nur {0} der Karte nutzen: Ein Speicheranteil oder ein MIG-Slice ist gesetzt."}},
{doctor::diagnosis::NoteId::kStatesAlone, {
 "What stands whatever the batch size (weights, gradients, AdamW's state, and what a resume or DDP keeps) takes {0}; PyTorch can have {1} of the card. No batch size helps: it takes a smaller model, a larger card or another optimizer.",
 "与批次大小无关的部分（权重、梯度、AdamW 状态，以及恢复训练或 DDP 保留的部分）就需要 {0}，而 PyTorch 在这张显卡上只能用 {1}。改批次大小没有用：需要更小的模型、更大的显卡或别的优化器。",
 "バッチサイズに関係なく必要な分（重み・勾配・AdamW の状態、再開や DDP が保持する分）だけで {0} ですが、PyTorch がこの GPU で使えるのは {1} です。バッチサイズでは解決せず、より小さなモデル、より大きな GPU、または別のオプティマイザが必要です。",
 "Was unabhängig von der Batchgröße belegt ist (Gewichte, Gradienten, AdamW-Zustand und was Fortsetzung oder DDP behalten), braucht {0}; PyTorch kann auf der Karte {1} nutzen. Keine Batchgröße hilft: Nötig ist ein kleineres Modell, eine größere Karte oder ein anderer Optimizer."}},
{doctor::diagnosis::NoteId::kFirstStepNeedsMore, {
 "Had this allocation passed, the run would still have failed: a training step needs {0}, PyTorch can have {1} of the card.",
 "即使这次分配成功，运行仍会失败：一个训练步需要 {0}，而 PyTorch 在这张显卡上只能用 {1}。",
 "この割り当てが成功していても、実行は失敗していました。学習の 1 ステップには {0} 必要ですが、PyTorch がこの GPU で使えるのは {1} です。",
 "Selbst wenn diese Anforderung gelungen wäre, wäre der Lauf gescheitert: Ein Trainingsschritt braucht {0}, PyTorch kann auf der Karte {1} nutzen."}},
{doctor::diagnosis::NoteId::kAccumulationAddsGradients, {
 "With gradient_accumulation_steps above 1 the gradients stand while the next micro-step runs: 4 bytes per parameter more at the peak.",
 "gradient_accumulation_steps 大于 1 时，下一个微步运行期间梯度一直保留：峰值每个参数多 4 字节。",
 "gradient_accumulation_steps が 1 より大きいと、次のマイクロステップの間も勾配が残ります。ピークはパラメータあたり 4 バイト増えます。",
 "Bei gradient_accumulation_steps über 1 bleiben die Gradienten im Speicher, während der nächste Mikroschritt läuft: in der Spitze 4 Byte mehr je Parameter."}},
{doctor::diagnosis::NoteId::kLogitsKeptAlive, {
 "The global name `logits` in train.py keeps {0} alive; `del logits` once the loss is computed gives them back.",
 "train.py 中的全局变量 `logits` 一直占着 {0}；计算完损失后执行 `del logits` 即可释放。",
 "train.py のグローバル変数 `logits` が {0} を保持し続けます。損失を計算した後に `del logits` すれば解放されます。",
 "Die globale Variable `logits` in train.py hält {0} fest; `del logits` nach der Berechnung des Loss gibt sie frei."}},
{doctor::diagnosis::NoteId::kResumeKeepsACopy, {
 "After a resume train.py keeps the loaded weights on the card a second time: {0}. `state_dict = None` after loading gives them back.",
 "恢复训练后，train.py 会在显卡上多保留一份加载的权重：{0}。加载后执行 `state_dict = None` 即可释放。",
 "再開後、train.py は読み込んだ重みをもう一組 GPU に保持します：{0}。読み込み後に `state_dict = None` とすれば解放されます。",
 "Nach einer Fortsetzung hält train.py die geladenen Gewichte ein zweites Mal auf der Karte: {0}. `state_dict = None` nach dem Laden gibt sie frei."}},
{doctor::diagnosis::NoteId::kAmbiguous, {
 "Tensors of this run that have such a size: {0}. They are listed by likelihood.",
 "本次运行中具有这一大小的张量有 {0} 个，已按可能性排列。",
 "この大きさのテンソルは、この実行に {0} 個あります。可能性の高い順に並べています。",
 "Tensoren dieses Laufs mit dieser Größe: {0}. Sie sind nach Wahrscheinlichkeit geordnet."}},
{doctor::diagnosis::NoteId::kShapeFromConfigDiffers, {
 "The shape in the log is none of this config's: the run that failed had other settings.",
 "日志中的形状在这份配置里并不存在：出错的那次运行用的是别的设置。",
 "ログの形状はこの設定からは生じません。失敗した実行は別の設定だったはずです。",
 "Die Form im Log kommt in dieser Konfiguration nicht vor: Der gescheiterte Lauf hatte andere Einstellungen."}},
{doctor::diagnosis::NoteId::kHeadsDoNotDivide, {
 "n_embd = {0} is not divisible by n_head = {1}: nanoGPT stops with an assertion before it needs any memory. n_head = {2} keeps the width, n_embd = {3} keeps the heads.",
 "n_embd = {0} 不能被 n_head = {1} 整除：nanoGPT 在用到显存之前就会断言失败。n_head = {2} 可保持宽度，n_embd = {3} 可保持头数。",
 "n_embd = {0} は n_head = {1} で割り切れません。nanoGPT はメモリを使う前にアサーションで停止します。幅を保つなら n_head = {2}、ヘッド数を保つなら n_embd = {3} です。",
 "n_embd = {0} ist nicht durch n_head = {1} teilbar: nanoGPT bricht mit einer Assertion ab, bevor es Speicher braucht. n_head = {2} behält die Breite, n_embd = {3} die Heads."}},
{doctor::diagnosis::NoteId::kVocabularyAssumed, {
 "The size of the vocabulary is not given; {0} is assumed.",
 "没有给出词表大小，按 {0} 计算。",
 "語彙数が指定されていないため、{0} と仮定しています。",
 "Die Größe des Vokabulars ist nicht angegeben; angenommen wird {0}."}},
{doctor::diagnosis::NoteId::kLittleInPieces, {
 "Only {0} is in pieces. With expandable_segments:True this request may pass, but the card stays nearly full: lower the need as well.",
 "碎片只有 {0}。设置 expandable_segments:True 后这次申请也许能通过，但显卡仍几乎占满：还应减少需求。",
 "断片化しているのは {0} だけです。expandable_segments:True でこの要求は通るかもしれませんが、GPU のメモリはほぼいっぱいのままです。必要量も減らしてください。",
 "Nur {0} sind fragmentiert. Mit expandable_segments:True geht diese Anforderung vielleicht durch, doch die Karte bleibt fast voll: Auch der Bedarf sollte sinken."}},
{doctor::diagnosis::NoteId::kMatchedRun, {
 "The figures of the message go with another run than the one given: {0}. Everything here is about that run.",
 "报错中的数字与给出的设置不符，而与另一种运行吻合：{0}。这里的一切都针对那种运行。",
 "メッセージの数値は、指定された実行ではなく別の実行と一致します：{0}。ここに示す内容はすべてその実行についてのものです。",
 "Die Zahlen der Meldung passen zu einem anderen als dem angegebenen Lauf: {0}. Alles Folgende gilt für diesen Lauf."}},
{doctor::diagnosis::NoteId::kSettingsFromLog, {
 "Taken from the log: {0}.",
 "取自日志：{0}。",
 "ログから読み取った設定：{0}。",
 "Aus dem Log übernommen: {0}."}},
{doctor::diagnosis::NoteId::kLogSettingsNotUsed, {
 "The settings in the log do not make a run, so they are not used: {0}.",
 "日志中的设置无法构成一次运行，因此没有采用：{0}。",
 "ログの設定では実行が成り立たないため、使っていません：{0}。",
 "Die Einstellungen im Log ergeben keinen Lauf und werden deshalb nicht verwendet: {0}."}},
{doctor::diagnosis::NoteId::kOtherTokens, {
 "The log trains {0} tokens per iteration, this config {1}: the run that failed had other settings.",
 "日志中每次迭代训练 {0} 个 token，而这份配置是 {1} 个：出错的那次运行用的是别的设置。",
 "ログでは 1 イテレーションあたり {0} トークン、この設定では {1} トークンです。失敗した実行は別の設定だったはずです。",
 "Im Log sind es {0} Token je Iteration, in dieser Konfiguration {1}: Der gescheiterte Lauf hatte andere Einstellungen."}},
{doctor::diagnosis::NoteId::kOtherParameters, {
 "The log has a model of {0} parameters, this config one of {1}.",
 "日志中的模型有 {0} 参数，而这份配置的模型有 {1} 参数。",
 "ログのモデルは {0} パラメータ、この設定のモデルは {1} パラメータです。",
 "Das Log nennt ein Modell mit {0} Parametern, diese Konfiguration hat {1}."}},
{doctor::diagnosis::NoteId::kSurvivesAlone, {
 "Tried on PyTorch's allocator: alone on the card this run survives. It needs {0}, and {1} would be there.",
 "在 PyTorch 分配器上试算：如果独占显卡，本次运行可以跑完。它需要 {0}，独占时有 {1}。",
 "PyTorch のアロケータで試算すると、GPU を独占していればこの実行は完走します。必要量は {0}、独占時に使えるのは {1} です。",
 "Mit dem Allokator von PyTorch durchgespielt: Allein auf der Karte läuft dieses Training durch. Es braucht {0}, verfügbar wären {1}."}},
{doctor::diagnosis::NoteId::kSurvivesExpandable, {
 "Tried on PyTorch's allocator: with expandable_segments:True the same run needs {0} of the {1} that it had, without it {2}.",
 "在 PyTorch 分配器上试算：启用 expandable_segments:True 后同一运行需要 {0}，当时可用 {1}；不启用则需要 {2}。",
 "PyTorch のアロケータで試算すると、expandable_segments:True なら必要量は {0}（当時使えたのは {1}）、なしでは {2} です。",
 "Mit dem Allokator von PyTorch durchgespielt: Mit expandable_segments:True braucht derselbe Lauf {0} von den {1}, die er hatte, ohne {2}."}},
{doctor::diagnosis::NoteId::kSurvivesInOnePiece, {
 "Tried on PyTorch's allocator: without fragmentation the same run needs {0} of the {1} that it had, with it {2}.",
 "在 PyTorch 分配器上试算：没有碎片时同一运行需要 {0}，当时可用 {1}；有碎片则需要 {2}。",
 "PyTorch のアロケータで試算すると、断片化がなければ必要量は {0}（当時使えたのは {1}）、あると {2} です。",
 "Mit dem Allokator von PyTorch durchgespielt: Ohne Fragmentierung braucht derselbe Lauf {0} von den {1}, die er hatte, mit ihr {2}."}},
{doctor::diagnosis::NoteId::kConfigDoesNotExplain, {
 "This config does not explain the log: PyTorch had {0} allocated, and this run never needs more than {1}. The run that failed had other settings, most likely a larger batch_size, block_size or model.",
 "这份配置解释不了这份日志：PyTorch 当时已分配 {0}，而按此配置最多只需要 {1}。出错的那次运行用的是别的设置，多半是更大的 batch_size、block_size 或模型。",
 "この設定ではログを説明できません。PyTorch は {0} を割り当てていましたが、この設定での最大は {1} です。失敗した実行は別の設定（より大きな batch_size、block_size、モデルなど）だったはずです。",
 "Diese Konfiguration erklärt das Log nicht: PyTorch hatte {0} belegt, dieser Lauf braucht nie mehr als {1}. Der gescheiterte Lauf hatte andere Einstellungen, wahrscheinlich eine größere batch_size oder block_size oder ein größeres Modell."}},
{doctor::diagnosis::NoteId::kAssumedRun, {
 "No config was given. A run of nanoGPT with these settings explains the request and what was allocated: {0}. All figures here are of that run, with nanoGPT's defaults for the rest; with the config they are exact.",
 "没有给出配置。采用以下设置的 nanoGPT 运行能够解释这次申请和已分配的显存：{0}。这里的所有数字都针对那样的运行，其余设置取 nanoGPT 的默认值；给出配置后即为精确值。",
 "設定ファイルが指定されていません。次の設定の nanoGPT であれば、要求されたサイズと割り当て済みの量の両方を説明できます：{0}。ここの数値はすべてその実行についてのもので、残りは nanoGPT の既定値です。設定を渡せば正確になります。",
 "Es wurde keine Konfiguration angegeben. Ein nanoGPT-Lauf mit diesen Einstellungen erklärt die Anforderung und das bereits Belegte: {0}. Alle Zahlen hier gelten für diesen Lauf, sonst mit den Standardwerten von nanoGPT; mit der Konfiguration werden sie exakt."}},
{doctor::diagnosis::NoteId::kEffectiveBatch, {
 "batch_size = {0} sequences are on the card at once; {1} micro-steps of them make one update: {0} × {1} = {2} sequences, the effective batch. Memory depends on the first factor, the result on the product.",
 "batch_size = {0} 表示同时在显卡上的序列数；{1} 个微步累积成一次更新：{0} × {1} = {2} 条序列，即有效批次大小。显存取决于第一个因数，训练结果取决于乘积。",
 "batch_size = {0} は同時に GPU に置かれるシーケンスの数です。マイクロステップ {1} 回で 1 回の更新になり、{0} × {1} = {2} シーケンスが実効バッチサイズです。メモリは batch_size で、学習の結果は積で決まります。",
 "batch_size = {0} Sequenzen liegen gleichzeitig auf der Karte; {1} Mikroschritte ergeben ein Update: {0} × {1} = {2} Sequenzen, der effektive Batch. Der Speicher hängt vom ersten Faktor ab, das Ergebnis vom Produkt."}},
{doctor::diagnosis::NoteId::kAdviceBatch, {
 "First: a smaller {0}, with {1} raised by the same factor. The updates stay the same; activations and logits shrink in proportion.",
 "首选：减小 {0}，并按同样的倍数增大 {1}。每次更新的内容不变，激活值和 logits 按比例减少。",
 "まず {0} を小さくし、{1} を同じ倍率で大きくします。更新の内容は変わらず、アクティベーションと logits が比例して減ります。",
 "Zuerst: {0} verkleinern und {1} um denselben Faktor erhöhen. Die Updates bleiben gleich; Aktivierungen und Logits schrumpfen im selben Verhältnis."}},
{doctor::diagnosis::NoteId::kAdviceCheckpointing, {
 "Then gradient checkpointing: {0}. Blocks are computed again in backward instead of being kept, at about a third more time.",
 "其次是梯度检查点：{0}。各层不再保留激活值，而是在反向传播时重新计算，时间约增加三分之一。",
 "次に勾配チェックポイント：{0}。各ブロックの値を保持せず逆伝播で再計算します。時間は約 3 分の 1 増えます。",
 "Dann Gradient Checkpointing: {0}. Die Werte der Blöcke werden im Backward-Pass neu berechnet, statt im Speicher zu bleiben; das kostet etwa ein Drittel mehr Zeit."}},
{doctor::diagnosis::NoteId::kAdviceOptimizer, {
 "Optimizer: fused=True instead of foreach spares a temporary copy of the weights' size (8 bytes per parameter in PyTorch 2.0, 4 later); 8-bit AdamW (bitsandbytes) takes 2 bytes per parameter instead of 8.",
 "优化器：用 fused=True 代替 foreach 可省去与权重同量级的临时副本（PyTorch 2.0 为每参数 8 字节，之后为 4 字节）；8 位 AdamW（bitsandbytes）的状态每参数只占 2 字节而不是 8 字节。",
 "オプティマイザ：foreach の代わりに fused=True を使うと、重みと同規模の一時コピーがなくなります（PyTorch 2.0 ではパラメータあたり 8 バイト、以降は 4 バイト）。8 ビット AdamW（bitsandbytes）なら状態は 8 バイトではなく 2 バイトです。",
 "Optimizer: fused=True statt foreach spart eine vorübergehende Kopie in der Größe der Gewichte (8 Byte je Parameter in PyTorch 2.0, später 4); AdamW mit 8 Bit (bitsandbytes) braucht 2 statt 8 Byte je Parameter."}},
{doctor::diagnosis::NoteId::kAdviceLoading, {
 "It failed while weights were built or loaded: a smaller batch does not help. Load checkpoints to the RAM first (torch.load(..., map_location='cpu')), weights in bfloat16 or quantised, or take a smaller model.",
 "失败发生在构建或加载权重时：减小批次大小没有用。请先把检查点加载内存（torch.load(..., map_location='cpu')），以 bfloat16 或量化形式加载权重，或换用更小的模型。",
 "重みの構築または読み込み中に失敗しています。バッチサイズを小さくしても効果はありません。チェックポイントをまず RAM に読み込む（torch.load(..., map_location='cpu')）、重みを bfloat16 や量子化した形で読み込む、より小さなモデルを使う、のいずれかで対処します。",
 "Der Fehler kam beim Aufbau oder Laden der Gewichte: Ein kleinerer Batch hilft nicht. Checkpoints zuerst in den Arbeitsspeicher laden (torch.load(..., map_location='cpu')), Gewichte in bfloat16 oder quantisiert laden oder ein kleineres Modell nehmen."}},
{doctor::diagnosis::NoteId::kAdviceEvaluation, {
 "In an evaluation Trainer keeps the logits of all batches on the card until its end: set eval_accumulation_steps=1, or let preprocess_logits_for_metrics return only what the metric needs; prediction_loss_only=True keeps none. A smaller per_device_eval_batch_size helps against a single batch.",
 "评估时 Trainer 会把所有批次的 logits 一直留在显卡上，直到评估结束：请设置 eval_accumulation_steps=1，或让 preprocess_logits_for_metrics 只返回指标所需的内容；prediction_loss_only=True 则完全不保留。若单个批次就放不下，请减小 per_device_eval_batch_size。",
 "評価中、Trainer は全バッチの logits を最後まで GPU に保持します。eval_accumulation_steps=1 にするか、preprocess_logits_for_metrics で指標に必要な分だけを返してください。prediction_loss_only=True なら何も保持しません。1 バッチだけで足りない場合は per_device_eval_batch_size を小さくします。",
 "Bei einer Auswertung behält der Trainer die Logits aller Batches bis zum Ende auf der Karte: eval_accumulation_steps=1 setzen oder mit preprocess_logits_for_metrics nur zurückgeben, was die Metrik braucht; mit prediction_loss_only=True bleibt nichts liegen. Reicht es schon für einen einzelnen Batch nicht, hilft eine kleinere per_device_eval_batch_size."}},
{doctor::diagnosis::NoteId::kAdviceZero, {
 "DeepSpeed: the next ZeRO stage (2, then 3) shares gradients, then weights among the cards; offload_optimizer with \"device\": \"cpu\" moves AdamW's state to the RAM; a smaller reduce_bucket_size and allgather_bucket_size shrink its buffers.",
 "DeepSpeed：提高 ZeRO 阶段（2，再到 3）可把梯度、再把权重分摊到各张显卡；offload_optimizer 设 \"device\": \"cpu\" 可把 AdamW 状态移到内存；调小 reduce_bucket_size 和 allgather_bucket_size 可缩小它的缓冲区。",
 "DeepSpeed：ZeRO のステージを上げると（2、次に 3）、勾配、次いで重みが各 GPU に分割されます。offload_optimizer で \"device\": \"cpu\" とすると AdamW の状態が RAM に移ります。reduce_bucket_size と allgather_bucket_size を小さくするとバッファが縮みます。",
 "DeepSpeed: Die nächste ZeRO-Stufe (2, dann 3) verteilt Gradienten, dann auch Gewichte auf die Karten; offload_optimizer mit \"device\": \"cpu\" verschiebt den AdamW-Zustand in den Arbeitsspeicher; kleinere reduce_bucket_size und allgather_bucket_size verkleinern die Puffer."}},
{doctor::diagnosis::NoteId::kAdviceNccl, {
 "With several processes leave 1 to 3 GiB of each card for NCCL's buffers.",
 "多进程训练时，请在每张显卡上为 NCCL 缓冲区留出 1 至 3 GiB。",
 "複数プロセスで学習する場合は、NCCL のバッファ用に各 GPU で 1～3 GiB を空けておきます。",
 "Bei mehreren Prozessen auf jeder Karte 1 bis 3 GiB für die Puffer von NCCL frei lassen."}},
{doctor::diagnosis::NoteId::kAdviceMonitor, {
 "To watch it: `nvidia-smi -l 1` or `snug watch` for the card and who is on it, torch.cuda.max_memory_allocated() for the peak of the tensors, python -c \"import torch; print(torch.__version__)\" for the version.",
 "监控方法：`nvidia-smi -l 1` 或 `snug watch` 查看显卡及占用进程，torch.cuda.max_memory_allocated() 查看张量峰值，python -c \"import torch; print(torch.__version__)\" 查看版本。",
 "監視するには：GPU と使用中のプロセスは `nvidia-smi -l 1` か `snug watch`、テンソルのピークは torch.cuda.max_memory_allocated()、バージョンは python -c \"import torch; print(torch.__version__)\" で確認できます。",
 "Beobachten: `nvidia-smi -l 1` oder `snug watch` zeigt die Karte und was darauf läuft, torch.cuda.max_memory_allocated() den Spitzenwert der Tensoren, python -c \"import torch; print(torch.__version__)\" die Version."}},
{doctor::diagnosis::NoteId::kMythEvaluationKeepsGraph, {
 "\"Evaluation keeps the graph\": no. estimate_loss runs under torch.no_grad(), so nothing is saved for backward. What it costs are logits: those of the last batch still have a name while the next are computed.",
 "“评估会保留计算图”：不对。estimate_loss 在 torch.no_grad() 下运行，不会为反向传播保存任何东西。它的开销是 logits：计算下一批次时，上一批次的仍被变量引用。",
 "「評価は計算グラフを保持する」：誤りです。estimate_loss は torch.no_grad() の下で動くため、逆伝播用には何も保存されません。メモリを使うのは logits です。次のバッチを計算する間も、前のバッチの logits が変数に残っています。",
 "„Die Auswertung behält den Graphen“: nein. estimate_loss läuft unter torch.no_grad(), für den Backward-Pass wird nichts aufgehoben. Speicher kosten die Logits: Die des letzten Batches hält eine Variable noch fest, während die nächsten entstehen."}},
{doctor::diagnosis::NoteId::kMythKvCache, {
 "\"A KV cache fills the card\": no. Training has none; keys and values are ordinary activations that backward frees.",
 "“KV 缓存占满了显存”：不对。训练时没有 KV 缓存；键和值只是普通的激活值，反向传播后即释放。",
 "「KV キャッシュが GPU を埋める」：誤りです。学習に KV キャッシュはありません。キーとバリューは通常のアクティベーションで、逆伝播の後に解放されます。",
 "„Ein KV-Cache füllt die Karte“: nein. Beim Training gibt es keinen; Keys und Values sind gewöhnliche Aktivierungen, die der Backward-Pass wieder freigibt."}},
{doctor::diagnosis::NoteId::kMythEvalIters, {
 "\"Fewer eval_iters save memory\": no. The batches run one after the other in the same memory; only time is saved.",
 "“减少 eval_iters 能省显存”：不对。各批次依次使用同一块显存；省下的只有时间。",
 "「eval_iters を減らせばメモリが減る」：誤りです。バッチは同じメモリを順に使うため、減るのは時間だけです。",
 "„Weniger eval_iters sparen Speicher“: nein. Die Batches laufen nacheinander im selben Speicher; gespart wird nur Zeit."}},
{doctor::diagnosis::NoteId::kMythAccumulationSaves, {
 "\"More accumulation saves memory\": not by itself. From 1 to 2 steps it adds the gradients, 4 bytes per parameter; what saves is the smaller batch_size that it allows.",
 "“增加梯度累积能省显存”：累积本身不省。从 1 步增加到 2 步反而要多保留一份梯度，每个参数 4 字节；真正省显存的是它所允许的更小的 batch_size。",
 "「勾配累積を増やせばメモリが減る」：累積だけでは減りません。1 から 2 にすると、勾配の分としてパラメータあたり 4 バイト増えます。減るのは、その分 batch_size を小さくできるからです。",
 "„Mehr Akkumulation spart Speicher“: nicht von selbst. Von 1 auf 2 Schritte kommen die Gradienten hinzu, 4 Byte je Parameter; sparen kann nur die kleinere batch_size, die dadurch möglich wird."}},
{doctor::diagnosis::NoteId::kMythHalvingHalves, {
 "\"Half the batch, half the memory\": no. It goes from {0} to {1}: activations and logits halve; weights, gradients and optimizer state stay.",
 "“批次大小减半，显存就减半”：不对。会从 {0} 降到 {1}：激活值和 logits 减半，而权重、梯度和优化器状态不变。",
 "「バッチを半分にすればメモリも半分」：誤りです。{0} から {1} になります。アクティベーションと logits は半分になりますが、重み・勾配・オプティマイザ状態は変わりません。",
 "„Halber Batch, halber Speicher“: nein. Aus {0} werden {1}: Aktivierungen und Logits halbieren sich; Gewichte, Gradienten und Optimizer-Zustand bleiben."}},
{doctor::diagnosis::NoteId::kMythCompileOffSaves, {
 "\"compile=False saves memory\": no. Without torch.compile the step needs {0}, with it {1}: fused kernels keep fewer tensors of the loss.",
 "“compile=False 能省显存”：不对。不用 torch.compile 时一步需要 {0}，使用时为 {1}：融合后的内核保留的损失张量更少。",
 "「compile=False でメモリが減る」：誤りです。1 ステップに必要なのは、torch.compile なしで {0}、ありで {1} です。融合されたカーネルのほうが、保持する損失のテンソルが少なくなります。",
 "„compile=False spart Speicher“: nein. Ohne torch.compile braucht der Schritt {0}, damit {1}: Fusionierte Kernel behalten weniger Tensoren des Loss."}},
{doctor::diagnosis::NoteId::kMythCheckpointHalves, {
 "\"Checkpointing halves the memory\": that depends. The peak goes from {0} to {1}: the loss's tensors, as wide as the vocabulary, are not part of the blocks.",
 "“梯度检查点能让显存减半”：视情况而定。峰值从 {0} 变为 {1}：与词表同宽的损失张量不在各层之内，不受影响。",
 "「勾配チェックポイントでメモリが半分になる」：場合によります。ピークは {0} から {1} になります。語彙の幅を持つ損失のテンソルはブロックに含まれないため、減りません。",
 "„Checkpointing halbiert den Speicher“: kommt darauf an. Der Spitzenbedarf sinkt von {0} auf {1}: Die Loss-Tensoren, so breit wie das Vokabular, gehören nicht zu den Blöcken."}},
}};
// clang-format on
static_assert(in_order(kNotes), "a note of notes.h has no message");

}  // namespace

std::span<const MessageRow<doctor::diagnosis::NoteId>, doctor::diagnosis::kNoteCount> note_table() {
  return kNotes;
}

}  // namespace snug::report
