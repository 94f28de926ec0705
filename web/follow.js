// An answer of the core that follows what is shown: asked for anew when the model, the moment or the question is another.

import { app, changed } from './app.js';
import { chosenMoment } from './maps.js';

/** While it trains, an answer may be so old. */
const AGE_MS = 1000;

/** The latest answer for a part of the page, with its step and what was `asked`; `request` says what is asked now, or null. The part is drawn again when another one comes. */
export function following(part, request, missed = () => {}) {
  let found = null, foundFor = '', asking = false, at = 0, later = null;
  const ask = async (run, step, asked, fields, key) => {
    asking = true;
    try {
      const { answer } = await app.engine.ask(fields);
      if (app.run === run) found = { ...answer, step, asked };
    } catch (error) {
      found = null; // maps of the same sentence tell why, else who asked
      missed(error);
    }
    [foundFor, at, asking] = [key, performance.now(), false];
    changed(part);
  };
  return () => {
    const run = app.run, asked = run.made && request();
    if (!asked || app.status === 'failed') return run.made ? found : null;
    const moment = chosenMoment(), step = moment?.step ?? run.step;
    const fields = { ...asked, ...(moment && { moment: moment.moment }) };
    const what = JSON.stringify([run.id, fields]), key = `${what} ${step}`;
    if (asking || key === foundFor) return found;
    const left = foundFor.startsWith(`${what} `) ? at + AGE_MS - performance.now() : 0;
    clearTimeout(later);
    if (left > 0) later = setTimeout(() => changed(part), left);
    else ask(run, step, asked, fields, key);
    return found;
  };
}
