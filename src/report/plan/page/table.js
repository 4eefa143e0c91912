// Headline, budget, what is alive, and the table of fixes.

// An HTML element with attributes and children; texts are never markup.
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  element.append(...children);
  return element;
}

const verdicts = {
  fits: ['Fits.', 'fits'],
  tight: ['Barely fits.', 'barely'],
  no: ['Does not fit.', 'does not fit'],
};
const unbroken = (bytes) => formatBytes(bytes).replace(' ', '\u00a0');
const difference = (setting) => setting.verdict === 'no'
    ? unbroken(setting.total - budget.usable) + ' too much'
    : unbroken(budget.usable - setting.total) +
      (setting.verdict === 'tight' ? ', less than 5%, to spare' : ' to spare');

// The words of the command, with a fix's arguments instead of what they change.
function commandWith(added) {
  const key = (word) => word.slice(0, word.indexOf('=') + 1);
  const replaced = (word) => word.startsWith('--') && added.some((one) => key(one) === key(word));
  return [...data.command.split(' ').filter((word) => !replaced(word)), ...added];
}

function showHeadline(setting) {
  place(byId('verdict'), {'data-fits': setting.verdict !== 'no', 'data-verdict': setting.verdict});
  byId('word').textContent = verdicts[setting.verdict][0];
  byId('need').textContent = formatBytes(setting.total);
  byId('need').dataset.bytes = setting.total;
  byId('budget').textContent = formatBytes(budget.usable);
  byId('budget').dataset.bytes = budget.usable;
  byId('difference').textContent = difference(setting);
  byId('with').textContent = setting.fix ? 'With ' + setting.name : 'The config as it is';
  byId('command').replaceChildren(...commandWith(setting.fix ? setting.fix.arguments : [])
      .flatMap((word, i) => [i ? ' ' : '', h('span', {}, word)]));  // breaks between words only
}

// "12.00 GiB GeForce RTX 3060 − 0.60 display − ... = 10.90 may be used": the parts that are there.
function showBudget() {
  const whole = budget.usable + budget.headroom + budget.display + budget.context[1];
  const [low, high] = budget.context;
  const parts = [['', formatBytes(whole), budget.origin]];
  if (budget.display > 0) parts.push(['−', formatBytes(budget.display), 'display']);
  if (high > 0) {
    const range = low < high ? `at least ${formatBytes(low)}` : '';
    parts.push(['−', formatBytes(high), 'CUDA context', range]);
  }
  if (budget.headroom > 0) parts.push(['−', formatBytes(budget.headroom), 'headroom']);
  if (parts.length > 1) parts.push(['=', formatBytes(budget.usable), 'may be used']);
  if (budget.memory > whole) parts[0][3] = `of the ${formatBytes(budget.memory)} that it has`;
  byId('breakdown').replaceChildren(...parts.map(([sign, bytes, name, note]) =>
      h('div', {}, h('dt', {}, name, ...(note ? [h('small', {}, note)] : [])),
        h('dd', {}, ...(sign ? [h('span', {class: 'sign'}, sign)] : []), bytes))));
}

const legendRows = bandNames.map((name, band) => {
  const row = h('tr', {'data-role': name, style: `--band: var(--band-${band})`},
                h('th', {scope: 'row'}, h('i', {class: 'swatch'}), name), h('td', {}));
  byId('legend').prepend(row);  // as they lie in the picture
  return row;
});

