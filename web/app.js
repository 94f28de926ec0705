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
/** A frame's work ends after so long: the rest waits for the next. */
const FRAME_MS = 8;

/** A part of the page that is drawn from what is known. */
export function part(name, draw) {
  drawers.set(name, draw);
}

/** These parts are drawn again with the next frame, or all of them. */
export function changed(...names) {
  for (const name of names.length ? names : drawers.keys()) dirty.add(name);
  if (!asked) {
    asked = true;
    requestAnimationFrame(drawSome);
  }
}

function drawSome() {
  asked = false;
  const begun = performance.now();
  for (const name of [...dirty]) {
    dirty.delete(name);
    drawers.get(name)?.();
    if (performance.now() - begun > FRAME_MS) break;
  }
  if (dirty.size) changed(...dirty);
}

/** Tells how it is going, politely: for eyes and for what reads aloud. */
export function tell(key, values) {
  app.said = say(key, values);
  put(byId('told'), app.said);
}

/** Tells a trouble: it stays until it is read and closed. */
export function trouble(text) {
  app.said = text;
  const box = byId('troubles');
  if ([...box.children].some(note => note.firstChild.textContent === text)) return;
  const note = el('div', { class: 'trouble' }, el('p', {}, text),
    el('button', { type: 'button', class: 'close', 'aria-label': say('close'), onclick: () => note.remove() }, '×'));
  box.append(note);
}

/** An error of ours has a key, one of the core both languages. */
export function failure(key, values) {
  return Object.assign(new Error(key), { key, values });
}
export function sentence(error) {
  if (error.key) return say(error.key, error.values);
  return (error.en && (document.documentElement.lang.startsWith('zh') ? error.zh : error.en)) || String(error.message ?? error);
}
export const sayTrouble = error => trouble(sentence(error));
