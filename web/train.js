// The run: made, trained, stopped, saved, loaded; and what the worker tells of it.

import { app, changed, failure, sayTrouble, size, tell } from './app.js';
import { Engine } from './engine.js';
import { hear, memoir, remembered, runOf } from './history.js';
import { keep } from './keep.js';
import { forgetMaps, read, takeMaps, wantMaps } from './maps.js';
import { momentsFor } from './moments.js';
import { byId, whole } from './shared/make.js';
import { say } from './shared/say.js';
import { look, view } from './shared/view.js';
import { tellRun } from './view.js';

/** What heads are shown on at first: as a story goes, up to a word that follows from it. */
export const STORY = 'Jane met Finn. Finn had a tan map and a pink cup. He gave ';
/** Letters of a text's beginning that heads are shown on. */
const BEGINNING = 64;
/** The latest checkpoint is kept in the browser as often as this. */
const KEEP_MS = 30000;
/** Steps between two measurements on the way. */
const MEASURE_EVERY = 50;

let keptAt = 0;
/** What the browser is keeping just now. */
let keeping = null;
let reached = [];

/** A promise that is kept when something comes to pass. */
export const when = condition => condition() ? Promise.resolve() : new Promise(resolve => reached.push([condition, resolve]));
function settle() {
  reached = reached.filter(([condition, resolve]) => !condition() || resolve());
}

function turn(status) {
  app.status = status;
  document.documentElement.dataset.status = status;
  changed('controls', 'heads', 'question', 'letters', 'units', 'twins');
  settle();
}

/** What is drawn again when something is told. */
const SHOWN = {
  steps: ['controls', 'curves', 'moments', 'where', 'link'], back: ['controls', 'curves', 'moments'], place: ['where'], moment: ['moments'], sample: ['sample'], measured: ['curves', 'facts', 'controls', 'link'], roles: ['heads', 'large'],
};

const events = {
  steps: () => keepNow(),
  moment({ step }) {
    if (step === view.step) wantMaps();
  },
  maps: takeMaps,
  place(place) {
    app.place = place;
  },
  back({ step, en }) {
    sayTrouble(failure('gpuLost', { step: whole(step), said: en }));
  },
  over({ ended }) {
    turn(ended ? 'done' : 'stopped');
    keepNow(true);
    tell(ended ? 'toldDone' : 'toldStopped', { step: whole(app.run.step) });
  },
  failed({ error }) {
    turn('failed');
    sayTrouble(error);
    if (app.run.kept > app.run.before) sayTrouble(failure('stillKept', { step: whole(app.run.kept) }));
  },
};

export function listen(event) {
  hear(app.run, event);
  events[event.event]?.(event);
  if (SHOWN[event.event]) changed(...SHOWN[event.event]);
}

/** Starts the worker; a lost one is replaced. */
async function boot() {
  app.engine?.end();
  app.engine = await new Engine(listen).boot();
  watch();
}

export function watch() {
  app.engine?.watch({ gpu: app.wanted, shown: !document.hidden, prompt: byId('prompt').value, temperature: Number(byId('temperature').value) });
}

/** Which moments are remembered; also the one that a link names. */
export function plan() {
  const { made, steps } = app.run;
  if (made) app.engine.watch({ moments: momentsFor({ ...made, steps }, view.step) });
}

const newId = () => `${Date.now()}-${Math.random().toString(36).slice(2, 8)}`;

/** What stands there is another run now. */
async function begin(made, id, sentence) {
  app.run = runOf(made, id);
  keptAt = performance.now();
  forgetMaps();
  byId('prompt').value = '';
  byId('prompt').placeholder = made.opening ?? '';
  app.engine.watch({ every: MEASURE_EVERY, prompt: '' });
  plan();
  turn(app.run.done ? 'done' : 'ready');
  byId('sentence').value = sentence;
  await read(sentence);
  changed();
}

/** Which UTF-16 a text is in, if it is: by its mark, or by the zeros of letters that are written everywhere. */
export function utf16(text) {
  const [first, second] = text;
  if (first === 0xFF && second === 0xFE || first && second === 0) return 'utf-16le';
  return first === 0xFE && second === 0xFF || first === 0 && second ? 'utf-16be' : null;
}

/** A line of a text: what a field can show. */
const beginning = text => new TextDecoder(utf16(text) ?? 'utf-8').decode(text.slice(0, 8 * BEGINNING)).replace(/\s+/g, ' ').trimStart().slice(0, BEGINNING);

const revive = async () => { if (!app.engine || app.engine.lost || app.status === 'failed') await boot(); };

/** A model that knows nothing yet. `text` are the bytes of the visitor's own text. */
export async function make(settings, text) {
  await secure();
  return first(settings, text);
}

