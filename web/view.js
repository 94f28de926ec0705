// What of this page the address keeps.

import { failure } from './app.js';
import { asked, look, readLooks, view } from './shared/view.js';

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

/** What a run is made of: who makes it from the same numbers gets the same bytes. */
export const SETTINGS = ['heads', 'layers', 'width', 'rate', 'steps', 'seed'];
/** What a link says besides: the loss of that run on all unseen text, and the version that made it. */
const TOLD = ['loss', 'version'];

/** The run that the address describes. `wrong`: what of it cannot be had here. */
export function readLink() {
  const fields = asked(), known = [...SETTINGS, ...TOLD, ...Object.keys(view), 'lang'], settings = {}, wrong = [];
  for (const [name, value] of fields) {
    if (value && !known.includes(name)) wrong.push(failure('linkUnknown', { name }));
    if (!SETTINGS.includes(name)) continue;
    if (/^\d+(\.\d*)?(e-?\d+)?$/i.test(value)) settings[name] = Number(value);
    else wrong.push(failure('linkNumber', { name, value }));
  }
  return { settings, loss: fields.get('loss'), version: fields.get('version'), wrong };
}

/** The address tells of the run that stands there: nothing where a link could not make it. */
export function tellRun(settings, { loss = null, version = null } = {}) {
  look({ ...Object.fromEntries(SETTINGS.map(name => [name, settings?.[name] ?? null])), loss, version });
}
