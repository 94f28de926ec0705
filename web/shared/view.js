// What is looked at, kept in the address: a view is a link, and links of the book open one.

import { LANGUAGES, speak } from './say.js';

const THEMES = ['light', 'dark'];
const dark = matchMedia('(prefers-color-scheme: dark)');

/** A page adds fields of its own. */
export const view = { theme: 'light' };
export const asked = () => new URLSearchParams(location.hash.slice(1));

function useTheme(theme) {
  view.theme = THEMES.includes(theme) ? theme : dark.matches ? 'dark' : 'light';
  document.documentElement.dataset.theme = view.theme;
}

/** The language and the colours that the address names, else those of the system. */
export function readLooks() {
  const lang = asked().get('lang');
  speak(lang in LANGUAGES ? lang : (navigator.language || 'en').startsWith('zh') ? 'zh' : 'en');
  useTheme(asked().get('theme'));
}

/** Chooses what is looked at; null takes a field out of the address. */
export function look(fields) {
  const wanted = asked();
  for (const [name, value] of Object.entries(fields)) {
    if (name in view) view[name] = value;
    if (value === null) wanted.delete(name);
    else wanted.set(name, value);
  }
  // Another address is work for the whole browser, and some refuse it for files: then the view has none.
  if (String(wanted) !== String(asked())) {
    try { history.replaceState(null, '', '#' + wanted); } catch { /* nothing is lost */ }
  }
  if ('lang' in fields) speak(fields.lang);
  if ('theme' in fields) useTheme(fields.theme);
}

/** When the system changes to dark, so does the page, unless somebody chose. */
export function followSystem(then) {
  dark.addEventListener('change', () => {
    if (asked().has('theme')) return;
    useTheme(null);
    then();
  });
}
