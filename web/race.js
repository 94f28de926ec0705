// The race: one head against four. The same data, the same steps, as many parameters; each has a worker of its own, and all
// that is compared has one scale.

import { app, changed, part, sayTrouble, tell } from './app.js';
import { bar, size } from './facts.js';
import { byId, el, fixed, followWidth, percent, put, svg, whole, widthOf } from './make.js';
import { Engine } from './engine.js';
import { fillGrid, grid } from './heads.js';
import { emptyRun, guessed, rolesUntil, runOf, takeMeasure } from './history.js';
import { lossRange, path, plane, smoothed, thinned } from './chart.js';
import { maps } from './maps.js';
import { say, sayKnown } from './say.js';
import { stop as stopRun } from './train.js';

const HEADS = [1, 4];
const LANES = ['one', 'four'];
/** Steps between two measurements. */
const MEASURE_EVERY = 50;

/** Each: {heads, engine, run, maps, going, error}. */
let lanes = [];
let status = 'ready';
let ended = [];

/** Where the race stands, for who asks from outside. */
export const raceState = () => ({
  status,
  lanes: lanes.map(({ heads, run }) => ({
    heads, step: run.step, steps: run.steps, losses: [...run.losses], facts: run.facts.at(-1)?.share ?? null, parameters: run.made?.parameters ?? null,
  })),
});

function listener(lane) {
  const events = {
    steps({ step, losses }) {
      lane.run.step = step;
      lane.run.losses.push(...losses);
    },
    maps(found) {
      lane.maps = { ...found, weights: new Float32Array(found.blob) };
    },
    measured(found) {
      takeMeasure(lane.run, found, found.all);
    },
    roles({ step, heads, even }) {
      lane.run.roles.set(step, { heads, even });
    },
    moment() {},
    sample({ text, prompt }) {
      lane.run.sample = { text, prompt };
    },
    over() {
      lane.going = false;
      settle();
    },
    failed({ error }) {
      lane.going = false;
      sayTrouble(error);
      settle();
    },
  };
  return event => {
    events[event.event](event);
    changed('race');
  };
}

function settle() {
  if (lanes.some(lane => lane.going)) return;
  const done = lanes.every(lane => lane.run.step >= lane.run.steps);
  status = done ? 'done' : 'stopped';
  if (done) tell('raceDone', { one: percent(lanes[0].run.facts.at(-1)?.share), four: percent(lanes[1].run.facts.at(-1)?.share) });
  ended.splice(0).forEach(resolve => resolve());
  changed('race');
}

async function prepare(settings) {
  lanes.forEach(lane => lane.engine?.end());
  lanes = HEADS.map(heads => ({ heads, engine: null, run: emptyRun(), maps: null, going: false }));
  await Promise.all(lanes.map(async lane => {
    lane.engine = await new Engine(listener(lane)).boot();
    const { answer } = await lane.engine.ask({ do: 'make', ...settings, heads: lane.heads });
    lane.run = runOf(answer, '');
    lane.engine.watch({ text: maps.text, every: MEASURE_EVERY, moments: [] });
  }));
}

/** Starts both, or lets them go on. The run above stops: it would take their time. */
export async function startRace(settings = {}) {
  if (status === 'racing') return;
  if (app.status === 'training') await stopRun();
  try {
    const fresh = !lanes.length || status === 'done' || Object.keys(settings).length > 0;
    status = 'racing';
    changed('race');
    if (fresh) await prepare(settings);
    lanes.forEach(lane => { lane.going = true; });
    tell('raceStarted');
    await Promise.all(lanes.map(lane => lane.engine.train()));
  } catch (error) {
    status = 'ready';
    lanes.forEach(lane => lane.engine?.end());
    lanes = [];
    changed('race');
    throw error;
  }
}

export async function stopRace() {
  if (status !== 'racing') return;
  const over = new Promise(resolve => ended.push(resolve));
  await Promise.all(lanes.map(lane => lane.engine.pause()));
  await over;
}

export const racing = () => status === 'racing';

function picture(width) {
  const runs = lanes.map(lane => lane.run);
  const end = Math.max(...runs.map(run => run.steps), 10);
  const label = say('racePicture', { one: fixed(runs[0].measured.at(-1)?.loss, 3), four: fixed(runs[1].measured.at(-1)?.loss, 3) });
  const { picture, x, y, inner } = plane(width, 230, [0, end], lossRange(runs), { log: true, x: say('stepAxis'), y: say('lossAxis'), label });
  runs.forEach((run, i) => {
    const points = thinned(smoothed(run.losses), 0, inner).map(([step, loss]) => [x(step), y(loss)]);
    picture.append(svg('path', { class: `curve ${LANES[i]}-head`, d: path(points) }));
  });
  return picture;
}

