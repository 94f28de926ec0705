// Who looks at whom.

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

const score = (row, name) => row.scores.find(([n]) => n === name)?.[1] ?? NaN;
/** How much of the way from even attention to all of it. */
const wayBeyond = (share, even) => even >= 1 ? 0 : (share - even) / (1 - even) || 0;
/** There is little to be had at these places. */
const IDLE = ['first', 'itself'];

/** The heads that stand out the farthest from even attention: the best of each role before a second one of it. */
function strongest() {
  const even = { scores: page.even };
  const found = page.heads.filter(row => row.evidence && Number.isFinite(score(row, row.evidence))).map(row => {
    const [share, from] = [score(row, row.evidence), score(even, row.evidence) || 0];
    return { row, share, from, way: wayBeyond(share, from), idle: IDLE.includes(row.evidence) };
  });
  found.sort((a, b) => a.idle - b.idle || b.way - a.way);
  const roles = new Set();
  const second = found.filter(({ row }) => roles.has(row.evidence) || !roles.add(row.evidence));
  return [...found.filter(of => !second.includes(of)), ...second].slice(0, 4);
}

/** Weights that are not on the first token or the token itself: where they are and how much. */
const elsewhere = row => row.reduce((best, weight, j) => j > 0 && j < row.length - 1 && weight > best[0] ? [weight, j] : best, [0, -1]);

/** The head shown first looks at something. */
function headAtFirst() {
  const best = strongest().find(({ row }) => page.attention.layers[row.layer]?.[row.head]);
  if (best) return [best.row.layer, best.row.head];
  const means = page.attention.layers.flatMap((heads, layer) => heads.map((rows, head) =>
    [rows.reduce((sum, row) => sum + elsewhere(row)[0], 0), layer, head]));
  return means.reduce((a, b) => b[0] > a[0] ? b : a, [-1, 0, 0]).slice(1);
}

/** The query shown first: of those with most weight on one earlier place, one in the middle of the text. */
function tokenAtFirst(rows) {
  const middle = Math.floor(rows.length * 2 / 3);
  const weights = rows.map((row, i) => i < Math.min(8, rows.length >> 2) ? 0 : elsewhere(row)[0]);
  const most = largest(weights);
  if (!(most > 0)) return middle;
  return weights.reduce((best, weight, i) => weight >= 0.97 * most && (best < 0 || Math.abs(i - middle) < Math.abs(best - middle)) ? i : best, -1);
}

/** What stands out, in sentences; with `show`, each leads to its head. */
function strongestList(show) {
  if (!page.heads.length) return null;
  const found = strongest();
  if (!found.length) return el('p', {}, say('nothing'));
  const told = ({ row, share, from }) => filled('looksAt', { layer: row.layer, head: row.head, role: both(row.role), share: percent(share, 0), even: percent(from, 0) });
  const entry = of => show && page.attention.layers[of.row.layer]?.[of.row.head]
    ? el('button', { type: 'button', 'data-strong': `${of.row.layer}.${of.row.head}`, onclick: () => show(of.row) }, told(of)) : told(of);
  return el('div', { class: 'strongest' }, el('p', { class: 'soft' }, say('strongest')), el('ul', {}, ...found.map(of => el('li', {}, entry(of)))));
}

