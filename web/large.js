// One head, large: tokens on both axes, and who looks at whom, by pointing or by arrow keys.

import { app, changed, part } from './app.js';
import { byId, el, followWidth, index, percent, put, svg, whole, widthOf } from './make.js';
import { rolesUntil } from './history.js';
import { say } from './say.js';
import { look, view } from './view.js';
import { seen, shownHead, shownMaps } from './maps.js';
import { colours, offsetOf, paint } from './paint.js';
import { roleOf } from './heads.js';

/** A label beside the map has at most so many letters. */
const LETTERS = 7;
const LETTER = 6.2;
const ROW = 9;
/** Letters are smaller where rows are narrower. */
const SMALL = 11;
/** The key that is pointed at; null: none. */
let pointed = null;
let drawnAxes = '';
let box;

const short = token => [...seen(token)].length > LETTERS ? [...seen(token)].slice(0, LETTERS - 1).join('') + '…' : seen(token);

/** The token that asks: what was chosen, else the last, which is about to tell the next. */
const query = maps => view.token === null ? maps.t - 1 : index(view.token, maps.t);

/** Tokens beside the map, as many as fit. Gives where the map is, in units of the picture. */
function axes(maps, width) {
  const shown = maps.tokens.map(short);
  const longest = Math.max(...shown.map(text => [...text].length));
  const room = Math.round(longest * LETTER) + 6;
  const left = room + 16, top = (longest === 1 ? 12 : room) + 20;
  const side = width - left - 2, cell = side / maps.t;
  const sides = {
    query: { anchor: 'end', at: middle => ({ x: left - 4, y: top + middle + 3.5 }) },
    key: longest === 1 ? { anchor: 'middle', at: middle => ({ x: left + middle, y: top - 4 }) }
      : { anchor: 'start', turn: 'rotate(-90)', at: middle => ({ x: 4 - top, y: left + middle + 3.5 }) },
  };
  // One text for all labels of an axis: the browser lays out every text by itself.
  const labels = (axis, tokens, kind) => {
    const { anchor, turn, at } = sides[axis];
    return svg('text', { class: `mark ${cell < SMALL ? 'small' : ''} ${kind}`, 'data-axis': axis, 'text-anchor': anchor, transform: turn },
      ...tokens.map(i => svg('tspan', { 'data-i': i, ...at((i + 0.5) * cell) }, shown[i])));
  };
  const some = room => {
    const every = Math.max(1, Math.ceil(room / cell));
    return shown.flatMap((_, i) => i % every ? [] : [i]);
  };
  const picture = svg('svg', { viewBox: `0 0 ${width} ${top + side + 2}`, width, height: top + side + 2, 'aria-hidden': 'true' },
    svg('text', { class: 'name', x: left, y: 12 }, `${say('keyAxis')} →`),
    svg('text', { class: 'name', 'text-anchor': 'end', transform: `translate(11 ${top}) rotate(-90)` }, `← ${say('queryAxis')}`),
    labels('query', some(ROW), ''), labels('key', some(longest === 1 ? 8 : ROW), ''));
  return { picture, left, top, side, labels };
}

function place(node, left, top, width, height) {
  Object.assign(node.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
}

let laid = null;
function layOut(maps) {
  const width = Math.max(260, widthOf(box));
  const key = [width, document.documentElement.lang, ...maps.tokens].join('\u0001');
  if (key === drawnAxes) return;
  drawnAxes = key;
  laid = axes(maps, width);
  byId('large-axes').replaceChildren(laid.picture);
  place(byId('large-map'), laid.left, laid.top, laid.side, laid.side);
}

/** The row that asks and the column that is pointed at, and their labels. */
function mark(maps) {
  const i = query(maps), j = pointed ?? best(maps, i), cell = laid.side / maps.t;
  place(byId('large-row'), laid.left, laid.top + i * cell, laid.side, cell);
  place(byId('large-column'), laid.left + j * cell, laid.top, cell, laid.side);
  laid.picture.querySelectorAll('.chosen').forEach(node => node.remove());
  laid.picture.append(laid.labels('query', [i], 'chosen'), laid.labels('key', [j], 'chosen'));
}

const row = (maps, i) => {
  const [layer, head] = shownHead(maps), from = offsetOf(maps, layer, head) + i * maps.t;
  return maps.weights.subarray(from, from + i + 1);
};
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
  [...text.children].forEach((span, at) => {
    const share = at <= i ? Math.sqrt(weights[at]) : 0;
    span.className = at === i ? 'query' : at > i ? 'later' : '';
    span.style.backgroundColor = share > 0.02 ? `rgba(var(--shade), ${(0.6 * share).toFixed(2)})` : '';
  });
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
  paint(canvas, maps.weights, offsetOf(maps, layer, head), maps.t, colours());
  canvas.setAttribute('aria-label', say('mapLabel', { layer, head, n: maps.t }));
  mark(maps);
  caption(maps);
  changed('in-words');
}

/** The same in words and as shades of the sentence. */
function drawInWords() {
  const maps = shownMaps();
  if (!maps) return;
  shade(maps);
  put(byId('pair'), pair(maps));
}

const chooseQuery = i => { look({ token: i }); changed('large'); };

function pointing(canvas) {
  const cellOf = (event, maps) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return [index((event.clientY - top) / height * maps.t, maps.t), index((event.clientX - left) / width * maps.t, maps.t)];
  };
  const point = event => {
    const maps = shownMaps();
    if (!maps) return;
    const [i, j] = cellOf(event, maps);
    view.token = i; // an address for every pixel of a way would be too much; a click puts it there
    pointed = j;
    changed('large');
  };
  canvas.addEventListener('pointermove', point);
  canvas.addEventListener('click', event => { point(event); if (shownMaps()) look({ token: view.token }); });
  canvas.addEventListener('pointerleave', () => { pointed = null; changed('large'); });
  canvas.addEventListener('keydown', event => {
    const maps = shownMaps();
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -Infinity], End: [0, Infinity] }[event.key];
    if (!maps || !by) return;
    event.preventDefault();
    const i = query(maps), j = pointed ?? best(maps, i);
    pointed = Math.min(Math.max(j + by[1], 0), maps.t - 1);
    chooseQuery(index(i + by[0], maps.t));
  });
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
