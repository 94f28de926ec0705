// All heads at a glance: a row of maps for each layer, on one scale of colours, each with what it does.

import { app, changed, part, put } from './app.js';
import { rolesUntil } from './history.js';
import { rowsOf, shownHead, shownMaps } from './maps.js';
import { byId, el, onKeys, percent } from './shared/make.js';
import { paint } from './shared/map.js';
import { say, sayKnown } from './shared/say.js';
import { look, view } from './shared/view.js';

/** What a head does, in few words; nothing where no measurement says anything. */
export function roleOf(measured, layer, head) {
  const row = measured?.heads.find(row => row.layer === layer && row.head === head);
  if (!row) return null;
  if (row.off) return { name: say('headOff') };
  if (!row.role) return { name: say('noRole') };
  const name = sayKnown(`role_${row.role}`, row.role);
  return { role: row.role, name, share: row.columns[row.role], even: measured.even?.[row.role] };
}

/** Buttons with maps for every head; they are made anew when their number changes. */
export function grid(box, { layers, heads }, choose) {
  const shape = `${layers}.${heads}`;
  if (box.dataset.shape === shape) return;
  box.dataset.shape = shape;
  const cell = (layer, head) => el(choose ? 'button' : 'div', {
    type: choose ? 'button' : null, class: 'head', 'data-head': `${layer}.${head}`, onclick: choose ? () => choose(layer, head) : () => {},
  }, el('canvas', { 'aria-hidden': 'true' }), el('span', { class: 'unseen' }), el('span', { class: 'which' }), el('span', { class: 'role' }));
  const row = layer => el('div', { class: 'layer' }, el('div', { class: 'name', 'data-layer': layer }), ...Array.from({ length: heads }, (_, head) => cell(layer, head)));
  box.replaceChildren(...Array.from({ length: layers }, (_, layer) => row(layer)));
  box.style.setProperty('--heads', Math.min(heads, 4));
}

/** A frame paints maps for so long: many heads take several frames. */
const PAINT_MS = 8;
const painting = new WeakMap();

/** Paints the maps of all heads, unless others are to be painted before the last is. */
function paintAll(box, maps) {
  const cells = [...box.querySelectorAll('.head')], pass = {};
  painting.set(box, pass);
  const some = () => {
    if (painting.get(box) !== pass) return;
    const begun = performance.now();
    while (cells.length && performance.now() - begun < PAINT_MS) {
      const cell = cells.shift();
      const [layer, head] = cell.dataset.head.split('.').map(Number);
      paint(cell.firstChild, maps.t, rowsOf(maps, layer, head));
    }
    if (cells.length) requestAnimationFrame(some);
  };
  requestAnimationFrame(some); // this frame has the words to lay out
}

/** Paints every head's map, and names what it does. */
export function fillGrid(box, maps, measured, chosen = null) {
  for (const name of box.querySelectorAll('[data-layer]')) put(name, say('layerName', { layer: name.dataset.layer }));
  for (const cell of box.querySelectorAll('.head')) {
    const [layer, head] = cell.dataset.head.split('.').map(Number);
    put(cell.querySelector('.which'), say('headShort', { head }));
    const role = roleOf(measured, layer, head);
    put(cell.querySelector('.role'), role?.name ?? '\u00a0');
    cell.classList.toggle('found', Boolean(role?.role));
    put(cell.querySelector('.unseen'), say('layerName', { layer }));
    if (chosen) cell.setAttribute('aria-pressed', String(chosen[0] === layer && chosen[1] === head));
    cell.title = role?.role ? say('roleShare', { name: role.name, share: percent(role.share), even: percent(role.even) }) : '';
  }
  paintAll(box, maps);
}

function choose(layer, head) {
  look({ layer, head, ...(layer !== shownHead(shownMaps())[0] && { unit: null }) }); // a unit is one of its layer
  changed('heads', 'large', 'units');
}

function draw() {
  const maps = shownMaps(), box = byId('all-heads');
  byId('heads-empty').hidden = Boolean(maps) || app.status === 'starting';
  if (!maps) return;
  grid(box, maps, choose);
  fillGrid(box, maps, rolesUntil(app.run, view.step ?? Infinity), shownHead(maps));
}

export function heads() {
  part('heads', draw);
  // Arrow keys go from map to map.
  byId('all-heads').addEventListener('keydown', onKeys({ ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }, by => {
    const maps = shownMaps();
    if (!maps) return;
    const [layer, head] = shownHead(maps);
    const to = [(layer + by[0] + maps.layers) % maps.layers, (head + by[1] + maps.heads) % maps.heads];
    byId('all-heads').querySelector(`[data-head="${to.join('.')}"]`).focus();
    choose(...to);
  }));
}
