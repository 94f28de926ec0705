// The race: one head against four. The same data, the same steps, as many parameters; each has a worker of its own, and all
// that is compared has one scale.

import { app, atMostEvery, changed, followWidth, part, put, sayTrouble, tell, widthOf } from './app.js';
import { bar, named } from './facts.js';
import { Engine } from './engine.js';
import { fillGrid, grid } from './heads.js';
import { emptyRun, hear, rolesUntil, runOf } from './history.js';
import { factsPicture, lossPlane, smoothed, thinned } from './chart.js';
import { maps } from './maps.js';
import { byId, el, fixed, percent, whole } from './shared/make.js';
import { say } from './shared/say.js';
import { stop as stopRun } from './train.js';

const HEADS = [1, 4];
const LANES = ['one', 'four'];
const INKS = [1, 0];
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
  return event => {
    hear(lane.run, event);
    if (event.event === 'maps') lane.maps = { ...event, weights: new Float32Array(event.blob) };
    if (event.event === 'failed') sayTrouble(event.error);
    if (event.event === 'failed' || event.event === 'over') {
      lane.going = false;
      settle();
    }
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

function losses(runs, width) {
  const label = say('racePicture', { one: fixed(runs[0].measured.at(-1)?.loss, 3), four: fixed(runs[1].measured.at(-1)?.loss, 3) });
  const { picture, line, inner } = lossPlane(runs, width, 230, label);
  picture.append(...runs.map((run, i) => line(thinned(smoothed(run.losses), 0, inner), `k-${INKS[i]}`)));
  return picture;
}

function shares(runs, width) {
  const label = say('raceFacts', { one: percent(runs[0].facts.at(-1)?.share), four: percent(runs[1].facts.at(-1)?.share) });
  return factsPicture(runs, runs.map((run, i) => [run.facts.map(f => [f.step, f.share]), INKS[i]]), width, 230, label).picture;
}

/** Kinds of facts, a bar for each lane. */
function kinds() {
  const [one, four] = lanes.map(lane => lane.run.kinds);
  return (four.length ? four : one).map(({ kind, places }) => {
    const bars = [one, four].map((of, i) => {
      const found = of.find(entry => entry.kind === kind);
      const share = found ? found.right / found.of : NaN;
      return el('div', { class: 'pair' }, bar(Number.isFinite(share) ? share : 0, NaN, `f-${INKS[i]}`), el('span', { class: 'value' }, percent(share)));
    });
    return el('li', {}, named({ kind, places }), el('div', {}, ...bars));
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

function draw() {
  put(byId('race-button'), say(status === 'racing' ? 'stop' : status === 'stopped' ? 'goOn' : status === 'done' ? 'raceAgain' : 'raceButton'));
  byId('race-button').dataset.does = status === 'racing' ? 'stop' : 'train';
  put(byId('race-told'), raceTold());
  byId('race-body').hidden = !lanes.length;
  const room = widthOf(byId('race-loss'));
  if (!lanes.length || !room) return;
  const runs = lanes.map(lane => lane.run), width = Math.max(260, room);
  byId('race-loss').replaceChildren(losses(runs, width));
  byId('race-facts').replaceChildren(shares(runs, width));
  const list = byId('race-kinds');
  list.replaceChildren(...kinds());
  byId('race-kinds-empty').hidden = list.childElementCount > 0;
  put(byId('race-note'), say('raceNote', { seed: lanes[0].run.made?.seed ?? '–' }));
  lanes.forEach(drawLane);
}

export function race(pressed) {
  part('race', atMostEvery(300, draw));
  byId('race-button').addEventListener('click', pressed(() => status === 'racing' ? stopRace() : startRace()));
  followWidth(byId('race-loss'), () => changed('race'));
}