/** A model where no run has been before; `linked`: what the link tells of it. */
export async function first(settings = {}, text = null, linked = null) {
  await revive();
  const opening = text ? beginning(text) : STORY;
  const { answer } = await app.engine.ask({ do: 'make', ...settings }, text);
  await begin(answer, newId(), opening);
  Object.assign(app.run, { name: settings.name ?? '', linked });
  tellRun(text ? null : settings, linked ?? {});
  changed('controls', 'link');
  return answer;
}

/** A model from a checkpoint; with what the browser remembers of it, if that is where it comes from. */
export async function load(bytes, name, known = null) {
  await secure();
  await revive();
  const { answer } = await app.engine.ask({ do: 'load', name }, bytes);
  await begin(answer, known?.id ?? newId(), STORY);
  if (known) remembered(app.run, known);
  tellRun(null);
  app.run.name = name;
  changed();
  tell('toldLoaded', { name, step: whole(answer.step) });
  lookInto(app.run);
  return answer;
}

/** What a loaded model can do is shown at once: facts and heads, if its data are here. */
async function lookInto(run) {
  if (!run.made.has_data) return;
  const ask = async request => {
    const { answer } = await app.engine.ask(request);
    if (app.run !== run) throw new Error('another run');
    return answer;
  };
  try {
    const roles = await ask({ do: 'roles', tokens: 4096 });
    listen({ ...roles, event: 'roles', step: run.step });
    let found;
    do found = await ask({ do: 'measure', tokens: 0, slice: 8 }); while (!found.done);
    listen({ ...found, event: 'measured', all: true });
  } catch (error) {
    // Another run has taken its place: this one's numbers are not waited for.
    if (app.run === run) sayTrouble(error);
  }
}

/** May another run take the place of this one? It is kept first; where nothing can be kept, somebody has to say so. */
export async function mayReplace() {
  await secure();
  return !unsaved() || app.status === 'failed' || confirm(say('loseIt', { step: whole(Math.max(app.run.saved, app.run.before)) }));
}

/** Before another run takes its place, this one is kept; and the first is waited for, which would take the place of the other. */
async function secure() {
  await when(() => app.status !== 'starting');
  if (app.status === 'training') await stop();
  if (unsaved() && app.status !== 'failed') await keepNow(true);
}

export async function start() {
  if (app.status === 'training' || !app.run.made) return;
  if (app.run.done) return;
  if (!app.run.made.has_data) throw failure('noData');
  watch();
  look({ step: app.run.moments.some(m => m.step === view.step) ? null : view.step });
  turn('training');
  tell('toldTraining');
  await app.engine.train();
}

export async function stop() {
  await app.engine.pause();
  await when(() => app.status !== 'training');
}

export async function more(steps) {
  const { answer } = await app.engine.ask({ do: 'more', steps });
  Object.assign(app.run, { steps: answer.steps, done: false });
  plan();
  turn('stopped');
}

/** Exactly n steps, with nothing between them; their losses. */
export async function step(n) {
  const begun = performance.now();
  const { answer } = await app.engine.steps(n);
  turn(app.run.done ? 'done' : 'stopped');
  return { ...answer, losses: answer.losses.map(Math.fround), seconds: (performance.now() - begun) / 1000 };
}

/** A whole checkpoint, as the programs write it. */
export async function checkpoint() {
  const { answer, blob } = await app.engine.ask({ do: 'save' });
  return { step: answer.step, bytes: new Uint8Array(blob) };
}

/** Whether there are steps that neither a file nor the browser has. */
export const unsaved = () => app.run.made !== null && app.run.step > Math.max(app.run.saved, app.run.kept);

/** Keeps the latest checkpoint in the browser, now or when it is time; who wants it now waits for one that is under way. */
async function keepNow(urgent = false) {
  while (urgent && keeping) await keeping;
  if (keeping || !unsaved() || (!urgent && performance.now() - keptAt < KEEP_MS)) return;
  keptAt = performance.now();
  keeping = keepRun(app.run);
  await keeping;
}
async function keepRun(run) {
  try {
    const { step, bytes } = await checkpoint();
    const { heads, layers, data } = run.made;
    const known = { ...memoir(run), step, heads, layers, data };
    known.losses = known.losses.slice(0, step - run.before);
    if (await keep(known, bytes)) run.kept = step;
    changed('controls');
  } catch { /* a core that is lost has told so already */ } finally {
    keeping = null;
  }
}

/** Hands the checkpoint over as a file. */
export async function download() {
  const { step, bytes } = await checkpoint();
  const address = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const name = `${app.run.made.data === 'stories' ? 'stories' : 'model'}-step-${step}.ckpt`;
  const link = Object.assign(document.createElement('a'), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  app.run.saved = step;
  changed('controls');
  tell('toldSaved', { name, size: size(bytes.length) });
  return bytes;
}
