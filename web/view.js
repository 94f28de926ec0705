// What of this page the address keeps.

import { asked, readLooks, view } from './shared/view.js';

Object.assign(view, {
  /** The last head of the last layer, unless somebody chooses: late layers find the jobs that need what came before. */
  layer: Infinity,
  head: Infinity,
  /** The token that asks; null: one is chosen when there are maps. */
  token: null,
  /** The letter whose neighbours are shown, and the unit of an MLP; null: one is chosen. */
  letter: null,
  unit: null,
  /** The step that is shown; null: now. */
  step: null,
  tour: null,
});

const count = (fields, name) => fields.has(name) && /^\d{1,9}$/.test(fields.get(name)) ? Number(fields.get(name)) : null;

export function readAddress() {
  const fields = asked();
  view.layer = count(fields, 'layer') ?? Infinity;
  view.head = count(fields, 'head') ?? Infinity;
  for (const name of ['token', 'letter', 'unit', 'step', 'tour']) view[name] = count(fields, name);
  readLooks();
}
