// Several runs in one picture.

/** What is drawn of a run. */
const lineOf = row => (row.val.length ? row.val : row.smooth).filter(([, loss]) => Number.isFinite(loss));
const DASHES = [null, '9 4', '2 4', '12 4 2 4', '5 3'];
/** Lines differ in colour and in dashes: not everybody tells the colours apart. */
const styleOf = i => ({ class: `curve k-${i % 8}`, 'stroke-dasharray': DASHES[i % DASHES.length] });

/** Losses from the lowest to the highest, but for runs that ran away. */
function rangeOfRuns(log) {
  const lines = page.runs.rows.map(lineOf).filter(line => line.length);
  const losses = lines.flatMap(line => line.map(p => p[1])).filter(loss => loss > 0 || !log);
  const low = smallest(losses), high = Math.min(largest(losses), 1.1 * largest(lines.map(line => line[0][1])));
  if (!losses.length) return [log ? 0.1 : 0, 1];
  const room = 0.05 * (high - low) || 0.05 * Math.abs(high) || 0.05;
  return log ? [low / 1.03, high * 1.03] : [low - room, high + room];
}

const duration = s => s < 60 ? `${fixed(s, 1)} s` : s < 3600 ? `${Math.floor(s / 60)} min ${Math.round(s % 60)} s` : `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;

/** What tells a run from the others. */
const told = row => page.runs.differing.map((name, i) => `${name} ${row.settings[i] ?? '–'}`).join(' · ') || row.name;
/** Which loss the picture is of: of what is learnt where no run was measured on the way. */
const kindOfRuns = () => page.runs.rows.some(row => row.val.length) ? 'val' : 'smoothTrain';
/** The same beside its line, with what the line is when it is another loss than the others'. */
const toldOfLine = row => row.val.length || kindOfRuns() !== 'val' ? told(row) : `${told(row)} (${say('learnt')})`;

/** Names for the legend: of the groups, if there are any. */
function namesOfLines() {
  const drawn = page.runs.rows.filter(row => lineOf(row).length);
  if (!page.runs.groups.length) return drawn.map(row => [toldOfLine(row), row.group]);
  return [...new Set(drawn.map(row => row.group))].map(group => [both(page.runs.groups[group]), group]);
}

/** The picture of all runs; `choose` is told which one is pointed at. */
function runsPicture(choose, readout) {
  const { rows } = page.runs;
  const drawn = rows.flatMap((row, i) => lineOf(row).length ? [{ row, i, line: lineOf(row) }] : []);
  const cut = text => text.length > 30 ? text.slice(0, 29) + '…' : text;
  const direct = !narrow() && drawn.length <= 12;
  const width = narrow() ? 340 : 1000, height = narrow() ? 260 : 420;
  const right = direct ? 22 + 6.6 * Math.max(...drawn.map(({ row }) => cut(toldOfLine(row)).length), 1) : 16;
  const steps = [0, Math.max(largest(drawn.map(({ line }) => line[line.length - 1][0])), 1)];
  const log = state.scale === 'log', range = rangeOfRuns(log);
  const label = `${say(kindOfRuns())} (${say('nats')})`;
  const { picture, x, y, margin } = plane(width, height, steps, range, { x: say('step'), y: label, label, log, right, left: 60 });
  const place = ([step, loss]) => [x(step), y(Math.min(loss, range[1]))];
  const paths = new Map(drawn.map(({ row, i, line }) => {
    const points = line.map(place);
    const group = svg('g', { 'data-run': i }, svg('path', { ...styleOf(row.group), d: path(points) }));
    const [cx, cy] = points[points.length - 1];
    group.append(svg('circle', { class: `f-${row.group % 8}`, cx, cy, r: 3 }));
    picture.append(group);
    return [i, group];
  }));
  if (direct) {
    const ends = drawn.map(({ row, i, line }) => ({ i, group: row.group, text: cut(toldOfLine(row)), at: place(line[line.length - 1]) })).sort((a, b) => a.at[1] - b.at[1]);
    let free = margin.top;
    const down = ends.map(end => free = Math.max(end.at[1] + 4, free + 15));
    // What would be below the picture moves up.
    for (let k = down.length - 1, most = height - margin.bottom + 4; k >= 0; k--, most = down[k + 1] - 15) down[k] = Math.min(down[k], most);
    ends.forEach((end, k) => paths.get(end.i).append(
      svg('line', { class: 'axis', x1: end.at[0] + 3, y1: end.at[1], x2: width - right + 13, y2: down[k] - 4 }),
      svg('text', { class: `direct f-${end.group % 8}`, x: width - right + 16, y: down[k] }, end.text)));
  }
  const dot = svg('circle', { class: 'cursor-dot', r: 5, visibility: 'hidden' });
  picture.append(dot);
  function mark(i) {
    picture.classList.toggle('one', paths.has(i));
    for (const [j, group] of paths) group.classList.toggle('front', j === i);
    if (paths.has(i)) dot.before(paths.get(i));
    else fill(dot, { visibility: 'hidden' }, []);
  }
  function read(found, p) {
    const [cx, cy] = place(p);
    fill(dot, { cx, cy, visibility: 'visible' }, []);
    const kind = found.row.val.length ? 'val' : 'smoothTrain';
    const settings = page.runs.differing.length ? ` · ${told(found.row)}` : '';
    readout.textContent = `${found.row.name}${settings} · ${say('step')} ${whole(p[0])} · ${say(kind)} ${fixed(p[1], 4)}`;
    choose(found.i);
  }
  let at = { k: 0, step: steps[1] };
  const point = event => {
    const box = picture.getBoundingClientRect();
    const [px, py] = [(event.clientX - box.left) / box.width * width, (event.clientY - box.top) / box.height * height];
    let best = null;
    drawn.forEach((found, k) => found.line.forEach(p => {
      const [cx, cy] = place(p), far = (cx - px) ** 2 + (cy - py) ** 2;
      if (!best || far < best.far) best = { far, found, k, p };
    }));
    if (!best) return;
    at = { k: best.k, step: best.p[0] };
    read(best.found, best.p);
  };
  fill(picture, { tabindex: 0, onpointermove: point, onpointerdown: point, onpointerleave: () => choose(null), onkeydown: event => {
    const [run, along] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [0, 0];
    if (!drawn.length || (!run && !along)) return;
    event.preventDefault();
    at.k = (at.k + run + drawn.length) % drawn.length;
    const found = drawn[at.k], i = found.line.indexOf(near(found.line, at.step));
    const p = found.line[within(i + along * Math.max(1, Math.round(found.line.length / 100)), found.line.length)];
    if (along) at.step = p[0];
    read(found, p);
  } }, []);
  return { picture, mark, direct };
}

/** The runs by whatever column is chosen, at first by validation loss; what is not known comes last. */
function runsTable(front) {
  const { rows, differing } = page.runs;
  const best = smallest(rows.map(row => row.val_loss ?? Infinity));
  const settings = differing.map((name, i) => [name, row => {
    const text = row.settings[i] ?? '', number = Number(text.replaceAll(',', ''));
    return text === '' ? null : Number.isNaN(number) ? text : number;
  }, row => row.settings[i] ?? '–', 'left']);
  const loss = value => value === null ? '–' : fixed(value, 4);
  const columns = [
    [say('name'), row => row.name, null, 'words name'],
    [say('val'), row => row.val_loss, null], ...settings,
    [say('bestOnTheWay'), row => row.best, row => loss(row.best)],
    [say('steps'), row => row.steps, row => whole(row.steps)],
    [say('time'), row => row.seconds, row => row.seconds === null ? '–' : duration(row.seconds)],
    [say('state'), row => both(row.state), row => both(row.state), 'left'],
  ];
  const byLoss = 1;
  let order = { column: byLoss, down: false };
  const body = el('tbody');
  const heads = columns.map(([label], column) => el('th', { scope: 'col', class: columns[column][3] ?? null }, el('button', { type: 'button', onclick: () => {
    order = { column, down: order.column === column && !order.down };
    show();
  } }, label)));
  const named = (row, i) => el('td', { class: 'words name' }, el('button', { type: 'button', 'aria-pressed': state.run === i, 'data-of-run': i, onclick: () => front(i) },
    swatch(svg('line', { ...styleOf(row.group), x1: 0, x2: 26, y1: 5, y2: 5 })), row.name));
  const lossCell = row => el('td', {}, row.val_loss === best ? el('span', { class: 'tag' }, say('best')) : null, loss(row.val_loss));
  function show() {
    const value = columns[order.column][1], sign = order.down ? -1 : 1;
    const sorted = rows.map((row, i) => [row, i]).sort(([a], [b]) => {
      const [p, q] = [value(a), value(b)];
      if (p === null || q === null) return (p === null) - (q === null);
      return sign * (typeof p === 'number' && typeof q === 'number' ? p - q : String(p).localeCompare(String(q)));
    });
    heads.forEach((head, column) => head.setAttribute('aria-sort', column !== order.column ? 'none' : order.down ? 'descending' : 'ascending'));
    body.replaceChildren(...sorted.map(([row, i]) => el('tr', { class: row.val_loss === best ? 'best' : null },
      ...columns.map(([, , shown, kind], column) => column === 0 ? named(row, i) : column === byLoss ? lossCell(row) : el('td', { class: kind ?? null }, shown(row))))));
  }
  show();
  const mark = i => { for (const button of body.querySelectorAll('[data-of-run]')) button.setAttribute('aria-pressed', button.getAttribute('data-of-run') === String(i)); };
  return { table: el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': say('runs') }, el('table', {}, el('thead', {}, el('tr', {}, ...heads)), body)), mark };
}

function runsSection() {
  const { rows } = page.runs;
  const readout = el('div', { class: 'readout two', 'aria-live': 'polite' }, say('runsHint'));
  const { picture, mark, direct } = runsPicture(i => mark(i ?? state.run), readout);
  const table = runsTable(i => {
    state.run = state.run === i ? null : i;
    mark(state.run);
    table.mark(state.run);
  });
  mark(state.run);
  const without = rows.filter(row => !row.val.length && row.smooth.length).length;
  const legend = direct ? null : el('ul', { class: 'legend' }, ...namesOfLines().map(([name, group]) => legendEntry(name, { ...styleOf(group), 'stroke-width': 3 })));
  return section('runs',
    choice('scale', toggle('scale', 'linear', say('linear')), toggle('scale', 'log', say('log'))),
    legend, without ? el('p', { class: 'soft' }, filled('runsTrain', { n: without, all: rows.length })) : null,
    el('figure', {}, picture), readout, table.table);
}
