// How good it is: the loss, and how many facts of unseen stories are right, step by step.

import { app, changed, part } from './app.js';
import { byId, fixed, followWidth, percent, svg, whole, widthOf, within } from './make.js';
import { guessed } from './history.js';
import { lossRange, path, plane, smoothed, thinned } from './chart.js';
import { say } from './say.js';

/** Redrawn at most so often while it grows. */
const EVERY_MS = 250;
let drawnAt = 0;
let later = null;
/** The step that is read; null: the last. */
let read = null;

function lossPicture(run, width) {
  const end = Math.max(run.steps, run.before + 10);
  const drawn = plane(width, width < 500 ? 220 : 300, [0, end], lossRange([run]), { log: true, y: say('lossAxis'), x: say('stepAxis'), label: lossSentence(run) });
  const { picture, x, y, inner } = drawn;
  const line = (points, kind) => picture.append(svg('path', { class: kind, d: path(points.map(([step, loss]) => [x(step), y(loss)])) }));
  line(thinned(run.losses, run.before, inner), 'curve train thin');
  line(thinned(smoothed(run.losses), run.before, inner), 'curve train');
  line(run.measured.map(m => [m.step, m.loss]), 'curve val');
  for (const { step, loss, all } of run.measured) picture.append(svg('circle', { class: all ? 'dot val hollow' : 'dot val', cx: x(step), cy: y(loss), r: all ? 5 : 2.5 }));
  return drawn;
}

function factsPicture(run, width) {
  const end = Math.max(run.steps, run.before + 10);
  const drawn = plane(width, width < 500 ? 190 : 260, [0, end], [0, 1], { share: true, y: say('factsAxis'), x: say('stepAxis'), label: factsSentence(run) });
  const { picture, x, y } = drawn;
  const guess = guessed(run.kinds);
  if (Number.isFinite(guess)) {
    picture.append(svg('line', { class: 'curve guess', x1: x(0), x2: x(end), y1: y(guess), y2: y(guess) }));
  }
  for (const [field, kind] of [['one', 'one'], ['two', 'two'], ['share', 'all']]) {
    const points = run.facts.filter(f => Number.isFinite(f[field])).map(f => [x(f.step), y(f[field])]);
    picture.append(svg('path', { class: `curve ${kind}`, d: path(points) }));
    for (const [cx, cy] of points) picture.append(svg('circle', { class: `dot ${kind}`, cx, cy, r: 2 }));
  }
  return drawn;
}

const lossSentence = run => say('lossPicture', { step: whole(run.step), loss: fixed(run.losses.at(-1), 3), val: fixed(run.measured.at(-1)?.loss, 3) });
const factsSentence = run => say('factsPicture', { step: whole(run.step), share: percent(run.facts.at(-1)?.share) });

function readout(run) {
  const step = read ?? run.step;
  const loss = run.losses[step - run.before - 1];
  const measured = run.measured.findLast(m => m.step <= step);
  const facts = run.facts.findLast(f => f.step <= step);
  return [
    say('atStep', { step: whole(step) }),
    Number.isFinite(loss) && `${say('train')} ${fixed(loss, 3)}`,
    measured && `${say('val')} ${fixed(measured.loss, 3)} (${say('atStep', { step: whole(measured.step) })})`,
    facts && `${say('factsRight').toLowerCase()} ${percent(facts.share)}`,
  ].filter(Boolean).join(' · ');
}

function draw() {
  const run = app.run, room = widthOf(byId('curves'));
  if (!room) return;
  const width = Math.max(280, room);
  const stories = run.made?.data === 'stories' || run.facts.length > 0;
  const pictures = [lossPicture(run, width), ...(stories ? [factsPicture(run, width)] : [])];
  byId('loss-picture').replaceChildren(pictures[0].picture);
  byId('facts-picture').replaceChildren(...pictures.slice(1).map(p => p.picture));
  byId('facts-curve').hidden = !stories;
  const step = within(read ?? run.step, 0, Math.max(run.steps, 1));
  for (const { picture, x, top, bottom } of read === null ? [] : pictures) {
    picture.append(svg('line', { class: 'cursor', x1: x(step), x2: x(step), y1: top, y2: bottom }));
  }
  byId('curve-read').textContent = readout(run);
  drawnAt = performance.now();
}

function drawSoon() {
  clearTimeout(later);
  const left = drawnAt + EVERY_MS - performance.now();
  if (left > 0) later = setTimeout(draw, left);
  else draw();
}

export function curves() {
  part('curves', drawSoon);
  const box = byId('curves');
  const at = step => {
    const { before, step: last } = app.run;
    read = step === null ? null : within(Math.round(step), before, last);
    draw();
  };
  box.addEventListener('pointermove', event => {
    const picture = event.target.closest?.('svg');
    if (!picture) return;
    const { left, width } = picture.getBoundingClientRect();
    at((event.clientX - left - 46) / (width - 60) * Math.max(app.run.steps, 1));
  });
  box.addEventListener('pointerleave', () => at(null));
  box.addEventListener('keydown', event => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === 'Escape') at(null);
    if (!by) return;
    event.preventDefault();
    at((read ?? app.run.step) + by * Math.max(1, Math.round(app.run.steps / 100)));
  });
  followWidth(box, () => changed('curves'));
}
