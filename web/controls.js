// The button that trains, and how it is going.

import { app, changed, failure, part, put, sayTrouble, tell } from './app.js';
import { byId, fixed, percent, whole } from './shared/make.js';
import { say } from './shared/say.js';
import { download, make, mayReplace, more, start, stop, unsaved, watch } from './train.js';

/** Speed of `train-gpt-mha` on two cores with AVX2 (46.5 ms a step of the built-in stories) relative to this core on one in Node (145 ms): medians of three alternating rounds. */
const TIMES = 3.1;

/** A failure becomes a sentence; nothing is thrown at somebody who pressed a button. */
export const pressed = work => async (...given) => {
  try { await work(...given); } catch (error) { sayTrouble(error); }
};

/** A time as a person says it. */
function lasting(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  return seconds < 90 ? say('seconds', { n: Math.max(0, Math.round(seconds)) }) : say('minutes', { n: fixed(seconds / 60, 1) });
}

function progress({ step, steps, speed, made, seconds, before }) {
  if (!made) return say(app.status === 'failed' ? 'cannotStart' : 'starting');
  const left = (steps - step) * (made.batch * made.window) / speed;
  const words = { step: whole(step), steps: whole(steps), left: lasting(left), seconds: lasting(seconds) };
  if (app.status === 'training' && step >= steps) return say('progressLast', words);
  if (app.status === 'training' && step - before >= 5) return say('progressLeft', words);
  if (app.status === 'training') return say('progress', words);
  return say(app.status === 'done' ? (step > before ? 'progressDone' : 'progressLoaded') : step === 0 ? 'progressReady' : 'progress', words);
}

function draw() {
  const { run, status } = app, training = status === 'training';
  const button = byId('train');
  put(button, say(training ? 'stop' : status === 'done' ? 'trainMore' : run.step > 0 ? 'goOn' : 'trainButton'));
  button.disabled = !run.made || status === 'failed';
  button.dataset.does = training ? 'stop' : 'train';
  const bar = byId('progress');
  bar.max = Math.max(run.steps, 1);
  bar.value = run.step;
  put(byId('progress-told'), progress(run));
  put(byId('stat-step'), `${whole(run.step)} / ${whole(run.steps)}`);
  put(byId('stat-loss'), fixed(run.losses.length ? mean(run.losses.slice(-20)) : run.measured.at(-1)?.loss, 3));
  put(byId('stat-facts'), percent(run.facts.at(-1)?.share));
  byId('stat-facts').parentElement.hidden = Boolean(run.made) && run.made.data !== 'stories' && !run.facts.length;
  put(byId('stat-speed'), whole(run.speed ?? NaN));
  put(byId('speed-note'), say('speedNote', { times: TIMES }));
  byId('save').disabled = !run.made || status === 'failed' || status === 'starting';
  byId('again').disabled = status === 'starting' || training;
  if (run.made) put(byId('about'), about(run));
  put(byId('kept-note'), run.kept > run.before ? say('keptNote', { step: whole(run.kept) }) : '');
}

const mean = values => values.reduce((a, b) => a + b, 0) / values.length;

function about({ made, name }) {
  const { parameters, layers, heads, width, window } = made;
  const data = !made.has_data ? say('dataNone') : made.data === 'stories' ? say('dataStories') : say('dataText', { name: name || say('aText') });
  return say('about', { parameters: whole(parameters), layers, heads, width, window, data });
}

/** Steps that are added when a run has come to its end. */
const MORE = 500;

async function press() {
  if (app.status === 'training') return stop();
  if (!app.run.made.has_data) throw failure('noData');
  if (app.run.done) await more(MORE);
  return start();
}

/** Says that the run went on in the background. */
function watchTab() {
  let hiddenAt = null;
  document.addEventListener('visibilitychange', () => {
    watch();
    if (document.hidden) hiddenAt = app.status === 'training' ? app.run.step : null;
    else if (hiddenAt !== null) {
      const n = app.run.step - hiddenAt;
      tell(n > 0 ? 'wentOn' : 'heldBack', { n: whole(n) });
      hiddenAt = null;
    }
    if (!document.hidden) changed();
  });
  addEventListener('beforeunload', event => {
    if (!unsaved()) return;
    event.preventDefault();
    event.returnValue = true; // what older browsers ask for
  });
}

export function controls() {
  part('controls', draw);
  byId('train').addEventListener('click', pressed(press));
  byId('save').addEventListener('click', pressed(download));
  byId('again').addEventListener('click', pressed(async () => { if (await mayReplace()) await make(); }));
  watchTab();
}
