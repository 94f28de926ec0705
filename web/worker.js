// The worker: it holds the core and trains in short slices, so that whatever is asked gets its answer between two of them.
//
// In:  {id, boot} {id, ask, bytes} {id, steps} {id, train} {id, pause}, each answered by {id, answer, blob} or {id, error};
//      {watch}, which is not answered.
// Out, on the way: {event: 'steps' | 'moment' | 'maps' | 'sample' | 'measured' | 'roles' | 'over' | 'failed', ...}.

import { instantiate } from './wasm.js';

/** So long may a slice take; what is asked waits no longer. */
const SLICE_MS = 80;
/** Maps are read, and a sample is written, as often as this while it trains. */
const MAPS_MS = 1000;
const SAMPLE_MS = 4000;
/** Measuring may take this share of the time. */
const MEASURING = 0.08;
/** Unseen tokens that are scored on the way, windows in one slice of it, and tokens that heads are judged by. */
const SCORED = 8192;
const WINDOWS = 8;
const JUDGED = 4096;

let core;
let going = false;
let pausing = [];
let at = { step: 0, steps: 0 };
let stepMs = 50;
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
  if (request.do === 'make' || request.do === 'load') Object.assign(spent, { training: 0, measuring: 0 });
}

function ask(request, bytes) {
  const answered = core.ask(request, bytes);
  noticed(request, answered.answer);
  return answered;
}

/** As many steps as fit into a slice, but none beyond the next place to stop at. */
function stride(stop) {
  return Math.max(1, Math.min(Math.floor(SLICE_MS / stepMs) || 1, stop - at.step));
}

function step(n) {
  const begun = performance.now();
  const { answer } = ask({ do: 'step', n });
  const ms = performance.now() - begun;
  spent.training += ms;
  if (answer.losses.length) stepMs = 0.7 * stepMs + 0.3 * ms / answer.losses.length;
  report('steps', { step: answer.step, losses: answer.losses, tokens: answer.tokens, rate: answer.rate, ms });
  return answer;
}

function readMaps() {
  const { text } = watched;
  const { answer, blob } = ask({ do: 'attention', text });
  report('maps', { text, step: at.step, ...answer }, blob);
}

function writeSample() {
  const { prompt, tokens, temperature } = watched;
  const { answer } = ask({ do: 'write', tokens, temperature, ...(prompt && { prompt }) });
  report('sample', { step: at.step, prompt: answer.prompt, text: answer.text });
}

/** A sentence that this model cannot read stops no training. */
function attempt(work) {
  try { work(); } catch (error) { if (!error.code) throw error; }
}

/** Once again when it is time. */
function now(name, ms, work) {
  if (performance.now() < due[name]) return;
  attempt(work);
  due[name] = performance.now() + ms;
}

async function measure(all) {
  const begun = performance.now();
  let found;
  do {
    found = ask({ do: 'measure', tokens: all ? 0 : SCORED, slice: WINDOWS }).answer;
    await breath();
  } while (!found.done);
  report('measured', { ...found, all });
  const { answer } = ask({ do: 'roles', tokens: JUDGED });
  report('roles', { step: found.step, heads: answer.heads, even: answer.even });
  spent.measuring += performance.now() - begun;
}

function remember() {
  const { answer } = ask({ do: 'remember' });
  report('moment', answer);
}

const cheap = () => spent.measuring <= MEASURING * spent.training;

async function train() {
  if (!at.step && watched.moments.includes(0)) remember();
  while (going && at.step < at.steps) {
    const stop = Math.min(at.steps, ...watched.moments.filter(step => step > at.step), at.step - at.step % watched.every + watched.every);
    step(stride(stop));
    if (watched.moments.includes(at.step)) remember();
    if (watched.shown) {
      now('maps', MAPS_MS, readMaps);
      now('sample', SAMPLE_MS, writeSample);
    }
    await breath();
    if (going && at.step < at.steps && at.step % watched.every === 0 && cheap()) await measure(false);
  }
  const ended = at.step >= at.steps;
  attempt(readMaps);
  attempt(writeSample);
  // Somebody who stops wants to see where it stands, not to wait.
  if (ended) {
    if (!watched.moments.includes(at.step)) remember();
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

/** Exactly so many steps, and all their losses. */
async function steps(n) {
  const losses = [];
  const last = Math.min(at.step + n, at.steps);
  while (at.step < last) {
    losses.push(...step(stride(last)).losses);
    await breath();
  }
  return { answer: { step: at.step, losses } };
}

const paused = () => going ? new Promise(resolve => { going = false; pausing.push(resolve); }) : Promise.resolve();

/** One file carries the core as text: five letters are a number of base 85, four bytes (as RFC 1924 has the digits). */
function decoded(text) {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~';
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
    return;
  }
  try {
    const { answer: found, blob = null } = await answer(message);
    postMessage({ id: message.id, answer: found, blob, memory: core.memory }, blob ? [blob] : []);
  } catch (error) {
    postMessage({ id: message.id, error: told(error) });
  }
};
