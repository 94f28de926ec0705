// Two stories that are alike but for one word. A part of the model that is put from one into the other may take the answer along.

import { app, changed, part, put, sentence } from './app.js';
import { dragging } from './drag.js';
import { following } from './follow.js';
import { lensOn } from './lens.js';
import { byId, el, percent, within } from './shared/make.js';
import { seen } from './shared/map.js';
import { say, sayKnown } from './shared/say.js';

const SIDES = ['story', 'twin'];
const KINDS = ['other-person', 'other-item', 'receiver', 'who-has', 'he-she', 'thing', 'found-item', 'spot'];
/** What the bar shows: some room beyond nothing and all. */
const [LEAST, MOST] = [-0.25, 1.25];

/** What is looked at; `moved[i]` are the parts that story i has from the other one. */
const now = { run: '', kind: KINDS[0], pair: 0, at: 'last', moved: [[], []] };
/** The part that was moved last, until its effect is told: {part, into, back}. */
let untold = null;
/** What was last shown of each: it stays until there is another answer. */
const drawn = [null, null];
let told = () => '';
let why = null;

const fits = ({ made }) => Boolean(made) && made.data === 'stories' && made.tokenizer === 'byte';
const pairs = following('twins', () => fits(app.run) ? { do: 'twins', kind: now.kind, pair: now.pair } : null, error => { why = error; });
const wish = i => fits(app.run) && now.moved[i].length ? { do: 'patch', kind: now.kind, pair: now.pair, into: SIDES[i], at: now.at, moved: now.moved[i] } : null;
const patched = SIDES.map((_, i) => following('twins', () => wish(i)));

/** A whole number of percent, with a sign that is a minus; nothing is never below nothing. */
const shareOf = x => percent(Number.isFinite(x) ? Math.round(100 * x) / 100 + 0 : x).replace('-', '\u2212');
const nameOf = ([layer, head]) => head === undefined ? `MLP ${layer}` : `${layer}.${head}`;
const sayPart = ([layer, head]) => head === undefined ? say('partMlp', { layer }) : say('partHead', { layer, head });
const same = (a, b) => a.layer === b.layer && a.head === b.head;
const has = (i, moved) => now.moved[i].some(other => same(other, moved));

/** Puts a part into story i, or takes it out of there. */
function move(i, moved, into) {
  if (has(i, moved) === into) return;
  now.moved[i] = into ? [...now.moved[i], moved] : now.moved[i].filter(other => !same(other, moved));
  untold = { moved, into: i, back: !into };
  changed('twins');
}
function another(fields) {
  Object.assign(now, { moved: [[], []], ...fields });
  untold = null;
  drawn.fill(null);
  told = () => '';
  changed('twins');
}

/** A chip stands in a story for a part there, whoever it is from. */
const chipOf = chip => {
  const [layer, head] = chip.dataset.part.split('.').map(Number), side = SIDES.indexOf(chip.closest('.twin').dataset.side);
  return [side, head === undefined ? { layer } : { layer, head }];
};
function press(chip) {
  const [side, moved] = chipOf(chip);
  if (has(side, moved)) move(side, moved, false);
  else move(1 - side, moved, !has(1 - side, moved));
}
/** A part of its own goes where it is dropped; one from the other story goes back when it is dropped anywhere else. */
function drop(chip, box) {
  const [side, moved] = chipOf(chip), at = box ? SIDES.indexOf(box.dataset.side) : -1;
  if (has(side, moved)) move(side, moved, at === side);
  else if (at === 1 - side) move(at, moved, true);
}

/** A story, the answer, the bar and the parts of the model. */
const panel = side => el('div', { id: `twin-${side}`, class: 'twin', 'data-side': side },
  el('h3'), el('p', { class: 'story', lang: 'en' }), el('p', { class: 'soft' }),
  el('ul', { class: 'bars' }, el('li', {}, el('span', { class: 'kind' }),
    el('div', { class: 'bar signed' }, el('i', { class: 'fill' }), el('i', { class: 'guess' }), el('i', { class: 'guess' })), el('span', { class: 'value' }))),
  el('div', { class: 'chips', role: 'group' }));

