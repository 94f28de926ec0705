// Facts by kind: how many the model gets right, against predictors that do not read.

import { app, part } from './app.js';
import { guessed } from './history.js';
import { byId, el, percent, whole } from './shared/make.js';
import { say, sayKnown } from './shared/say.js';

/** What guessing gets right of a kind: the better of the two predictors. */
const guess = kind => Math.max(kind.frequent ?? NaN, kind.last ?? NaN) / kind.of;

/** A bar from 0 to 100 %, with a mark for guessing. */
export function bar(share, guessing, ink) {
  const percents = x => `${(100 * x).toFixed(2)}%`;
  return el('div', { class: `bar ${ink}` },
    el('i', { class: 'fill', style: { width: percents(share) } }),
    Number.isFinite(guessing) ? el('i', { class: 'guess', style: { left: percents(guessing) } }) : null);
}

/** What a kind of facts is called, and how many places one has to look at for it. */
export const named = ({ kind, places }) =>
  el('span', { class: 'kind' }, sayKnown(kind, kind), el('small', {}, say(places === 2 ? 'twoPlaces' : 'onePlace')));

function row(kind) {
  const share = kind.right / kind.of;
  const told = `${whole(kind.right)} / ${whole(kind.of)}`;
  return el('li', { title: told },
    named(kind),
    bar(share, guess(kind), kind.places === 2 ? 'f-3' : 'f-4'),
    el('span', { class: 'value' }, percent(share)));
}

function draw() {
  const { kinds, made, facts } = app.run;
  const none = made && made.data !== 'stories' && !kinds.length;
  byId('facts').hidden = Boolean(none);
  byId('facts-all').hidden = !facts.length;
  byId('facts-share').textContent = percent(facts.at(-1)?.share);
  byId('facts-list').replaceChildren(...kinds.map(row));
  byId('facts-empty').hidden = kinds.length > 0;
  const guessing = guessed(kinds);
  byId('facts-legend').hidden = !Number.isFinite(guessing);
  byId('facts-legend-words').textContent = say('guessLegend', { share: percent(guessing) });
}

export function facts() {
  part('facts', draw);
}
