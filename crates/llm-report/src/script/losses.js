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
const scales = () => choice('scale', toggle('scale', 'linear', say('linear')), toggle('scale', 'log', say('log')));
const largePicture = () => narrow() ? [340, 260] : [1000, 420];

const near = (points, step) => points.reduce((best, p) => !best || Math.abs(p[0] - step) < Math.abs(best[0] - step) ? p : best, null);
/** So far an arrow key goes along a line: a hundredth of it. */
const along = (points, step, by) => points[index(points.indexOf(near(points, step)) + by * Math.max(1, Math.round(points.length / 100)), points.length)];

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
    drawn.picture.append(drawn.line(points, 'fine k-4'));
    fill(drawn.picture, { 'data-of': key });
    return { ...drawn, key, word, points };
  });
}

function curvesSection() {
  const { train, smooth, val, start, floor, val_tokens: onTheWay, final_val: last } = page.curves;
  const measured = [...train, ...val, ...(last ? [[last.step, last.loss]] : [])];
  const steps = [smallest(measured.map(p => p[0])), 0];
  steps[1] = Math.max(largest(measured.map(p => p[0])), steps[0] + 1);
  const [width, height] = largePicture();
  const below = smallest([0, ...measured.map(p => p[1])]), ofAnswers = page.rewards || page.pairs;
  const lowest = smallest([...measured.map(p => p[1]), start, floor].filter(v => v > 0));
  const log = view.scale === 'log' && Number.isFinite(lowest) && below === 0;
  const drawn = plane(width, height, steps, [log ? 0.85 * lowest : below, topOfLosses(page.curves)], { x: say('step'), y: ofAnswers ? null : say('lossAxis'), label: ofAnswers ? say('curves') : `${say('curves')} (${say('nats')})`, log });
  const { picture, line, dot, level } = drawn;
  const legend = el('ul', { class: 'legend' });
  const onTokens = (key, n) => say(key, { n: whole(n) });
  const atEnd = last && onTokens(last.all ? 'valAtEnd' : 'valAtEndSome', last.tokens);
  const curve = (points, kind, thickness, told) => {
    picture.append(line(points, kind));
    legend.append(legendEntry(told, { class: kind, 'stroke-width': thickness }));
  };
  if (train.length) curve(train, 'k-train thin', 2, say('train'));
  if (smooth.length) curve(smooth, 'k-train', 3, say('smooth'));
  if (val.length) {
    curve(val, 'k-val', 3, last && onTheWay ? onTokens('valOnTheWay', onTheWay) : say('val'));
    if (val.length <= 60) picture.append(...val.map(p => dot(p, { class: 'f-val', r: 3.5 })));
  }
  if (last) {
    picture.append(dot([last.step, last.loss], { class: 'hollow k-val', id: 'final-loss', r: 5.5 }, `${atEnd}: ${fixed(last.loss, 4)}`));
    legend.append(el('li', {}, swatch(svg('circle', { class: 'hollow k-val', cx: 13, cy: 5, r: 4 })), atEnd));
  }
  for (const [key, value, digits] of [['start', start, 2], ['floor', floor, 3]]) {
    if (!value) continue;
    picture.append(level(value, `dashed k-${key}`));
    legend.append(legendEntry(`${say(key)} = ${fixed(value, digits)}`, { class: `dashed k-${key}`, 'stroke-width': 2 }));
  }

  const beside = besideLosses(width, steps);
  const readout = el('div', { class: 'readout two', 'aria-live': 'polite' }, say('curvesHint'));
  const anchors = train.length ? train : measured;
  let at = steps[1];
  const cursors = [drawn, ...beside].map(of => {
    const cursor = svg('line', { class: 'cursor', y1: of.top, y2: of.bottom, visibility: 'hidden' });
    const point = event => show(of.at(event));
    fill(of.picture, { onpointermove: point, onpointerdown: point }, [cursor]);
    return cursor;
  });
  function show(step) {
    const anchor = near(anchors, step);
    if (!anchor) return;
    at = anchor[0];
    cursors.forEach(cursor => fill(cursor, { x1: drawn.x(at), x2: drawn.x(at), visibility: 'visible' }));
    const losses = [['train', train], ['smooth', smooth], ['val', val]].flatMap(([key, points]) => {
      const p = near(points, at);
      const where = p && key === 'val' && p[0] !== at ? ` (${say('step')} ${whole(p[0])})` : '';
      return p ? [`${say(key)} ${fixed(p[1], 4)}${where}`] : [];
    });
    if (last?.step === at) losses.push(`${atEnd} ${fixed(last.loss, 4)}`);
    const others = beside.map(({ key, word, points }) => {
      const value = near(points, at)[1];
      return `${say(word)} ${key === 'speed' ? whole(value) : Number(value.toPrecision(3))}`;
    });
    readout.textContent = [`${say('step')} ${whole(at)}`, ...losses, ...others].join(' · ');
  }
  fill(picture, { tabindex: 0, onkeydown: onKeys({ ArrowLeft: -1, ArrowRight: 1 }, by => show(along(anchors, at, by)[0])) });
  return section('curves', ...(below < 0 ? [] : [scales()]), legend, el('figure', {}, picture), readout, ...beside.map(b => el('figure', {}, b.picture)));
}
