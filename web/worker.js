// The worker: it holds the core and trains in short slices, so that whatever is asked gets its answer between two of them.
//
// In:  {id, boot} {id, ask, bytes} {id, steps} {id, train} {id, pause}, each answered by {id, answer, blob} or {id, error};
//      {watch}, which is not answered.
// Out, on the way: {event: 'steps' | 'moment' | 'maps' | 'sample' | 'measured' | 'roles' | 'place' | 'back' | 'over' | 'failed', ...}.

import { UNREAD } from './gpu.js';
import { Place } from './place.js';
import { instantiate } from './wasm.js';

/** Longest training slice in ms: bounds the latency of requests. */
const SLICE_MS = 80;
/** Time between two maps, and between two samples, during training. */
const MAPS_MS = 1000;
const SAMPLE_MS = 4000;
/** Largest share of the time for measuring. */
const MEASURING = 0.08;
/** Unseen tokens scored during training, windows in one slice of that, and tokens that head roles are measured on. */
const SCORED = 8192;
const WINDOWS = 8;
const JUDGED = 4096;

let core;
let going = false;
let pausing = [];
let at = { step: 0, steps: 0 };
/** Recent time of a step on each device, in ms. */
const pace = { processor: 50, gpu: 50 };
let watched = { shown: true, text: '', prompt: '', temperature: 0.7, tokens: 160, moments: [], every: 50 };
const spent = { training: 0, measuring: 0 };
const due = { maps: 0, sample: 0 };

const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();
/** Lets messages in. */
const breath = () => new Promise(resolve => { waiting.push(resolve); channel.port2.postMessage(0); });

function report(event, fields, blob = null) {
  postMessage({ event, memory: core.memory, ...fields, blob }, blob ? [blob] : []);
}

/** An error as it crosses to the page. */
const told = ({ message, key, values, code, en, zh }) => ({ message, key, values, code, en, zh });

function noticed(request, answer) {
  if (answer.steps !== undefined && answer.step !== undefined) at = { step: answer.step, steps: answer.steps };
  if (request.do === 'step') place.stale();
  if (request.do === 'make' || request.do === 'load') {
    Object.assign(spent, { training: 0, measuring: 0 });
    place.forget();
    place.told();
  }
}

const place = new Place(
  (request, bytes) => core.ask(request, bytes),
  found => report('place', found),
  (step, found) => {
    at.step = step;
    report('back', { step, ...found });
  },
);

/** One after the other: while the GPU works, others could come between. */
let turn = Promise.resolve();
function alone(work) {
  const done = turn.then(work);
  turn = done.catch(() => {});
  return done;
}

/** Asks the core, once it has all weights. */
async function asked(request, bytes) {
  await place.home();
  const answered = core.ask(request, bytes);
  noticed(request, answered.answer);
  return answered;
}
const ask = (request, bytes) => alone(() => asked(request, bytes));

/** Number of steps that fit into a slice, up to the next stop. */
function stride(stop) {
  const fit = Math.floor(SLICE_MS / (place.onGpu ? pace.gpu : pace.processor)) || 1;
  return Math.max(1, Math.min(fit, UNREAD, stop - at.step));
}

function stepped({ step, losses, tokens, rate }, ms, onGpu) {
  const who = onGpu ? 'gpu' : 'processor';
  spent.training += ms;
  at.step = step;
  if (losses.length) pace[who] = 0.7 * pace[who] + 0.3 * ms / losses.length;
  report('steps', { step, losses, tokens, rate, ms, onGpu });
}

/** Steps on the processor. */
function here(n) {
  const begun = performance.now();
  const { answer } = core.ask({ do: 'step', n });
  noticed({ do: 'step' }, answer);
  stepped(answer, performance.now() - begun, false);
  return answer.losses;
}

/** Makes n steps on the chosen device; returns their losses, none when the GPU was just lost. */
const step = n => alone(async () => {
  const { onGpu } = place, begun = performance.now();
  if (!onGpu) {
    await place.home();
    return here(n);
  }
  const done = await place.steps(at.step, n);
  if (done) stepped(done, performance.now() - begun, true);
  return done?.losses ?? [];
});

/** Measures which device makes the steps. */
const choose = (stop, goesOn, losses = []) => alone(async () => {
  const one = () => {
    losses.push(...here(1));
    return losses.at(-1);
  };
  await place.choose(one, at.step, stop - at.step, goesOn);
  const { found } = place;
  if (found?.gpuMs) pace.gpu = found.gpuMs;
});

async function readMaps() {
  const { text } = watched;
  const { answer, blob } = await ask({ do: 'attention', text });
  report('maps', { text, step: at.step, ...answer }, blob);
}

async function writeSample() {
  const { prompt, tokens, temperature } = watched;
  const { answer } = await ask({ do: 'write', tokens, temperature, ...(prompt && { prompt }) });
  report('sample', { step: at.step, prompt: answer.prompt, text: answer.text });
}

