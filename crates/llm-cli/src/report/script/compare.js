// Numbers of heads, or other settings, side by side.

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

/** One range for the shares in all small pictures, so that their heights can be compared. */
function rangeOfShares(shares) {
  const low = smallest(shares), high = largest(shares), room = Math.max(0.12 * (high - low), 0.03);
  return [Math.max(0, low - room), Math.min(1.02, high + room)];
}

const inOrder = rows => rows.every(row => Number.isFinite(Number(row.values)));

/** A panel: each seed a point, a line through the means of numbers, a dash for the mean of what has a name. */
function dots(label, rows, valuesOf, color, options = {}) {
  const all = rows.flatMap(valuesOf);
  if (!all.length) return null;
  // A floor far below would make one point of all seeds.
  const floor = nearFloor(all, options.floor) ? options.floor : null;
  if (floor) all.push(floor);
  const span = Math.max(...all) - Math.min(...all) || Math.abs(all[0]) * 0.02 || 0.01;
  const range = [Math.min(...all) - 0.12 * span, Math.max(...all) + 0.12 * span];
  const { picture, x, y, margin } = plane(options.width ?? 300, options.height ?? 200, [-0.5, rows.length - 0.5], options.range ?? range,
    { columns: rows.map((row, i) => [i, row.values]), x: page.compare.by_heads ? say('H') : page.compare.differ_in, label, rows: 4, ...options });
  if (floor) picture.append(svg('line', { class: 'dashed k-floor', x1: margin.left, x2: (options.width ?? 300) - margin.right, y1: y(floor), y2: y(floor) }));
  const means = rows.map((row, i) => [x(i), y(spread(valuesOf(row)).mean)]).filter(p => Number.isFinite(p[1]));
  // Between numbers a line says how it goes on; between names it would say nothing.
  const d = inOrder(rows) ? path(means) : means.map(([cx, cy]) => `M${cx - 11} ${cy}h22`).join('');
  picture.append(svg('path', { class: `curve k-${color}`, d }));
  rows.forEach((row, i) => valuesOf(row).forEach((v, k) => picture.append(svg('circle', { class: `seed f-${color}`, cx: x(i) + 5 * (k - (valuesOf(row).length - 1) / 2), cy: y(v), r: 4.5 },
    svg('title', {}, `${both(row.name)}: ${options.percent ? percent(v) : fixed(v, 4)} (seed ${row.seeds[k]})`)))));
  return el('figure', {}, el('figcaption', {}, label), picture);
}

function compareSection() {
  const { rows, floor, without_reading: reading, conclusion, complete, by_heads, differ_in } = page.compare;
  const th = (text, attributes = {}) => el('th', { scope: 'col', ...attributes }, text);
  const share = x => fixed(100 * x, 1), loss = x => fixed(x, 4);
  const hasFacts = rows.some(row => row.facts_total.length);
  const main = el('table', {}, el('thead', {}, el('tr', {},
    ...(by_heads ? [say('H'), say('D')] : [differ_in]).map(t => th(t)),
    ...[say('parameters'), say('seeds'), say('val'), say('range')].map(t => th(t)),
    ...(hasFacts ? [th(`${say('factsRight')}, %`), th(say('range'))] : []), th(say('seconds')))),
  el('tbody', {}, ...rows.map(row => el('tr', {},
    ...(by_heads ? [row.n_heads, row.head_dim] : [row.values]).map(t => el('td', {}, String(t))),
    ...[whole(row.parameters), row.seeds.length, shownSpread(row.loss, loss), shownRange(row.loss, loss)].map(t => el('td', {}, String(t))),
    ...(hasFacts ? [el('td', {}, shownSpread(row.facts_total, share)), el('td', {}, shownRange(row.facts_total, share))] : []),
    el('td', {}, fixed(spread(row.seconds).mean, 1))))));
  const costs = rows.filter(row => row.costs);
  const mean = values => values.length ? spread(values).mean : NaN;
  const lengths = costs[0]?.costs.at_lengths.map(([times]) => times) ?? [];
  const lossAt = (costs, i) => costs.refused && lengths[i] > 1 ? say('refused') : shownSpread(costs.at_lengths[i][1], loss);
  const costTable = costs.length ? el('table', {}, el('thead', {}, el('tr', {},
    ...[differ_in, say('stepTime'), say('perSecond'), say('cacheBytes'), ...lengths.map(n => `${say('lossAt')} ${n}×`)].map(t => th(t)))),
  el('tbody', {}, ...costs.map(({ values, costs: of }) => el('tr', {},
    ...[values, fixed(mean(of.step_ms), 2), whole(Math.round(mean(of.tokens_per_s))), whole(of.cache_bytes), ...lengths.map((_, i) => lossAt(of, i))]
      .map(t => el('td', {}, String(t))))))) : null;
  const kinds = rows[0]?.facts.map(([name]) => name) ?? [];
  const values = (row, kind) => row.facts.find(([name]) => name === kind)?.[1] ?? [];
  const shares = rangeOfShares(rows.flatMap(row => kinds.flatMap(kind => values(row, kind))));
  const kindName = name => both(page.kinds.find(([kind]) => kind === name)?.[1] ?? { en: name, zh: name });
  const legend = el('ul', { class: 'legend' });
  const floorText = `${say('floor')} = ${fixed(floor ?? NaN, 4)}`;
  if (nearFloor(rows.flatMap(row => row.loss), floor)) legend.append(legendEntry(floorText, { class: 'dashed k-floor', 'stroke-width': 2 }));
  else if (floor) legend.append(el('li', {}, floorText));
  const parts = [
    complete ? null : el('p', { class: 'note' }, say('incomplete')),
    el('div', { class: 'scroll', tabindex: 0 }, main), el('p', { class: 'soft' }, say('mean') + say(inOrder(rows) ? 'points' : 'pointsOfNames')), legend,
    dots(`${say('val')} (${say('nats')})`, rows, row => row.loss, 0, { floor, width: narrow() ? 340 : 960, height: narrow() ? 220 : 280, left: 56 }),
  ];
  if (costTable) parts.push(el('h3', {}, say('costs')), el('div', { class: 'scroll', tabindex: 0 }, costTable),
    el('p', { class: 'soft' }, say('lengths') + (costs.some(row => row.costs.refused) ? say('refusedWhy') : '')));
  if (kinds.length) {
    const line = (name, of) => el('tr', {}, el('td', {}, name), ...rows.map(row => shade(el('td', {}, shownSpread(of(row), share)), (spread(of(row)).mean - 0.5) * 2 || 0)));
    parts.push(el('h3', {}, `${say('kinds')}, %`),
      el('div', { class: 'scroll', tabindex: 0 }, el('table', {},
        el('thead', {}, el('tr', {}, th(say('kind')), ...rows.map(row => th(both(row.name))))),
        el('tbody', {}, ...kinds.map(kind => line(kindName(kind), row => values(row, kind))), line(say('allFacts'), row => row.facts_total)))),
      reading ? el('p', { class: 'soft' }, say('reading').replace('{a}', percent(reading[0])).replace('{b}', percent(reading[1]))) : null,
      el('p', { class: 'soft' }, say('oneScale')),
      el('div', { class: 'grid' }, ...kinds.map((kind, i) => dots(`${kindName(kind)}, %`, rows, row => values(row, kind), i % 8, { percent: true, range: shares }))));
  }
  parts.push(el('h3', {}, say('conclusion')), el('ul', { class: 'said' }, ...conclusion.map(text => el('li', {}, both(text)))));
  return section('compare', ...parts);
}
