// Numbers of heads, or other settings, side by side.

/** NaN of none, which is shown as a dash. */
const meanOf = values => values.reduce((a, b) => a + b, 0) / values.length;
function spread(values, show) {
  const n = values.length, mean = meanOf(values);
  const deviation = n > 1 ? ` ± ${show(Math.sqrt(values.reduce((s, x) => s + (x - mean) ** 2, 0) / (n - 1)))}` : '';
  return show(mean) + deviation;
}
const range = (values, show) => values.length ? `${show(smallest(values))}–${show(largest(values))}` : '–';

/** Whether a picture of these values has room for the floor. */
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
  const limits = options.range ?? [Math.min(...all) - 0.12 * span, Math.max(...all) + 0.12 * span];
  const { picture, x, y, level, line } = plane(options.width ?? 300, options.height ?? 200, [-0.5, rows.length - 0.5], limits,
    { columns: rows.map((row, i) => [i, row.values]), x: page.compare.by_heads ? say('H') : page.compare.differ_in, label, rows: 4, ...options });
  if (floor) picture.append(level(floor, 'dashed k-floor'));
  const means = rows.map((row, i) => [i, meanOf(valuesOf(row))]).filter(p => Number.isFinite(p[1]));
  // Between numbers a line says how it goes on; between names it would say nothing.
  picture.append(line(means, `k-${color}`, inOrder(rows) ? {} : { d: means.map(([i, mean]) => `M${x(i) - 11} ${y(mean)}h22`).join('') }));
  rows.forEach((row, i) => valuesOf(row).forEach((v, k) => picture.append(svg('circle', { class: `seed f-${color}`, cx: x(i) + 5 * (k - (valuesOf(row).length - 1) / 2), cy: y(v), r: 4.5 },
    svg('title', {}, `${both(row.name)}: ${options.percent ? percent(v, 1) : fixed(v, 4)} (seed ${row.seeds[k]})`)))));
  return figure(label, picture);
}

function compareSection() {
  const { rows, floor, without_reading: reading, conclusion, complete, by_heads, differ_in, ladder } = page.compare;
  const share = x => fixed(100 * x, 1), loss = x => fixed(x, 4);
  const hasFacts = rows.some(row => row.facts_total.length);
  const main = table([
    ...(by_heads ? [say('H'), say('D')] : [differ_in]), say('parameters'), say('seeds'), say('val'), say('range'),
    ...(hasFacts ? [`${say('factsRight')}, %`, say('range')] : []), say('seconds'),
  ], rows.map(row => [
    ...(by_heads ? [row.n_heads, row.head_dim] : [row.values]), whole(row.parameters), row.seeds.length, spread(row.loss, loss), range(row.loss, loss),
    ...(hasFacts ? [spread(row.facts_total, share), range(row.facts_total, share)] : []), fixed(meanOf(row.seconds), 1),
  ]));
  const costs = rows.filter(row => row.costs);
  const lengths = costs[0]?.costs.at_lengths.map(([times]) => times) ?? [];
  const lossAt = (of, i) => of.refused && lengths[i] > 1 ? say('refused') : spread(of.at_lengths[i][1], loss);
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
    main, soft(say('mean') + say(inOrder(rows) ? 'points' : 'pointsOfNames')), legend,
    dots(`${say('val')} (${say('nats')})`, rows, row => row.loss, 0, { floor, width: narrow() ? 340 : 960, height: narrow() ? 220 : 280, left: 56 }),
  ];
  if (ladder) parts.push(...ladderParts(ladder, rows));
  if (costs.length) parts.push(el('h3', {}, say('costs')), table(
    [differ_in, say('stepTime'), say('perSecond'), say('cacheBytes'), ...lengths.map(n => `${say('lossAt')} ${n}×`)],
    costs.map(({ values, costs: of }) => [values, fixed(meanOf(of.step_ms), 2), whole(meanOf(of.tokens_per_s)), whole(of.cache_bytes), ...lengths.map((_, i) => lossAt(of, i))])),
  soft(say('lengths') + (costs.some(row => row.costs.refused) ? say('refusedWhy') : '')));
  if (kinds.length) {
    const line = (name, of) => [name, ...rows.map(row => shade(spread(of(row), share), (meanOf(of(row)) - 0.5) * 2 || 0))];
    parts.push(el('h3', {}, `${say('kinds')}, %`),
      table([say('kind'), ...rows.map(row => both(row.name))], [...kinds.map(kind => line(kindName(kind), row => values(row, kind))), line(say('allFacts'), row => row.facts_total)]),
      reading ? soft(say('reading', { a: percent(reading[0], 1), b: percent(reading[1], 1) })) : null,
      soft(say('oneScale')),
      el('div', { class: 'grid' }, ...kinds.map((kind, i) => dots(`${kindName(kind)}, %`, rows, row => values(row, kind), i % 8, { percent: true, range: shares }))));
  }
  parts.push(el('h3', {}, say('conclusion')), el('ul', { class: 'said' }, ...conclusion.map(text => el('li', {}, both(text)))));
  return section('compare', ...parts);
}