/** Chips are made anew when the model has another shape only: the focus stays, and what is dragged. */
function chips(box, { layers, heads }) {
  const shape = `${layers}.${heads}`;
  if (box.dataset.shape === shape) return;
  box.dataset.shape = shape;
  const chip = (...of) => el('button', { type: 'button', class: 'chip', 'data-part': of.join('.') }, nameOf(of));
  const row = layer => el('div', { class: 'buttons' }, ...Array.from({ length: heads }, (_, head) => chip(layer, head)), chip(layer));
  box.replaceChildren(...Array.from({ length: layers }, (_, layer) => row(layer)));
}
function fillChips(box, i) {
  box.setAttribute('aria-label', say(i ? 'chipsTwin' : 'chipsStory'));
  for (const chip of box.querySelectorAll('.chip')) {
    const [, moved] = chipOf(chip), from = has(i, moved), away = has(1 - i, moved), name = sayPart([moved.layer, moved.head]);
    chip.classList.toggle('from', from);
    chip.setAttribute('aria-pressed', String(from || away));
    chip.setAttribute('aria-label', from ? say('chipFrom', { part: name }) : name);
  }
}

/** From a quarter less than nothing to a quarter more than all; what goes beyond is said by its number. */
function drawBar(box, share) {
  const at = x => 100 * (within(x, LEAST, MOST) - LEAST) / (MOST - LEAST), of = Number.isFinite(share) ? share : 0;
  const [left, right] = [Math.min(of, 0), Math.max(of, 0)].map(at);
  Object.assign(box.querySelector('.fill').style, { left: `${left}%`, width: `${right - left}%` });
  put(box.parentNode.querySelector('.value'), shareOf(share));
}

function drawSide(i, { texts, changed: places, right, says, ...shape }) {
  const side = byId(`twin-${SIDES[i]}`), own = says[i], moved = now.moved[i].length > 0, answer = moved ? patched[i]() : { ...own, carried: 0 };
  const isNew = !moved || JSON.stringify(answer?.asked) === JSON.stringify(wish(i));
  const got = (isNew ? answer : drawn[i]) ?? { ...own, carried: NaN };
  drawn[i] = got;
  put(side.querySelector('h3'), say(i ? 'twinsTwin' : 'twinsStory'));
  put(side.querySelector('.kind'), say('carried'));
  side.querySelector('.story').replaceChildren(...texts[i].map((piece, at) => places.includes(at) ? el('mark', {}, piece) : piece), el('b', { class: 'blank' }, seen(got.word)));
  side.classList.toggle('flipped', got.token !== own.token);
  put(side.querySelector('.soft'), [
    say('twinsFirst', { letter: seen(got.piece), share: percent(got.share) }),
    moved ? say('twinsBefore', { word: seen(own.word) }) : own.piece !== right[i] ? say('twinsRight', { letter: seen(right[i]) }) : '',
  ].join(' '));
  drawBar(side.querySelector('.bar'), got.carried);
  const box = side.querySelector('.chips');
  chips(box, shape);
  fillChips(box, i);
  // What was moved is told once the model has said what becomes of it.
  if (untold?.into !== i || !isNew) return;
  const { moved: { layer, head }, back } = untold, values = { before: seen(own.word), after: seen(got.word), share: shareOf(got.carried) };
  told = () => {
    const all = { ...values, part: sayPart([layer, head]) };
    return back ? say(i ? 'backFromTwin' : 'backFromStory', all) : say(i ? 'putIntoTwin' : 'putIntoStory', all);
  };
  untold = null;
}

function draw() {
  const { run } = app;
  byId('twins').hidden = !fits(run);
  if (now.run !== run.id) another({ run: run.id, pair: 0 });
  for (const option of byId('twins-kind').options) put(option, sayKnown(option.value, option.value));
  for (const button of byId('twins-at').children) button.setAttribute('aria-pressed', String(button.dataset.at === now.at));
  const found = fits(run) ? pairs() : null;
  byId('twins-body').hidden = !found;
  put(byId('twins-none'), !found && why ? sentence(why) : '');
  lensOn(found ? found.texts[0].join('') : '');
  if (!found) return;
  why = null;
  byId('twins-untaught').hidden = found.knows;
  SIDES.forEach((_, i) => drawSide(i, found));
  put(byId('twins-told'), told());
}

export function twins() {
  part('twins', draw);
  byId('twins-kind').append(...KINDS.map(kind => el('option', { value: kind })));
  byId('twins-kind').addEventListener('change', ({ target }) => another({ kind: target.value, pair: 0 }));
  byId('twins-another').addEventListener('click', () => another({ pair: now.pair + 1 }));
  byId('twins-at').addEventListener('click', ({ target }) => {
    now.at = target.dataset.at ?? now.at;
    changed('twins');
  });
  const body = byId('twins-body'), panels = SIDES.map(panel);
  byId('twins-sides').append(...panels);
  body.addEventListener('click', ({ target }) => { if (target.closest('.chip')) press(target.closest('.chip')); });
  dragging(body, '.twin', box => panels.forEach(side => side.classList.toggle('over', side === box)), drop);
}
