// The page, put together.

import { app, changed, part, put, retell, sayTrouble, size, tell } from './app.js';
import { controls, pressed } from './controls.js';
import { curves } from './curves.js';
import { facts } from './facts.js';
import { files, LARGEST_TEXT } from './files.js';
import { heads } from './heads.js';
import { forget, kept } from './keep.js';
import { lab } from './lab.js';
import { large } from './large.js';
import { lens } from './lens.js';
import { letters } from './letters.js';
import { link } from './link.js';
import { read, wantMaps } from './maps.js';
import { moments } from './moments.js';
import { question } from './question.js';
import { race } from './race.js';
import { sample } from './sample.js';
import { fillIn, settingsForm } from './settings.js';
import { byId, whole } from './shared/make.js';
import { language, learn, say } from './shared/say.js';
import { followSystem, look, view } from './shared/view.js';
import { relink, retour, tour } from './tour.js';
import { first, listen, load, mayReplace, plan, start } from './train.js';
import { twins } from './twins.js';
import { units } from './units.js';
import { readAddress, readLink } from './view.js';
import { wants, where } from './where.js';
import { WORDS } from './words.js';

/** Everything that is said, in the language that was chosen. */
function speakAnew() {
  for (const node of document.querySelectorAll('[data-say]')) node.textContent = say(node.dataset.say);
  for (const node of document.querySelectorAll('[data-label]')) node.setAttribute('aria-label', say(node.dataset.label));
  document.title = say('title');
  relink();
  retour();
  retell();
  put(byId('drop-limits'), say('dropLimits', { text: size(LARGEST_TEXT) }));
  for (const [button, { lang, theme }] of looks()) button.setAttribute('aria-pressed', String(lang === language() || theme === view.theme));
  changed();
}

/** The buttons for languages and colours, and what each chooses. */
const looks = () => [...document.querySelectorAll('.choice button')].map(button => {
  const { lang, themeChoice: theme } = button.dataset;
  return [button, lang ? { lang } : { theme }];
});

function choices() {
  for (const [button, chosen] of looks()) button.addEventListener('click', () => { look(chosen); speakAnew(); });
  addEventListener('hashchange', () => {
    readAddress();
    speakAnew();
    plan();
    wantMaps();
    anew();
  });
  followSystem(speakAnew);
}

function sentence() {
  const field = byId('sentence');
  byId('reading').addEventListener('submit', event => {
    event.preventDefault();
    if (field.value && app.run.made) read(field.value);
  });
}

/** A run that the browser has kept since the last time: it goes on if one wants it to. */
async function offer() {
  const found = await kept();
  if (!found) return;
  const box = byId('kept');
  box.hidden = false;
  part('kept', () => put(byId('kept-told'), say('keptFound', {
    step: whole(found.step), steps: whole(found.steps), when: new Date(found.when).toLocaleString(document.documentElement.lang),
  })));
  changed('kept');
  byId('kept-go').addEventListener('click', pressed(async () => {
    await load(new Uint8Array(found.checkpoint), found.name || `step-${found.step}.ckpt`, found);
    box.hidden = true;
    if (!app.run.done && app.run.made.has_data) await start();
  }));
  byId('kept-forget').addEventListener('click', async () => {
    box.hidden = true;
    await forget(found.id);
  });
}

/** What is farther down comes one frame after the other: to lay out all at once would hold up the page. */
function unfold(then) {
  const next = document.querySelector('[data-later][hidden]');
  if (!next) return then();
  next.hidden = false;
  requestAnimationFrame(() => unfold(then));
}

/** All that the page has is laid out; a hidden page has no frames, and waits no longer than this, in ms. */
const HIDDEN_MS = 1000;
const unfolded = () => new Promise(then => {
  requestAnimationFrame(() => requestAnimationFrame(() => unfold(then))); // the next frame lays out the words above
  setTimeout(then, HIDDEN_MS);
});

function opened() {
  for (const set of [question, curves, facts, heads, large, twins, lens, letters, units, moments, controls, where, link, sample, tour]) set();
  for (const set of [race, files, settingsForm]) set(pressed);
  choices();
  sentence();
  speakAnew();
}

/** The run that the address describes; the usual one where it describes none that can be made. */
async function follow() {
  const { settings, wrong, ...linked } = readLink();
  wrong.forEach(sayTrouble);
  if (linked.loss) wants('off'); // its last digits are a processor's
  fillIn(settings);
  try {
    await first(settings, null, linked.loss ? linked : null);
  } catch (error) {
    if (!Object.keys(settings).length) throw error;
    sayTrouble(error);
    fillIn({});
    await first();
  }
}

/** Another run in the address takes the place of this one, if it may. */
const anew = pressed(async () => {
  const { settings, loss } = readLink(), { made, linked } = app.run;
  const isOther = Object.entries(settings).some(([name, value]) => Math.fround(made?.[name]) !== Math.fround(value)) || (loss && loss !== linked?.loss);
  if (isOther && await mayReplace()) await follow();
});

async function begin() {
  try {
    await unfolded(); // the core is compiled on all processors, and the page is to have one of them until it stands
    await follow();
    tell('toldReady');
  } catch (error) {
    listen({ event: 'failed', error });
    changed();
    throw error;
  }
}

learn(WORDS);
readAddress();
byId('no-script').remove();
opened();
lab(begin());
offer();
