// Losses, and what runs beside them.

/** Where a picture of losses ends at the top: a spike may leave it; a curve that is flattened says nothing. */
function topOfLosses({ train, val, final_val: last, start }) {
  const highest = Math.max(largest([...train, ...val].map(p => p[1])), start ?? 0, last?.loss ?? 0);
  return 1.04 * (start ? Math.min(highest, 1.6 * start) : highest) || 1;
}

/** From 0, a run that was soon near its floor is a flat line: then the logarithm shows more. */
function scaleAtFirst() {
  const [losses, [low, high]] = page.curves
    ? [(page.curves.smooth.length ? page.curves.smooth : page.curves.val).map(p => p[1]), [0, topOfLosses(page.curves)]]
    : page.runs ? [page.runs.rows.flatMap(row => lineOf(row).map(p => p[1])), rangeOfRuns(false)] : [[], [0, 1]];
  const flat = losses.filter(loss => loss - low < 0.2 * (high - low));
  return flat.length > losses.length / 2 && losses.every(loss => loss > 0) ? 'log' : 'linear';
}

const near = (points, step) => points.reduce((best, p) => !best || Math.abs(p[0] - step) < Math.abs(best[0] - step) ? p : best, null);

/** What runs beside the losses: each a low picture under theirs, with the same steps. */
function besideLosses(width, steps) {
  const all = [['lr', 'rate', page.curves.lr], ['gradNorm', 'norm', page.curves.grad_norm], ['speed', 'perSecond', page.curves.tokens_per_s]];
  const there = all.filter(([, , points]) => points?.length > 1);
  return there.map(([key, word, points], i) => {
    const values = points.map(p => p[1]), low = smallest(values), high = largest(values);
    const log = key === 'gradNorm' && low > 0 && high > 30 * low;
    const isLast = i === there.length - 1, label = log ? `${say(key)} (${say('onLog')})` : say(key);
    const drawn = plane(width, isLast ? 146 : 110, steps, log ? [low / 1.2, high * 1.2] : [0, 1.08 * high || 1],
      { label, y: label, log, rows: 3, ...(isLast ? { x: say('step') } : { bottom: 8, columns: [] }) });
    drawn.picture.setAttribute('data-of', key);
    drawn.picture.append(svg('path', { class: 'curve fine k-4', d: path(points.map(([step, value]) => [drawn.x(step), drawn.y(value)])) }));
    return { ...drawn, key, word, points };
  });
}

function curvesSection() {
  const { train, smooth, val, start, floor, val_tokens: onTheWay, final_val: last } = page.curves;
  const measured = [...train, ...val, ...(last ? [[last.step, last.loss]] : [])];
  const steps = [smallest(measured.map(p => p[0])), 0];
  steps[1] = Math.max(largest(measured.map(p => p[0])), steps[0] + 1);
  const top = topOfLosses(page.curves);
  const width = narrow() ? 340 : 1000, height = narrow() ? 260 : 420;
  const lowest = smallest([...measured.map(p => p[1]), start, floor].filter(v => v > 0));
  const log = state.scale === 'log' && Number.isFinite(lowest);
  const { picture, x, y, margin } = plane(width, height, steps, [log ? 0.85 * lowest : 0, top], { x: say('step'), y: say('lossAxis'), label: `${say('curves')} (${say('nats')})`, log });
  const place = ([step, loss]) => [x(step), y(Math.min(loss, top))];
  const level = (value, kind) => picture.append(svg('line', { class: `dashed k-${kind}`, x1: margin.left, x2: width - margin.right, y1: y(value), y2: y(value) }));
  const legend = el('ul', { class: 'legend' });
  const onTokens = (key, n) => filled(key, { n: whole(n) });
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
    legend.append(legendEntry(last && onTheWay ? onTokens('valOnTheWay', onTheWay) : say('val'), { class: 'k-val', 'stroke-width': 3 }));
  }
  if (last) {
    const [cx, cy] = place([last.step, last.loss]);
    const told = onTokens(last.all ? 'valAtEnd' : 'valAtEndSome', last.tokens);
    picture.append(svg('circle', { class: 'hollow k-val', id: 'final-loss', cx, cy, r: 5.5 }, svg('title', {}, `${told}: ${fixed(last.loss, 4)}`)));
    legend.append(el('li', {}, swatch(svg('circle', { class: 'hollow k-val', cx: 13, cy: 5, r: 4 })), told));
  }
  if (start) { level(start, 'start'); legend.append(legendEntry(`${say('start')} = ${fixed(start, 2)}`, { class: 'dashed k-start', 'stroke-width': 2 })); }
  if (floor) { level(floor, 'floor'); legend.append(legendEntry(`${say('floor')} = ${fixed(floor, 3)}`, { class: 'dashed k-floor', 'stroke-width': 2 })); }

  const beside = besideLosses(width, steps);
  const readout = el('div', { class: 'readout two', 'aria-live': 'polite' }, say('curvesHint'));
  const cursors = [{ picture, margin, height }, ...beside].map(({ picture: of, margin: inside }) => {
    const bottom = Number(of.getAttribute('viewBox').split(' ')[3]) - inside.bottom;
    const line = svg('line', { class: 'cursor', y1: inside.top, y2: bottom, visibility: 'hidden' });
    of.append(line);
    return line;
  });
  let at = steps[1];
  function show(step) {
    const anchor = near(train.length ? train : measured, step);
    if (!anchor) return;
    at = anchor[0];
    cursors.forEach(line => fill(line, { x1: x(at), x2: x(at), visibility: 'visible' }, []));
    const losses = [['train', train], ['smooth', smooth], ['val', val]].flatMap(([key, points]) => {
      const p = near(points, at);
      const where = p && key === 'val' && p[0] !== at ? ` (${say('step')} ${whole(p[0])})` : '';
      return p ? [`${say(key)} ${fixed(p[1], 4)}${where}`] : [];
    });
    if (last?.step === at) losses.push(`${onTokens(last.all ? 'valAtEnd' : 'valAtEndSome', last.tokens)} ${fixed(last.loss, 4)}`);
    const others = beside.map(({ key, word, points }) => {
      const value = near(points, at)[1];
      return `${say(word)} ${key === 'speed' ? whole(Math.round(value)) : Number(value.toPrecision(3))}`;
    });
    readout.textContent = [`${say('step')} ${whole(at)}`, ...losses, ...others].join(' · ');
  }
  const point = event => {
    const box = event.currentTarget.getBoundingClientRect();
    const inside = (event.clientX - box.left) / box.width * width;
    show(steps[0] + (inside - margin.left) / (width - margin.left - margin.right) * (steps[1] - steps[0]));
  };
  for (const of of [picture, ...beside.map(b => b.picture)]) fill(of, { onpointermove: point, onpointerdown: point }, []);
  fill(picture, { tabindex: 0, onkeydown: event => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const points = train.length ? train : measured, i = points.indexOf(near(points, at));
    show(points[within(i + by * Math.max(1, Math.round(points.length / 100)), points.length)][0]);
  } }, []);
  return section('curves',
    choice('scale', toggle('scale', 'linear', say('linear')), toggle('scale', 'log', say('log'))),
    legend, el('figure', {}, picture), readout, ...beside.map(b => el('figure', {}, b.picture)));
}
