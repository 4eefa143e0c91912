// `snug doctor --help` in the reader's language; man pages have the English one.
#include "cli/help.h"

namespace snug::cli {
namespace {

constexpr char kUsage[] =
    "snug doctor [config.py ...] [--key=value ...] [--card=NAME] [--log=FILE | -]\n"
    "snug doctor --snapshot=FILE [config.py ...] [--key=value ...]\n\n";

constexpr char kExamples[] =
    "  snug doctor oom.log\n"
    "  snug doctor config/train_gpt2.py --card=rtx3060\n"
    "  snug doctor config/train_gpt2.py --log=oom.txt --write=config/fits.py\n"
    "  snug doctor --snapshot=snapshot.pickle --html=memory.html\n"
    "  python train.py config/train_gpt2.py 2>&1 | snug doctor config/train_gpt2.py -\n\n";

struct HelpText {
  const char *options, *exit_code;
};
// In the order of the languages.
constexpr HelpText kHelp[report::kLanguageCount] = {
    {"For nanoGPT on PyTorch: what it needs of a card, what broke in a log, which tensor\n"
     "it was, and what to change, best first. Needs no card and runs nothing.\n\n"
     "  --log=FILE, -   the run's output, from a file or a pipe\n"
     "  --snapshot=FILE a memory snapshot of PyTorch: what holds the memory, its timeline\n"
     "                  (--html), what failed. Nothing in the file is run.\n"
     "  --card=NAME     the card, see `snug cards`; a log may name it, too\n"
     "  --write=FILE    a copy of the config file with the recommended values\n"
     "  --lang=LANG     en, zh, ja or de; else the locale decides\n"
     "  --json          one JSON object instead of the report\n"
     "  --html=FILE     also a page\n"
     "  --explain       what the figures take for granted\n"
     "  --torch=older   PyTorch's older loss path; the default is 2.15's\n\n",
     "Exit code 0 when there is an answer, 4 when nothing in the log could be read.\n"},
    {"针对 PyTorch 版 nanoGPT：需要多少显存、日志中出了什么错、是哪个张量、\n"
     "该改什么（由优到次）。不需要显卡，也不运行任何代码。\n\n"
     "  --log=FILE, -   运行的输出，来自文件或管道\n"
     "  --snapshot=FILE PyTorch 的显存快照：显存被什么占用、随时间的变化（--html）、\n"
     "                  什么失败了。文件中的内容不会被执行。\n"
     "  --card=NAME     显卡，见 `snug cards`；日志中也可能写明\n"
     "  --write=FILE    把推荐值写入配置文件的副本\n"
     "  --lang=LANG     en、zh、ja 或 de；不指定时由系统区域设置决定\n"
     "  --json          输出一个 JSON 对象，代替报告\n"
     "  --html=FILE     另外生成网页\n"
     "  --explain       说明这些数字的前提\n"
     "  --torch=older   旧版 PyTorch 的损失计算；默认为 2.15\n\n",
     "有结论时退出码为 0，日志中没有可识别的内容时为 4。\n"},
    {"PyTorch 版 nanoGPT の診断：GPU メモリの必要量、ログのどこで何が失敗したか、\n"
     "該当するテンソル、対策（良い順）を示します。GPU は不要で、何も実行しません。\n\n"
     "  --log=FILE, -   実行時の出力（ファイルまたはパイプ）\n"
     "  --snapshot=FILE PyTorch のメモリスナップショット：メモリの内訳、推移（--html）、\n"
     "                  失敗した要求。ファイルの内容は実行しません。\n"
     "  --card=NAME     GPU（`snug cards` を参照）。ログに書かれていれば省略できます\n"
     "  --write=FILE    推奨値を入れた設定ファイルのコピーを書き出す\n"
     "  --lang=LANG     en、zh、ja、de。省略時はロケールに従います\n"
     "  --json          レポートの代わりに JSON オブジェクトを一つ出力\n"
     "  --html=FILE     ページも書き出す\n"
     "  --explain       数値の前提を示す\n"
     "  --torch=older   古い PyTorch の損失計算。既定は 2.15 の方式\n\n",
     "結果が得られれば終了コードは 0、ログから何も読み取れなければ 4 です。\n"},
    {"Für nanoGPT auf PyTorch: wie viel Grafikspeicher es braucht, was laut Log\n"
     "gescheitert ist, welcher Tensor es war und was zu ändern ist, das Beste zuerst.\n"
     "Braucht keine Karte und führt nichts aus.\n\n"
     "  --log=FILE, -   die Ausgabe des Laufs, aus einer Datei oder Pipe\n"
     "  --snapshot=FILE ein Speicher-Snapshot von PyTorch: was den Speicher belegt, sein\n"
     "                  Verlauf (--html), was gescheitert ist. Nichts aus der Datei wird\n"
     "                  ausgeführt.\n"
     "  --card=NAME     die Karte, siehe `snug cards`; auch ein Log kann sie nennen\n"
     "  --write=FILE    eine Kopie der Konfigurationsdatei mit den empfohlenen Werten\n"
     "  --lang=LANG     en, zh, ja oder de; sonst entscheidet die Locale\n"
     "  --json          ein JSON-Objekt statt des Berichts\n"
     "  --html=FILE     zusätzlich eine Seite\n"
     "  --explain       was die Zahlen voraussetzen\n"
     "  --torch=older   die Loss-Berechnung älterer PyTorch-Versionen; sonst 2.15\n\n",
     "Exit-Code 0, wenn es eine Antwort gibt, 4, wenn im Log nichts zu lesen war.\n"},
};

}  // namespace

std::string doctor_help_in(report::Language language) {
  const HelpText& text = kHelp[static_cast<std::size_t>(language)];
  return std::string(kUsage) + text.options + kExamples + text.exit_code;
}

std::string doctor_help() { return doctor_help_in(report::Language::kEnglish); }

}  // namespace snug::cli
