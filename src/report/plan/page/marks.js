// What is written on and around the picture.

function drawGrid() {
  layers.grid.replaceChildren();
  const power = topBytes >= 2 ** 30 ? 3 : topBytes >= 2 ** 20 ? 2 : 1;
  const unit = 1024 ** power, decade = 10 ** Math.floor(Math.log10(topBytes / unit) - 1);
  const step = [1, 2, 2.5, 5, 10, 20, 25, 50].find((n) => topBytes / unit / (n * decade) < 6) * decade;
  for (let i = 0; i * step * unit < topBytes; ++i) {
    const y = Math.round(frame.y(i * step * unit)) + 0.5;
    layers.grid.append(
        make('line', {x1: frame.left, x2: frame.right, y1: y, y2: y, class: i ? 'rule' : 'axis'}),
        make('text', {x: frame.left - 7, y: y + 4, 'text-anchor': 'end'},
             i === 0 ? '0' : Number((i * step).toFixed(2)) + ' ' + byteUnits[power]));
  }
}

// Names under the axis, as long as they fit; every other stretch has a tinted ground.
function drawStretches(model) {
  layers.back.replaceChildren();
  model.stretches.forEach((s, i) => {
    const width = s.to - s.from;
    if (i % 2) {
      layers.back.append(make('rect', {class: 'ground', x: s.from, y: frame.top, width,
                                       height: frame.bottom - frame.top}));
    }
    const name = [words.phases[s.name], words.decimal === '.' && !words.translated ? s.short : ''].find((text) => text && textWidth(text) <= width + (frame.narrow ? 4 : 0));
    if (!name) return;
    layers.back.append(make('text', {class: 'stretch', x: (s.from + s.to) / 2, y: frame.bottom + 18,
                                     'text-anchor': 'middle'}, name));
  });
  const group = model.stretches.filter((s) => s.group);
  if (group.length === 0) return;
  const from = group[0].from + 3, to = group.at(-1).to - 3, y = frame.bottom + 26;
  layers.back.append(
      make('path', {class: 'bracket', d: `M${from} ${y - 3}V${y}H${to}V${y - 3}`}),
      make('text', {class: 'stretch', x: (from + to) / 2, y: y + 15, 'text-anchor': 'middle'},
           words.phases[group[0].group]));
}

// A band's name inside it, where it is thick enough for the whole word; the roomiest such place
// that no other label holds.
function drawNames(edges) {
  layers.names.replaceChildren();
  const taken = [budgetLabel, peakLabel].map((label) => label.getBBox());
  const isTaken = (x, y, width) => taken.some((box) =>
      x < box.x + box.width && box.x < x + width && y - 8 < box.y + box.height && box.y < y + 8);
  bandNames.forEach((name, band) => {
    const wide = Math.ceil((textWidth(bandWords[band]) + 12) / 2);  // in samples of two pixels
    let best = {room: 15};
    for (let i = 0; i + wide <= edges[0].length; i += 4) {
      let top = -Infinity, bottom = Infinity;
      for (let k = i; k < i + wide; k += 2) {
        top = Math.max(top, frame.y(edges[band + 1][k]));
        bottom = Math.min(bottom, frame.y(edges[band][k]));
      }
      const room = bottom - top, y = (top + bottom) / 2;
      if (room > best.room + 0.5 && !isTaken(frame.left + 2 * i, y, 2 * wide)) best = {room, i, y};
    }
    if (best.i === undefined) return;
    layers.names.append(make('text', {x: frame.left + 2 * best.i + wide, y: best.y + 4,
                                      'text-anchor': 'middle', class: 'name', 'data-role': name,
                                      style: `--on: var(--on-${band}, var(--name)); --band: var(--band-${band})`}, bandWords[band]));
  });
}

function drawBudget() {
  const y = Math.round(frame.y(Math.min(budget.usable, topBytes))) + 0.5;
  for (const line of [budgetHalo, budgetLine]) {
    place(line, {x1: frame.left, x2: frame.right, y1: y, y2: y});
  }
  byId('above-rect').setAttribute('height', Math.max(0, budgetInside ? y : 0));
  byId('above-rect').setAttribute('width', frame.width);
  budgetLabel.textContent =
      (budgetInside ? '' : '↑ ') + say('may_be_used', formatBytes(budget.usable));
  return y;
}

function drawPeak(model, budgetY) {
  const x = (stepX(model, model.peak) + stepX(model, model.peak + 1)) / 2;
  const y = frame.y(model.total[model.peak]);
  place(peakMark, {'data-bytes': model.total[model.peak], 'data-op': model.labels[model.peak]});
  place(peakDot, {cx: x, cy: y});
  const short = say('peak', formatBytes(model.total[model.peak]));
  const long = `${short} · ${model.labels[model.peak]}`;
  const room = frame.right - frame.left - 8;
  peakLabel.textContent = textWidth(long, true) <= room ? long : short;
  const width = textWidth(peakLabel.textContent, true);
  const from = Math.max(frame.left + 4, Math.min(x - width / 2, frame.right - width - 4));
  // A peak just under the budget has its label above that line, if need be above both.
  const meets = from < frame.left + 14 + textWidth(budgetLabel.textContent, true);
  let base = Math.max(12, y - 11);
  const under = base > budgetY - 7 && base < budgetY + 15;
  if (under) base = budgetY - (meets && budgetY > 36 ? 21 : 7);
  place(peakLabel, {x: from, y: base});
  const givesWay = budgetY < 22 || (meets && Math.abs(budgetY - 6 - base) < 15);
  place(budgetLabel, {x: frame.left + 6, y: budgetY + (givesWay ? 16 : -6)});
}

function drawChart(model, moving) {
  frame = makeFrame();
  place(svg, {viewBox: `0 0 ${frame.width} ${frame.height}`, height: frame.height});
  layStretches(model);
  drawGrid();
  drawStretches(model);
  layers.names.replaceChildren();
  const budgetY = drawBudget();
  drawPeak(model, budgetY);
  if (!moving) shown = null;
  peakMark.classList.add('away');
  morph(model, () => {
    peakMark.classList.remove('away');
    drawBands(exactXs(model), stack(model.live));
    drawNames(stack(shown));
  });
}

// The line through the op that is looked at; none at rest.
function drawCursor(model, step) {
  layers.cursor.style.display = step === null ? 'none' : '';
  if (step === null) return;
  const x = (stepX(model, step) + stepX(model, step + 1)) / 2;
  place(cursorLine, {x1: x, x2: x, y1: frame.top, y2: frame.bottom});
  place(cursorDot, {cx: x, cy: frame.y(model.total[step])});
}
// The band under a point of the picture; null above them.
function bandAt(model, step, y) {
  let bytes = 0;
  for (let band = 0; band < bandNames.length; ++band) {
    bytes += model.live[band][step];
    if (y >= frame.y(bytes)) return band;
  }
  return null;
}
