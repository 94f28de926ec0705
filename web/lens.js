// The logit lens: what the model would say at the end of a text if it ended after each layer.

import { app, changed, part, put } from './app.js';
import { following } from './follow.js';
import { byId, el, percent } from './shared/make.js';
import { seen } from './shared/map.js';
import { say } from './shared/say.js';

let text = '', shown = false;
const latest = following('lens', () => text && byId('lens').open ? { do: 'lens', text } : null);

/** The text that is looked at; nothing: none. */
export function lensOn(other) {
  text = other;
  changed('lens');
}

/** The darker, the surer. */
const cell = ({ piece, share }) => el('td', { style: { backgroundColor: `rgba(var(--shade), ${(0.5 * share).toFixed(3)})` } }, el('b', {}, seen(piece)), el('small', {}, percent(share)));
const line = (name, cells) => el('tr', {}, el('th', { scope: 'row' }, name), ...cells);

function draw() {
  const found = latest(), box = byId('lens-box');
  if (!byId('lens').open || !found) return;
  const { tokens, rows } = found;
  put(byId('lens-told'), say('lensTold', { n: tokens.length }));
  box.firstElementChild.replaceChildren(
    el('thead', {}, el('tr', {}, el('td'), ...tokens.map(token => el('th', { scope: 'col' }, seen(token))))),
    el('tbody', {}, ...rows.map((row, i) => line(i ? say('lensAfter', { layer: i - 1 }) : say('lensBefore'), row.map(cell)))));
  if (!shown) box.scrollLeft = box.scrollWidth; // the answer stands at the end
  shown = true;
}

export function lens() {
  part('lens', draw);
  byId('lens').addEventListener('toggle', () => { if (app.run.made) changed('lens'); });
}
