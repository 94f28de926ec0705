// The language that is spoken, and the words in it.

import { SHARED_WORDS } from './words.js';

export const LANGUAGES = { en: 'en', zh: 'zh-CN' };
const words = { ...SHARED_WORDS };
let chosen = 'en';

/** What a page has to say besides. */
export const learn = more => Object.assign(words, more);

export const language = () => chosen;
export function speak(language) {
  chosen = language in LANGUAGES ? language : 'en';
  document.documentElement.lang = LANGUAGES[chosen];
}

/** The text that is spoken, of an English and a Chinese one. */
export const spoken = both => both[chosen === 'zh' ? 1 : 0];

/** A text with its places filled. */
export const say = (key, values = {}) => spoken(words[key]).replace(/\{(\w+)\}/g, (_, name) => values[name]);

/** A key that may be none of ours, such as a kind of fact that a later program has. */
export const sayKnown = (key, other) => key in words ? say(key) : other;
