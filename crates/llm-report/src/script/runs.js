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
/** Which loss the picture is of: of what is learned where no run was measured on the way. */
const kindOfRuns = () => page.runs.rows.some(row => row.val.length) ? 'val' : 'smoothTrain';
/** A run's name beside its line, with what the line is when it is another loss than the others'. */
const toldOfLine = row => row.val.length || kindOfRuns() !== 'val' ? told(row) : `${told(row)} (${say('learned')})`;

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
  const direct = !narrow() && drawn.length <= 12;
  const [width, height] = largePicture();
  const right = direct ? 22 + 6.6 * Math.max(...drawn.map(({ row }) => cut(toldOfLine(row), 30).length), 1) : 16;
  const steps = [0, Math.max(largest(drawn.map(({ line }) => line[line.length - 1][0])), 1)];
  const log = view.scale === 'log', label = `${say(kindOfRuns())} (${say('nats')})`;
  const frame = plane(width, height, steps, rangeOfRuns(log), { x: say('step'), y: label, label, log, right, left: 60 });
  const { picture, place } = frame;
  const paths = new Map(drawn.map(({ row, i, line }) => [i, svg('g', { 'data-run': i },
    frame.line(line, '', styleOf(row.group)), frame.dot(line[line.length - 1], { class: `f-${row.group % 8}`, r: 3 }))]));
  picture.append(...paths.values());
  if (direct) {
    const ends = drawn.map(({ row, i, line }) => ({ i, group: row.group, text: cut(toldOfLine(row), 30), at: place(line[line.length - 1]) })).sort((a, b) => a.at[1] - b.at[1]);
    let free = frame.top;
    const down = ends.map(end => free = Math.max(end.at[1] + 4, free + 15));
    // What would be below the picture moves up.
    for (let k = down.length - 1, most = frame.bottom + 4; k >= 0; k--, most = down[k + 1] - 15) down[k] = Math.min(down[k], most);
    ends.forEach((end, k) => paths.get(end.i).append(
      svg('line', { class: 'rule', x1: end.at[0] + 3, y1: end.at[1], x2: width - right + 13, y2: down[k] - 4 }),
      svg('text', { class: `direct f-${end.group % 8}`, x: width - right + 16, y: down[k] }, end.text)));
  }
  const dot = svg('circle', { class: 'cursor-dot', r: 5, visibility: 'hidden' });
  picture.append(dot);
  function mark(i) {
    picture.classList.toggle('one', paths.has(i));
    for (const [j, group] of paths) group.classList.toggle('front', j === i);
    if (paths.has(i)) dot.before(paths.get(i));
    else fill(dot, { visibility: 'hidden' });
  }
  let at = { k: 0, step: steps[1] };
  function read(k, p) {
    const { row, i } = drawn[k], [cx, cy] = place(p);
    fill(dot, { cx, cy, visibility: 'visible' });
    const settings = page.runs.differing.length ? ` · ${told(row)}` : '';
    readout.textContent = `${row.name}${settings} · ${say('step')} ${whole(p[0])} · ${say(row.val.length ? 'val' : 'smoothTrain')} ${fixed(p[1], 4)}`;
    choose(i);
  }
  const point = event => {
    const box = picture.getBoundingClientRect();
    const [px, py] = [(event.clientX - box.left) / box.width * width, (event.clientY - box.top) / box.height * height];
    let best = null;
    drawn.forEach(({ line }, k) => line.forEach(p => {
      const [cx, cy] = place(p), far = (cx - px) ** 2 + (cy - py) ** 2;
      if (!best || far < best.far) best = { far, k, p };
    }));
    if (!best) return;
    at = { k: best.k, step: best.p[0] };
    read(best.k, best.p);
  };
  const keys = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  fill(picture, { tabindex: 0, onpointermove: point, onpointerdown: point, onpointerleave: () => choose(null), onkeydown: onKeys(keys, ([run, by]) => {
    if (!drawn.length) return;
    at.k = (at.k + run + drawn.length) % drawn.length;
    const p = along(drawn[at.k].line, at.step, by);
    if (by) at.step = p[0];
    read(at.k, p);
  }) });
  return { picture, mark, direct };
}

/** The runs by whatever column is chosen, at first by validation loss; what is not known comes last. */
function runsTable(front) {
  const { rows, differing } = page.runs;
  const best = smallest(rows.map(row => row.val_loss ?? Infinity));
  const loss = value => value === null ? '–' : fixed(value, 4);
  const named = row => el('td', { class: 'words name' }, el('button', { type: 'button', 'aria-pressed': view.run === rows.indexOf(row), 'data-of-run': rows.indexOf(row), onclick: () => front(rows.indexOf(row)) },
    swatch(svg('line', { ...styleOf(row.group), x1: 0, x2: 26, y1: 5, y2: 5 })), row.name));
  const [heads, body] = sorted([
    { label: say('name'), kind: 'words name', value: row => row.name, cell: named },
    { label: say('val'), value: row => row.val_loss, cell: row => el('td', {}, row.val_loss === best ? el('span', { class: 'tag' }, say('best')) : null, loss(row.val_loss)) },
    ...differing.map((label, i) => ({ label, kind: 'left', cell: row => row.settings[i] ?? '–', value: row => {
      const text = row.settings[i] ?? '', number = Number(text.replaceAll(',', ''));
      return text === '' ? null : Number.isNaN(number) ? text : number;
    } })),
    { label: say('bestOnTheWay'), value: row => row.best, cell: row => loss(row.best) },
    { label: say('steps'), value: row => row.steps, cell: row => whole(row.steps) },
    { label: say('time'), value: row => row.seconds, cell: row => row.seconds === null ? '–' : duration(row.seconds) },
    { label: say('state'), kind: 'left', value: row => both(row.state), cell: row => both(row.state) },
  ], rows, { column: 1, down: false }, row => ({ class: row.val_loss === best ? 'best' : null }));
  const mark = i => { for (const button of body.querySelectorAll('[data-of-run]')) button.setAttribute('aria-pressed', button.getAttribute('data-of-run') === String(i)); };
  return { table: fill(table(heads, body), { role: 'group', 'aria-label': say('runs') }), mark };
}

function runsSection() {
  const { rows } = page.runs;
  const readout = el('div', { class: 'readout two', 'aria-live': 'polite' }, say('runsHint'));
  const { picture, mark, direct } = runsPicture(i => mark(i ?? view.run), readout);
  const of = runsTable(i => {
    view.run = view.run === i ? null : i;
    mark(view.run);
    of.mark(view.run);
  });
  mark(view.run);
  const without = rows.filter(row => !row.val.length && row.smooth.length).length;
  const legend = direct ? null : el('ul', { class: 'legend' }, ...namesOfLines().map(([name, group]) => legendEntry(name, { ...styleOf(group), 'stroke-width': 3 })));
  return section('runs', scales(), legend, without ? soft(say('runsTrain', { n: without, all: rows.length })) : null,
    el('figure', {}, picture), readout, of.table);
}
