// How good it is: the loss, and how many facts of unseen stories are right, step by step.

import { app, atMostEvery, changed, followWidth, part, widthOf } from './app.js';
import { factsPicture, lossPlane, smoothed, thinned } from './chart.js';
import { byId, fill, fixed, onKeys, percent, svg, whole, within } from './shared/make.js';
import { say } from './shared/say.js';

/** The step that is read; null: the last. */
let read = null;

function lossPicture(run, width) {
  const label = say('lossPicture', { step: whole(run.step), loss: fixed(run.losses.at(-1), 3), val: fixed(run.measured.at(-1)?.loss, 3) });
  const drawn = lossPlane([run], width, width < 500 ? 220 : 300, label);
  const { picture, line, dot, inner } = drawn;
  picture.append(
    line(thinned(run.losses, run.before, inner), 'k-train thin'),
    line(thinned(smoothed(run.losses), run.before, inner), 'k-train'),
    line(run.measured.map(m => [m.step, m.loss]), 'k-val'),
    ...run.measured.map(({ step, loss, all }) => dot([step, loss], { class: all ? 'hollow k-val' : 'f-val', r: all ? 5 : 2.5 })));
  return drawn;
}

function factsCurves(run, width) {
  const label = say('factsPicture', { step: whole(run.step), share: percent(run.facts.at(-1)?.share) });
  const lines = [['one', 4], ['two', 3], ['share', 2]].map(([field, ink]) =>
    [run.facts.filter(f => Number.isFinite(f[field])).map(f => [f.step, f[field]]), ink]);
  return factsPicture([run], lines, width, width < 500 ? 190 : 260, label);
}

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

function readAt(step) {
  read = step === null ? null : within(Math.round(step), app.run.before, app.run.step);
  draw();
}

function draw() {
  const run = app.run, room = widthOf(byId('curves'));
  if (!room) return;
  const width = Math.max(280, room);
  const stories = run.made?.data === 'stories' || run.facts.length > 0;
  const pictures = [lossPicture(run, width), ...(stories ? [factsCurves(run, width)] : [])];
  byId('loss-picture').replaceChildren(pictures[0].picture);
  byId('facts-picture').replaceChildren(...pictures.slice(1).map(p => p.picture));
  byId('facts-curve').hidden = !stories;
  const step = within(read ?? 0, 0, Math.max(run.steps, 1));
  for (const { picture, x, top, bottom, at } of pictures) {
    fill(picture, { onpointermove: event => readAt(at(event)) });
    if (read !== null) picture.append(svg('line', { class: 'cursor', x1: x(step), x2: x(step), y1: top, y2: bottom }));
  }
  byId('curve-read').textContent = readout(run);
}

export function curves() {
  part('curves', atMostEvery(250, draw));
  const box = byId('curves');
  box.addEventListener('pointerleave', () => readAt(null));
  box.addEventListener('keydown', onKeys({ ArrowLeft: -1, ArrowRight: 1, Escape: 0 }, by =>
    readAt(by ? (read ?? app.run.step) + by * Math.max(1, Math.round(app.run.steps / 100)) : null)));
  followWidth(box, () => changed('curves'));
}
