// Embeddings: the letters' rows as points on paper, and which are nearest to one of them.

import { changed, followWidth, part, put, widthOf } from './app.js';
import { bar } from './facts.js';
import { following } from './follow.js';
import { maps } from './maps.js';
import { byId, el, fill, fixed, index, largest, onKeys, percent, svg, whole } from './shared/make.js';
import { seen } from './shared/map.js';
import { say } from './shared/say.js';
import { look, view } from './shared/view.js';

/** The letter that is shown at first: names begin with it, and other letters begin names too. */
const FIRST = 'J'.codePointAt(0);
const EDGE = 16;
const latest = following('letters', () => ({ do: 'embedding', token: view.letter ?? FIRST, ...(maps.text && { text: maps.text }) }));
let box, found = null;

function choose(letter) {
  look({ letter });
  changed('letters');
}

/** Both directions have one scale. */
function picture({ tokens, token: chosen, nearest }, width) {
  const height = Math.round(0.72 * width), room = [width / 2 - EDGE, height / 2 - EDGE];
  const farthest = axis => largest(tokens.map(({ at }) => Math.abs(at[axis])));
  const scale = Math.min(...room.map((room, axis) => room / (farthest(axis) || 1)));
  const near = new Set(nearest.map(({ token }) => token));
  const drawn = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true' },
    svg('line', { class: 'rule', x1: 0, x2: width, y1: height / 2, y2: height / 2 }), svg('line', { class: 'rule', x1: width / 2, x2: width / 2, y1: 0, y2: height }));
  const kind = token => token === chosen ? 'chosen' : near.has(token) ? 'near' : 'far';
  // The chosen one is drawn last: nothing covers it.
  for (const { token, piece, at } of [...tokens].sort((a, b) => (a.token === chosen) - (b.token === chosen))) {
    drawn.append(svg('text', { class: `letter ${kind(token)}`, 'text-anchor': 'middle', 'data-token': token, x: width / 2 + scale * at[0], y: height / 2 - scale * at[1] + 5 }, seen(piece)));
  }
  return drawn;
}

const row = ({ token, piece, cosine }) => el('li', {},
  el('button', { type: 'button', class: 'small', onclick: () => choose(token) }, seen(piece)), bar(Math.max(cosine, 0), NaN, 'f-2'), el('span', { class: 'value' }, fixed(cosine, 2)));

function draw() {
  found = latest();
  byId('letters-body').hidden = !found;
  const width = widthOf(box);
  if (!found || !width) return;
  const { tokens, token, nearest, shares } = found;
  const letter = seen(tokens.find(of => of.token === token).piece);
  put(byId('letters-told'), say('lettersTold', { width: found.width, share: percent(shares[0] + shares[1]) }));
  box.replaceChildren(picture(found, Math.max(240, width)));
  fill(box, { 'aria-label': say('lettersMap', { n: tokens.length, letter }) });
  put(byId('letters-near'), say('lettersNear', { letter, step: whole(found.step) }));
  byId('letters-list').replaceChildren(...nearest.map(row));
}

export function letters() {
  box = byId('letters-map');
  part('letters', draw);
  followWidth(box, () => changed('letters'));
  box.addEventListener('click', event => { if (event.target.dataset?.token) choose(Number(event.target.dataset.token)); });
  box.addEventListener('keydown', onKeys({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }, by => {
    if (!found) return;
    const { tokens, token } = found;
    choose(tokens[index(tokens.findIndex(of => of.token === token) + by, tokens.length)].token);
  }));
}
