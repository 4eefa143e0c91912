// Errors and notices that are written below `report`, in English, and said to the reader in another
// language: one row per line, found by its English text (decision 0025).
#include "report/catalogue/error_texts.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "report/numbers.h"

namespace snug::report {
namespace {

// clang-format off
constexpr Texts kLines[] = {
// Where: before the first line.
{"command line: {0}", "命令行：{0}", "コマンドライン：{0}", "Befehlszeile: {0}"},
{"checkpoint: {0}", "检查点：{0}", "チェックポイント：{0}", "Checkpoint: {0}"},
// Settings.
{"n_embd = {0} is not divisible by n_head = {1}", "n_embd = {0} 不能被 n_head = {1} 整除", "n_embd = {0} は n_head = {1} で割り切れません", "n_embd = {0} ist nicht durch n_head = {1} teilbar"},
{"each head needs a whole width: n_head = {0} keeps {1} wide ({2} per head), n_embd = {3} keeps {4} heads", "每个注意力头的宽度须为整数：n_head = {0} 可保持宽度 {1}（每头 {2}），n_embd = {3} 可保持 {4} 个头", "各ヘッドの幅は整数でなければなりません。n_head = {0} なら幅 {1} のまま（1 ヘッド {2}）、n_embd = {3} なら {4} ヘッドのままです", "Jeder Head braucht eine ganze Breite: n_head = {0} behält die Breite {1} ({2} je Head), n_embd = {3} behält {4} Heads"},
{"there is no setting `{0}`", "没有 `{0}` 这个设置项", "`{0}` という設定はありません", "Die Einstellung `{0}` gibt es nicht"},
{"no setting is named", "没有写设置项的名称", "設定名がありません", "Es ist keine Einstellung genannt"},
{"did you mean {0}?", "您是想写 {0} 吗？", "{0} のことですか？", "Ist {0} gemeint?"},
{"--help lists all settings", "--help 列出所有设置项", "--help で全設定を表示します", "--help zeigt alle Einstellungen"},
{"{0} is a setting, not a config file", "{0} 是设置项，不是配置文件", "{0} は設定名で、設定ファイルではありません", "{0} ist eine Einstellung, keine Konfigurationsdatei"},
{"write --{0}=VALUE", "请写成 --{0}=VALUE", "--{0}=VALUE と書いてください", "bitte --{0}=VALUE schreiben"},
{"{0}: there is no such config file", "{0}：没有这个配置文件", "{0}：この設定ファイルはありません", "{0}: Diese Konfigurationsdatei gibt es nicht"},
{"looked for {0} from the folder {1}", "在文件夹 {1} 中查找了 {0}", "フォルダ {1} から {0} を探しました", "gesucht wurde {0} im Ordner {1}"},
{"check the path; a setting is written --key=value, such as --batch_size=12", "请检查路径；设置项写作 --key=value，例如 --batch_size=12", "パスを確認してください。設定は --batch_size=12 のように --key=value と書きます", "bitte den Pfad prüfen; Einstellungen schreibt man --key=value, etwa --batch_size=12"},
{"{0}: is a folder, not a config file", "{0}：是文件夹，不是配置文件", "{0}：フォルダで、設定ファイルではありません", "{0}: ist ein Ordner, keine Konfigurationsdatei"},
{"name a file in it, such as {0}", "请指定其中的文件，例如 {0}", "中のファイルを指定してください（例：{0}）", "bitte eine Datei darin nennen, etwa {0}"},
{"{0}: is not text", "{0}：不是文本文件", "{0}：テキストではありません", "{0}: ist kein Text"},
{"a config is a short Python file in UTF-8", "配置文件是 UTF-8 编码的简短 Python 文件", "設定ファイルは UTF-8 の短い Python ファイルです", "eine Konfiguration ist eine kurze Python-Datei in UTF-8"},
{"{0} = {1} is not allowed", "不允许 {0} = {1}", "{0} = {1} は使えません", "{0} = {1} ist nicht erlaubt"},
// Files that cannot be read.
{"cannot open {0}: {1}", "无法打开 {0}：{1}", "{0} を開けません：{1}", "{0} lässt sich nicht öffnen: {1}"},
{"No such file or directory", "文件或目录不存在", "ファイルまたはディレクトリがありません", "Datei oder Verzeichnis nicht gefunden"},
{"Permission denied", "权限不足", "権限がありません", "keine Berechtigung"},
{"check the path", "请检查路径", "パスを確認してください", "bitte den Pfad prüfen"},
{"{0} is a folder, not a file", "{0} 是文件夹，不是文件", "{0} はフォルダで、ファイルではありません", "{0} ist ein Ordner, keine Datei"},
{"name the file itself", "请指定文件本身", "ファイルそのものを指定してください", "bitte die Datei selbst nennen"},
{"{0} cannot be read: it is cut off: {1} more bytes wanted, {2} left (byte {3})", "无法读取 {0}：文件不完整，还需要 {1} 字节，只剩 {2} 字节（位置 {3}）", "{0} を読み取れません：途中で切れています。あと {1} バイト必要ですが、残りは {2} バイトです（位置 {3}）", "{0} ist nicht lesbar: abgeschnitten, gebraucht werden noch {1} Bytes, übrig sind {2} (Byte {3})"},
{"{0} cannot be read: {1} (byte {2})", "无法读取 {0}（位置 {2}）：{1}", "{0} を読み取れません（位置 {2}）：{1}", "{0} ist nicht lesbar (Byte {2}): {1}"},
{"memo {0} was never written", "memo {0} 从未写入", "memo {0} は書き込まれていません", "memo {0} wurde nie geschrieben"},
{"it is not a pickle of plain data, or it is damaged; make it again", "它不是只含普通数据的 pickle，或者已损坏；请重新生成", "単純なデータの pickle ではないか、壊れています。作り直してください", "sie ist kein Pickle mit einfachen Daten oder beschädigt; bitte neu erzeugen"},
{"`{0}` has no value yet", "`{0}` 尚未赋值", "`{0}` にはまだ値がありません", "`{0}` hat noch keinen Wert"},
{"a name is set on a line above, or is a setting", "名称须在前面的行中赋值，或者是设置项", "名前は前の行で設定するか、設定名でなければなりません", "ein Name wird in einer Zeile darüber gesetzt oder ist eine Einstellung"},
{"{0} is not a setting, and nothing reads it", "{0} 不是设置项，也没有被使用", "{0} は設定ではなく、どこからも参照されません", "{0} ist keine Einstellung und wird nirgends verwendet"},
{"checkpoint_blocks = {0} contradicts grad_checkpoint = True", "checkpoint_blocks = {0} 与 grad_checkpoint = True 矛盾", "checkpoint_blocks = {0} は grad_checkpoint = True と矛盾します", "checkpoint_blocks = {0} widerspricht grad_checkpoint = True"},
{"grad_checkpoint recomputes all {0} blocks: keep one of the two", "grad_checkpoint 会重计算全部 {0} 层：两者只留一个", "grad_checkpoint は全 {0} 層を再計算します。どちらか一方だけにしてください", "grad_checkpoint berechnet alle {0} Blöcke neu: bitte nur eines von beiden"},
{"checkpoint_blocks = {0} is more than n_layer = {1}", "checkpoint_blocks = {0} 大于 n_layer = {1}", "checkpoint_blocks = {0} は n_layer = {1} を超えています", "checkpoint_blocks = {0} ist mehr als n_layer = {1}"},
{"the model has {0} blocks to recompute: at most {1}", "模型只有 {0} 层可重计算：最多 {1}", "モデルの再計算できる層は {0} 層です：最大 {1}", "das Modell hat {0} Blöcke zum Neuberechnen: höchstens {1}"},
{"eval_block_size = {0} is longer than block_size = {1}", "eval_block_size = {0} 大于 block_size = {1}", "eval_block_size = {0} は block_size = {1} より長いです", "eval_block_size = {0} ist länger als block_size = {1}"},
{"the model has {0} positions: evaluate with at most {1}", "模型有 {0} 个位置：评估长度最多 {1}", "モデルの位置数は {0} です：評価は最大 {1}", "das Modell hat {0} Positionen: höchstens mit {1} auswerten"},
{"effective_batch = {0} cannot be split into micro-batches of batch_size = {1}", "effective_batch = {0} 不能按 batch_size = {1} 均分成微批次", "effective_batch = {0} は batch_size = {1} のマイクロバッチに分けられません", "effective_batch = {0} lässt sich nicht in Mikrobatches mit batch_size = {1} teilen"},
{"batch_size = {0} divides it; effective_batch = {1} would be {2} micro-batches", "batch_size = {0} 可以整除；effective_batch = {1} 则为 {2} 个微批次", "batch_size = {0} なら割り切れます。effective_batch = {1} なら {2} マイクロバッチです", "batch_size = {0} teilt es; effective_batch = {1} wären {2} Mikrobatches"},
{"batch_size = {0} times block_size = {1} is {2} tokens at once", "batch_size = {0} 乘 block_size = {1} 一次共 {2} 个 token", "batch_size = {0} と block_size = {1} では一度に {2} トークンになります", "batch_size = {0} mal block_size = {1} sind {2} Token auf einmal"},
{"at most {0} go together: a smaller batch with more accumulation trains the same", "一次最多 {0} 个：减小批次大小并增加累积，训练结果相同", "一度に扱えるのは {0} までです。バッチを小さくして累積を増やせば学習は同じです", "höchstens {0} gehen zusammen: Ein kleinerer Batch mit mehr Akkumulation trainiert dasselbe"},
{"lr_decay_iters = {0} leaves no decay after warmup_iters = {1}", "lr_decay_iters = {0} 在 warmup_iters = {1} 之后没有衰减空间", "lr_decay_iters = {0} では warmup_iters = {1} の後に減衰する余地がありません", "lr_decay_iters = {0} lässt nach warmup_iters = {1} keine Zeit zum Senken der Lernrate"},
{"nanoGPT divides by zero there: raise lr_decay_iters, or set decay_lr = False", "nanoGPT 在这里会除以零：请增大 lr_decay_iters，或设 decay_lr = False", "nanoGPT ではゼロ除算になります。lr_decay_iters を増やすか decay_lr = False にしてください", "nanoGPT teilt hier durch null: bitte lr_decay_iters erhöhen oder decay_lr = False setzen"},
{"block_size = {0} is longer than the {1} positions of {2}", "block_size = {0} 超过 {2} 的 {1} 个位置", "block_size = {0} は {2} の {1} 位置より長いです", "block_size = {0} ist länger als die {1} Positionen von {2}"},
{"set block_size to {0} or less", "请把 block_size 设为 {0} 或更小", "block_size を {0} 以下にしてください", "bitte block_size auf {0} oder weniger setzen"},
{"{0} = '{1}' is not an amount of memory", "{0} = '{1}' 不是内存大小", "{0} = '{1}' はメモリ量ではありません", "{0} = '{1}' ist keine Speichermenge"},
{"write 512MiB or 10%", "请写 512MiB 或 10%", "512MiB や 10% のように書いてください", "bitte 512MiB oder 10% schreiben"},
{"write a size such as 12GiB or 800MiB, a share such as 80%, or auto", "请写大小（如 12GiB、800MiB）、比例（如 80%）或 auto", "12GiB や 800MiB のような量、80% のような割合、または auto を書いてください", "bitte eine Größe wie 12GiB oder 800MiB, einen Anteil wie 80% oder auto schreiben"},
{"write a share such as 10%, or a size such as 512MiB", "请写比例（如 10%）或大小（如 512MiB）", "10% のような割合か、512MiB のような量を書いてください", "bitte einen Anteil wie 10% oder eine Größe wie 512MiB schreiben"},
{"headroom = {0} is more than the {1} that may be used", "headroom = {0} 超过可用的 {1}", "headroom = {0} は使える {1} を超えています", "headroom = {0} ist mehr als die {1}, die nutzbar sind"},
{"write a share such as 10%", "请写比例，如 10%", "10% のような割合を書いてください", "bitte einen Anteil wie 10% schreiben"},
// Cards and devices.
{"there is no card '{0}' in the list", "列表中没有显卡 '{0}'", "GPU '{0}' は一覧にありません", "Die Karte '{0}' ist nicht in der Liste"},
{"`snug cards` lists all; --card=12GiB plans for any other with that much memory", "`snug cards` 列出全部；其他显卡可用 --card=12GiB 按显存大小规划", "`snug cards` で一覧を表示します。他の GPU は --card=12GiB のようにメモリ量で計画できます", "`snug cards` zeigt alle; --card=12GiB plant für jede andere mit so viel Speicher"},
{"'{0}' is more than one card", "'{0}' 对应多种显卡", "'{0}' に当てはまる GPU が複数あります", "'{0}' passt auf mehr als eine Karte"},
{"write {0} or {1}", "请写 {0} 或 {1}", "{0} か {1} と書いてください", "bitte {0} oder {1} schreiben"},
{"card = '{0}' contradicts device = 'cpu'", "card='{0}' 与 device='cpu' 矛盾", "card='{0}' は device='cpu' と矛盾します", "card='{0}' widerspricht device='cpu'"},
{"leave one of the two out", "请去掉其中一个", "どちらか一方を外してください", "bitte eines von beiden weglassen"},
{"card = '{0}' cannot be trained on: it names a card to plan for", "不能在 card='{0}' 上训练：它只指定用于规划的显卡", "card='{0}' では学習できません。計画用の GPU を指すだけです", "Auf card='{0}' kann nicht trainiert werden: Es nennt eine Karte zum Planen"},
{"`snug plan` plans for it; to train leave --card out", "`snug plan` 可为它做规划；要训练请去掉 --card", "`snug plan` で計画はできます。学習するには --card を外してください", "`snug plan` plant dafür; zum Trainieren bitte --card weglassen"},
{"`snug plan` plans for it; to train leave --card out, or add --device=emulated to look at it run", "`snug plan` 可为它做规划；要训练请去掉 --card，或加上 --device=emulated 观看模拟运行", "`snug plan` で計画はできます。学習するには --card を外すか、--device=emulated でエミュレートしてください", "`snug plan` plant dafür; zum Trainieren bitte --card weglassen oder mit --device=emulated emuliert ausführen"},
{"device = '{0}' cannot be used: this build has no CUDA backend", "不能使用 device='{0}'：当前构建不含 CUDA 后端", "device='{0}' は使えません。このビルドに CUDA バックエンドはありません", "device='{0}' ist nicht nutzbar: Dieser Build hat kein CUDA-Backend"},
{"./scripts/build cuda makes one that has; train on the processor with --device=cpu; `snug plan` needs no device", "./scripts/build cuda 可构建带 CUDA 的版本；在处理器上训练请用 --device=cpu；`snug plan` 不需要设备", "./scripts/build cuda で CUDA 付きのビルドを作れます。CPU では --device=cpu で学習できます。`snug plan` にデバイスは不要です", "./scripts/build cuda baut einen mit CUDA; auf dem Prozessor geht es mit --device=cpu; `snug plan` braucht kein Gerät"},
// The build's cards, before a run and during it.
{"no NVIDIA driver is installed", "没有安装 NVIDIA 驱动", "NVIDIA ドライバがインストールされていません", "Es ist kein NVIDIA-Treiber installiert"},
{"the driver knows CUDA {0}, this build needs {1}", "驱动支持 CUDA {0}，当前构建需要 {1}", "ドライバが対応する CUDA は {0} で、このビルドには {1} が必要です", "Der Treiber kennt CUDA {0}, dieser Build braucht {1}"},
{"install the driver, or train on the processor with --device=cpu", "请安装驱动，或用 --device=cpu 在处理器上训练", "ドライバをインストールするか、--device=cpu で CPU で学習してください", "bitte den Treiber installieren oder mit --device=cpu auf dem Prozessor trainieren"},
{"install a newer driver, or train on the processor with --device=cpu", "请安装更新的驱动，或用 --device=cpu 在处理器上训练", "新しいドライバをインストールするか、--device=cpu で CPU で学習してください", "bitte einen neueren Treiber installieren oder mit --device=cpu auf dem Prozessor trainieren"},
{"{0} has compute capability {1}: the kernels need 7.5 or newer", "{0} 的计算能力为 {1}：内核需要 7.5 或更新", "{0} の Compute Capability は {1} で、カーネルには 7.5 以上が必要です", "{0} hat Compute Capability {1}: Die Kernel brauchen 7.5 oder neuer"},
{"train on the processor with --device=cpu", "请用 --device=cpu 在处理器上训练", "--device=cpu で CPU で学習してください", "bitte mit --device=cpu auf dem Prozessor trainieren"},
{"card = '{0}' names a card to plan for; a run takes one that is there", "card='{0}' 指定用于规划的显卡；运行只能用本机已有的显卡", "card='{0}' は計画用の GPU です。実行には実在する GPU を使います", "card='{0}' nennt eine Karte zum Planen; ein Lauf nimmt eine, die da ist"},
{"leave --card out, or choose by number: --device=cuda:0", "请去掉 --card，或按编号选择：--device=cuda:0", "--card を外すか、--device=cuda:0 のように番号で選んでください", "bitte --card weglassen oder nach Nummer wählen: --device=cuda:0"},
{"no card '{0}' can be emulated", "不能模拟显卡 '{0}'", "GPU '{0}' はエミュレートできません", "Eine Karte '{0}' kann nicht emuliert werden"},
{"these can: {0}", "可以模拟：{0}", "可能なもの：{0}", "möglich sind: {0}"},
{"device = 'emulated' cannot be used: this build has no emulator", "不能使用 device='emulated'：当前构建不含模拟器", "device='emulated' は使えません。このビルドにエミュレータはありません", "device='emulated' ist nicht nutzbar: Dieser Build hat keinen Emulator"},
{"the release build has one: ./scripts/build", "release 构建带有模拟器：./scripts/build", "release ビルドにはあります：./scripts/build", "der Release-Build hat einen: ./scripts/build"},
{"'{0}' has heads of {1}, the kernels for cards hold at most {2}", "'{0}' 每头宽 {1}，显卡内核最多支持 {2}", "'{0}' のヘッド幅は {1} で、GPU のカーネルは最大 {2} です", "'{0}' hat Heads der Breite {1}, die Kernel für Karten fassen höchstens {2}"},
{"'{0}' has rows of {1}, the kernels for cards hold at most {2}", "'{0}' 每行宽 {1}，显卡内核最多支持 {2}", "'{0}' の行の幅は {1} で、GPU のカーネルは最大 {2} です", "'{0}' hat Zeilen der Breite {1}, die Kernel für Karten fassen höchstens {2}"},
{"{0} of pinned memory were refused: {1}", "锁页内存 {0} 被拒绝：{1}", "ピン留めメモリ {0} が拒否されました：{1}", "{0} gepinnter Speicher wurden verweigert: {1}"},
{"the host is short of memory, or `ulimit -l` is low", "主机内存不足，或 `ulimit -l` 过低", "ホストのメモリが足りないか、`ulimit -l` が小さすぎます", "der Rechner hat zu wenig Speicher, oder `ulimit -l` ist niedrig"},
{"the card refused {0}, although the plan fits: {1}", "规划放得下，但显卡拒绝了 {0}：{1}", "計画は収まりますが、GPU が {0} を拒否しました：{1}", "Die Karte hat {0} verweigert, obwohl der Plan passt: {1}"},
{"{0} of its {1} are free now: another program has taken memory since, or what is free is in pieces", "现在 {1} 中有 {0} 空闲：其他程序已占用显存，或空闲部分不连续", "今の空きは {1} 中 {0} です。他のプログラムが使ったか、空きが分かれています", "jetzt sind {0} von {1} frei: Ein anderes Programm hat inzwischen Speicher belegt, oder der freie ist fragmentiert"},
{"`snug devices` shows who holds what; with --fit the run fits what is left", "`snug devices` 显示占用情况；加 --fit 可适配剩余显存", "`snug devices` で使用状況を表示します。--fit で残りに収まります", "`snug devices` zeigt, wer was belegt; mit --fit passt der Lauf in den Rest"},
{"the card failed: {0} ({1})", "显卡出错：{0}（{1}）", "GPU でエラーが発生しました：{0}（{1}）", "Die Karte meldet einen Fehler: {0} ({1})"},
{"with CUDA_LAUNCH_BLOCKING=1 in the environment the same run names the op and its tensors", "设置环境变量 CUDA_LAUNCH_BLOCKING=1 后，同样的运行会指出算子及其张量", "環境変数 CUDA_LAUNCH_BLOCKING=1 を付けて同じ実行をすると、演算とテンソルがわかります", "mit CUDA_LAUNCH_BLOCKING=1 in der Umgebung nennt derselbe Lauf die Operation und ihre Tensoren"},
{"cuBLASLt has no product for '{0}': {1} rows, {2} by {3}, {4}", "cuBLASLt 没有适合 '{0}' 的乘法：{1} 行，{2}×{3}，{4}", "cuBLASLt には '{0}' の積がありません：{1} 行、{2}×{3}、{4}", "cuBLASLt hat kein Matrixprodukt für '{0}': {1} Zeilen, {2} mal {3}, {4}"},
{"another --batch_size, another --dtype or --device=cpu may help; `snug selftest` shows which products this card has", "换一个 --batch_size、--dtype 或用 --device=cpu 可能有用；`snug selftest` 显示该卡有哪些乘法", "別の --batch_size や --dtype、または --device=cpu を試してください。この GPU の積は `snug selftest` でわかります", "ein anderes --batch_size, --dtype oder --device=cpu kann helfen; `snug selftest` zeigt, welche Matrixprodukte diese Karte hat"},
{"cuBLASLt failed in {0}: {1} ({2})", "cuBLASLt 在 {0} 中出错：{1}（{2}）", "cuBLASLt が {0} で失敗しました：{1}（{2}）", "cuBLASLt ist in {0} gescheitert: {1} ({2})"},
{"its kernels found no room beside the run's memory; what is saved is safe, leave more free with --headroom", "其内核在运行的显存之外没有空间；已保存的内容安全，请用 --headroom 多留空闲", "実行のメモリのほかに、そのカーネルの場所がありません。保存済みの内容は無事です。--headroom で空きを増やしてください", "seine Kernel fanden neben dem Speicher des Laufs keinen Platz; Gespeichertes ist sicher, mit --headroom mehr frei lassen"},
{"what is saved is safe, resume with --init_from=resume; `snug selftest` tells whether the card computes rightly", "已保存的内容安全，请用 --init_from=resume 恢复；`snug selftest` 可检查显卡计算是否正确", "保存済みの内容は無事です。--init_from=resume で再開してください。`snug selftest` で計算が正しいか確認できます", "Gespeichertes ist sicher, weiter mit --init_from=resume; `snug selftest` zeigt, ob die Karte richtig rechnet"},
{"someone else has taken memory since the run was planned: `snug devices` shows who; with --fit the run fits what is left", "规划之后其他程序占用了显存：`snug devices` 可查看是谁；加 --fit 可适配剩余显存", "計画後に他のプログラムがメモリを使いました。`snug devices` で確認できます。--fit で残りに収まります", "seit der Planung hat ein anderes Programm Speicher belegt: `snug devices` zeigt, welches; mit --fit passt der Lauf in den Rest"},
{"the driver is older than the CUDA runtime of this build: install a newer driver", "驱动比当前构建的 CUDA 运行时旧：请安装更新的驱动", "ドライバがこのビルドの CUDA ランタイムより古いです。新しいドライバをインストールしてください", "der Treiber ist älter als die CUDA-Runtime dieses Builds: bitte einen neueren installieren"},
{"no card can be used: `snug devices` shows what the driver sees; train on the processor with --device=cpu", "没有可用的显卡：`snug devices` 显示驱动看到的设备；在处理器上训练请用 --device=cpu", "使える GPU がありません。`snug devices` でドライバの認識を確認できます。CPU では --device=cpu で学習できます", "keine Karte ist nutzbar: `snug devices` zeigt, was der Treiber sieht; bitte auf dem Prozessor mit --device=cpu trainieren"},
{"the card is busy with a program that keeps it for itself: `snug devices` shows which", "显卡被某个程序独占：`snug devices` 可查看是哪个", "GPU は他のプログラムに占有されています。`snug devices` で確認できます", "ein Programm belegt die Karte für sich allein: `snug devices` zeigt, welches"},
{"the kernels of this build are not compiled for this card: `snug --version` shows for which; build with -DSNUG_CUDA_ARCHITECTURES=... or train with --device=cpu", "当前构建的内核未为该卡编译：`snug --version` 显示支持哪些；请用 -DSNUG_CUDA_ARCHITECTURES=... 构建，或用 --device=cpu 训练", "このビルドのカーネルはこの GPU 向けではありません。対応は `snug --version` でわかります。-DSNUG_CUDA_ARCHITECTURES=... でビルドするか --device=cpu で学習してください", "die Kernel dieses Builds sind nicht für diese Karte kompiliert: `snug --version` zeigt, für welche; bitte mit -DSNUG_CUDA_ARCHITECTURES=... bauen oder mit --device=cpu trainieren"},
{"this build has no code for this card, and the driver is too old to compile it: install a newer driver, or build with an older toolkit (CUDA_HOME)", "当前构建没有适用于该显卡的代码，且驱动过旧无法编译：请安装更新的驱动，或用较旧的工具包构建（CUDA_HOME）", "このビルドにはこの GPU 用のコードがなく、ドライバが古くてコンパイルできません。新しいドライバをインストールするか、古いツールキット（CUDA_HOME）でビルドしてください", "dieser Build hat keinen Code für diese Karte, und der Treiber ist zu alt, ihn zu kompilieren: bitte einen neueren Treiber installieren oder mit einem älteren Toolkit bauen (CUDA_HOME)"},
{"the display's watchdog stopped a kernel that took too long; what is saved is safe, resume with --init_from=resume and a smaller --batch_size", "显示看门狗终止了耗时过长的内核；已保存的内容安全，请用 --init_from=resume 和更小的 --batch_size 恢复", "表示用のウォッチドッグが長すぎるカーネルを止めました。保存済みの内容は無事です。--init_from=resume と小さい --batch_size で再開してください", "der Watchdog des Bildschirmtreibers hat einen zu langen Kernel beendet; Gespeichertes ist sicher, weiter mit --init_from=resume und kleinerem --batch_size"},
{"the card is lost to this process: `dmesg` may name an Xid; what is saved is safe, resume with --init_from=resume once the card answers again", "本进程已失去该显卡：`dmesg` 可能给出 Xid；已保存的内容安全，显卡恢复后用 --init_from=resume 继续", "このプロセスは GPU を失いました。`dmesg` に Xid があるかもしれません。保存済みの内容は無事です。GPU が応答したら --init_from=resume で再開してください", "die Karte ist für diesen Prozess verloren: `dmesg` nennt vielleicht ein Xid; Gespeichertes ist sicher, weiter mit --init_from=resume, sobald die Karte wieder antwortet"},
{"a kernel failed, and the card's context with it; what is saved is safe, resume with --init_from=resume; `snug selftest` tells whether the card computes rightly", "内核出错，显卡上下文随之失效；已保存的内容安全，请用 --init_from=resume 恢复；`snug selftest` 可检查显卡计算是否正确", "カーネルが失敗し、GPU のコンテキストも失われました。保存済みの内容は無事です。--init_from=resume で再開してください。`snug selftest` で計算が正しいか確認できます", "ein Kernel ist gescheitert und mit ihm der Kontext der Karte; Gespeichertes ist sicher, weiter mit --init_from=resume; `snug selftest` zeigt, ob die Karte richtig rechnet"},
{"what is saved is safe; resume with --init_from=resume", "已保存的内容安全；请用 --init_from=resume 恢复", "保存済みの内容は無事です。--init_from=resume で再開してください", "Gespeichertes ist sicher; weiter mit --init_from=resume"},
// Data.
{"{0} is missing: {1}", "缺少 {0}：{1}", "{0} がありません：{1}", "{0} fehlt: {1}"},
{"datasets under {0}: none", "{0} 下没有数据集", "{0} にデータセットはありません", "in {0} gibt es keine Datensätze"},
{"datasets under {0}: {1}", "{0} 下的数据集：{1}", "{0} にあるデータセット：{1}", "Datensätze in {0}: {1}"},
{"the folder {0} is there, without it", "文件夹 {0} 存在，但没有该文件", "フォルダ {0} はありますが、ファイルがありません", "den Ordner {0} gibt es, die Datei darin nicht"},
{"there is no folder {0}", "没有文件夹 {0}", "フォルダ {0} がありません", "den Ordner {0} gibt es nicht"},
{"use one of those, or make this one from your text: {0}", "请使用其中之一，或从您的文本生成：{0}", "そのどれかを使うか、テキストから作ってください：{0}", "bitte einen davon verwenden oder diesen aus eigenem Text erzeugen: {0}"},
{"the text is there, make the data set from it: {0}", "文本已在，请由它生成数据集：{0}", "テキストはあります。そこからデータセットを作ってください：{0}", "der Text ist da, bitte daraus den Datensatz erzeugen: {0}"},
{"fetch the text and make the data set from it: {0}", "请下载文本并由它生成数据集：{0}", "テキストを取得してデータセットを作ってください：{0}", "bitte den Text herunterladen und den Datensatz daraus erzeugen: {0}"},
{"{0} was cut short while it was in use", "{0} 在使用中被截短", "{0} は使用中に切り詰められました", "{0} wurde während der Benutzung gekürzt"},
{"it had {0} bytes at the start and has {1} now", "开始时为 {0} 字节，现在为 {1} 字节", "開始時は {0} バイト、現在は {1} バイトです", "zu Beginn hatte sie {0} Bytes, jetzt {1}"},
{"put the old file back, or start again with the new one", "请放回旧文件，或用新文件重新开始", "元のファイルに戻すか、新しいファイルで始め直してください", "bitte die alte Datei zurücklegen oder mit der neuen neu beginnen"},
{"the data set in {0} is half replaced: its files may be of two different texts", "{0} 中的数据集只替换了一半：其文件可能来自两个不同的文本", "{0} のデータセットは置き換えの途中です。ファイルが別々のテキストのものかもしれません", "Der Datensatz in {0} ist nur halb ersetzt: Seine Dateien können von zwei verschiedenen Texten stammen"},
{"`snug prepare` was stopped while it put them in place", "`snug prepare` 在放置文件时被中断", "`snug prepare` がファイルを置く途中で止まりました", "`snug prepare` wurde beim Ablegen angehalten"},
{"run the same `snug prepare` again, which removes {0}", "请再次运行同样的 `snug prepare`，它会移除 {0}", "同じ `snug prepare` をもう一度実行すると {0} は取り除かれます", "bitte dasselbe `snug prepare` noch einmal aufrufen, das {0} entfernt"},
{"{0} has another alphabet than the checkpoint: its tokens mean other text", "{0} 的字母表与检查点不同：同样的 token 代表不同的文本", "{0} の文字集合はチェックポイントと異なり、トークンの意味が違います", "{0} hat ein anderes Alphabet als der Checkpoint: Die Token bedeuten anderen Text"},
{"the model was trained with {0} characters, the data set has {1} characters, which differ from id {2} on", "模型训练时有 {0} 个字符，数据集有 {1} 个字符，从 id {2} 起不同", "モデルの学習時は {0} 文字、データセットは {1} 文字で、ID {2} から異なります", "Das Modell wurde mit {0} Zeichen trainiert, der Datensatz hat {1} Zeichen, verschieden ab ID {2}"},
{"name the data set that the model was trained on with --dataset, or start anew with --init_from=scratch", "请用 --dataset 指定训练模型时的数据集，或用 --init_from=scratch 重新开始", "学習に使ったデータセットを --dataset で指定するか、--init_from=scratch で最初から始めてください", "bitte mit --dataset den Datensatz nennen, auf dem das Modell trainiert wurde, oder mit --init_from=scratch neu beginnen"},
{"{0} is empty", "{0} 是空的", "{0} は空です", "{0} ist leer"},
{"make it again with `snug prepare`", "请用 `snug prepare` 重新生成", "`snug prepare` で作り直してください", "bitte mit `snug prepare` neu erzeugen"},
{"give a file with text in it", "请提供有文本内容的文件", "テキストの入ったファイルを指定してください", "bitte eine Datei mit Text angeben"},
{"{0} holds {1} bytes, an odd number, but tokens take 2 bytes each", "{0} 有 {1} 字节，是奇数，但每个 token 占 2 字节", "{0} は {1} バイトで奇数ですが、トークンは 2 バイトずつです", "{0} hat {1} Bytes, eine ungerade Zahl, aber Token belegen je 2 Bytes"},
{"it is cut off or not a token file; make it again with `snug prepare`", "文件被截断或不是 token 文件；请用 `snug prepare` 重新生成", "途中で切れているかトークンファイルではありません。`snug prepare` で作り直してください", "sie ist abgeschnitten oder keine Token-Datei; bitte mit `snug prepare` neu erzeugen"},
{"{0} is too short for block_size = {1}", "{0} 太短，不够 block_size = {1}", "{0} は block_size = {1} に対して短すぎます", "{0} ist zu kurz für block_size = {1}"},
{"wanted more than {0} tokens, found {1}", "需要多于 {0} 个 token，实际 {1}", "{0} より多いトークンが必要ですが、{1} しかありません", "gebraucht werden mehr als {0} Token, gefunden {1}"},
{"prepare more text, or set block_size to {0} or less", "请准备更多文本，或把 block_size 设为 {0} 或更小", "テキストを増やすか、block_size を {0} 以下にしてください", "bitte mehr Text vorbereiten oder block_size auf {0} oder weniger setzen"},
{"token {0} at position {1} of {2} is outside the vocabulary of {3}", "{2} 第 {1} 位的 token {0} 超出大小为 {3} 的词表", "{2} の位置 {1} のトークン {0} は大きさ {3} の語彙の外です", "Token {0} an Position {1} von {2} liegt außerhalb des Vokabulars von {3}"},
{"wanted ids from 0 to {0}", "id 应为 0 至 {0}", "ID は 0 から {0} でなければなりません", "erlaubt sind IDs von 0 bis {0}"},
{"make the dataset again with `snug prepare`, or put the meta.pkl that belongs to it beside it", "请用 `snug prepare` 重新生成数据集，或放入配套的 meta.pkl", "`snug prepare` でデータセットを作り直すか、対応する meta.pkl を置いてください", "bitte den Datensatz mit `snug prepare` neu erzeugen oder die zugehörige meta.pkl danebenlegen"},
{"{0} is not UTF-8 text: byte 0x{1} at offset {2}", "{0} 不是 UTF-8 文本：偏移 {2} 处的字节为 0x{1}", "{0} は UTF-8 テキストではありません：オフセット {2} のバイトは 0x{1}", "{0} ist kein UTF-8-Text: Byte 0x{1} bei Offset {2}"},
{"save it as UTF-8, for example with `iconv -t utf-8`", "请另存为 UTF-8，例如用 `iconv -t utf-8`", "`iconv -t utf-8` などで UTF-8 として保存してください", "bitte als UTF-8 speichern, etwa mit `iconv -t utf-8`"},
{"nothing to resume from: {0} holds no checkpoint", "无法恢复：{0} 中没有检查点", "再開できません：{0} にチェックポイントがありません", "Nichts zum Fortsetzen: {0} enthält keinen Checkpoint"},
{"check --out_dir, or start anew with --init_from=scratch", "请检查 --out_dir，或用 --init_from=scratch 重新开始", "--out_dir を確認するか、--init_from=scratch で最初から始めてください", "bitte --out_dir prüfen oder mit --init_from=scratch neu beginnen"},
{"GPT-2's, as {0} has no meta.pkl", "GPT-2 的词表，因为 {0} 中没有 meta.pkl", "{0} に meta.pkl がないため GPT-2 の語彙", "das von GPT-2, da {0} keine meta.pkl hat"},
{"no such file", "没有这个文件", "ファイルがありません", "keine solche Datei"},
// Commands.
{"prepare tales takes the folder to write to: {0}", "prepare tales 需要写入的文件夹：{0}", "prepare tales には書き込むフォルダを指定します：{0}", "prepare tales braucht den Ordner, in den geschrieben wird: {0}"},
{"prepare takes what to make: {0},", "prepare 需要说明生成什么：{0}，", "prepare には何を作るかを指定します：{0}、", "bei prepare fehlt, was erzeugt werden soll: {0},"},
{"snug prepare shakespeare, {0}, or {1}", "snug prepare shakespeare、{0} 或 {1}", "snug prepare shakespeare、{0}、{1}", "snug prepare shakespeare, {0} oder {1}"},
{"there is no command '{0}'", "没有命令 '{0}'", "コマンド '{0}' はありません", "Den Befehl '{0}' gibt es nicht"},
{"the command comes first: {0}", "命令要写在最前面：{0}", "コマンドを最初に書きます：{0}", "Der Befehl steht am Anfang: {0}"},
{"`snug --help` lists the commands", "`snug --help` 列出所有命令", "`snug --help` でコマンド一覧を表示します", "`snug --help` zeigt die Befehle"},
// Notices of plans.
{"no card is named: planned for a {0}; --card=NAME plans for yours, `snug cards` lists them", "没有指定显卡：按 {0} 规划；用 --card=NAME 指定，`snug cards` 列出全部", "GPU の指定がないため {0} で計画しました。--card=NAME で指定でき、`snug cards` で一覧を表示します", "keine Karte genannt: geplant für eine {0}; --card=NAME plant für eine andere, `snug cards` zeigt alle"},
{"of this card only the memory is known: times, CUDA's context and what the driver keeps are those of a GeForce RTX 3060", "这张卡只知道显存大小：耗时、CUDA 上下文和驱动占用按 GeForce RTX 3060 计", "この GPU はメモリ量しかわからないため、時間、CUDA コンテキスト、ドライバの使用量は GeForce RTX 3060 の値です", "von dieser Karte ist nur der Speicher bekannt: Zeiten, CUDA-Kontext und Treiberanteil sind die einer GeForce RTX 3060"},
{"{0} has no bfloat16: planned with float16, which takes the same bytes and needs loss scaling", "{0} 不支持 bfloat16：按 float16 规划，字节数相同，但需要损失缩放", "{0} に bfloat16 はないため float16 で計画しました。バイト数は同じで、損失スケーリングが必要です", "{0} hat kein bfloat16: geplant mit float16, das gleich viele Bytes braucht, aber Loss-Scaling"},
{"{0} has no fast 16-bit arithmetic: planned with float32; --dtype=float16 saves memory, not time", "{0} 没有快速的 16 位运算：按 float32 规划；--dtype=float16 省显存但不省时间", "{0} には高速な 16 ビット演算がないため float32 で計画しました。--dtype=float16 はメモリを減らしますが速くはなりません", "{0} hat keine schnelle 16-Bit-Arithmetik: geplant mit float32; --dtype=float16 spart Speicher, aber keine Zeit"},
{"{0} has no fast 16-bit arithmetic: {1} saves memory, not time", "{0} 没有快速的 16 位运算：{1} 省显存但不省时间", "{0} には高速な 16 ビット演算がありません。{1} はメモリを減らしますが速くはなりません", "{0} hat keine schnelle 16-Bit-Arithmetik: {1} spart Speicher, aber keine Zeit"},
{"planned for the {0} of this machine: {1} of its {2} free now", "按本机的 {0} 规划：{2} 中现有 {1} 空闲", "このマシンの {0} で計画しました。{2} 中 {1} が今空いています", "geplant für die {0} dieses Rechners: {1} von {2} sind jetzt frei"},
{"planned for an emulated {0}: {1} of its {2} free", "按模拟的 {0} 规划：{2} 中有 {1} 空闲", "エミュレートした {0} で計画しました。{2} 中 {1} が空いています", "geplant für eine emulierte {0}: {1} von {2} sind frei"},
{"dtype {0}, with dynamic loss scaling: the card has no {1}", "dtype {0}，使用动态损失缩放：该卡没有 {1}", "dtype {0}（動的損失スケーリング）：この GPU に {1} はありません", "dtype {0}, mit dynamischem Loss-Scaling: Die Karte hat kein {1}"},
{"planned for a larger machine: of this one's memory {0} is available now", "按更大的机器规划：本机目前可用内存 {0}", "より大きいマシン向けの計画です。このマシンで今使えるのは {0} です", "geplant für einen größeren Rechner: hier sind jetzt {0} verfügbar"},
};
// clang-format on

// What stands in the placeholders of `pattern` in `line`; nothing: another line. Placeholders stand
// in their order, and each holds as little as can be.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view line) {
  std::vector<std::string> values;
  while (true) {
    const std::size_t open = pattern.find('{');
    const std::string_view literal = pattern.substr(0, open);
    if (!line.starts_with(literal)) return std::nullopt;
    line.remove_prefix(literal.size());
    if (open == std::string_view::npos) {
      return line.empty() ? std::optional(values) : std::nullopt;
    }
    pattern.remove_prefix(open + 3);
    const std::string_view next = pattern.substr(0, pattern.find('{'));
    const std::size_t end = next.empty()                    ? line.size()
                            : next.size() == pattern.size() ? line.rfind(next)
                                                            : line.find(next);
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    values.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// Digits in groups of three, as English writes them: "7", "16,384", but not the "1,5" of a user.
bool is_grouped_number(std::string_view text) {
  const std::size_t first = text.size() % 4;  // of "16,384": 2
  if (text.empty() || first == 0) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_comma = i >= first && (i - first) % 4 == 0;
    if (is_comma ? text[i] != ',' : text[i] < '0' || text[i] > '9') return false;
  }
  return true;
}

// "16,384" and "22.55 GiB" as the language writes them; anything else as it is.
std::string number_like(Language language, const std::string& value) {
  if (is_grouped_number(value)) return number_in(language, value);
  return value.find(' ') == std::string::npos ? value : amount_in(language, value);
}

std::size_t literal_length(std::string_view pattern) {
  constexpr std::size_t kPlaceholder = 3;  // "{0}"
  const auto count = static_cast<std::size_t>(std::ranges::count(pattern, '{'));
  return pattern.size() - kPlaceholder * count;
}

std::optional<std::string> translated_line(Language language, std::string_view line) {
  // Of the rows that match the one that says most of the line itself: "cannot create the folder
  // {0}" before "cannot create {0}", wherever they stand.
  const Texts* row = nullptr;
  std::vector<std::string> values;
  for (const std::span<const Texts> table : all_line_tables()) {
    for (const Texts& texts : table) {
      if (row != nullptr && literal_length(texts[0]) <= literal_length((*row)[0])) continue;
      auto matched = match(texts[0], line);
      if (!matched) continue;
      row = &texts;
      values = std::move(*matched);
    }
  }
  if (row == nullptr) return std::nullopt;
  // What follows "command line: ", and what a sentence gives as the reason, may be known too.
  for (std::string& value : values) {
    const auto inner = translated_line(language, value);
    value = inner ? *inner : number_like(language, value);
  }
  return text_in(language, *row, std::span<const std::string>(values));
}

// "config/mine.py:7: " before the words.
std::size_t place_length(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return 0;
  std::size_t at = colon + 1;
  while (at < line.size() && line[at] >= '0' && line[at] <= '9') ++at;
  return at > colon + 1 && line.substr(at).starts_with(": ") ? at + 2 : 0;
}

}  // namespace

std::string translated(Language language, const std::string& message) {
  if (language == Language::kEnglish) return message;
  std::string text;
  for (std::size_t at = 0; at <= message.size();) {
    const std::size_t end = std::min(message.find('\n', at), message.size());
    const std::string line = message.substr(at, end - at);
    const std::size_t place = place_length(line);
    const auto words = translated_line(language, std::string_view(line).substr(place));
    text += words ? line.substr(0, place) + *words : line;
    if (end < message.size()) text += '\n';
    at = end + 1;
  }
  return text;
}

std::span<const Texts> error_line_table() { return kLines; }

std::array<std::span<const Texts>, 7> all_line_tables() {
  return {error_line_table(), config_line_table(), checkpoint_line_table(), file_line_table(),
          data_line_table(),  format_line_table(), run_line_table()};
}

}  // namespace snug::report
