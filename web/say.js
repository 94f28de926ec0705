// The language that is spoken, and the words in it.

import { WORDS } from './words.js';

export const LANGUAGES = { en: 'en', zh: 'zh-CN' };
let chosen = 'en';

export const language = () => chosen;
export function speak(language) {
  chosen = language in LANGUAGES ? language : 'en';
  document.documentElement.lang = LANGUAGES[chosen];
}

/** A text of `words.js` with its places filled. */
export function say(key, values = {}) {
  const text = WORDS[key][chosen === 'zh' ? 1 : 0];
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** A key that may be none of ours, such as a kind of fact that a later program has. */
export const sayKnown = (key, other) => key in WORDS ? say(key) : other;

/** Gives every element that is marked for it the words of the chosen language. */
export function relabel(root = document) {
  for (const node of root.querySelectorAll('[data-say]')) node.textContent = say(node.dataset.say);
  for (const node of root.querySelectorAll('[data-label]')) node.setAttribute('aria-label', say(node.dataset.label));
  document.title = say('title');
}
