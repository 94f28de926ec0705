// Who looks at whom.

/** There is little to be had at these places. */
const IDLE = ['first', 'itself'];

/** The heads that stand out the farthest from even attention: the best of each role before a second one of it. */
function strongest() {
  const found = page.heads.filter(row => row.evidence && Number.isFinite(score(row, row.evidence))).map(row => {
    const [share, from] = [score(row, row.evidence), score(evenly, row.evidence) || 0];
    return { row, share, from, way: wayBeyond(share, from), idle: IDLE.includes(row.evidence) };
  });
  found.sort((a, b) => a.idle - b.idle || b.way - a.way);
  const roles = new Set();
  const second = found.filter(({ row }) => roles.has(row.evidence) || !roles.add(row.evidence));
  return [...found.filter(of => !second.includes(of)), ...second].slice(0, 4);
}

/** Kinds of tokens that a head may rest on, whatever asks. */
const RESTS = [
  ['lineEnds', token => token.includes('↵')],
  ['firstToken', (_, j) => j === 0],
  ['separators', token => !/[\p{L}\p{N}]/u.test(token)],
];
/** A head rests on such tokens if they have at least this share of its weight. */
const RESTING = 1 / 3;

/** Where heads rest in the text that is shown: a mean over its queries but the first, of those that have such a token before them. */
function resting() {
  if (!maps) return [];
  const rest = (rows, layer, head) => RESTS.map(([kind, is]) => {
    const on = page.attention.tokens.map(is), sums = [0, 0];
    let queries = 0;
    for (let i = 1, places = Number(on[0]); i < rows.length; i += 1) {
      places += on[i];
      if (!places) continue;
      queries += 1;
      sums[0] += rows[i].reduce((sum, weight, j) => sum + (on[j] ? weight : 0), 0);
      sums[1] += places / (i + 1);
    }
    const [share, from] = sums.map(sum => sum / Math.max(queries, 1));
    return { row: { layer, head }, kind, share, from, way: wayBeyond(share, from) };
  }).filter(({ share, from }) => share >= Math.max(RESTING, 2 * from)).sort((a, b) => b.way - a.way)[0];
  const found = maps.flatMap((heads, layer) => heads.map((rows, head) => rest(rows, layer, head)));
  return found.filter(Boolean).sort((a, b) => b.way - a.way).slice(0, 4);
}

/** Weights that are not on the first token or the token itself: where they are and how much. */
const elsewhere = row => row.reduce((best, weight, j) => j > 0 && j < row.length - 1 && weight > best[0] ? [weight, j] : best, [0, -1]);