/** A sentence that this model cannot read stops no training. */
async function attempt(work) {
  try { await work(); } catch (error) { if (!error.code) throw error; }
}

/** Repeats work when its time has come. */
async function now(name, ms, work) {
  if (performance.now() < due[name]) return;
  await attempt(work);
  due[name] = performance.now() + ms;
}

async function measure(all) {
  const begun = performance.now();
  let found;
  do {
    found = (await ask({ do: 'measure', tokens: all ? 0 : SCORED, slice: WINDOWS })).answer;
    await breath();
  } while (!found.done);
  report('measured', { ...found, all });
  const { answer } = await ask({ do: 'roles', tokens: JUDGED });
  report('roles', { step: found.step, heads: answer.heads, even: answer.even });
  spent.measuring += performance.now() - begun;
}

async function remember() {
  const { answer } = await ask({ do: 'remember' });
  report('moment', answer);
}

const cheap = () => spent.measuring <= MEASURING * spent.training;

/** The next step that something is due at. */
const nextStop = () => Math.min(at.steps, ...watched.moments.filter(step => step > at.step), at.step - at.step % watched.every + watched.every);

async function train() {
  if (!at.step && watched.moments.includes(0)) await remember();
  while (going && at.step < at.steps) {
    await choose(nextStop(), () => going);
    if (at.step < at.steps && going) await step(stride(nextStop()));
    if (watched.moments.includes(at.step)) await remember();
    if (watched.shown) {
      await now('maps', MAPS_MS, readMaps);
      await now('sample', SAMPLE_MS, writeSample);
    }
    await breath();
    if (going && at.step < at.steps && at.step % watched.every === 0 && cheap()) await measure(false);
  }
  const ended = at.step >= at.steps;
  await attempt(readMaps);
  await attempt(writeSample);
  // Somebody who stops wants to see where it stands, not to wait.
  if (ended) {
    if (!watched.moments.includes(at.step)) await remember();
    await measure(true);
  }
  going = false;
  report('over', { step: at.step, ended });
}

async function run() {
  try {
    await train();
  } catch (error) {
    going = false;
    report('failed', { error: told(error) });
  }
  pausing.splice(0).forEach(resolve => resolve());
}

/** Makes exactly n steps and returns all losses; on a GPU that is wanted, or was measured to be faster. */
async function steps(n) {
  await alone(() => place.home());
  const losses = [], first = at.step;
  const last = Math.min(first + n, at.steps);
  if (place.wanted === 'on' && first < last) await choose(last, () => true, losses);
  while (at.step < last) {
    losses.push(...await step(stride(last)));
    losses.length = Math.min(losses.length, at.step - first); // those of a GPU that was lost are made again
    await breath();
  }
  return { answer: { step: at.step, losses } };
}

const paused = () => going ? new Promise(resolve => { going = false; pausing.push(resolve); }) : Promise.resolve();

/** One file carries the core as text: five letters are a number of base 85, four bytes (as RFC 1924 has the digits, but a point for `<`). */
function decoded(text) {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;.=>?@^_`{|}~';
  const value = Uint8Array.from({ length: 128 }, (_, code) => Math.max(digits.indexOf(String.fromCharCode(code)), 0));
  const whole = text.padEnd(Math.ceil(text.length / 5) * 5, '~');
  const bytes = new DataView(new ArrayBuffer(whole.length / 5 * 4));
  for (let i = 0, number = 0; i < whole.length; i++) {
    number = number * 85 + value[whole.charCodeAt(i)];
    if (i % 5 === 4) {
      bytes.setUint32((i - 4) / 5 * 4, number);
      number = 0;
    }
  }
  return new Uint8Array(bytes.buffer, 0, Math.floor(text.length / 5 * 4));
}

/** The core out of gzip. Some servers name the packing to the browser, which then has undone it; a damaged file stays as it is. */
async function unpacked(bytes) {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer().catch(() => bytes);
}

async function boot(sent) {
  const bytes = typeof sent === 'string' ? decoded(sent) : new Uint8Array(sent);
  core = await instantiate(await unpacked(bytes));
  return { answer: { memory: core.memory } };
}

async function answer(message) {
  if (message.boot) return boot(message.boot);
  if (message.ask) return ask(message.ask, message.bytes && new Uint8Array(message.bytes));
  if (message.steps) return steps(message.steps);
  if (message.train) {
    if (!going) {
      going = true;
      Object.assign(due, { maps: 0, sample: 0 });
      run();
    }
    return { answer: {} };
  }
  await paused();
  return { answer: { step: at.step } };
}

onmessage = async ({ data: message }) => {
  if (message.watch) {
    Object.assign(watched, message.watch);
    if (message.watch.gpu) place.want(message.watch.gpu);
    return;
  }
  try {
    const { answer: found, blob = null } = await answer(message);
    postMessage({ id: message.id, answer: found, blob, memory: core.memory }, blob ? [blob] : []);
  } catch (error) {
    postMessage({ id: message.id, error: told(error) });
  }
};
