
'use strict';
{
// ---- words -------------------------------------------------------------------------------------

const WORDS = {
  facts: ['Overview', '概况'], curves: ['Loss', '损失'], samples: ['Samples', '样本'],
  attention: ['Attention', '注意力'], heads: ['Heads', '各个头'], prune: ['Without heads', '去掉一些头'],
  compare: ['Comparison', '对比'], dark: ['Dark', '深色'], light: ['Light', '浅色'],
  train: ['training loss', '训练损失'], smooth: ['smoothed', '平滑后'], val: ['validation loss', '验证损失'],
  start: ['ln V: knows nothing', 'ln V：一无所知'], floor: ['floor: the text’s own entropy', '下限：文本自身的熵'],
  linear: ['Linear', '线性'], log: ['Logarithmic', '对数'],
  step: ['step', '步'], nats: ['nats per token', '每词元 nat'],
  curvesHint: ['Point at the picture, or use the arrow keys, to read values.', '把指针移到图上，或用方向键，即可读数。'],
  afterStep: ['After step', '第'], afterStep2: ['', '步之后'],
  layer: ['Layer', '层'], head: ['Head', '头'], token: ['Query token', '查询词元'],
  previous: ['Previous token', '上一个词元'], next: ['Next token', '下一个词元'],
  attentionHint: ['The outlined token is the query: the darker an earlier token, the more weight it has. Choose with the slider, the arrow keys, or by pointing.', '加框的词元是查询：前面的词元颜色越深，权重越大。用滑块、方向键或点击来选择。'],
  matrix: ['Rows are queries, columns are keys; colour shows the square root of the weight.', '行是查询，列是键；颜色表示权重的平方根。'],
  all: ['All heads', '所有头'], most: ['Most weight', '权重最大'],
  even: ['even', '均匀'], role: ['Role', '作用'],
  headsHint: ['Mean weight that a head puts on places of each kind; the last row has what even attention to everything puts there, and the shade shows what goes beyond it.',
    '一个头放在各类位置上的平均权重；最后一行是均匀注意力放在那里的权重，底色表示超出它的部分。'],
 base: ['With all heads', '所有头都在'],
  alone: ['One head switched off: what the validation loss gains', '只去掉一个头：验证损失的增加'],
  aloneFacts: ['One head switched off: what the validation loss gains · facts right then', '只去掉一个头：验证损失的增加 · 此时答对的事实'],
  greedy: ['One after the other switched off, the least missed first', '逐个去掉，最不需要的先去掉'],
  off: ['heads off', '去掉的头数'], loss: ['Loss', '损失'], factsRight: ['Facts right', '答对的事实'], allRight: ['facts right', '答对的事实'],
  H: ['Heads', '头数'], D: ['D', 'D'], parameters: ['Parameters', '参数量'],
  seeds: ['Seeds', '种子数'], seconds: ['s / run', '秒/次'], range: ['min–max', '最小–最大'],
  mean: ['Mean ± sample standard deviation. ', '均值 ± 样本标准差。'],
  kinds: ['Facts right by kind', '各类事实的正确率'], kind: ['Kind', '种类'],
  points: ['Each point is one seed; the line joins the means.', '每个点是一个种子；线连接均值。'],
  reading: ['Without reading: most frequent word {a}, last mentioned {b}.', '不读上文：最常见的词 {a}，最后提到的词 {b}。'],
  allFacts: ['all', '全部'], conclusion: ['What was measured', '测得的结论'],
  incomplete: ['Incomplete', '未完成'], by: ['Written by', '生成程序：'],
  link: ['This view has an address: copy the link from the address bar.', '当前视图有自己的地址，可从地址栏复制链接。'],
};

/** What the heads are measured by: its name, and which places it is about. */
const MEASURES = {
  previous: [['previous', '前一个'], ['the token before', '前一个词元']],
  first: [['first', '第一个'], ['the first token', '第一个词元']],
  itself: [['itself', '自己'], ['the token itself', '词元自己']],
  word: [['word', '本词'], ['the letters of its own word', '自己所在词的字母']],
  same: [['same', '同词'], ['earlier mentions of the same word', '同一个词先前出现的地方']],
  after: [['after', '之后'], ['what followed the same token before', '同一词元先前出现之后的词元']],
  copy: [['copy', '复制'], ['tokens equal to the one that comes next', '与下一个词元相同的词元']],
  separator: [['separator', '分隔'], ['spaces, punctuation, line ends', '空格、标点、换行']],
  answer: [['answer', '答案'], ['earlier mentions of the word that has to be told', '将要说出的词先前出现的地方']],
  entropy: [['entropy', '熵'], ['of the weights, in nats', '权重的熵，单位 nat']],
  entropy_share: [['share', '份额'], ['the entropy as a share of its most, ln(i + 1)', '熵占其最大值 ln(i + 1) 的份额']],
};

// ---- state, kept in the address so that a view is a link ------------------------------------

const page = JSON.parse(document.getElementById('data').textContent);
const root = document.documentElement;
const state = { lang: 'en', theme: 'light', scale: 'linear', layer: 0, head: 0, token: 0 };
const dark = matchMedia('(prefers-color-scheme: dark)');
const asked = () => new URLSearchParams(location.hash.slice(1));
const within = (x, n) => Math.min(Math.max(Math.trunc(Number(x)) || 0, 0), Math.max(n - 1, 0));

function readAddress() {
  const wanted = asked();
  const lang = wanted.get('lang') ?? ((navigator.language || 'en').startsWith('zh') ? 'zh' : 'en');
  state.lang = lang === 'zh' ? 'zh' : 'en';
  const theme = wanted.get('theme') ?? (dark.matches ? 'dark' : 'light');
  state.theme = theme === 'dark' ? 'dark' : 'light';
  state.scale = wanted.get('scale') === 'log' ? 'log' : 'linear';
  const maps = page.attention;
  if (maps) {
    state.layer = within(wanted.get('layer'), maps.layers.length);
    state.head = within(wanted.get('head'), maps.layers[state.layer]?.length ?? 0);
    const token = wanted.get('token') ?? Math.floor(maps.tokens.length * 2 / 3);
    state.token = within(token, maps.tokens.length);
  }
}

function putInAddress(change) {
  const wanted = asked();
  for (const [key, value] of Object.entries(change)) wanted.set(key, value);
  // Some browsers refuse this for files: then the view just has no address.
  try { history.replaceState(null, '', '#' + wanted); } catch { /* nothing is lost */ }
}

const say = key => WORDS[key][state.lang === 'zh' ? 1 : 0];
const both = text => text[state.lang];

// ---- small makers: texts become text nodes, never markup -----------------------------------------

function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}
function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}
function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key.startsWith('aria-') && typeof value === 'boolean') node.setAttribute(key, String(value));
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}
const fixed = (x, n) => Number.isFinite(x) ? x.toFixed(n) : '–';
const whole = n => n.toLocaleString('en-US');
const narrow = () => innerWidth < 640;
const percent = (x, n = 1) => fixed(100 * x, n) + ' %';

