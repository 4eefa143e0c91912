// The data as arrays over the ops of a run. First of the five parts of the page's script, which
// page.html joins in one scope.
//
// data:
//   names       labels of ops and names of tensors
//   tensors     [name, dtype, role, bytes, shape]
//   phases      {name, ops: [name...], loss: [first op, count]}; loss in `train` only
//   words       texts of the page in the reader's language, by name; roles and phases in order
//   settings    {name, title, speed, verdict: fits|barely|no, total, outside, phases: [phase...],
//                blocks: [tensor, count, first step, last step...]: so many tensors in a row,
//                scratch: [step, bytes...], fix: {saved, time, effect, arguments}}
//   recommended the index of a setting, or null; support: whether this build trains there
// Steps count through the ops of all phases of a setting; spans include both ends.
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
const budget = data.budget;
const words = data.words;
const say = (name, ...values) => words[name].replace(/\{(\d)\}/g, (_, i) => values[i]);
// Nodes in the places of a text's placeholders.
const phrase = (name, ...nodes) =>
    words[name].split(/(\{\d\})/).map((part) => /^\{\d\}$/.test(part) ? nodes[part[1]] : part);
const workspace = data.roles.indexOf('workspace');

// From the bottom of the picture to its top: what stays longest lies lowest.
const bandNames = ['outside the arena', 'weights', 'optimizer state', 'gradients', 'activations',
                   'loss head', 'workspace', 'I/O'];
const bandWords = bandNames.map((name) => words.roles[name]);
const bandOfRole = data.roles.map((role) => bandNames.indexOf(role));

// As the program's other reports write it; a tie goes to the even digit there too.
function twoDigits(value) {
  const hundredths = value * 100, below = Math.floor(hundredths);
  const whole = hundredths - below === 0.5 ? below + below % 2 : Math.round(hundredths);
  return (whole / 100).toFixed(2);
}
const byteUnits = ['B', 'KiB', 'MiB', 'GiB'];
function formatBytes(bytes) {
  if (bytes < 0) return '−' + formatBytes(-bytes);
  if (bytes < 1024) return bytes + ' B';
  const power = bytes < 2 ** 20 ? 1 : bytes < 2 ** 30 ? 2 : 3;
  return twoDigits(bytes / 1024 ** power).replace('.', words.decimal) + ' ' + byteUnits[power];
}

// The stretches of the x axis. Their widths are shares, not counts of ops: an update may be
// thousands of ops that change nothing, and the loss is four. `fixed` ones are a few ops each.
const stretchKinds = {
  load: {fixed: true}, begin: {fixed: true}, save: {fixed: true},
  evaluate: {share: 17, short: 'eval'},
  forward: {share: 24, short: 'fwd'}, loss: {share: 9}, backward: {share: 36, short: 'bwd'},
  update: {share: 14},
};
function stretchesOf(phase, first) {
  const make = (name, from, count, group) =>
      ({share: 14, ...stretchKinds[name], name, first: first + from, count, group});
  if (!phase.loss) return [make(phase.name, 0, phase.ops.length, '')];
  const [loss, count] = phase.loss, after = loss + count;
  return [make('forward', 0, loss, phase.name), make('loss', loss, count, phase.name),
          make('backward', after, phase.ops.length - after, phase.name)];
}

// Bytes per step and band: live[band][step].
function sumLive(setting, stepCount) {
  const live = bandNames.map(() => new Float64Array(stepCount + 1));
  const add = (band, first, last, bytes) => {
    live[band][first] += bytes;
    live[band][last + 1] -= bytes;
  };
  for (const b of setting.blocks) add(bandOfRole[b.role], b.first, b.last, b.bytes);
  for (const band of live) {
    for (let step = 1; step < stepCount; ++step) band[step] += band[step - 1];
  }
  live[0].fill(setting.outside);
  return live;
}

function expandBlocks(setting, labels) {
  const blocks = [], runs = setting.blocks, scratch = setting.scratch;
  for (let i = 0; i < runs.length; i += 4) {
    for (let t = runs[i]; t < runs[i] + runs[i + 1]; ++t) {
      const [name, dtype, role, bytes, shape] = data.tensors[t];
      blocks.push({name: data.names[name], dtype, role, bytes, shape, first: runs[i + 2],
                   last: runs[i + 3]});
    }
  }
  for (let i = 0; i < scratch.length; i += 2) {
    blocks.push({name: say('scratch', labels[scratch[i]]), dtype: '', role: workspace,
                 bytes: scratch[i + 1], shape: [], first: scratch[i], last: scratch[i]});
  }
  return blocks;
}

const models = [];
function modelOf(index) {
  if (models[index]) return models[index];
  const setting = data.settings[index];
  const labels = [], stretches = [];
  for (const p of setting.phases) {
    const phase = data.phases[p];
    stretches.push(...stretchesOf(phase, labels.length).filter((s) => s.count > 0));
    for (const op of phase.ops) labels.push(data.names[op]);
  }
  const blocks = expandBlocks(setting, labels);
  const live = sumLive({blocks, outside: setting.outside}, labels.length);
  const total = labels.map((_, step) => live.reduce((sum, band) => sum + band[step], 0));
  const peak = total.reduce((best, bytes, step) => bytes > total[best] ? step : best, 0);
  return models[index] = {index, setting, labels, stretches, blocks, live, total, peak};
}

const stretchAt = (model, step) =>
    model.stretches.find((s) => step >= s.first && step < s.first + s.count);

// What is alive at a step, of one band or (null) of all, largest first. The same tensor of several
// layers is one entry: "h.*.mlp.fc", 12 of them.
function largestAt(model, step, band, count) {
  const kinds = new Map();
  const add = (name, dtype, shape, role, bytes) => {
    const kind = name.replace(/(^|\.)h\.\d+\./, '$1h.*.');
    const key = [kind, dtype, shape].join();
    const entry = kinds.get(key) || {name, dtype, shape, band: role, count: 0, bytes: 0};
    if (entry.count > 0) entry.name = kind;
    entry.count += 1;
    entry.bytes += bytes;
    kinds.set(key, entry);
  };
  if (band === 0) add(say('program'), '', [], 0, model.setting.outside);
  for (const b of model.blocks) {
    const of = bandOfRole[b.role];
    if (b.first > step || step > b.last || (band !== null && of !== band)) continue;
    add(b.name, b.dtype, b.shape, of, b.bytes);
  }
  return [...kinds.values()].sort((a, b) => b.bytes - a.bytes).slice(0, count);
}
