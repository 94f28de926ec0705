// The tour through the page, from page zero on; behind each step are pages of the book.

import { put } from './app.js';
import { byId, calm, el, index } from './shared/make.js';
import { language, say } from './shared/say.js';
import { look, view } from './shared/view.js';

/** Where to look, and where to read on. The pages are files below docs/. */
const STEPS = [
  { at: 'question', pages: ['concepts/guess_the_next', 'concepts/softmax'] },
  { at: 'train-section', pages: ['training_and_inference_walkthrough'] },
  { at: 'heads-section', pages: ['concepts/queries_keys_values'] },
  { at: 'moments-box', pages: ['looking_inside'] },
  { at: 'letters', pages: ['concepts/tokens_and_embeddings'] },
  { at: 'units', pages: ['concepts/mlp_and_norm'] },
  { at: 'race', pages: ['concepts/why_several_heads_are_robust'] },
  { at: 'files', pages: ['training_runs'] },
];

/** The address of a page of the book: this page may lie beside its sources or beside the book that was made of them. */
function pageOf(name) {
  const { base, ending } = document.querySelector('meta[name="book"]').dataset;
  return `${base}${name}${language() === 'zh' ? '.zh-CN' : ''}${ending}`;
}

export function relink() {
  for (const link of document.querySelectorAll('[data-page]')) link.href = pageOf(link.dataset.page);
}

function show() {
  const box = byId('tour'), on = view.tour !== null;
  document.querySelectorAll('.toured').forEach(node => node.classList.remove('toured'));
  box.hidden = !on;
  if (!on) return;
  const at = index(view.tour - 1, STEPS.length), { at: place, pages } = STEPS[at];
  put(byId('tour-step'), say('tourStep', { n: at + 1, of: STEPS.length }));
  put(byId('tour-title'), say(`tour${at + 1}Title`));
  put(byId('tour-text'), say(`tour${at + 1}`));
  byId('tour-pages').replaceChildren(...pages.map(page => el('p', {}, el('a', { href: pageOf(page) }, say('readOn', { page: say(`page_${page.split('/').at(-1)}`) })))));
  byId('tour-back').disabled = at === 0;
  put(byId('tour-next'), say(at === STEPS.length - 1 ? 'tourEnd' : 'tourNext'));
  byId(place).classList.add('toured');
}

function go(step) {
  look({ tour: step });
  show();
  if (step === null) {
    byId('tour-start').focus();
    return;
  }
  byId(STEPS[step - 1].at).scrollIntoView({ block: 'start', behavior: calm() ? 'auto' : 'smooth' });
  byId('tour-title').focus({ preventScroll: true });
}

export function tour() {
  byId('tour-start').addEventListener('click', () => go(1));
  byId('tour-back').addEventListener('click', () => go(Math.max(1, view.tour - 1)));
  byId('tour-next').addEventListener('click', () => go(view.tour >= STEPS.length ? null : view.tour + 1));
  byId('tour-close').addEventListener('click', () => go(null));
  byId('tour').addEventListener('keydown', event => { if (event.key === 'Escape') go(null); });
}

/** As the address says; words in the language that is spoken. */
export function retour() {
  if (view.tour !== null) view.tour = index(view.tour - 1, STEPS.length) + 1;
  show();
}