/** Round numbers that a scale from `low` to `high` is marked with. */
function ticks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw * 0.999) ?? raw;
  const marks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) marks.push(i * step + 0); // + 0: no −0
  return { marks, decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) + (String(step / power) === '2.5' ? 1 : 0) };
}

/** The same for a logarithmic scale: 1, 2 and 5 of every power of ten. */
function decades(low, high) {
  const marks = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    marks.push(...[1, 2, 5].map(m => m * power).filter(v => v >= low && v <= high));
  }
  return { marks };
}

/** Axes with marks; gives the functions from values to places. */
function plane(width, height, [x0, x1], [y0, y1], options = {}) {
  const margin = { left: options.left ?? 52, right: options.right ?? 24, top: 8, bottom: options.bottom ?? 40 };
  const x = v => margin.left + (v - x0) / (x1 - x0 || 1) * (width - margin.left - margin.right);
  const scaled = options.log ? v => Math.log(Math.max(v, y0)) : v => v;
  const y = v => height - margin.bottom - (scaled(v) - scaled(y0)) / (scaled(y1) - scaled(y0) || 1) * (height - margin.top - margin.bottom);
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': options.label ?? '' });
  const rows = options.log ? decades(y0, y1) : ticks(y0, y1, options.rows ?? 5);
  for (const v of rows.marks) {
    picture.append(
      svg('line', { class: 'axis', x1: margin.left, x2: width - margin.right, y1: y(v), y2: y(v) }),
      svg('text', { x: margin.left - 7, y: y(v) + 4, 'text-anchor': 'end' }, options.percent ? fixed(100 * v, 0) : options.log ? String(Number(v.toPrecision(1))) : fixed(v, rows.decimals)));
  }
  // Steps and heads are whole.
  const columns = options.columns ?? ticks(x0, x1, Math.round(width / 110)).marks.filter(v => Math.abs(v - Math.round(v)) < 1e-6).map(v => [v, whole(Math.round(v))]);
  for (const [v, text] of columns) {
    picture.append(svg('text', { x: x(v), y: height - margin.bottom + 18, 'text-anchor': 'middle' }, text));
  }
  if (options.x) picture.append(svg('text', { x: (margin.left + width - margin.right) / 2, y: height - 4, 'text-anchor': 'middle' }, options.x));
  return { picture, x, y, margin };
}
const path = points => points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');

