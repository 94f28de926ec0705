// Page zero: what comes next? The visitor guesses, then the model does, before it has learned anything and after.

import { app, changed, part, put } from './app.js';
import { bar } from './facts.js';
import { following } from './follow.js';
import { byId, el, fixed, percent, whole } from './shared/make.js';
import { say } from './shared/say.js';
import { STORY } from './train.js';

/** Words that begin with four letters; the first is how the story goes on. */
const CHOICES = ['Jane', 'Finn', 'Lucy', 'map'];

/** What the visitor guessed, in which run. */
let guess = { run: '', word: null };
/** What the model said before its first step. */
let before = { run: '', choices: null };

/** Stories, and letters as pieces: else this is no question for the model. */
const fits = ({ made }) => !made || (made.data === 'stories' && made.tokenizer === 'byte');
const latest = following('question', () => fits(app.run) ? { do: 'next', text: STORY, choices: CHOICES } : null);

const guessed = () => guess.run === app.run.id ? guess.word : null;

function rows({ choices, pieces }, old) {
  const shares = choices.map(choice => choice.share), rest = 1 - shares.reduce((a, b) => a + b, 0);
  const row = (name, share, then, ink) => el('li', {}, el('span', { class: 'kind' }, ...name), bar(share, then, ink), el('span', { class: 'value' }, percent(share, 1)));
  return [
    ...CHOICES.map((word, i) => row([el('b', {}, word[0]), word.slice(1)], shares[i], old?.[i].share ?? NaN, i ? 'f-2' : 'f-4')),
    row([say('questionRest', { n: pieces - CHOICES.length })], rest, NaN, 'k-start'),
  ];
}

function drawModel(found, step) {
  if (found.step === 0) before = { run: app.run.id, choices: found.choices };
  const old = step > 0 && before.run === app.run.id ? before.choices : null;
  const [{ share, piece: letter }] = found.choices, loss = fixed(-Math.log(share), 2);
  byId('question-bars').replaceChildren(...rows(found, old));
  byId('question-legend').hidden = !old;
  put(byId('question-model'), step === 0
    ? say('questionEven', { pieces: found.pieces, even: percent(1 / found.pieces, 1), letter, loss })
    : say('questionNow', { step: whole(step), answer: CHOICES[0], letter, share: percent(share, 1), loss }));
}

function draw() {
  const { run } = app, word = guessed(), found = latest();
  byId('question').hidden = !fits(run);
  for (const button of byId('question-choices').children) button.setAttribute('aria-pressed', String(button.textContent === word));
  put(byId('question-told'), word === null ? '' : say(word === CHOICES[0] ? 'questionRight' : 'questionWrong', { answer: CHOICES[0] }));
  const shown = found && (word !== null || run.step > 0);
  byId('question-answer').hidden = !shown;
  byId('question-go').hidden = !shown || run.step > 0;
  if (shown) drawModel(found, found.step);
}

export function question() {
  part('question', draw);
  byId('question-story').replaceChildren(STORY, el('span', { class: 'blank' }, '?'));
  const choose = word => { guess = { run: app.run.id, word }; changed('question'); };
  // The answer does not stand first.
  byId('question-choices').append(...[...CHOICES].sort().map(word => el('button', { type: 'button', lang: 'en', onclick: () => choose(word) }, word)));
}
