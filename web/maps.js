// Maps of the chosen sentence: those of now come while it trains, those of a remembered moment when they are looked at.

import { app, changed, sayTrouble } from './app.js';
import { index } from './shared/make.js';
import { view } from './shared/view.js';

/** Most numbers of all maps of moments that are at hand. */
const MOST_NUMBERS = 16e6;
/** Sentences are shown up to here; the model may read less. */
const LONGEST = 160;

export const maps = {
  text: '',
  /** {tokens, layers, heads, t, weights, step} of now. */
  now: null,
  /** Such maps of moments by their step, the last used last. */
  known: new Map(),
};

export function takeMaps({ text, step, tokens, layers, heads, t, blob }) {
  if (text !== maps.text) return; // of a sentence that was there before
  maps.now = { tokens, layers, heads, t, step, weights: new Float32Array(blob) };
  changed('heads', 'large', 'question', 'letters', 'units', 'twins');
}

export function forgetMaps() {
  maps.now = null;
  maps.known.clear();
}

/** The moment that is chosen: none is now. A link may name a step that is still to come. */
export const chosenMoment = () => view.step === null ? null : app.run.moments.find(m => m.step === view.step) ?? null;

/** What is shown: maps of the chosen moment, else of now. */
export function shownMaps() {
  const moment = chosenMoment();
  if (!moment) return maps.now;
  return maps.known.get(moment.moment) ?? null;
}

function keep(moment, found) {
  maps.known.set(moment, found);
  let numbers = [...maps.known.values()].reduce((sum, of) => sum + of.weights.length, 0);
  for (const [old, of] of maps.known) {
    if (numbers <= MOST_NUMBERS || old === moment) break;
    numbers -= of.weights.length;
    maps.known.delete(old);
  }
}

/** Asks for the maps that are to be shown, if they are not here. */
export async function wantMaps() {
  const moment = chosenMoment();
  if (!app.run.made || (moment && maps.known.has(moment.moment))) return;
  const { text } = maps;
  try {
    const { answer, blob } = await app.engine.ask({ do: 'attention', text, ...(moment && { moment: moment.moment }) });
    if (text !== maps.text) return;
    if (moment) keep(moment.moment, { ...answer, step: moment.step, weights: new Float32Array(blob) });
    else takeMaps({ text, step: app.run.step, ...answer, blob });
    changed('heads', 'large', 'moments', 'units');
  } catch (error) {
    sayTrouble(error);
  }
}

/** Another sentence. */
export function read(text) {
  maps.text = text.slice(0, LONGEST);
  forgetMaps();
  app.engine.watch({ text: maps.text });
  return wantMaps();
}

/** The head that is looked at, of those that there are. */
export function shownHead({ layers, heads }) {
  return [index(view.layer, layers), index(view.head, heads)];
}

/** The rows of P of one head: of `weights` [layers, heads, t, t], what is not ahead. */
export const rowsOf = ({ weights, heads, t }, layer, head) => i => {
  const from = ((layer * heads + head) * t + i) * t;
  return weights.subarray(from, from + i + 1);
};