function section(id, ...children) {
  return el('section', { id, 'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title` }, say(id)), ...children);
}
function legendEntry(text, attributes) {
  return el('li', {}, svg('svg', { viewBox: '0 0 26 10', 'aria-hidden': 'true' }, svg('line', { x1: 0, x2: 26, y1: 5, y2: 5, ...attributes })), text);
}

// ---- run facts, samples -----------------------------------------------------------------------------

function factsSection() {
  return section('facts', el('dl', {}, ...page.facts.flatMap(fact => [el('dt', {}, both(fact.label)), el('dd', {}, fact.value)])));
}

function samplesSection() {
  return section('samples', ...page.samples.map(sample => el('div', { class: 'sample' },
    el('div', { class: 'soft' }, `${say('afterStep')} ${whole(sample.step)} ${say('afterStep2')}`.trim()),
    el('pre', {}, el('span', { class: 'prompt' }, sample.prompt), sample.text))));
}

// ---- losses -----------------------------------------------------------------------------------------

function curvesSection() {
  const { train, smooth, val, start, floor } = page.curves;
  const measured = [...train, ...val];
  const steps = measured.map(p => p[0]);
  const first = Math.min(...steps), last = Math.max(...steps, first + 1);
  // A spike may leave the picture at the top; a curve that is flattened says nothing.
  const highest = Math.max(...measured.map(p => p[1]), start ?? 0);
  const top = start ? Math.min(highest, 1.6 * start) : highest;
  const width = narrow() ? 340 : 1000, height = narrow() ? 250 : 420;
  const lowest = Math.min(...[...measured.map(p => p[1]), start, floor].filter(v => v > 0));
  const log = state.scale === 'log' && Number.isFinite(lowest);
  const { picture, x, y, margin } = plane(width, height, [first, last], [log ? 0.85 * lowest : 0, 1.04 * top || 1], { x: say('step'), label: say('curves'), log });
  const place = ([step, loss]) => [x(step), y(Math.min(loss, 1.04 * top))];
  const level = (value, kind) => picture.append(svg('line', { class: `dashed k-${kind}`, x1: margin.left, x2: width - margin.right, y1: y(value), y2: y(value) }));
  const legend = el('ul', { class: 'legend' });
  if (train.length) {
    picture.append(svg('path', { class: 'curve k-train thin', d: path(train.map(place)) }));
    legend.append(legendEntry(say('train'), { class: 'k-train thin', 'stroke-width': 2 }));
  }
  if (smooth.length) {
    picture.append(svg('path', { class: 'curve k-train', d: path(smooth.map(place)) }));
    legend.append(legendEntry(say('smooth'), { class: 'k-train', 'stroke-width': 3 }));
  }
  if (val.length) {
    picture.append(svg('path', { class: 'curve k-val', d: path(val.map(place)) }));
    for (const p of val.length > 60 ? [] : val) picture.append(svg('circle', { class: 'f-val', cx: place(p)[0], cy: place(p)[1], r: 3.5 }));
    legend.append(legendEntry(say('val'), { class: 'k-val', 'stroke-width': 3 }));
  }
  if (start) { level(start, 'start'); legend.append(legendEntry(`${say('start')} = ${fixed(start, 2)}`, { class: 'dashed k-start', 'stroke-width': 2 })); }
  if (floor) { level(floor, 'floor'); legend.append(legendEntry(`${say('floor')} = ${fixed(floor, 3)}`, { class: 'dashed k-floor', 'stroke-width': 2 })); }

  const readout = el('div', { class: 'readout', 'aria-live': 'polite' }, say('curvesHint'));
  const cursor = svg('line', { class: 'cursor', y1: margin.top, y2: height - margin.bottom, visibility: 'hidden' });
  picture.append(cursor);
  const near = (points, step) => points.reduce((best, p) => !best || Math.abs(p[0] - step) < Math.abs(best[0] - step) ? p : best, null);
  let at = last;
  function show(step) {
    const anchor = near(train.length ? train : val, step);
    if (!anchor) return;
    at = anchor[0];
    fill(cursor, { x1: x(at), x2: x(at), visibility: 'visible' }, []);
    const values = [`${say('step')} ${whole(at)}`, ...[['train', train], ['smooth', smooth], ['val', val]].flatMap(([key, points]) => {
      const p = near(points, at);
      const where = p && key === 'val' && p[0] !== at ? ` (${say('step')} ${whole(p[0])})` : '';
      return p ? [`${say(key)} ${fixed(p[1], 4)}${where}`] : [];
    })];
    readout.textContent = values.join(' · ');
  }
  const point = event => {
    const box = picture.getBoundingClientRect();
    const inside = (event.clientX - box.left) / box.width * width;
    show(first + (inside - margin.left) / (width - margin.left - margin.right) * (last - first));
  };
  fill(picture, { tabindex: 0, onpointermove: point, onpointerdown: point, onkeydown: event => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const points = train.length ? train : val, i = points.indexOf(near(points, at));
    show(points[within(i + by * Math.max(1, Math.round(points.length / 100)), points.length)][0]);
  } }, []);
  return section('curves',
    el('div', { class: 'buttons' }, toggle('scale', 'linear', say('linear')), toggle('scale', 'log', say('log'))),
    legend, el('div', { class: 'soft' }, say('nats')), el('figure', {}, picture), readout);
}

// ---- attention ----------------------------------------------------------------------------------------

const rgb = name => {
  const hex = getComputedStyle(root).getPropertyValue(name).trim().slice(1);
  return [0, 2, 4].map(i => parseInt(hex.slice(i, i + 2), 16));
};
/** A token by itself shows its spaces, as it does in the data; in running text they are spaces again. */
const seen = text => text || '∅';
const inText = text => text.replaceAll('␣', ' ').replaceAll('↵', '↵\n');
const STEPS = 10000; // weights are whole multiples of 1 / STEPS

/** A head's P, a pixel a weight. */
function paint(canvas, rows, query = -1) {
  const n = rows.length, low = rgb('--heat-0'), high = rgb('--heat-1'), mark = rgb('--mark'), blank = rgb('--card');
  canvas.width = canvas.height = n;
  const context = canvas.getContext('2d'), image = context.createImageData(n, n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const share = j <= i ? Math.sqrt((rows[i][j] ?? 0) / STEPS) : 0, at = 4 * (i * n + j);
      for (let c = 0; c < 3; c++) {
        const value = j <= i ? low[c] + share * (high[c] - low[c]) : blank[c];
        image.data[at + c] = i === query && j > i ? 0.65 * blank[c] + 0.35 * mark[c] : value;
      }
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

function attentionSection() {
  const { tokens, layers } = page.attention;
  const n = tokens.length;
  const rows = () => layers[state.layer]?.[state.head] ?? [];
  const option = (i, chosen) => el('option', { value: i, selected: i === chosen }, String(i));
  const layerSelect = el('select', { id: 'layer', onchange: e => choose({ layer: e.target.value }) }, ...layers.map((_, i) => option(i, state.layer)));
  const headSelect = el('select', { id: 'head', onchange: e => choose({ head: e.target.value }) });
  const slider = el('input', { id: 'token', type: 'range', min: 0, max: n - 1, value: state.token, oninput: e => choose({ token: e.target.value }) });
  const slideLabel = el('span', { class: 'where' });
  const matrix = el('canvas', { class: 'matrix', tabindex: 0, role: 'img' });
  const text = el('div', { class: 'shaded', tabindex: 0, role: 'group', 'aria-label': say('token') });
  const spans = tokens.map((token, i) => el('span', { 'data-i': i }, inText(token)));
  text.append(...spans);
  const readout = el('div', { class: 'readout two', id: 'weights', 'aria-live': 'polite' });
  const pointed = el('div', { class: 'readout' });
  const multiples = layers.flatMap((heads, layer) => heads.map((head, h) => {
    const canvas = el('canvas', { 'aria-hidden': 'true' });
    const button = el('button', { type: 'button', 'data-head': `${layer}.${h}`, onclick: () => choose({ layer, head: h }) }, canvas, `${say('layer')} ${layer} · ${say('head')} ${h}`);
    return { layer, h, head, canvas, button };
  }));

  function show() {
    headSelect.replaceChildren(...(layers[state.layer] ?? []).map((_, i) => option(i, state.head)));
    layerSelect.value = state.layer;
    slider.value = state.token;
    slideLabel.textContent = `i = ${state.token} (0–${n - 1}): “${seen(tokens[state.token])}”`;
    const weights = rows()[state.token] ?? [];
    const most = Math.max(...weights, 1);
    spans.forEach((span, i) => {
      span.className = i === state.token ? 'query' : i > state.token ? 'later' : '';
      const share = i <= state.token ? Math.sqrt((weights[i] ?? 0) / most) : 0;
      span.style.backgroundColor = share > 0.02 ? `rgba(var(--shade), ${(0.75 * share).toFixed(3)})` : '';
      span.title = i <= state.token ? percent((weights[i] ?? 0) / STEPS) : '';
    });
    const best = weights.map((w, i) => [w, i]).sort((a, b) => b[0] - a[0]).slice(0, 4).filter(([w]) => w > 0);
    readout.textContent = `${say('most')}: ` + best.map(([w, i]) => `“${seen(tokens[i])}” j = ${i}, ${percent(w / STEPS)}`).join(' · ');
    fill(matrix, { 'data-layer': state.layer, 'data-head': state.head, 'data-token': state.token,
      'aria-label': `${say('layer')} ${state.layer}, ${say('head')} ${state.head}` }, []);
    paint(matrix, rows(), state.token);
    for (const { layer, h, button } of multiples) button.setAttribute('aria-pressed', layer === state.layer && h === state.head);
  }
  function choose(change) {
    if ('layer' in change) state.layer = within(change.layer, layers.length);
    if ('head' in change) state.head = Number(change.head);
    state.head = within(state.head, layers[state.layer]?.length ?? 0);
    if ('token' in change) state.token = within(change.token, n);
    putInAddress({ layer: state.layer, head: state.head, token: state.token });
    show();
  }
  const keys = event => {
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    choose({ token: state.token + by });
  };
  const cell = event => {
    const box = matrix.getBoundingClientRect();
    const at = (along, start, size) => within((along - start) / size * n, n);
    return [at(event.clientY, box.top, box.height), at(event.clientX, box.left, box.width)];
  };
  fill(matrix, { onkeydown: keys, onclick: event => choose({ token: cell(event)[0] }), onpointermove: event => {
    const [i, j] = cell(event);
    pointed.textContent = j > i ? '' : `“${seen(tokens[i])}” i = ${i} → “${seen(tokens[j])}” j = ${j}: ${percent((rows()[i]?.[j] ?? 0) / STEPS)}`;
  } }, []);
  fill(text, { onkeydown: keys, onclick: event => {
    const i = event.target.getAttribute('data-i');
    if (i !== null) choose({ token: i });
  } }, []);
  const stepper = (by, label, sign) => el('button', { type: 'button', 'aria-label': label, title: label, onclick: () => choose({ token: state.token + by }) }, sign);
  repaint.push(() => { multiples.forEach(({ canvas, head }) => paint(canvas, head)); show(); });
  return section('attention',
    el('p', { class: 'soft' }, say('attentionHint')),
    el('div', { class: 'controls' },
      el('label', {}, say('layer'), layerSelect), el('label', {}, say('head'), headSelect),
      el('div', { class: 'buttons' }, stepper(-1, say('previous'), '←'), stepper(1, say('next'), '→')),
      el('label', { class: 'wide' }, el('span', {}, `${say('token')} `, slideLabel), slider)),
    el('div', { class: 'attention' },
      el('figure', {}, matrix, el('div', { class: 'soft' }, say('matrix')), pointed),
      el('div', {}, text, readout, el('h3', {}, say('all')), ...layers.map((_, layer) => el('div', { class: 'heads' }, ...multiples.filter(m => m.layer === layer).map(m => m.button))))));
}

// ---- heads, pruning ------------------------------------------------------------------------------------

/** Behind a share in a table. */
function shade(cell, share) {
  cell.style.backgroundColor = `rgba(var(--shade), ${(0.42 * Math.min(Math.max(share, 0), 1)).toFixed(3)})`;
  return cell;
}

function headsSection() {
  const names = [...new Set(page.heads.flatMap(row => row.scores.map(([name]) => name)))];
  const even = { scores: page.even };
  const score = (row, name) => row.scores.find(([n]) => n === name)?.[1] ?? NaN;
  const shown = (row, name) => name === 'entropy' ? fixed(score(row, name), 2) : percent(score(row, name), 0);
  // How much of the way from even attention to all of it.
  const beyond = (row, name) => {
    const from = score(even, name) || 0;
    return name.startsWith('entropy') || from >= 1 ? 0 : (score(row, name) - from) / (1 - from) || 0;
  };
  const word = (name, part) => MEASURES[name]?.[part][state.lang === 'zh' ? 1 : 0];
  const body = el('tbody');
  let order = { key: null, down: true };
  const columns = [['layer', row => row.layer], ['head', row => row.head], ...names.map(name => [name, row => score(row, name)])];
  const heads = columns.map(([key, value]) => {
    const label = key === 'layer' || key === 'head' ? say(key) : word(key, 0) ?? key;
    return el('th', { scope: 'col', 'aria-sort': 'none', title: word(key, 1) }, el('button', { type: 'button', onclick: () => {
      order = { key, value, down: order.key === key ? !order.down : key !== 'layer' && key !== 'head' };
      show();
    } }, label));
  });
  heads.splice(2, 0, el('th', { class: 'words', scope: 'col' }, say('role')));
  columns.splice(2, 0, [null]);
  function show() {
    const rows = [...page.heads];
    if (order.key) rows.sort((a, b) => (order.down ? -1 : 1) * ((order.value(a) || 0) - (order.value(b) || 0)));
    columns.forEach(([key], i) => key && heads[i].setAttribute('aria-sort', order.key !== key ? 'none' : order.down ? 'descending' : 'ascending'));
    body.replaceChildren(...rows.map(row => el('tr', {},
      el('td', {}, String(row.layer)), el('td', {}, String(row.head)), el('td', { class: 'words' }, both(row.role) || '–'),
      ...names.map(name => shade(el('td', {}, shown(row, name)), Math.sqrt(Math.max(beyond(row, name), 0)))))));
  }
  show();
  const last = el('tfoot', {}, el('tr', {}, el('td', {}, say('even')), el('td'), el('td'), ...names.map(name => el('td', {}, shown(even, name)))));
  const told = names.filter(name => word(name, 1)).map(name => el('li', {}, el('strong', {}, word(name, 0)), `: ${word(name, 1)}`));
  return section('heads',
    page.even.length ? el('p', { class: 'soft' }, say('headsHint')) : null,
    el('div', { class: 'scroll', tabindex: 0 }, el('table', { class: 'dense' }, el('thead', {}, el('tr', {}, ...heads)), body, page.even.length ? last : null)),
    el('ul', { class: 'measures soft' }, ...told));
}

function pruneSection() {
  const { loss, facts, alone, greedy } = page.prune;
  const most = Math.max(...alone.map(p => Math.abs(p.loss - loss)), 1e-9);
  const bars = alone.flatMap(p => {
    const bar = el('div', { class: p.loss < loss ? 'bar less' : 'bar' });
    bar.style.width = `${(100 * Math.abs(p.loss - loss) / most).toFixed(1)}%`;
    const right = p.facts === null ? '' : ` · ${percent(p.facts)}`;
    return [el('div', {}, `${say('layer')} ${p.layer} · ${say('head')} ${p.head}`), el('div', {}, bar),
      el('div', {}, `${p.loss >= loss ? '+' : '−'}${fixed(Math.abs(p.loss - loss), 4)}${right}`)];
  });
  const curve = (key, label, base, shown) => {
    const points = [[0, base, say('base')], ...greedy.map((p, i) => [i + 1, p[key], `${say('layer')} ${p.layer} · ${say('head')} ${p.head}`])].filter(p => p[1] !== null);
    const values = points.map(p => p[1]);
    const low = key === 'facts' ? 0 : Math.min(...values) * 0.98, high = key === 'facts' ? 1 : Math.max(...values) * 1.02;
    const { picture, x, y } = plane(300, 200, [0, Math.max(points.length - 1, 1)], [low, high], { columns: points.length > 12 ? null : points.map(([i]) => [i, String(i)]), x: say('off'), label, percent: key === 'facts' });
    picture.append(svg('path', { class: 'curve k-0', d: path(points.map(([i, v]) => [x(i), y(v)])) }));
    for (const [i, v, what] of points) picture.append(svg('circle', { class: 'f-0', cx: x(i), cy: y(v), r: 4 }, svg('title', {}, `${what}: ${shown(v)}`)));
    return el('figure', {}, el('figcaption', {}, label), picture);
  };
  const pictures = [curve('loss', say('loss'), loss, v => fixed(v, 4))];
  if (facts !== null) pictures.push(curve('facts', `${say('factsRight')}, %`, facts, v => percent(v)));
  const order = greedy.map((p, i) => el('tr', {}, el('td', {}, String(i + 1)), el('td', {}, String(p.layer)), el('td', {}, String(p.head)),
    el('td', {}, fixed(p.loss, 4)), el('td', {}, p.facts === null ? '–' : percent(p.facts))));
  return section('prune',
    el('p', {}, `${say('base')}: ${say('val')} ${fixed(loss, 4)}` + (facts === null ? '' : ` · ${say('allRight')} ${percent(facts)}`)),
    ...(alone.length ? [el('h3', {}, say(facts === null ? 'alone' : 'aloneFacts')), el('div', { class: 'bars' }, ...bars)] : []),
    ...(greedy.length ? [el('h3', {}, say('greedy')), el('div', { class: 'grid' }, ...pictures)] : []),
    greedy.length === 0 ? null : el('div', { class: 'scroll', tabindex: 0 }, el('table', {}, el('thead', {}, el('tr', {},
      ...[say('off'), say('layer'), say('head'), say('loss'), say('factsRight')].map(t => el('th', { scope: 'col' }, t)))), el('tbody', {}, ...order))));
}

// ---- comparison ---------------------------------------------------------------------------------------

function spread(values) {
  const n = values.length, mean = values.reduce((a, b) => a + b, 0) / n;
  const deviation = n > 1 ? Math.sqrt(values.reduce((s, x) => s + (x - mean) ** 2, 0) / (n - 1)) : null;
  return { mean, deviation, low: Math.min(...values), high: Math.max(...values) };
}
const shownSpread = (values, show) => {
  if (!values.length) return '–';
  const { mean, deviation } = spread(values);
  return deviation === null ? show(mean) : `${show(mean)} ± ${show(deviation)}`;
};
const shownRange = (values, show) => values.length ? `${show(spread(values).low)}–${show(spread(values).high)}` : '–';

/** Is there room for the floor in a picture of these values? */
const nearFloor = (values, floor) => floor && Math.min(...values) - floor <= 3 * (Math.max(...values) - Math.min(...values));

/** A panel: each seed a point, a line through the means. */
function dots(label, rows, valuesOf, color, options = {}) {
  const all = rows.flatMap(valuesOf);
  if (!all.length) return null;
  // A floor far below would make one point of all seeds.
  const floor = nearFloor(all, options.floor) ? options.floor : null;
  if (floor) all.push(floor);
  const span = Math.max(...all) - Math.min(...all) || Math.abs(all[0]) * 0.02 || 0.01;
  const range = [Math.min(...all) - 0.12 * span, Math.max(...all) + 0.12 * span];
  if (options.percent) {
    const low = Math.max(0, Math.min(range[0], range[1] - 0.06));
    range.splice(0, 2, low, Math.min(1.02, Math.max(range[1], low + 0.06)));
  }
  const { picture, x, y, margin } = plane(options.width ?? 300, options.height ?? 200, [-0.5, rows.length - 0.5], range,
    { columns: rows.map((row, i) => [i, String(row.n_heads)]), x: say('H'), label, rows: 4, ...options });
  if (floor) picture.append(svg('line', { class: 'dashed k-floor', x1: margin.left, x2: (options.width ?? 300) - margin.right, y1: y(floor), y2: y(floor) }));
  const means = rows.map((row, i) => [x(i), y(spread(valuesOf(row)).mean)]).filter(p => Number.isFinite(p[1]));
  picture.append(svg('path', { class: `curve k-${color}`, d: path(means) }));
  rows.forEach((row, i) => valuesOf(row).forEach((v, k) => picture.append(svg('circle', { class: `seed f-${color}`, cx: x(i) + 5 * (k - (valuesOf(row).length - 1) / 2), cy: y(v), r: 4.5 },
    svg('title', {}, `${row.n_heads}: ${options.percent ? percent(v) : fixed(v, 4)} (seed ${row.seeds[k]})`)))));
  return el('figure', {}, el('figcaption', {}, label), picture);
}

function compareSection() {
  const { rows, floor, without_reading: reading, conclusion, complete } = page.compare;
  const th = (text, attributes = {}) => el('th', { scope: 'col', ...attributes }, text);
  const share = x => fixed(100 * x, 1), loss = x => fixed(x, 4);
  const hasFacts = rows.some(row => row.facts_total.length);
  const main = el('table', {}, el('thead', {}, el('tr', {},
    ...[say('H'), say('D'), say('parameters'), say('seeds'), say('val'), say('range')].map(t => th(t)),
    ...(hasFacts ? [th(`${say('factsRight')}, %`), th(say('range'))] : []), th(say('seconds')))),
  el('tbody', {}, ...rows.map(row => el('tr', {},
    ...[row.n_heads, row.head_dim, whole(row.parameters), row.seeds.length, shownSpread(row.loss, loss), shownRange(row.loss, loss)].map(t => el('td', {}, String(t))),
    ...(hasFacts ? [el('td', {}, shownSpread(row.facts_total, share)), el('td', {}, shownRange(row.facts_total, share))] : []),
    el('td', {}, fixed(spread(row.seconds).mean, 1))))));
  const kinds = rows[0]?.facts.map(([name]) => name) ?? [];
  const values = (row, kind) => row.facts.find(([name]) => name === kind)?.[1] ?? [];
  const legend = el('ul', { class: 'legend' });
  const floorText = `${say('floor')} = ${fixed(floor ?? NaN, 4)}`;
  if (nearFloor(rows.flatMap(row => row.loss), floor)) legend.append(legendEntry(floorText, { class: 'dashed k-floor', 'stroke-width': 2 }));
  else if (floor) legend.append(el('li', {}, floorText));
  const parts = [
    complete ? null : el('p', { class: 'note' }, say('incomplete')),
    el('div', { class: 'scroll', tabindex: 0 }, main), el('p', { class: 'soft' }, say('mean') + say('points')), legend,
    dots(`${say('val')} (${say('nats')})`, rows, row => row.loss, 0, { floor, width: narrow() ? 340 : 960, height: narrow() ? 220 : 280, left: 56 }),
  ];
  if (kinds.length) {
    const line = (name, of) => el('tr', {}, el('td', {}, name), ...rows.map(row => shade(el('td', {}, shownSpread(of(row), share)), (spread(of(row)).mean - 0.5) * 2 || 0)));
    parts.push(el('h3', {}, `${say('kinds')}, %`),
      el('div', { class: 'scroll', tabindex: 0 }, el('table', {},
        el('thead', {}, el('tr', {}, th(say('kind')), ...rows.map(row => th(`H ${row.n_heads}`)))),
        el('tbody', {}, ...kinds.map(kind => line(kind, row => values(row, kind))), line(say('allFacts'), row => row.facts_total)))),
      reading ? el('p', { class: 'soft' }, say('reading').replace('{a}', percent(reading[0])).replace('{b}', percent(reading[1]))) : null,
      el('div', { class: 'grid' }, ...kinds.map((kind, i) => dots(`${kind}, %`, rows, row => values(row, kind), i % 8, { percent: true }))));
  }
  parts.push(el('h3', {}, say('conclusion')), el('ul', { class: 'said' }, ...conclusion.map(text => el('li', {}, both(text)))));
  return section('compare', ...parts);
}

// ---- the page -----------------------------------------------------------------------------------------------

/** One of several views, kept in the address. */
function toggle(key, value, text) {
  return el('button', { type: 'button', 'data-set': value, 'aria-pressed': state[key] === value, lang: value === 'zh' ? 'zh-CN' : null, onclick: () => {
    state[key] = value;
    putInAddress({ [key]: value });
    build();
    document.querySelector(`[data-set="${value}"]`)?.focus({ preventScroll: true });
  } }, text);
}

/** What depends on colours that only a script can draw. */
const repaint = [];

function build() {
  repaint.length = 0;
  root.lang = state.lang === 'zh' ? 'zh-CN' : 'en';
  root.dataset.theme = state.theme;
  const sections = [
    page.facts.length && factsSection, page.curves && curvesSection, page.compare && compareSection, page.samples.length && samplesSection,
    page.attention && attentionSection, page.heads.length && headsSection, page.prune && pruneSection,
  ].filter(Boolean).map(make => make());
  const jump = made => el('a', { href: `#${made.id}`, onclick: event => {
    event.preventDefault();
    made.scrollIntoView({ behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
  } }, say(made.id));
  document.getElementById('page').replaceChildren(
    el('header', {},
      el('div', {}, el('h1', {}, page.title), el('div', { class: 'soft' }, page.made_by)),
      el('div', { class: 'buttons' }, toggle('lang', 'en', 'English'), toggle('lang', 'zh', '中文')),
      el('div', { class: 'buttons' }, toggle('theme', 'light', say('light')), toggle('theme', 'dark', say('dark')))),
    ...(sections.length > 1 ? [el('nav', { 'aria-label': page.title }, ...sections.map(jump))] : []),
    ...page.notes.map(text => el('p', { class: 'note' }, both(text))),
    el('main', {}, ...sections),
    el('footer', {}, page.attention ? say('link') : ''));
  repaint.forEach(draw => draw());
}

readAddress();
build();
addEventListener('hashchange', () => { readAddress(); build(); });
dark.addEventListener('change', () => { if (!asked().has('theme')) { readAddress(); build(); } });
}
