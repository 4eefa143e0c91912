// What is selected, and how that is changed.

// #setting=3&op=120: which setting, and which op is pinned (counted from 1). Both may be missing.
function readHash() {
  const read = (key) => Number(new RegExp(`[#&]${key}=(\\d+)`).exec(location.hash)?.[1] ?? NaN);
  const setting = read('setting'), op = read('op');
  return {setting: setting < data.settings.length ? setting : 0, step: op >= 1 ? op - 1 : null};
}
function hashOf(setting, step) {
  return `#setting=${setting}` + (step === null ? '' : `&op=${step + 1}`);
}

let model = null;         // of the setting that is shown
let pinned = null;        // step that stays; null: none
let hovered = null;       // step under the pointer
let band = null;          // that is picked out

function refresh() {
  const step = hovered ?? pinned;
  drawCursor(model, step);
  showStep(model, step ?? model.peak, band, step === null);
}
function show(index, step, moving) {
  model = modelOf(index);
  pinned = step === null ? null : Math.min(step, model.labels.length - 1);
  hovered = band = null;
  showHeadline(model.setting);
  showGaps(model);
  markRow(index);
  drawChart(model, moving);
  refresh();
}
function follow() {
  const {setting, step} = readHash();
  show(setting, step, true);
}
function pin(step) {
  pinned = step;
  history.replaceState(null, '', hashOf(model.index, step));
  refresh();
}
function choose(index) {
  if (index !== model.index) location.hash = hashOf(index, null);  // goes on in follow()
}

function pointTo(event) {
  const box = svg.getBoundingClientRect(), scale = frame.width / box.width;
  const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
  hovered = stepAtX(model, x);
  band = bandAt(model, hovered, y);
  refresh();
}
svg.addEventListener('pointermove', pointTo);
svg.addEventListener('pointerdown', (event) => {
  pointTo(event);
  if (event.pointerType === 'mouse') pin(hovered === pinned ? null : hovered);
});
// A finger leaves the picture when it is lifted; what it showed stays.
svg.addEventListener('pointerleave', (event) => {
  if (event.pointerType !== 'mouse') pinned = hovered ?? pinned;
  hovered = null;
  if (event.pointerType === 'mouse') band = null;
  refresh();
});

function moveBand(by) {
  const there = bandNames.map((_, b) => b).filter((b) => model.live[b][pinned] > 0);
  const at = band === null ? -1 : there.indexOf(band);
  const next = band === null ? (by > 0 ? 0 : there.length - 1) : at + by;
  band = there[next] ?? null;
}
function moveStretch(by) {
  const at = model.stretches.indexOf(stretchAt(model, pinned));
  const inside = pinned > model.stretches[at].first;
  const to = by > 0 ? at + 1 : inside ? at : at - 1;
  return model.stretches[Math.max(0, Math.min(model.stretches.length - 1, to))].first;
}
svg.addEventListener('keydown', (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const last = model.labels.length - 1, by = event.shiftKey ? 10 : 1;
  if (event.key === 'Escape') {
    band = null;
    pin(null);
    return;
  }
  const keys = {
    ArrowRight: () => pinned + by, ArrowLeft: () => pinned - by, Home: () => 0, End: () => last,
    PageUp: () => moveStretch(-1), PageDown: () => moveStretch(1), Enter: () => model.peak,
    ArrowUp: () => (moveBand(1), pinned), ArrowDown: () => (moveBand(-1), pinned),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  hovered = null;
  pinned ??= model.peak;
  pin(Math.max(0, Math.min(last, keys[event.key]())));
});

legendRows.forEach((row, b) => {
  row.addEventListener('pointerenter', () => (band = b, refresh()));
  row.addEventListener('pointerleave', () => (band = null, refresh()));
});

byId('fixes').addEventListener('click', (event) => {
  const row = event.target.closest('tr[data-setting]');
  if (!row) return;
  choose(Number(row.dataset.setting));
  // On a small screen the picture may be far above the row that was touched.
  if (svg.getBoundingClientRect().bottom < 80) {
    byId('verdict').scrollIntoView({behavior: still.matches ? 'auto' : 'smooth'});
  }
});
byId('setting').addEventListener('change', (event) => choose(Number(event.target.value)));
addEventListener('hashchange', follow);
let drawnWidth = 0;
new ResizeObserver(() => {
  const width = svg.parentNode.clientWidth;
  if (width === drawnWidth) return;
  drawnWidth = width;
  if (model) drawChart(model, false), refresh();
}).observe(svg.parentNode);

// Copies the text of a command; where the browser does not allow it, selects it.
for (const button of document.querySelectorAll('.copy')) {
  button.addEventListener('click', async () => {
    const code = byId(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = words.copied;
      setTimeout(() => (button.textContent = words.copy), 1500);
    } catch {
      getSelection().selectAllChildren(code);
    }
  });
}
byId('recommended-name').addEventListener('click', () => choose(data.recommended));

byId('support').textContent = data.support;
showBudget();
showRecommended();
const start = readHash();
show(start.setting, start.step, false);
