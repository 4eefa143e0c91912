// The picture.

const svg = byId('chart');
const still = matchMedia('(prefers-reduced-motion: reduce)');

function make(tag, attributes, text) {
  const element = document.createElementNS(svg.namespaceURI, tag);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
}
const place = (element, attributes) => {
  for (const key in attributes) element.setAttribute(key, attributes[key]);
};
const ruler = svg.appendChild(make('text', {visibility: 'hidden'}));
function textWidth(text, bold) {
  ruler.textContent = text;
  ruler.setAttribute('font-weight', bold ? 600 : 400);
  return ruler.getComputedTextLength();
}

const layers = {};
for (const name of ['back', 'bands', 'over', 'grid', 'names', 'marks', 'cursor']) {
  layers[name] = svg.appendChild(make('g', {id: 'layer-' + name}));
}
const bandPaths = bandNames.map((name, band) => layers.bands.appendChild(
    make('path', {class: 'band', 'data-role': name, style: `--band: var(--band-${band})`})));
// The part of the picture above the budget is hatched: a shape, not only a colour.
const overPath = layers.over.appendChild(make('path', {fill: 'url(#hatch)', 'clip-path': 'url(#above)'}));
const budgetHalo = layers.marks.appendChild(make('line', {id: 'budget-halo'}));
const budgetLine = layers.marks.appendChild(make('line', {id: 'budget-line'}));
const budgetLabel = layers.marks.appendChild(make('text', {id: 'budget-label'}));
const peakMark = layers.marks.appendChild(make('g', {id: 'peak'}));
const peakDot = peakMark.appendChild(make('circle', {r: 4}));
const peakLabel = peakMark.appendChild(make('text'));
const cursorLine = layers.cursor.appendChild(make('line', {id: 'cursor'}));
const cursorDot = layers.cursor.appendChild(make('circle', {r: 3.5}));

// One scale for all settings, so that they compare. A budget far above every setting is drawn at
// the top edge, with its true number on it.
const mostTotal = Math.max(...data.settings.map((s) => s.total), 1);
const budgetInside = budget.usable <= 2.5 * mostTotal;
const topBytes = (budgetInside ? Math.max(mostTotal, budget.usable) : 1.15 * mostTotal) * 1.07;

let frame = null;  // where things lie, for the width at hand
function makeFrame() {
  const width = Math.max(240, Math.round(svg.parentNode.clientWidth));
  const narrow = width < 560;
  const height = narrow ? 340 : 460;
  const box = {left: narrow ? 46 : 58, right: width - 2, top: 14, bottom: height - 46};
  return {width, height, narrow, ...box,
          y: (bytes) => box.bottom - bytes / topBytes * (box.bottom - box.top)};
}

// Gives every stretch its from and to in pixels.
function layStretches(model) {
  const few = frame.narrow ? 9 : 38;
  const fixed = model.stretches.filter((s) => s.fixed).length;
  const shares = model.stretches.reduce((sum, s) => sum + (s.fixed ? 0 : s.share), 0);
  const rest = (frame.right - frame.left - fixed * few) / Math.max(shares, 1);
  let x = frame.left;
  for (const s of model.stretches) {
    s.from = x;
    x += s.fixed ? few : s.share * rest;
    s.to = x;
  }
}
function stepX(model, step) {  // its left edge
  const s = stretchAt(model, Math.min(step, model.labels.length - 1));
  return s.from + (step - s.first) / s.count * (s.to - s.from);
}
function stepAtX(model, x) {
  const s = model.stretches.find((one) => x < one.to) || model.stretches.at(-1);
  const op = Math.floor((x - s.from) / (s.to - s.from) * s.count);
  return s.first + Math.max(0, Math.min(s.count - 1, op));
}

// Upper edges of the bands in bytes: edges[band + 1][step]; edges[0] is the axis.
function stack(columns) {
  const edges = [new Float64Array(columns[0].length)];
  for (const column of columns) edges.push(column.map((bytes, i) => edges.at(-1)[i] + bytes));
  return edges;
}
// The area between two edges that are constant from xs[i] to xs[i + 1].
function areaPath(xs, lower, upper) {
  const count = xs.length - 1, x = (i) => xs[i].toFixed(1);
  const [low, high] = [lower, upper].map((edge) =>
      Array.from({length: count}, (_, i) => frame.y(edge[i]).toFixed(1)));
  if (!upper.some((bytes, i) => i < count && bytes > lower[i])) return '';
  let path = `M${x(0)} ${high[0]}`;
  for (let i = 1; i < count; ++i) {
    if (high[i] !== high[i - 1]) path += `H${x(i)}V${high[i]}`;
  }
  path += `H${x(count)}V${low[count - 1]}`;
  for (let i = count - 1; i > 0; --i) {
    if (low[i] !== low[i - 1]) path += `H${x(i)}V${low[i - 1]}`;
  }
  return path + `H${x(0)}Z`;
}
function drawBands(xs, edges) {
  bandPaths.forEach((path, band) =>
      path.setAttribute('d', areaPath(xs, edges[band], edges[band + 1])));
  overPath.setAttribute('d', areaPath(xs, edges[0], edges.at(-1)));
}
const exactXs = (model) => [...model.labels.keys(), model.labels.length].map((s) => stepX(model, s));

// Bands at every second pixel: settings of different ops become comparable point by point.
function sampled(model) {
  const steps = [];
  for (let x = frame.left + 1; x < frame.right; x += 2) steps.push(stepAtX(model, x));
  return model.live.map((band) => Float64Array.from(steps, (step) => band[step]));
}

let shown = null, animation = 0;
// Moves from the setting that is drawn to another in a quarter of a second.
function morph(model, done) {
  cancelAnimationFrame(animation);
  const before = shown, after = sampled(model);
  const xs = Float64Array.from({length: after[0].length + 1}, (_, i) => frame.left + 2 * i);
  xs[xs.length - 1] = frame.right;
  shown = after;
  if (!before || still.matches || before[0].length !== after[0].length) return done();
  const start = performance.now();
  const tick = (now) => {
    const t = Math.min(1, Math.max(0, (now - start) / 250)), eased = t * t * (3 - 2 * t);
    if (t === 1) return done();
    drawBands(xs, stack(after.map((band, b) =>
        band.map((bytes, i) => before[b][i] + (bytes - before[b][i]) * eased))));
    animation = requestAnimationFrame(tick);
  };
  animation = requestAnimationFrame(tick);
}
