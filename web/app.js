// What all parts share: the run that is shown, what is drawn again when something changed, what is told.

import { say } from './say.js';
import { byId, el, put } from './make.js';
import { emptyRun } from './history.js';

export const app = {
  /** The worker that has the model. */
  engine: null,
  /** What is known of the run. */
  run: emptyRun(),
  status: 'starting',
  /** The last sentence that was told. */
  said: '',
};

const drawers = new Map();
const dirty = new Set();
let asked = false;

/** A part of the page that is drawn from what is known. */
export function part(name, draw) {
  drawers.set(name, draw);
}

/** These parts are drawn again with the next frame, or all of them. */
export function changed(...names) {
  for (const name of names.length ? names : drawers.keys()) dirty.add(name);
  if (!asked) {
    asked = true;
    requestAnimationFrame(drawNext);
  }
}

/** One part in a frame: the browser lays it out and paints it after that, which takes longer than to draw it. */
function drawNext() {
  asked = false;
  const [name] = dirty;
  dirty.delete(name);
  drawers.get(name)?.();
  if (dirty.size) changed(...dirty);
}

/** Tells how it is going, politely: for eyes and for what reads aloud. */
export function tell(key, values) {
  told = () => say(key, values);
  app.said = told();
  put(byId('told'), app.said);
}
let told = () => '';

/** Tells a trouble: it stays until it is read and closed. */
function trouble(words) {
  app.said = words();
  if ([...troubles.values()].some(other => other() === app.said)) return;
  const close = () => {
    troubles.delete(note);
    note.remove();
  };
  const note = el('div', { class: 'trouble' }, el('p', {}, app.said),
    el('button', { type: 'button', class: 'close', 'data-label': 'close', 'aria-label': say('close'), onclick: close }, '×'));
  troubles.set(note, words);
  byId('troubles').append(note);
}
const troubles = new Map();

/** What was told, in the language that is chosen now. */
export function retell() {
  put(byId('told'), told());
  for (const [note, words] of troubles) put(note.firstChild, words());
}

/** An error of ours has a key, one of the core both languages. */
export function failure(key, values) {
  return Object.assign(new Error(key), { key, values });
}
export function sentence(error) {
  if (error.key) return say(error.key, error.values);
  return (error.en && (document.documentElement.lang.startsWith('zh') ? error.zh : error.en)) || String(error.message ?? error);
}
export const sayTrouble = error => trouble(() => sentence(error));
