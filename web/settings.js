// What the next model shall be. Empty fields are as in the programs; whether numbers go together the core says.

import { byId } from './shared/make.js';
import { make, mayReplace } from './train.js';
import { SETTINGS } from './view.js';

/** Fields that somebody filled in. */
export function settings() {
  const chosen = {};
  for (const name of SETTINGS) {
    const { value } = byId(`set-${name}`);
    if (value !== '') chosen[name] = Number(value);
  }
  return chosen;
}

/** The fields as a link has them. */
export function fillIn(chosen) {
  for (const name of SETTINGS) byId(`set-${name}`).value = chosen[name] ?? '';
}

export function settingsForm(pressed) {
  byId('settings').addEventListener('submit', event => {
    event.preventDefault();
    pressed(async () => { if (await mayReplace()) await make(settings()); })();
  });
}