/** The tokens beside a map of n × n, as many as fit; the query and its key are always there. */
function mapAxes(tokens) {
  const n = tokens.length, width = narrow() ? 330 : 480, letters = 8;
  const cut = text => [...seen(text)].length > letters ? [...seen(text)].slice(0, letters - 1).join('') + '…' : seen(text);
  const shown = tokens.map(cut), longest = largest(shown.map(t => [...t].length)), upright = longest === 1;
  const room = Math.round(longest * 6.6) + 8, left = room + 16, top = (upright ? 16 : room) + 18;
  const side = width - left - 6, cell = side / n;
  const picture = svg('svg', { viewBox: `0 0 ${width} ${top + side + 4}`, 'aria-hidden': 'true' });
  const place = (i, down, kind) => {
    const middle = (i + 0.5) * cell;
    const at = down ? { x: left - 5, y: top + middle + 3.5, 'text-anchor': 'end' }
      : upright ? { x: left + middle, y: top - 5, 'text-anchor': 'middle' }
        : { transform: `translate(${left + middle + 3.5} ${top - 5}) rotate(-90)` };
    return svg('text', { class: kind, ...at }, shown[i]);
  };
  const every = size => Math.max(1, Math.ceil(size / cell));
  const marks = (size, down) => tokens.map((_, i) => i).filter(i => i % every(size) === 0).map(i => place(i, down, 'mark'));
  picture.append(...marks(11, true), ...marks(upright ? 8 : 11, false),
    svg('text', { class: 'name', x: left, y: 11 }, `${say('lookedAt')} →`),
    svg('text', { class: 'name', 'text-anchor': 'end', transform: `translate(11 ${top}) rotate(-90)` }, `← ${say('looks')}`));
  const chosen = svg('g', {});
  picture.append(chosen);
  const choose = (i, j) => chosen.replaceChildren(place(i, true, 'chosen'), ...(j >= 0 ? [place(j, false, 'chosen')] : []));
  const share = (part, of) => `${(100 * part / of).toFixed(3)}%`;
  const around = canvas => {
    Object.assign(canvas.style, { left: share(left, width), top: share(top, top + side + 4), width: share(side, width) });
    return el('div', { class: 'map' }, picture, canvas);
  };
  return { around, choose };
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
  const axes = mapAxes(tokens);
  const text = el('div', { class: 'shaded', tabindex: 0, role: 'group', 'aria-label': say('token') });
  const spans = tokens.map((token, i) => el('span', { 'data-i': i }, inText(token)));
  text.append(...spans);
  const readout = el('div', { class: 'readout two', id: 'weights', 'aria-live': 'polite' });
  const pointed = el('div', { class: 'readout' });
  const role = el('p', { class: 'role' });
  const multiples = layers.flatMap((heads, layer) => heads.map((head, h) => {
    const canvas = el('canvas', { 'aria-hidden': 'true' });
    const button = el('button', { type: 'button', 'data-head': `${layer}.${h}`, onclick: () => choose({ layer, head: h }) }, canvas, `${say('layer')} ${layer} · ${say('head')} ${h}`);
    return { layer, h, head, canvas, button };
  }));
  const found = strongestList(row => choose({ layer: row.layer, head: row.head, token: tokenAtFirst(layers[row.layer][row.head]) }));

  function show() {
    headSelect.replaceChildren(...(layers[state.layer] ?? []).map((_, i) => option(i, state.head)));
    layerSelect.value = state.layer;
    slider.value = state.token;
    slider.setAttribute('aria-valuetext', `i = ${state.token}, “${seen(tokens[state.token])}”`);
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
    axes.choose(state.token, best[0]?.[1] ?? -1);
    const known = page.heads.find(row => row.layer === state.layer && row.head === state.head);
    const name = `${say('layer')} ${state.layer} · ${say('head')} ${state.head}`;
    role.textContent = known && both(known.role) ? `${name}: ${both(known.role)}` : name;
    fill(matrix, { 'data-layer': state.layer, 'data-head': state.head, 'data-token': state.token, 'aria-label': role.textContent }, []);
    paint(matrix, rows(), state.token);
    for (const { layer, h, button } of multiples) button.setAttribute('aria-pressed', layer === state.layer && h === state.head);
    for (const button of found?.querySelectorAll('button') ?? []) {
      button.setAttribute('aria-pressed', button.getAttribute('data-strong') === `${state.layer}.${state.head}`);
    }
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
    pointed.textContent = j > i ? '' : `P[${i}, ${j}]: “${seen(tokens[i])}” → “${seen(tokens[j])}” ${percent((rows()[i]?.[j] ?? 0) / STEPS)}`;
  } }, []);
  fill(text, { onkeydown: keys, onclick: event => {
    const i = event.target.getAttribute('data-i');
    if (i !== null) choose({ token: i });
  } }, []);
  const stepper = (by, label, sign) => el('button', { type: 'button', 'aria-label': label, title: label, onclick: () => choose({ token: state.token + by }) }, sign);
  repaint.push(() => { multiples.forEach(({ canvas, head }) => paint(canvas, head)); show(); });
  return section('attention',
    found,
    el('p', { class: 'soft' }, say('attentionHint')),
    el('div', { class: 'controls' },
      el('label', {}, say('layer'), layerSelect), el('label', {}, say('head'), headSelect),
      el('div', { class: 'buttons' }, stepper(-1, say('previous'), '←'), stepper(1, say('next'), '→')),
      el('label', { class: 'wide' }, el('span', {}, `${say('token')} `, slideLabel), slider)),
    role,
    el('div', { class: 'attention' },
      el('figure', {}, axes.around(matrix), el('div', { class: 'soft' }, say('matrix')), pointed),
      el('div', {}, text, readout, el('h3', {}, say('all')), ...layers.map((_, layer) => el('div', { class: 'heads' }, ...multiples.filter(m => m.layer === layer).map(m => m.button))))));
}