/** The head shown first looks at something. */
function headAtFirst() {
  const best = [...strongest(), ...resting()].find(({ row }) => maps[row.layer]?.[row.head]);
  if (best) return [best.row.layer, best.row.head];
  const means = maps.flatMap((heads, layer) => heads.map((rows, head) =>
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
  const jobs = strongest(), found = jobs.length ? jobs : resting();
  if (!found.length) return el('p', {}, say('noJob'));
  const told = ({ row, kind, share, from }) =>
    say(kind ? 'restsOn' : 'looksAt', { layer: row.layer, head: row.head, role: kind ? say(kind) : both(row.role), share: percent(share), even: percent(from) });
  const entry = of => show && maps[of.row.layer]?.[of.row.head]
    ? el('button', { type: 'button', 'data-strong': `${of.row.layer}.${of.row.head}`, onclick: () => show(of.row) }, told(of)) : told(of);
  return el('div', { class: 'strongest' }, soft(say(jobs.length ? 'strongest' : 'resting')), el('ul', {}, ...found.map(of => el('li', {}, entry(of)))));
}

function attentionSection() {
  const { tokens } = page.attention;
  const n = tokens.length;
  const option = (i, chosen) => el('option', { value: i, selected: i === chosen }, String(i));
  const layerSelect = el('select', { id: 'layer', onchange: e => choose({ layer: e.target.value }) }, ...maps.map((_, i) => option(i, view.layer)));
  const headSelect = el('select', { id: 'head', onchange: e => choose({ head: e.target.value }) });
  const slider = el('input', { id: 'token', type: 'range', min: 0, max: n - 1, value: view.token, oninput: e => choose({ token: e.target.value }) });
  const slideLabel = el('span', { class: 'where' });
  // A token by itself shows its spaces, as it does in the data; in running text they are spaces again.
  const spans = tokens.map((token, i) => el('span', { 'data-i': i }, token.replaceAll('␣', ' ').replaceAll('↵', '↵\n')));
  const readout = el('div', { class: 'readout two', id: 'weights', 'aria-live': 'polite' });
  const pointed = el('div', { class: 'readout' });
  const role = el('p', { class: 'role' });
  const multiples = maps.map((heads, layer) => heads.map((rows, h) => {
    const canvas = el('canvas', { 'aria-hidden': 'true' });
    paint(canvas, rows.length, i => rows[i]);
    return el('button', { type: 'button', 'data-head': `${layer}.${h}`, onclick: () => choose({ layer, head: h }) }, canvas, headName(layer, h));
  }));
  const found = strongestList(row => choose({ layer: row.layer, head: row.head, token: tokenAtFirst(maps[row.layer][row.head]) }));

  function show() {
    const { layer, head, token } = view, rows = rowsShown(), weights = rows[token] ?? [], most = Math.max(...weights, 1e-4);
    headSelect.replaceChildren(...(maps[layer] ?? []).map((_, i) => option(i, head)));
    layerSelect.value = layer;
    slider.value = token;
    slider.setAttribute('aria-valuetext', `i = ${token}, “${seen(tokens[token])}”`);
    slideLabel.textContent = `i = ${token} (0–${n - 1}): “${seen(tokens[token])}”`;
    shadeText(spans, token, i => (weights[i] ?? 0) / most, 0.75);
    spans.forEach((span, i) => { span.title = i <= token ? percent(weights[i] ?? 0, 1) : ''; });
    const best = weights.map((w, i) => [w, i]).sort((a, b) => b[0] - a[0]).slice(0, 4).filter(([w]) => w > 0);
    readout.textContent = `${say('most')}: ` + best.map(([w, i]) => `“${seen(tokens[i])}” j = ${i}, ${percent(w, 1)}`).join(' · ');
    beside.choose(token, best[0]?.[1] ?? -1);
    const known = page.heads.find(row => row.layer === layer && row.head === head);
    role.textContent = headName(layer, head) + (known && both(known.role) ? `: ${both(known.role)}` : '');
    fill(matrix, { 'data-layer': layer, 'data-head': head, 'data-token': token, 'aria-label': role.textContent });
    paint(matrix, n, i => rows[i] ?? [], token);
    for (const button of [...multiples.flat(), ...found?.querySelectorAll('button') ?? []]) {
      button.setAttribute('aria-pressed', (button.dataset.head ?? button.dataset.strong) === `${layer}.${head}`);
    }
  }
  function choose(change) {
    const layer = index(change.layer ?? view.layer, maps.length);
    look({ layer, head: index(change.head ?? view.head, maps[layer]?.length ?? 0), token: index(change.token ?? view.token, n) });
    show();
  }
  const onkeydown = onKeys({ ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }, by => choose({ token: view.token + by }));
  const matrix = el('canvas', { class: 'matrix', tabindex: 0, role: 'img', onkeydown, onclick: event => choose({ token: cellAt(event, n)[0] }), onpointermove: event => {
    const [i, j] = cellAt(event, n);
    pointed.textContent = j > i ? '' : `P[${i}, ${j}]: “${seen(tokens[i])}” → “${seen(tokens[j])}” ${percent(rowsShown()[i]?.[j] ?? 0, 1)}`;
  } });
  const beside = axes(tokens, narrow() ? 330 : 480, say('looks'), say('lookedAt'), 11);
  beside.cover(matrix);
  const text = el('div', { class: 'shaded', tabindex: 0, role: 'group', 'aria-label': say('token'), onkeydown, onclick: event => {
    const i = event.target.getAttribute('data-i');
    if (i !== null) choose({ token: i });
  } }, ...spans);
  const stepper = (by, label, sign) => el('button', { type: 'button', 'aria-label': label, title: label, onclick: () => choose({ token: view.token + by }) }, sign);
  show();
  return section('attention',
    found,
    soft(say('attentionHint')),
    el('div', { class: 'controls' },
      el('label', {}, say('layer'), layerSelect), el('label', {}, say('head'), headSelect),
      el('div', { class: 'buttons' }, stepper(-1, say('previous'), '←'), stepper(1, say('next'), '→')),
      el('label', { class: 'wide' }, el('span', {}, `${say('token')} `, slideLabel), slider)),
    role,
    el('div', { class: 'attention' },
      el('figure', {}, el('div', { class: 'map' }, beside.picture, matrix), el('div', { class: 'soft' }, say('matrix')), pointed),
      el('div', {}, text, readout, el('h3', {}, say('all')), ...multiples.map(buttons => el('div', { class: 'heads' }, ...buttons)))));
}
