// What the doctor's page has beside the look of the plan's page.
#include "report/doctor/page.h"

namespace snug {

const std::string_view kDoctorStyle = R"css(
main { max-width: 940px; }
:lang(zh) body, body:lang(zh) { font-family: system-ui, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", sans-serif; }
body:lang(ja) { font-family: system-ui, "Hiragino Sans", "Yu Gothic UI", Meiryo, "Noto Sans CJK JP", "Noto Sans JP", sans-serif; line-break: strict; }
h1.answer { margin-top: 6px; font-weight: 600; overflow-wrap: break-word; }
[data-tone=good] .answer { color: var(--good); }
[data-tone=warn] .answer { color: var(--warn); }
[data-tone=bad] .answer { color: var(--bad); }
.why { margin-top: 8px; max-width: 70ch; }
section { margin-top: 36px; }
section h2 { margin-bottom: 10px; }
section p + p { margin-top: 4px; }
.facts { display: grid; grid-template-columns: minmax(8em, max-content) minmax(0, 1fr); gap: 10px 24px; }
.facts dt { color: var(--soft); font-size: 14px; padding-top: 1px; }
.facts dd { min-width: 0; overflow-wrap: anywhere; }
.facts dd p:first-child { font-weight: 600; }
.facts dd p + p { color: var(--soft); margin-top: 0; }
.facts.last dd p:first-child { font-weight: 400; }
.stack { display: flex; height: 30px; border-radius: 5px; overflow: hidden; background: var(--line); print-color-adjust: exact; }
.stack i { display: block; min-width: 2px; background: var(--band); box-shadow: inset -1px 0 var(--ground); }
.parts { width: 100%; max-width: 560px; border-collapse: collapse; margin-top: 12px; font-size: 14px; }
.parts th { font-weight: 400; text-align: left; padding: 3px 0; }
.parts td { text-align: right; white-space: nowrap; padding: 3px 0 3px 16px; }
.parts .share { color: var(--soft); width: 4.5em; }
.parts tr.total th, .parts tr.total td { border-top: 1px solid var(--line); font-weight: 600; }
.under { margin-top: 10px; color: var(--soft); font-size: 14px; max-width: 76ch; }
.points { list-style: none; margin: 0; padding: 0; }
.points li { padding: 10px 0; border-top: 1px solid var(--line); max-width: 78ch; overflow-wrap: anywhere; }
.points li p + p { color: var(--soft); }
.scroll { overflow-x: auto; }
.grid { width: 100%; border-collapse: collapse; font-size: 14px; }
.grid th, .grid td { padding: 8px 12px 8px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: baseline; font-weight: 400; }
.grid thead th { font-size: 12px; font-weight: 600; color: var(--soft); white-space: nowrap; }
.grid .number { text-align: right; white-space: nowrap; }
.grid .mark { width: 1.6em; }
.grid [data-tone=good] .mark { color: var(--good); }
.grid [data-tone=bad] .mark { color: var(--bad); }
.grid tbody tr:first-child .name { font-weight: 600; }
pre {
  margin: 10px 0 0; padding: 12px 14px; background: var(--tint); border: 1px solid var(--line); border-radius: 6px;
  overflow-x: auto; font: 13px/1.55 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
}
pre .plus { color: var(--good); }
pre .minus { color: var(--bad); }
dd code { font-size: 13px; color: var(--ink); }
@media screen and (max-width: 640px) {
  main { padding: 20px 16px 48px; }
  .answer { font-size: 21px; }
  .facts { grid-template-columns: minmax(0, 1fr); gap: 2px; }
  .facts dt { margin-top: 10px; }
  .grid.fixes-grid thead { display: none; }
  .grid.fixes-grid, .grid.fixes-grid tbody { display: block; }
  .grid.fixes-grid tr { display: flex; flex-wrap: wrap; gap: 0 12px; padding: 10px 0 10px 1.8em; border-bottom: 1px solid var(--line); }
  .grid.fixes-grid td, .grid.fixes-grid th { border: 0; padding: 0; }
  .grid.fixes-grid th.name { flex: 1 0 100%; }
  .grid.fixes-grid td { color: var(--soft); }
  .grid.fixes-grid tr { position: relative; }
  .grid.fixes-grid td.mark { position: absolute; left: 0; width: 1em; }
  .grid.fixes-grid td.number::before { content: attr(data-label) " "; }
}
@media print { section { margin-top: 16pt; break-inside: avoid; } }
)css";

}  // namespace snug
