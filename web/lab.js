// What a test, or somebody at the console, can do with the page: `window.lab`. Losses are f32, exactly.

import { app, sentence } from './app.js';
import { open } from './files.js';
import { linkOf } from './link.js';
import { raceState, startRace, stopRace } from './race.js';
import { index } from './shared/make.js';
import { language } from './shared/say.js';
import { view } from './shared/view.js';
import { checkpoint, load, make, start, step, stop } from './train.js';
import { wants } from './where.js';

/** `ready` is kept when the first model is there. */
export function lab(ready) {
  ready.catch(() => {}); // the page has said it; who waits for it gets it too
  window.lab = {
    ready: ready.catch(error => { throw new Error(sentence(error)); }),
    state() {
      const { run, engine, status, said } = app, made = run.made ?? {};
      return {
        status, said, step: run.step, steps: run.steps, data: made.data, heads: made.heads, layers: made.layers, width: made.width,
        parameters: made.parameters, vocabulary: made.vocabulary, tokensPerSecond: run.speed, moments: run.moments.map(m => m.step),
        facts: run.facts.at(-1)?.share ?? null, kinds: run.kinds, validation: run.measured.at(-1)?.loss ?? null, sample: run.sample?.text ?? null,
        saved: run.saved, kept: run.kept, lang: language(), theme: view.theme, layer: index(view.layer, made.layers ?? 1), head: index(view.head, made.heads ?? 1), at: view.step, memory: engine?.memory ?? 0,
        place: app.place, pace: run.pace, link: linkOf(run), linked: run.linked,
      };
    },
    losses: () => [...app.run.losses],
    start, stop, step, make, open, gpu: wants,
    ask: (request, bytes) => app.engine.ask(request, bytes).then(({ answer, blob }) => ({ answer, blob })),
    save: async () => (await checkpoint()).bytes,
    load: (bytes, name = 'model.ckpt') => load(bytes, name),
    race: { start: startRace, stop: stopRace, state: raceState },
  };
  window.lab.ready.catch(() => {});
}
