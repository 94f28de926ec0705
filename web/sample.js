// What it writes: rewritten while it trains, and whenever somebody gives it a beginning.

import { app, part, put } from './app.js';
import { pressed } from './controls.js';
import { byId, el, whole } from './shared/make.js';
import { say } from './shared/say.js';
import { listen, watch } from './train.js';

/** Letters of an example. */
const TOKENS = 160;

function draw() {
  const { sample } = app.run, box = byId('sample-text');
  byId('sample-empty').hidden = Boolean(sample);
  box.hidden = !sample;
  if (!sample) return put(byId('sample-step'), '');
  box.replaceChildren(el('span', { class: 'prompt' }, sample.prompt), sample.text);
  put(byId('sample-step'), say('afterStep', { step: whole(sample.step) }));
}

async function write() {
  if (!app.run.made) return;
  watch();
  const prompt = byId('prompt').value, temperature = Number(byId('temperature').value);
  const { answer } = await app.engine.ask({ do: 'write', tokens: TOKENS, temperature, ...(prompt && { prompt }) });
  listen({ event: 'sample', step: app.run.step, prompt: answer.prompt, text: answer.text });
}

export function sample() {
  part('sample', draw);
  const temperature = byId('temperature');
  temperature.addEventListener('input', () => put(byId('temperature-told'), temperature.value));
  byId('writing').addEventListener('submit', event => {
    event.preventDefault();
    pressed(write)();
  });
}
