// The MLP: which of its hidden units fire at the chosen letter, and at which letters the chosen unit fires.

import { changed, part, put } from './app.js';
import { bar } from './facts.js';
import { following } from './follow.js';
import { maps } from './maps.js';
import { byId, el, fixed, largest, whole } from './shared/make.js';
import { seen } from './shared/map.js';
import { say } from './shared/say.js';
import { look, view } from './shared/view.js';

/** The layer is that of the head that is shown large, the letter the one that asks there. */
const latest = following('units', () => maps.text ? {
  do: 'hidden', text: maps.text,
  ...(Number.isFinite(view.layer) && { layer: view.layer }), ...(view.token !== null && { token: view.token }), ...(view.unit !== null && { unit: view.unit }),
} : null);

function choose(fields) {
  look(fields);
  changed('heads', 'large', 'units');
}

/** A unit is one of its layer: in another layer the strongest is shown. */
const layerButton = (layer, chosen) => el('button', { type: 'button', class: 'small', 'aria-pressed': layer === chosen, onclick: () => choose({ layer, unit: null }) }, say('layerName', { layer }));

/** A bar from 0 to the largest; GELU's crumbs below 0 have none. */
function unitRow({ unit, value }, most, chosen) {
  return el('li', {},
    el('button', { type: 'button', class: 'small', 'aria-pressed': unit === chosen, onclick: () => choose({ unit }) }, say('unitName', { unit })),
    bar(Math.max(value, 0) / most, NaN, 'f-2'), el('span', { class: 'value' }, fixed(value, 2)));
}

/** The sentence, each letter as dark as the unit's number there; the letter that was chosen has a frame. */
function shade({ tokens, values, token }, most) {
  byId('units-text').replaceChildren(...tokens.map((piece, i) => {
    const ink = Math.max(values[i], 0) / most;
    return el('span', {
      'data-i': i, class: i === token ? 'query' : null, title: fixed(values[i], 2),
      style: { backgroundColor: ink > 0.02 ? `rgba(var(--shade), ${(0.6 * ink).toFixed(3)})` : '' },
    }, piece.replaceAll('\n', '↵\n'));
  }));
}

/** Buttons are made anew: the one that had the focus gets it again. */
function refill(box, rows) {
  const at = [...box.querySelectorAll('button')].indexOf(document.activeElement);
  box.replaceChildren(...rows);
  if (at >= 0) box.querySelectorAll('button')[at]?.focus();
}

function draw() {
  const found = latest();
  byId('units-body').hidden = !found;
  if (!found) return;
  const { layer, layers, units, unit, strongest, values, tokens, token, step } = found;
  put(byId('units-told'), say('unitsTold', { units: whole(units) }));
  refill(byId('units-layers'), Array.from({ length: layers }, (_, i) => layerButton(i, layer)));
  put(byId('units-of'), say('unitsOf', { layer, letter: seen(tokens[token]), i: token, step: whole(step) }));
  refill(byId('units-list'), strongest.map(of => unitRow(of, Math.max(strongest[0].value, 1e-6), unit)));
  const most = Math.max(largest(values), 1e-6);
  put(byId('units-where'), say('unitsWhere', { unit, layer, most: fixed(most, 2) }));
  shade(found, most);
}

export function units() {
  part('units', draw);
  byId('units-text').addEventListener('click', event => {
    const at = event.target.dataset?.i;
    if (at !== undefined) choose({ token: Number(at) });
  });
}
