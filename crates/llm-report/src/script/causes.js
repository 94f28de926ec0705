// Which heads carry an answer, since when, and what would be said after each block.

const partName = ({ layer, what, head }) => what === 'head' ? headName(layer, head)
  : `${say('layer')} ${layer} · ${say(what === 'mlp' ? 'mlp' : 'allHeadsOf')}`;
/** Most lines in a picture. */
const MOST_LINES = 8;

/** A line for each of the heads that move most at the end. */
function momentsPicture(moments, key, heads) {
  const values = heads.flatMap(([l, h]) => moments.map(moment => moment[key][l][h]));
  const steps = [moments[0].step, Math.max(moments.at(-1).step, moments[0].step + 1)];
  const label = say(key === 'looks' ? 'causeLooks' : 'causeMoves');
  const range = [Math.min(0, smallest(values)), Math.max(largest(values), key === 'looks' ? 0.1 : 1) * 1.05];
  const { picture, line, dot } = plane(narrow() ? 300 : 440, 230, steps, range, { x: say('step'), label, percent: key === 'looks' });
  heads.forEach(([l, h], i) => {
    const points = moments.map(moment => [moment.step, moment[key][l][h]]);
    picture.append(line(points, `k-${i}`), dot(points.at(-1), { class: `f-${i}`, r: 3.5 }, `${headName(l, h)}: ${key === 'looks' ? percent(points.at(-1)[1]) : fixed(points.at(-1)[1], 2)}`));
  });
  return figure(label, picture);
}

function causesSection() {
  const { tried, right, parts, moments } = page.causes;
  const spread = (mean, sd) => `${fixed(mean, 2)} ± ${fixed(sd, 2)}`;
  const columns = [
    { label: say('part'), kind: 'words', value: row => row.layer * 1000 + (row.head ?? 900), cell: partName },
    { label: say('putIn'), value: row => row.put_in, falls: true, cell: row => shade(spread(row.put_in, row.put_in_sd), Math.max(row.put_in, 0)) },
    { label: say('takenOut'), value: row => row.taken_out, falls: true, cell: row => shade(spread(row.taken_out, row.taken_out_sd), Math.max(row.taken_out, 0)) },
    { label: say('turned'), value: row => row.turned, falls: true, cell: row => percent(row.turned) },
    { label: say('carries'), kind: 'words', value: row => Number(row.carries), falls: true, cell: row => row.carries ? say('carriesIt') : '–' },
  ];
  const last = moments.at(-1);
  const all = last ? last.moves.flatMap((row, l) => row.map((moved, h) => [l, h, moved])) : [];
  const heads = all.sort((a, b) => b[2] - a[2]).slice(0, MOST_LINES).map(([l, h]) => [l, h]);
  const legend = heads.map(([l, h], i) => legendEntry(headName(l, h), { class: `k-${i}`, 'stroke-width': 3 }));
  return section('causes',
    soft(say('causesHint')),
    el('p', {}, say(right ? 'causesRight' : 'causesNone', { right, tried })),
    right ? table(...sorted(columns, parts, {})) : null,
    ...(moments.length > 1 ? [el('h3', {}, say('causesSince')), soft(say('causesSinceHint')),
      el('div', { class: 'grid' }, momentsPicture(moments, 'looks', heads), momentsPicture(moments, 'moves', heads)),
      el('ul', { class: 'legend' }, ...legend)] : []));
}

function lensSection() {
  const { tokens, layers } = page.lens;
  const heading = i => i ? say('behindBlock', { n: i - 1 }) : say('beforeBlock');
  const rows = tokens.map((token, i) => [token, ...layers.map(layer => {
    const [text, p] = layer[i];
    return shade(`${text} ${percent(p)}`, p);
  })]);
  return section('lens', soft(say('lensHint')), table([say('lensToken'), ...layers.map((_, i) => heading(i))], rows));
}
