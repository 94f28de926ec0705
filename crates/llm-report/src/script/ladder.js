// Sizes of a ladder, and the law of their losses.

/** Marks of a logarithmic axis below: what `decades` marks, where the values of the axis are logarithms. */
function columnsOf(low, high) {
  const { marks } = decades(low, high, narrow() ? 3 : 5);
  return marks.map(n => [Math.log10(n), shownMark(n)]);
}

/** Points, the curve, and beyond the sizes what it says, with its band. */
function lawPicture(laws) {
  const ns = laws.flatMap(({ points, law }) => [...points.map(p => p.n), ...(law ? [law.ten_times[0]] : [])]);
  const losses = laws.flatMap(({ points, law }) => [...points.flatMap(p => p.losses), ...(law ? law.curve.flatMap(p => p.slice(2)) : [])]);
  if (!losses.length) return null;
  const [width, height] = largePicture(), room = 0.06 * (largest(losses) - smallest(losses)) || 0.01;
  const [low, high] = [smallest(ns) / 1.2, largest(ns) * 1.2];
  const label = `${say('val')} (${say('nats')})`;
  const { picture, x, y, line, dot } = plane(width, height, [Math.log10(low), Math.log10(high)], [smallest(losses) - room, largest(losses) + room],
    { label, y: say('lossAxis'), x: say('lawAxis'), columns: columnsOf(low, high) });
  const place = (n, loss) => `${x(Math.log10(n)).toFixed(1)} ${y(loss).toFixed(1)}`;
  const legend = el('ul', { class: 'legend' });
  laws.forEach(({ of, points, law }, i) => {
    const color = i % 8, ends = law && points[points.length - 1].n;
    if (law) {
      const band = [...law.curve.map(([n, , , most]) => place(n, most)), ...[...law.curve].reverse().map(([n, , least]) => place(n, least))];
      const part = of => law.curve.filter(([n]) => of(n)).map(([n, loss]) => [Math.log10(n), loss]);
      const [n, loss, least, most] = law.ten_times;
      picture.append(svg('path', { class: `f-${color} band`, d: `M${band.join('L')}Z` }), line(part(n => n <= ends * 1.001), `k-${color}`), line(part(n => n >= ends * 0.8), `k-${color} dashed`),
        dot([Math.log10(n), loss], { class: `hollow k-${color}`, r: 5.5 }, `${say('tenTimes')}: ${fixed(loss, 3)} (${fixed(least, 3)}–${fixed(most, 3)})`));
    }
    points.forEach(({ size, n, losses }) => losses.forEach(loss => picture.append(dot([Math.log10(n), loss], { class: `seed f-${color}`, r: 4.5 }, `${of ? `${of}, ` : ''}${size}: ${fixed(loss, 4)}`))));
    if (law || of) legend.append(legendEntry(of || say('law'), { class: `k-${color}`, 'stroke-width': 3 }));
  });
  if (laws.some(({ law }) => law)) legend.append(legendEntry(say('beyond'), { class: 'dashed k-0', 'stroke-width': 2 }));
  return el('div', {}, legend, el('figure', {}, picture));
}

/** What a comparison shows of its ladder: the rules, the sizes that they make, and the laws. */
function ladderParts({ rules, laws }, rows) {
  const heads = [page.compare.differ_in, say('layers'), say('width'), say('parameters'), 'N', say('tokens'), say('stepsOf'), say('passes'), say('lr')];
  const cells = ({ values, rung: of }) => [values, ...[of.layers, of.d_model, of.parameters, of.block_parameters, of.learned, of.steps].map(whole), fixed(of.passes, 1), Number(of.lr.toPrecision(3))];
  const told = texts => el('ul', { class: 'said' }, ...texts.map(text => el('li', {}, both(text))));
  return [el('h3', {}, say('ladder')), told(rules), table(heads, rows.map(cells)), el('h3', {}, say('lawTitle')), lawPicture(laws), told(laws.flatMap(law => law.said))];
}
