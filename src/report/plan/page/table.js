// Headline, budget, what is alive, and the table of fixes.

// An HTML element with attributes and children; texts are never markup.
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  element.append(...children);
  return element;
}

const verdicts = {
  fits: [words.fits, words.fits_short],
  barely: [words.barely, words.barely_short],
  no: [words.no, words.no_short],
};
const unbroken = (bytes) => formatBytes(bytes).replace(' ', '\u00a0');
const difference = (setting) => setting.verdict === 'no'
    ? say('too_much', unbroken(setting.total - budget.usable))
    : say(setting.verdict === 'barely' ? 'barely_spare' : 'to_spare',
          unbroken(budget.usable - setting.total));

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
  byId('needs').replaceChildren(
      ...phrase('needs', byId('need'), byId('budget'), byId('difference')));
  byId('title').textContent = setting.title.replace(/ × /g, '\u00a0×\u00a0');
  document.title = setting.title;
  byId('speed').textContent = setting.speed;
  byId('with').textContent = setting.fix ? say('with', setting.name) : words.config_as_is;
  showCommand('command', commandWith(setting.fix ? setting.fix.arguments : []));
}

// It breaks between words only.
function showCommand(id, commandWords) {
  byId(id).replaceChildren(...commandWords.flatMap((word, i) => [i ? ' ' : '', h('span', {}, word)]));
}

// "12.00 GiB GeForce RTX 3060 − 0.60 display − ... = 10.90 may be used": the parts that are there.
function showBudget() {
  const whole = budget.usable + budget.headroom + budget.display + budget.context[1];
  const [low, high] = budget.context;
  const parts = [['', formatBytes(whole), budget.origin]];
  if (budget.display > 0) parts.push(['−', formatBytes(budget.display), words.display]);
  if (high > 0) {
    const range = low < high ? say('range', formatBytes(low), formatBytes(high)) : '';
    parts.push(['−', formatBytes(high), words.context, range]);
  }
  if (budget.headroom > 0) parts.push(['−', formatBytes(budget.headroom), words.headroom]);
  if (parts.length > 1) parts.push(['=', formatBytes(budget.usable), words.usable]);
  if (budget.kept > 0) parts.push(['', formatBytes(budget.kept), words.kept]);
  if (budget.memory > whole) parts[0][3] = `/ ${formatBytes(budget.memory)}`;
  byId('breakdown').replaceChildren(...parts.map(([sign, bytes, name, note]) =>
      h('div', sign === '=' ? {class: 'sum'} : {}, h('dt', {}, name, ...(note ? [h('small', {}, note)] : [])),
        h('dd', {}, ...(sign ? [h('span', {class: 'sign'}, sign)] : []), bytes))));
}

function showRecommended() {
  if (data.recommended === null) return;
  const setting = data.settings[data.recommended];
  byId('recommended').hidden = false;
  byId('recommended-name').textContent = setting.name;
  byId('recommended-why').textContent =
      [formatBytes(setting.total), timeText(setting.fix.time), setting.fix.effect].join(' · ');
  showCommand('recommended-command', data.train);
}

const legendRows = bandNames.map((name, band) => {
  const row = h('tr', {'data-role': name, style: `--band: var(--band-${band})`},
                h('th', {scope: 'row'}, h('i', {class: 'swatch'}), bandWords[band]), h('td', {}));
  byId('legend').prepend(row);  // as they lie in the picture
  return row;
});

// What is alive at a step; `band` narrows the tensors to one role.
function showStep(model, step, band, atRest) {
  const stretch = stretchAt(model, step);
  byId('when').textContent = atRest ? words.at_peak : say('op_of', step + 1, model.labels.length);
  byId('op').textContent = model.labels[step];
  byId('phase').textContent = 
      [stretch.group, stretch.name].filter(Boolean).map((name) => words.phases[name]).join(', ');
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
      band === null ? words.largest : say('largest_of', bandWords[band]);
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
                  formatBytes(model.total[step]) + (band === null ? '' :
                  `, ${bandWords[band]} ${formatBytes(model.live[band][step])}`)});
}

function showGaps(model) {
  const gaps = model.setting.total - model.total[model.peak];
  byId('gaps').textContent = gaps <= 0 ? '' :
      say('gaps', formatBytes(model.setting.total), formatBytes(gaps));
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
           cell(words.memory, 'memory', meter, h('span', {}, formatBytes(setting.total))),
           cell(words.batch, 'batch', fix ? String(fix.batch) : ''),
           cell(words.saved, 'saved', fix ? formatBytes(fix.saved) : ''),
           cell(words.time, 'time', fix ? timeText(fix.time) : ''),
           cell(words.speed, 'speed', setting.tokens),
           cell(words.result, 'result', fix ? fix.effect : ''),
           cell(words.fits_head, 'fits', verdicts[setting.verdict][1]));
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
