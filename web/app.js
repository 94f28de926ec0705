// What all parts share: the run that is shown, what is drawn again when something changed, what is told.

import { byId, el, within } from './shared/make.js';
import { language, say } from './shared/say.js';
import { emptyRun } from './history.js';

export const app = {
  /** The worker that has the model. */
  engine: null,
  /** What is known of the run. */
  run: emptyRun(),
  status: 'starting',
  /** Where steps shall be made: 'off': on the processor, 'auto': on the GPU if that is faster, 'on'. */
  wanted: 'auto',
  /** What the worker tells of that. */
  place: {},
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

/** Draws at once, or when so much time has passed since it last did. */
export function atMostEvery(ms, draw) {
  let drawn = -ms, later = null;
  const now = () => {
    drawn = performance.now();
    draw();
  };
  return () => {
    clearTimeout(later);
    const left = drawn + ms - performance.now();
    if (left > 0) later = setTimeout(now, left);
    else now();
  };
}

/** How wide an element is, without an order to lay out the page in the middle of a drawing: 0 until it has been. */
const widths = new WeakMap();
export const widthOf = node => widths.get(node) ?? 0;
export function followWidth(node, then) {
  new ResizeObserver(([{ contentRect }]) => {
    widths.set(node, contentRect.width);
    then();
  }).observe(node);
}

/** Text is written only where it changed: what reads the page aloud repeats nothing. */
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Sizes in the units that files are told in. */
export function size(bytes) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const power = within(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 0, units.length - 1);
  const value = bytes / 1000 ** power;
  return `${power && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
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
  return error[language()] || String(error.message ?? error);
}
export const sayTrouble = error => trouble(() => sentence(error));
