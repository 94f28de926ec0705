// What each head does, and what the model loses without it.

/** Behind a share in a table. */
function shade(cell, share) {
  cell.style.backgroundColor = `rgba(var(--shade), ${(0.42 * Math.min(Math.max(share, 0), 1)).toFixed(3)})`;
  return cell;
}

function headsSection() {
  const names = [...new Set(page.heads.flatMap(row => row.scores.map(([name]) => name)))];
  const even = { scores: page.even };
  const shown = (row, name) => name === 'entropy' ? fixed(score(row, name), 2) : percent(score(row, name), 0);
  const beyond = (row, name) => name.startsWith('entropy') ? 0 : wayBeyond(score(row, name), score(even, name) || 0);
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
    page.attention ? null : strongestList(),
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
