// One head, large: tokens on both axes, and who looks at whom, by pointing or by arrow keys.

import { app, changed, followWidth, part, put, widthOf } from './app.js';
import { roleOf } from './heads.js';
import { rolesUntil } from './history.js';
import { rowsOf, shownHead, shownMaps } from './maps.js';
import { byId, el, index, onKeys, percent, whole, within } from './shared/make.js';
import { axes, cellAt, paint, seen, shadeText } from './shared/map.js';
import { language, say } from './shared/say.js';
import { look, view } from './shared/view.js';

/** The key that is pointed at; null: none. */
let pointed = null;
let box;

/** The token that asks: what was chosen, else the last, which is about to tell the next. */
const query = maps => view.token === null ? maps.t - 1 : index(view.token, maps.t);

/** What is beside the map, and what it was made for. */
let laid = null;
let laidFor = '';
function layOut(maps) {
  const width = Math.max(260, widthOf(box));
  const key = [width, language(), ...maps.tokens].join('\u0001');
  if (key === laidFor) return;
  laidFor = key;
  laid = axes(maps.tokens, width, say('queryAxis'), say('keyAxis'), 9);
  byId('large-axes').replaceChildren(laid.picture);
  laid.cover(byId('large-map'));
}

/** The row that asks and the column that is pointed at, and their labels. */
function mark(maps) {
  const i = query(maps), j = pointed ?? best(maps, i);
  laid.cover(byId('large-row'), i, 0, 1);
  laid.cover(byId('large-column'), 0, j, maps.t, 1);
  laid.choose(i, j);
}

const row = (maps, i) => rowsOf(maps, ...shownHead(maps))(i);
const best = (maps, i) => row(maps, i).reduce((at, weight, j, all) => weight > all[at] ? j : at, 0);

function pair(maps) {
  const i = query(maps), j = pointed ?? best(maps, i);
  const values = { query: seen(maps.tokens[i]), i, key: seen(maps.tokens[j]), j, share: percent(row(maps, i)[j], 1) };
  return j > i ? say('pairLater', values) : say(pointed === null ? 'pairMost' : 'pair', values);
}

/** The sentence, shaded by the weights of the token that asks, on the scale of the maps. */
function shade(maps) {
  const text = byId('shaded'), i = query(maps), weights = row(maps, i);
  if (text.childElementCount !== maps.t || text.dataset.of !== maps.tokens.join('\u0001')) {
    text.dataset.of = maps.tokens.join('\u0001');
    text.replaceChildren(...maps.tokens.map((token, at) => el('span', { 'data-i': at }, token.replaceAll('\n', '↵\n'))));
  }
  shadeText([...text.children], i, at => weights[at], 0.6);
}

/** Since when a head has done what it does now; null if no measurement says that it ever did something else. */
function since(run, layer, head, role) {
  let first = null, other = false;
  for (const step of [...run.roles.keys()].sort((a, b) => a - b)) {
    if (step > (view.step ?? Infinity)) break;
    const same = roleOf(run.roles.get(step), layer, head)?.role === role;
    first = same ? first ?? step : null;
    other ||= !same;
  }
  return other ? first : null;
}

function roleTold(run, layer, head, role) {
  if (!role) return say(run.made && !run.made.has_data ? 'rolesNone' : 'rolesLater');
  if (!role.role) return role.name;
  const values = { name: role.name, share: percent(role.share), even: percent(role.even) };
  const step = since(run, layer, head, role.role);
  return step === null ? say('roleShare', values) : say('roleSince', { ...values, step: whole(step) });
}

function caption(maps) {
  const [layer, head] = shownHead(maps), run = app.run;
  put(byId('large-title'), say('headLong', { layer, head, step: whole(maps.step) }));
  const role = roleOf(rolesUntil(run, view.step ?? Infinity), layer, head);
  put(byId('large-role'), roleTold(run, layer, head, role));
}

function draw() {
  const maps = shownMaps();
  byId('large').hidden = byId('in-words').hidden = !maps;
  if (!maps || !widthOf(box)) return;
  const [layer, head] = shownHead(maps), canvas = byId('large-map');
  if (pointed !== null && pointed >= maps.t) pointed = null;
  layOut(maps);
  paint(canvas, maps.t, rowsOf(maps, layer, head));
  canvas.setAttribute('aria-label', say('mapLabel', { layer, head, n: maps.t }));
  mark(maps);
  caption(maps);
  changed('in-words');
}

/** Draws the map in words, and as shades of the sentence. */
function drawInWords() {
  const maps = shownMaps();
  if (!maps) return;
  shade(maps);
  put(byId('pair'), pair(maps));
}

const chooseQuery = i => { look({ token: i }); changed('large', 'units'); };

function pointing(canvas) {
  const point = event => {
    const maps = shownMaps();
    if (!maps) return;
    [view.token, pointed] = cellAt(event, maps.t); // an address for every pixel of a way would be too much; a click puts it there
    changed('large');
  };
  canvas.addEventListener('pointermove', point);
  canvas.addEventListener('click', event => { point(event); if (shownMaps()) chooseQuery(view.token); });
  canvas.addEventListener('pointerleave', () => { pointed = null; changed('large'); });
  const ways = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -Infinity], End: [0, Infinity] };
  canvas.addEventListener('keydown', onKeys(ways, by => {
    const maps = shownMaps();
    if (!maps) return;
    const i = query(maps), j = pointed ?? best(maps, i);
    pointed = within(j + by[1], 0, maps.t - 1);
    chooseQuery(index(i + by[0], maps.t));
  }));
  // Read aloud only to somebody who is in the map: while it trains the weights change all the time.
  for (const [event, live] of [['focus', 'polite'], ['blur', 'off']]) canvas.addEventListener(event, () => byId('pair').setAttribute('aria-live', live));
  byId('shaded').addEventListener('click', event => {
    const at = event.target.dataset?.i;
    if (at !== undefined) { pointed = null; chooseQuery(Number(at)); }
  });
}

export function large() {
  box = byId('large-box');
  part('large', draw);
  part('in-words', drawInWords);
  pointing(byId('large-map'));
  followWidth(box, () => changed('large'));
}
