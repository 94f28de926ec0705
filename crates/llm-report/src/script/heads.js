// What each head does, and what the model loses without it.

const score = (row, name) => row.scores.find(([n]) => n === name)?.[1] ?? NaN;
/** What even attention has in the same columns. */
const evenly = { scores: page.even };
/** How much of the way from even attention to all of it. */
const wayBeyond = (share, even) => even >= 1 ? 0 : (share - even) / (1 - even) || 0;
const headName = (layer, head) => `${say('layer')} ${layer} · ${say('head')} ${head}`;

function headsSection() {
  const names = [...new Set(page.heads.flatMap(row => row.scores.map(([name]) => name)))];
  const shown = (row, name) => name === 'entropy' ? fixed(score(row, name), 2) : percent(score(row, name));
  const beyond = (row, name) => name.startsWith('entropy') ? 0 : wayBeyond(score(row, name), score(evenly, name) || 0);
  const word = (name, part) => MEASURES[name] && spoken(MEASURES[name][part]);
  const columns = [
    { label: say('layer'), value: row => row.layer, cell: row => row.layer },
    { label: say('head'), value: row => row.head, cell: row => row.head },
    { label: say('role'), kind: 'words', cell: row => both(row.role) || '–' },
    ...names.map(name => ({
      label: word(name, 0) ?? name, title: word(name, 1), value: row => score(row, name) || 0, falls: true,
      cell: row => shade(shown(row, name), Math.sqrt(Math.max(beyond(row, name), 0))),
    })),
  ];
  const told = names.filter(name => word(name, 1)).map(name => el('li', {}, el('strong', {}, word(name, 0)), `: ${word(name, 1)}`));
  const foot = page.even.length ? [el('tfoot', {}, tr([say('even'), '', '', ...names.map(name => shown(evenly, name))]))] : [];
  const all = table(...sorted(columns, page.heads, {}), ...foot);
  fill(all.firstChild, { class: 'dense' });
  return section('heads',
    page.attention ? null : strongestList(),
    foot.length ? soft(say('headsHint')) : null,
    all, el('ul', { class: 'measures soft' }, ...told));
}

function pruneSection() {
  const { loss, facts, alone, greedy } = page.prune;
  const exact = x => fixed(x, 4), right = x => x === null ? '–' : percent(x, 1);
  const most = Math.max(...alone.map(p => Math.abs(p.loss - loss)), 1e-9);
  const bars = alone.flatMap(p => {
    const more = p.loss - loss, width = `${(100 * Math.abs(more) / most).toFixed(1)}%`;
    return [headName(p.layer, p.head), el('div', { class: more < 0 ? 'bar less' : 'bar', style: { width } }),
      `${more < 0 ? '−' : '+'}${exact(Math.abs(more))}${p.facts === null ? '' : ` · ${right(p.facts)}`}`].map(part => el('div', {}, part));
  });
  const curve = (key, label, base, shown) => {
    const points = [[0, base, say('base')], ...greedy.map((p, i) => [i + 1, p[key], headName(p.layer, p.head)])].filter(p => p[1] !== null);
    const values = points.map(p => p[1]), share = key === 'facts';
    const { picture, line, dot } = plane(300, 200, [0, Math.max(points.length - 1, 1)], share ? [0, 1] : [Math.min(...values) * 0.98, Math.max(...values) * 1.02],
      { columns: points.length > 12 ? null : points.map(([i]) => [i, String(i)]), x: say('off'), label, percent: share });
    picture.append(line(points, 'k-0'), ...points.map(p => dot(p, { class: 'f-0', r: 4 }, `${p[2]}: ${shown(p[1])}`)));
    return figure(label, picture);
  };
  const pictures = [curve('loss', say('loss'), loss, exact)];
  if (facts !== null) pictures.push(curve('facts', `${say('factsRight')}, %`, facts, right));
  return section('prune',
    el('p', {}, `${say('base')}: ${say('val')} ${exact(loss)}` + (facts === null ? '' : ` · ${say('allRight')} ${right(facts)}`)),
    ...(alone.length ? [el('h3', {}, say(facts === null ? 'alone' : 'aloneFacts')), el('div', { class: 'bars' }, ...bars)] : []),
    ...(greedy.length ? [el('h3', {}, say('greedy')), el('div', { class: 'grid' }, ...pictures),
      table(['off', 'layer', 'head', 'loss', 'factsRight'].map(key => say(key)), greedy.map((p, i) => [i + 1, p.layer, p.head, exact(p.loss), right(p.facts)]))] : []));
}
