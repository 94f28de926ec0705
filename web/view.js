// What is looked at, kept in the address: a view is a link, and links of the book open one.

import { LANGUAGES, speak } from './say.js';

export const THEMES = ['light', 'dark'];
const dark = matchMedia('(prefers-color-scheme: dark)');

export const view = {
  /** The last head of the last layer, unless somebody chooses: late layers find the jobs that need what came before. */
  layer: Infinity,
  head: Infinity,
  /** The token that asks; null: one is chosen when there are maps. */
  token: null,
  /** The step that is shown; null: now. */
  step: null,
  tour: null,
  theme: 'light',
};

const asked = () => new URLSearchParams(location.hash.slice(1));
const count = (fields, name) => fields.has(name) && /^\d{1,9}$/.test(fields.get(name)) ? Number(fields.get(name)) : null;

export function readAddress() {
  const fields = asked();
  view.layer = count(fields, 'layer') ?? Infinity;
  view.head = count(fields, 'head') ?? Infinity;
  view.token = count(fields, 'token');
  view.step = count(fields, 'step');
  view.tour = count(fields, 'tour');
  const preferred = (navigator.language || 'en').startsWith('zh') ? 'zh' : 'en';
  speak(fields.get('lang') in LANGUAGES ? fields.get('lang') : preferred);
  useTheme(fields.get('theme'));
}

function useTheme(theme) {
  view.theme = THEMES.includes(theme) ? theme : dark.matches ? 'dark' : 'light';
  document.documentElement.dataset.theme = view.theme;
}

/** Chooses what is looked at; null takes a field out of the address. */
export function look(fields) {
  const wanted = asked();
  for (const [name, value] of Object.entries(fields)) {
    if (name in view) view[name] = value;
    if (value === null) wanted.delete(name);
    else wanted.set(name, value);
  }
  // Another address is work for the whole browser. Some refuse it for files: then the view has none, and nothing else is lost.
  if (String(wanted) !== String(asked())) {
    try { history.replaceState(null, '', '#' + wanted); } catch { /* as said */ }
  }
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