// What is alive at a step; `band` narrows the tensors to one role.
function showStep(model, step, band, atRest) {
  const stretch = stretchAt(model, step);
  byId('when').textContent = atRest ? 'At the peak' : `Op ${step + 1} of ${model.labels.length}`;
  byId('op').textContent = model.labels[step];
  byId('phase').textContent = [stretch.group, stretch.name].filter(Boolean).join(', ');
  byId('alive').textContent = formatBytes(model.total[step]);
  legendRows.forEach((row, b) => {
    row.lastChild.textContent = formatBytes(model.live[b][step]);
    row.classList.toggle('none', model.live[b][step] === 0);
    row.classList.toggle('on', b === band);
  });
  svg.classList.toggle('one', band !== null);
  for (const part of svg.querySelectorAll('[data-role]')) {
    part.classList.toggle('on', part.dataset.role === bandNames[band]);
  }
  byId('largest-of').textContent =
      band === null ? 'Largest tensors' : 'Largest: ' + bandNames[band];
  const found = largestAt(model, step, band, 5);
  byId('largest').replaceChildren(...found.map((one) => {
    const extent = one.shape.length ? `(${one.shape.join(', ')})` : '';
    const detail = [one.count > 1 ? one.count + ' ×' : '', extent, one.dtype].filter(Boolean);
    return h('li', {style: `--band: var(--band-${one.band})`},
             h('span', {class: 'tensor', title: one.name}, h('i', {class: 'swatch'}), one.name),
             h('span', {class: 'detail'}, detail.join(' ')), h('b', {}, formatBytes(one.bytes)));
  }));
  place(svg, {'aria-valuenow': step + 1, 'aria-valuemax': model.labels.length,
              'aria-valuetext': `${model.labels[step]}, ${byId('phase').textContent}: ` +
                  `${formatBytes(model.total[step])} alive` + (band === null ? '' :
                  `, ${formatBytes(model.live[band][step])} of it ${bandNames[band]}`)});
}

function showGaps(model) {
  const gaps = model.setting.total - model.total[model.peak];
  byId('gaps').textContent = gaps <= 0 ? '' :
      `${formatBytes(model.setting.total)} is needed: the peak, and ${formatBytes(gaps)} that ` +
      'lies between tensors where none fits.';
}

function timeText(ratio) {
  const percent = Math.round((ratio - 1) * 100);
  if (percent === 0) return '0%';
  return ratio >= 3 ? '× ' + ratio.toFixed(1) : (percent > 0 ? '+' : '−') + Math.abs(percent) + '%';
}
function fixRow(setting, index) {
  const fix = setting.fix, most = Math.max(mostTotal, budgetInside ? budget.usable : 0);
  const share = (bytes) => (bytes / most * 100).toFixed(2) + '%';
  const meter = h('span', {class: 'meter', 'aria-hidden': 'true',
                           style: `--need: ${share(setting.total)}; --budget: ${share(budget.usable)}`});
  const cell = (label, name, ...content) =>
      h('td', {role: 'cell', class: name, 'data-label': label}, ...content);
  return h('tr', {role: 'row', 'data-setting': index, 'data-name': setting.name,
                  'data-fits': setting.verdict !== 'no', 'data-verdict': setting.verdict,
                  'data-total-bytes': setting.total},
           h('th', {role: 'rowheader', scope: 'row'}, h('button', {type: 'button'}, setting.name)),
           cell('Memory', 'memory', meter, h('span', {}, formatBytes(setting.total))),
           cell('Batch', 'batch', fix ? String(fix.batch) : ''),
           cell('Saved', 'saved', fix ? formatBytes(fix.saved) : ''),
           cell('Time', 'time', fix ? timeText(fix.time) : ''),
           cell('Result', 'result', fix ? fix.effect : ''),
           cell('Fits', 'fits', verdicts[setting.verdict][1]));
}
const fixRows = data.settings.map(fixRow);
byId('fixes').tBodies[0].append(...fixRows);
byId('setting').append(...data.settings.map((s, i) =>
    h('option', {value: i}, `${s.name} · ${formatBytes(s.total)}`)));
if (data.settings.length < 2) document.body.classList.add('alone');

function markRow(index) {
  fixRows.forEach((row, i) => {
    row.classList.toggle('on', i === index);
    row.querySelector('button').setAttribute('aria-pressed', i === index);
  });
  byId('setting').value = index;
}
