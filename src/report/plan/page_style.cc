// The page's look. The bands' colours keep their order of lightness, and are told apart by people
// who do not see red and green; names in the bands and hatching say the same without colour.
#include "report/plan/page_parts.h"

namespace snug {

const std::string_view kPageStyle = R"css(
:root {
  --ground: #fbfbf9; --card: #ffffff; --ink: #1c2126; --soft: #5d6770; --line: #e2e4e3;
  --tint: #f2f3f1; --accent: #2b5f8f;
  --good: #1b7a4b; --warn: #8a5a00; --bad: #b42318;
  --band-0: #a2a8ae; --band-1: #3b6b9c; --band-2: #7ba5ca; --band-3: #bcd6e8;
  --band-4: #e9a04e; --band-5: #a8446f; --band-6: #f3e693; --band-7: #2c3a46;
  --name: #1c2126; --on-1: #ffffff; --on-5: #ffffff; --on-7: #ffffff;
  --halo: rgba(255, 255, 255, .82); --hatch: rgba(140, 20, 12, .55); --meter: #8b979f;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ground: #14171a; --card: #1a1e22; --ink: #e7eaec; --soft: #9aa5ae; --line: #2c3238;
    --tint: #181c1f; --accent: #8db8de;
    --good: #5cc58d; --warn: #e0ad4c; --bad: #ff8a7a;
    --band-0: #747c84; --band-1: #35628f; --band-2: #6c97bd; --band-3: #a9c6da;
    --band-4: #c98538; --band-5: #983d65; --band-6: #e6d982; --band-7: #f2f5f7;
    --name: #101316; --on-7: #101316;
    --halo: rgba(20, 23, 26, .82); --hatch: rgba(40, 4, 0, .62); --meter: #7d8993;
  }
}
* { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  font-variant-numeric: tabular-nums;
}
main { max-width: 1180px; margin: 0 auto; padding: 40px 28px 64px; }
noscript p { padding: 28px; }
p, h1, h2, h3, dl, dd, ol, figure { margin: 0; padding: 0; }
h1 { font-size: 17px; font-weight: 600; overflow-wrap: anywhere; }
h2 { font-size: 17px; font-weight: 600; }
h3 { font-size: 12px; font-weight: 600; color: var(--soft); }
small, .soft { color: var(--soft); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.brow { font-size: 13px; color: var(--soft); }

#verdict { margin-top: 28px; }
#with { font-size: 13px; color: var(--soft); overflow-wrap: anywhere; }
.answer { font-size: 27px; line-height: 1.3; letter-spacing: -.01em; text-wrap: balance; }
.answer b { font-weight: 600; }
.answer b { white-space: nowrap; }
#word { font-weight: 650; }
[data-verdict=fits] #word { color: var(--good); }
[data-verdict=tight] #word { color: var(--warn); }
[data-verdict=no] #word { color: var(--bad); }
.run { margin-top: 8px; min-height: 40px; }
code {
  font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; color: var(--soft);
  overflow-wrap: anywhere; user-select: all;
}
code span { display: inline-block; max-width: 100%; }

#breakdown { display: flex; flex-wrap: wrap; gap: 10px 26px; margin-top: 22px; }
#breakdown div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
#breakdown dt { font-size: 13px; color: var(--soft); line-height: 1.35; max-width: 24ch; }
#breakdown dt small { display: block; font-size: 12px; }
#breakdown dd { font-size: 16px; }
#breakdown div:last-child dd { font-weight: 600; }
.sign { color: var(--soft); margin-right: .55em; font-weight: 400; }

#picture { margin-top: 44px; }
.bar { display: flex; flex-wrap: wrap; gap: 6px 20px; align-items: baseline; justify-content: space-between; }
.pick { display: flex; align-items: baseline; gap: 8px; min-width: 0; font-size: 13px; color: var(--soft); }
select {
  font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: 4px 6px; min-width: 0; max-width: 46ch;
}
.columns { display: grid; grid-template-columns: minmax(0, 1fr) 280px; gap: 32px; margin-top: 14px; }
figure { min-width: 0; }
#chart { display: block; width: 100%; touch-action: pan-y; cursor: crosshair; user-select: none; }
#chart:focus:not(:focus-visible) { outline: none; }
figcaption { margin-top: 10px; font-size: 13px; color: var(--soft); max-width: 76ch; }
#chart text { font-size: 12px; fill: var(--soft); }
#layer-names, #layer-grid, #layer-marks, #layer-cursor, #layer-over { pointer-events: none; }
.ground { fill: var(--tint); }
.band { fill: var(--band); transition: opacity .12s; }
#chart.one .band:not(.on) { opacity: .38; }
#chart.one .name:not(.on) { opacity: 0; }
#chart .name { fill: var(--on); paint-order: stroke; stroke: var(--band); stroke-width: 5px; stroke-linejoin: round; }
.hatch { fill: var(--hatch); }
.rule { stroke: var(--ink); stroke-opacity: .1; }
.axis { stroke: var(--ink); stroke-opacity: .45; }
.bracket { fill: none; stroke: var(--soft); stroke-opacity: .75; }
#budget-halo { stroke: var(--halo); stroke-width: 3.5; }
#budget-line { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 6 4; }
#chart #budget-label, #peak text { fill: var(--ink); font-weight: 600; }
#budget-label, #peak text { paint-order: stroke; stroke: var(--halo); stroke-width: 5px; stroke-linejoin: round; }
#peak { transition: opacity .15s; }
#peak.away { opacity: 0; transition: none; }
#peak circle, #layer-cursor circle { fill: var(--ink); stroke: var(--ground); stroke-width: 1.5; }
#cursor { stroke: var(--ink); stroke-opacity: .7; }

#tooltip { min-width: 0; font-size: 13px; }
#when { color: var(--soft); }
#op { font-size: 15px; font-weight: 600; line-height: 1.35; overflow-wrap: anywhere; }
.place { display: flex; justify-content: space-between; color: var(--soft); margin-bottom: 8px; }
.place b { color: var(--ink); font-weight: 600; }
#tooltip table { width: 100%; border-collapse: collapse; border-top: 1px solid var(--line); }
#tooltip th { font-weight: 400; text-align: left; padding: 2px 0; }
#tooltip td { text-align: right; }
#tooltip tr.none { color: var(--soft); opacity: .75; }
#tooltip tr.on { font-weight: 600; }
#tooltip tr.on th { font-weight: 600; }
.swatch {
  display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 8px;
  background: var(--band); vertical-align: -1px; print-color-adjust: exact;
}
#largest-of { margin-top: 14px; padding-top: 10px; border-top: 1px solid var(--line); }
#largest { list-style: none; min-height: 200px; }
#largest li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 10px; padding-top: 4px; line-height: 1.35; }
#largest b { font-weight: 400; }
.tensor { grid-column: 1 / -1; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.tensor .swatch { width: 8px; height: 8px; border-radius: 2px; margin-right: 6px; vertical-align: 0; }
.detail { color: var(--soft); font-size: 12px; padding-left: 14px; }

.fixes { margin-top: 48px; }
#fixes { width: 100%; border-collapse: collapse; margin-top: 12px; font-size: 14px; }
#fixes thead th { font-size: 12px; font-weight: 600; color: var(--soft); text-align: left; }
#fixes th, #fixes td { padding: 8px 12px; border-bottom: 1px solid var(--line); vertical-align: baseline; }
#fixes tbody th { font-weight: 400; text-align: left; }
#fixes tbody tr { cursor: pointer; }
#fixes tbody tr:hover { background: var(--tint); }
#fixes tr.on { background: var(--card); box-shadow: inset 3px 0 var(--accent); }
#fixes tr.on button { font-weight: 600; }
#fixes .number, #fixes .batch, #fixes .saved, #fixes .time { text-align: right; white-space: nowrap; }
#fixes .memory, #fixes .fits { white-space: nowrap; }
#fixes .result { color: var(--soft); }
button {
  font: inherit; color: inherit; background: none; border: 0; padding: 0; text-align: left; cursor: pointer;
  overflow-wrap: anywhere;
}
.meter {
  position: relative; display: inline-block; width: 96px; height: 8px; margin-right: 10px; border-radius: 2px;
  background: linear-gradient(var(--meter) 0 0) left / var(--need) 100% no-repeat var(--line);
  vertical-align: 1px; print-color-adjust: exact;
}
.meter + span { display: inline-block; min-width: 5.4em; text-align: right; }
[data-fits=false] .meter { background-image: linear-gradient(var(--bad) 0 0); }
.meter::after { content: ""; position: absolute; left: min(var(--budget), 100%); top: -3px; bottom: -3px; border-left: 2px solid var(--ink); }
td.fits::before { display: inline-block; width: 1.4em; }
[data-verdict=fits] td.fits { color: var(--good); }
[data-verdict=tight] td.fits { color: var(--warn); }
[data-verdict=no] td.fits { color: var(--bad); }
[data-verdict=fits] td.fits::before, [data-verdict=tight] td.fits::before { content: "✓\00a0"; }
[data-verdict=no] td.fits::before { content: "✕\00a0"; }
.alone .fixes, .alone .pick { display: none; }

@media screen and (max-width: 860px) {
  main { padding: 24px 16px 48px; }
  .columns { grid-template-columns: minmax(0, 1fr); gap: 18px; }
  .answer { font-size: 22px; }
  .run { min-height: 0; line-height: 1.35; }
  code { font-size: 12px; }
  #breakdown { display: block; max-width: 420px; }
  #breakdown div { flex-direction: row; justify-content: space-between; gap: 12px; padding: 2px 0; }
  #breakdown div:last-child { border-top: 1px solid var(--line); }
  #breakdown dt { max-width: none; }
  #breakdown dd { white-space: nowrap; font-size: 14px; }
  #chart text { font-size: 11px; }
  #fixes, #fixes tbody, #fixes tr, #fixes th, #fixes td { display: block; }
  #fixes thead { display: none; }
  #fixes tbody tr { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 2px 12px; padding: 12px; border-bottom: 1px solid var(--line); }
  #fixes th, #fixes td { padding: 0; border: 0; }
  #fixes tbody th { grid-column: 1; }
  #fixes td.fits { grid-column: 2; grid-row: 1; }
  #fixes td.memory { grid-column: 1 / -1; display: flex; align-items: center; }
  #fixes .memory .meter { flex: 1; max-width: 360px; }
  #fixes .batch, #fixes .saved, #fixes .time { color: var(--soft); }
  #fixes .batch, #fixes .time { text-align: left; }
  #fixes td.time { grid-column: 1; }
  #fixes .fits { text-align: right; }
  #fixes td.batch::before, #fixes td.saved::before, #fixes td.time::before { content: attr(data-label) " "; }
  #fixes td.result { grid-column: 1 / -1; }
  #fixes td:empty { display: none; }
}
@media print {
  body { font-size: 11pt; }
  :root { --ground: #ffffff; --card: #ffffff; }
  main { max-width: none; padding: 0; }
  #picture, .fixes, #verdict { margin-top: 18pt; }
  .run { min-height: 0; }
  .pick, #cursor, #layer-cursor { display: none; }
  .band, .meter, .swatch, .ground { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .columns { grid-template-columns: minmax(0, 1fr) 250px; gap: 18px; }
  #chart { height: auto; }
  #largest { min-height: 0; }
  tr, li { break-inside: avoid; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; scroll-behavior: auto !important; } }
)css";

}  // namespace snug
