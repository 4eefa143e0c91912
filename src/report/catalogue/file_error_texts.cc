// Errors of files, folders, disks and the limits of the system, found by their English lines as
// those of error_texts.cc are. What the system itself says stands first.
#include "report/catalogue/error_texts.h"

namespace snug::report {
namespace {

// clang-format off
constexpr Texts kFileLines[] = {
// Of the C library, as reasons.
{"No space left on device", "设备上没有剩余空间", "ディスクに空きがありません", "kein Platz mehr auf dem Datenträger"},
{"Disk quota exceeded", "超出磁盘配额", "ディスククォータを超えました", "Speicherkontingent überschritten"},
{"File too large", "文件过大", "ファイルが大きすぎます", "Datei zu groß"},
{"Input/output error", "输入/输出错误", "入出力エラー", "Ein-/Ausgabefehler"},
{"Read-only file system", "只读文件系统", "読み取り専用のファイルシステムです", "Dateisystem ist schreibgeschützt"},
{"Is a directory", "是目录", "ディレクトリです", "ist ein Verzeichnis"},
{"Not a directory", "不是目录", "ディレクトリではありません", "ist kein Verzeichnis"},
{"Directory not empty", "目录非空", "ディレクトリが空ではありません", "Verzeichnis nicht leer"},
{"File exists", "文件已存在", "ファイルが既にあります", "Datei existiert bereits"},
{"File name too long", "文件名过长", "ファイル名が長すぎます", "Dateiname zu lang"},
{"Too many open files", "打开的文件过多", "開いているファイルが多すぎます", "zu viele offene Dateien"},
{"Too many levels of symbolic links", "符号链接层数过多", "シンボリックリンクの段数が多すぎます", "zu viele symbolische Links hintereinander"},
{"Operation not permitted", "不允许的操作", "許可されていない操作です", "Operation nicht erlaubt"},
{"Operation not supported", "不支持的操作", "対応していない操作です", "Operation nicht unterstützt"},
{"Cannot allocate memory", "无法分配内存", "メモリを確保できません", "kein Speicher verfügbar"},
{"Resource temporarily unavailable", "资源暂时不可用", "リソースが一時的に使えません", "Ressource vorübergehend nicht verfügbar"},
{"Broken pipe", "管道已断开", "パイプが切れました", "Pipe unterbrochen"},
{"No such device or address", "没有该设备或地址", "そのデバイスまたはアドレスはありません", "Gerät oder Adresse nicht gefunden"},
// Reading.
{"cannot look at {0}: {1}", "无法查看 {0}：{1}", "{0} を確認できません：{1}", "{0} lässt sich nicht ansehen: {1}"},
{"cannot read {0} at byte {1}: {2}", "读取 {0} 的第 {1} 字节失败：{2}", "{0} の位置 {1} を読み取れません：{2}", "{0} lässt sich ab Byte {1} nicht lesen: {2}"},
{"cannot read {0}: it ends at byte {1}", "无法读取 {0}：文件在第 {1} 字节处结束", "{0} を読み取れません：位置 {1} で終わっています", "{0} lässt sich nicht lesen: Die Datei endet bei Byte {1}"},
{"try again; if it stays, check the disk", "请重试；如仍出错，请检查磁盘", "もう一度試してください。続くならディスクを確認してください", "bitte noch einmal versuchen; wenn der Fehler bleibt, den Datenträger prüfen"},
{"check the disk it is on", "请检查它所在的磁盘", "そのディスクを確認してください", "bitte den Datenträger prüfen, auf dem sie liegt"},
{"give yourself permission to read it (chmod u+r)", "请为自己加上读取权限（chmod u+r）", "読み取り権限を付けてください（chmod u+r）", "bitte sich das Leserecht geben (chmod u+r)"},
{"{0} is a pipe or device, not a file", "{0} 是管道或设备，不是文件", "{0} はパイプかデバイスで、ファイルではありません", "{0} ist eine Pipe oder ein Gerät, keine Datei"},
{"{0} holds {1}, more than the {2} a file of its kind may have", "{0} 有 {1}，超过此类文件的上限 {2}", "{0} は {1} で、この種類のファイルの上限 {2} を超えています", "{0} hat {1}, mehr als die {2}, die eine solche Datei haben darf"},
{"check that it is the right file", "请确认文件是否正确", "正しいファイルか確認してください", "bitte prüfen, ob es die richtige Datei ist"},
// Writing.
{"cannot create {0}: {1}", "无法创建 {0}：{1}", "{0} を作成できません：{1}", "{0} lässt sich nicht anlegen: {1}"},
{"cannot create the folder {0}: a file of that name is in the way", "无法创建文件夹 {0}：已有同名文件", "フォルダ {0} を作成できません：同じ名前のファイルがあります", "Ordner {0} lässt sich nicht anlegen: Eine Datei gleichen Namens ist im Weg"},
{"cannot create the folder {0}: {1}", "无法创建文件夹 {0}：{1}", "フォルダ {0} を作成できません：{1}", "Ordner {0} lässt sich nicht anlegen: {1}"},
{"cannot empty {0}: {1}", "无法清空 {0}：{1}", "{0} を空にできません：{1}", "{0} lässt sich nicht leeren: {1}"},
{"cannot put in place {0}: {1}", "无法将 {0} 放到目标位置：{1}", "{0} を配置できません：{1}", "{0} lässt sich nicht an seinen Platz bringen: {1}"},
{"cannot write to the disk {0}: {1}", "无法将 {0} 写入磁盘：{1}", "{0} をディスクに書き込めません：{1}", "{0} lässt sich nicht auf den Datenträger schreiben: {1}"},
{"cannot write to {0}: {1}", "无法写入 {0}：{1}", "{0} に書き込めません：{1}", "{0} lässt sich nicht beschreiben: {1}"},
{"cannot write {0}: no memory", "无法写入 {0}：内存不足", "{0} に書き込めません：メモリが足りません", "{0} lässt sich nicht schreiben: kein Speicher"},
{"cannot write {0}: {1}", "无法写入 {0}：{1}", "{0} に書き込めません：{1}", "{0} lässt sich nicht schreiben: {1}"},
{"cannot create {0}", "无法创建 {0}", "{0} を作成できません", "{0} lässt sich nicht anlegen"},
{"{0} cannot be written: there is no folder {1}", "无法写入 {0}：没有文件夹 {1}", "{0} に書き込めません：フォルダ {1} がありません", "{0} lässt sich nicht schreiben: Den Ordner {1} gibt es nicht"},
{"{0} cannot be written: {1}", "无法写入 {0}：{1}", "{0} に書き込めません：{1}", "{0} lässt sich nicht schreiben: {1}"},
{"{0} cannot be made durable: {1}", "无法将 {0} 可靠地写入磁盘：{1}", "{0} をディスクに確定できません：{1}", "{0} lässt sich nicht dauerhaft sichern: {1}"},
{"{0} cannot take its place: {1}", "无法将 {0} 放到目标位置：{1}", "{0} を配置できません：{1}", "{0} lässt sich nicht an seinen Platz bringen: {1}"},
{"{0} cannot be read: it is cut off within a line (byte {1})", "无法读取 {0}（位置 {1}）：在一行之中被截断", "{0} を読み取れません（位置 {1}）：行の途中で切れています", "{0} ist nicht lesbar (Byte {1}): innerhalb einer Zeile abgeschnitten"},
{"{0} were written; what stood there before is untouched", "已写入 {0}；原有内容未受影响", "{0} を書き込みました。前の内容はそのままです", "{0} wurden geschrieben; was vorher dort stand, ist unverändert"},
{"what stood there before is untouched", "原有内容未受影响", "前の内容はそのままです", "was vorher dort stand, ist unverändert"},
{"free some space or choose another folder", "请腾出空间或选择其他文件夹", "空きを作るか、別のフォルダを選んでください", "bitte Platz schaffen oder einen anderen Ordner wählen"},
{"check the folder and its permissions", "请检查文件夹及其权限", "フォルダとその権限を確認してください", "bitte den Ordner und seine Rechte prüfen"},
{"check the space that is left on the disk", "请检查磁盘剩余空间", "ディスクの空きを確認してください", "bitte den freien Platz auf dem Datenträger prüfen"},
{"choose another folder", "请选择其他文件夹", "別のフォルダを選んでください", "bitte einen anderen Ordner wählen"},
{"name a file", "请指定文件", "ファイルを指定してください", "bitte eine Datei nennen"},
{"try again", "请重试", "もう一度試してください", "bitte noch einmal versuchen"},
{"wait for it to end", "请等它结束", "終わるまで待ってください", "bitte warten, bis er fertig ist"},
{"{0} is being written by another process", "另一个进程正在写入 {0}", "別のプロセスが {0} に書き込み中です", "{0} wird gerade von einem anderen Prozess geschrieben"},
{"{0} was just written by another process", "{0} 刚被另一个进程写入", "{0} は別のプロセスが書き込んだばかりです", "{0} wurde eben von einem anderen Prozess geschrieben"},
{"{0} exists already: nothing is overwritten", "{0} 已存在：不会覆盖任何内容", "{0} は既にあります。上書きはしません", "{0} gibt es schon: Es wird nichts überschrieben"},
{"name another, or remove it first", "请换一个名称，或先删除它", "別の名前にするか、先に削除してください", "bitte einen anderen Namen wählen oder sie zuerst entfernen"},
{"{0} is a pointer of Git LFS, not the file itself", "{0} 是 Git LFS 的指针文件，不是文件本身", "{0} は Git LFS のポインタで、ファイル本体ではありません", "{0} ist ein Zeiger von Git LFS, nicht die Datei selbst"},
{"fetch it: git lfs pull, in its folder, or download it again", "请取回文件：在其文件夹中运行 git lfs pull，或重新下载", "フォルダで git lfs pull を実行するか、もう一度ダウンロードしてください", "bitte holen: git lfs pull in ihrem Ordner, oder neu herunterladen"},
// Limits of the system.
{"/proc/meminfo cannot be read: is /proc mounted?", "无法读取 /proc/meminfo：/proc 是否已挂载？", "/proc/meminfo を読み取れません。/proc はマウントされていますか？", "/proc/meminfo lässt sich nicht lesen: Ist /proc eingehängt?"},
{"the limit on address space (ulimit -v) is too low for the program itself", "地址空间限制（ulimit -v）太低，程序本身都不够用", "アドレス空間の制限（ulimit -v）が小さすぎて、プログラム自体が動きません", "Die Grenze für den Adressraum (ulimit -v) ist schon für das Programm selbst zu niedrig"},
{"of {0} it leaves {1}, and {2} are needed before the first tensor", "限制为 {0}，剩余 {1}，而第一个张量之前就需要 {2}", "{0} のうち残りは {1} で、最初のテンソルの前に {2} が必要です", "von {0} bleiben {1}, und vor dem ersten Tensor werden {2} gebraucht"},
{"raise it: ulimit -v unlimited", "请提高限制：ulimit -v unlimited", "制限を上げてください：ulimit -v unlimited", "bitte erhöhen: ulimit -v unlimited"},
{"the system refuses to start thread {0} of {1}: {2}", "系统拒绝启动第 {0} 个线程（共 {1} 个）：{2}", "システムがスレッド {0}（全 {1}）の開始を拒否しました：{2}", "Das System verweigert Thread {0} von {1}: {2}"},
{"limits that may be in the way: ulimit -u (processes), ulimit -v (address space), the container's", "可能的限制：ulimit -u（进程数）、ulimit -v（地址空间）、容器的限制", "考えられる制限：ulimit -u（プロセス数）、ulimit -v（アドレス空間）、コンテナの制限", "Grenzen, die im Weg sein können: ulimit -u (Prozesse), ulimit -v (Adressraum), die des Containers"},
{"use fewer with --threads={0}, or raise the limit", "请用 --threads={0} 减少线程，或提高限制", "--threads={0} で減らすか、制限を上げてください", "bitte mit --threads={0} weniger nehmen oder die Grenze erhöhen"},
{"the system refused: {0}", "系统拒绝：{0}", "システムが拒否しました：{0}", "Das System hat abgelehnt: {0}"},
{"not all of the output could be written", "输出未能全部写出", "出力をすべて書き出せませんでした", "Die Ausgabe konnte nicht ganz geschrieben werden"},
{"check the disk that it goes to, or the program that reads it", "请检查目标磁盘，或读取输出的程序", "書き込み先のディスクか、出力を読むプログラムを確認してください", "bitte den Datenträger prüfen, auf den sie geht, oder das Programm, das sie liest"},
};
// clang-format on

}  // namespace

std::span<const Texts> file_line_table() { return kFileLines; }

}  // namespace snug::report