function shares(width) {
  const runs = lanes.map(lane => lane.run);
  const end = Math.max(...runs.map(run => run.steps), 10);
  const label = say('raceFacts', { one: percent(runs[0].facts.at(-1)?.share), four: percent(runs[1].facts.at(-1)?.share) });
  const { picture, x, y } = plane(width, 230, [0, end], [0, 1], { share: true, x: say('stepAxis'), y: say('factsAxis'), label });
  const guess = guessed(runs.find(run => run.kinds.length)?.kinds ?? []);
  if (Number.isFinite(guess)) picture.append(svg('line', { class: 'curve guess', x1: x(0), x2: x(end), y1: y(guess), y2: y(guess) }));
  runs.forEach((run, i) => {
    const points = run.facts.map(f => [x(f.step), y(f.share)]);
    picture.append(svg('path', { class: `curve ${LANES[i]}-head`, d: path(points) }));
    points.forEach(([cx, cy]) => picture.append(svg('circle', { class: `dot ${LANES[i]}-head`, cx, cy, r: 2 })));
  });
  return picture;
}

/** Kinds of facts, a bar for each lane. */
function kinds() {
  const [one, four] = lanes.map(lane => lane.run.kinds);
  return (four.length ? four : one).map(({ kind, places }) => {
    const bars = [one, four].map((of, i) => {
      const found = of.find(entry => entry.kind === kind);
      const share = found ? found.right / found.of : NaN;
      return el('div', { class: 'pair' }, bar(Number.isFinite(share) ? share : 0, NaN, `${LANES[i]}-head`), el('span', { class: 'value' }, percent(share)));
    });
    return el('li', {}, el('span', { class: 'kind' }, sayKnown(kind, kind), el('small', {}, say(places === 2 ? 'twoPlaces' : 'onePlace'))), el('div', {}, ...bars));
  });
}

function drawLane(lane, i) {
  const box = byId(`race-${LANES[i]}`);
  const { run } = lane;
  put(box.querySelector('.told'), say('raceLane', { step: whole(run.step), parameters: whole(run.made?.parameters), share: percent(run.facts.at(-1)?.share) }));
  const heads = box.querySelector('.all-heads');
  if (!lane.maps) return;
  grid(heads, lane.maps, null);
  fillGrid(heads, lane.maps, rolesUntil(run, Infinity));
}

function raceTold() {
  if (status === 'ready') return '';
  const [one, four] = lanes.map(lane => percent(lane.run.facts.at(-1)?.share));
  if (status === 'done') return say('raceDone', { one, four });
  return say(status === 'racing' ? 'raceOn' : 'raceStopped');
}

let drawnAt = 0;
let later = null;
function drawSoon() {
  clearTimeout(later);
  const left = drawnAt + 300 - performance.now();
  if (left > 0) later = setTimeout(draw, left);
  else draw();
}

function draw() {
  drawnAt = performance.now();
  put(byId('race-button'), say(status === 'racing' ? 'stop' : status === 'stopped' ? 'goOn' : status === 'done' ? 'raceAgain' : 'raceButton'));
  byId('race-button').dataset.does = status === 'racing' ? 'stop' : 'train';
  put(byId('race-told'), raceTold());
  byId('race-body').hidden = !lanes.length;
  const room = widthOf(byId('race-loss'));
  if (!lanes.length || !room) return;
  const width = Math.max(260, room);
  byId('race-loss').replaceChildren(picture(width));
  byId('race-facts').replaceChildren(shares(width));
  const list = byId('race-kinds');
  list.replaceChildren(...kinds());
  size(list);
  byId('race-kinds-empty').hidden = list.childElementCount > 0;
  put(byId('race-note'), say('raceNote', { seed: lanes[0].run.made?.seed ?? '–' }));
  lanes.forEach(drawLane);
}

export function race(pressed) {
  part('race', drawSoon);
  byId('race-button').addEventListener('click', pressed(() => status === 'racing' ? stopRace() : startRace()));
  followWidth(byId('race-loss'), () => changed('race'));
}
