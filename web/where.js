// The place where steps are made, and the switch for it: the tab's processor, or its GPU.

import { app, changed, part, put, sentence } from './app.js';
import { byId, fixed } from './shared/make.js';
import { language, say } from './shared/say.js';
import { watch } from './train.js';

/** A time of a step. */
function lasting(ms) {
  if (!Number.isFinite(ms)) return '–';
  return say('ms', { n: fixed(ms, ms < 10 ? 1 : 0) });
}

/** The sentence without the time of a step, and that time where the sentence has none. */
function parts({ place, run, wanted }) {
  const { adapter, why } = place, { gpu = place.gpuMs, processor = place.processorMs } = run.pace;
  if (place.trying) return [say('whereTrying')];
  const words = { adapter, gpu: lasting(gpu), processor: lasting(processor) };
  if (place.on) return [say('whereGpu', words)];
  const own = Number.isFinite(processor) ? say('whereEach', words) : '';
  if (!navigator.gpu || why === 'none') return [say('whereNoGpu'), own];
  if (wanted === 'off') return [say('whereOff'), own];
  if (why === 'differs') return [say('whereDiffers', words), own];
  if (why === 'disguise') return [say('whereDisguise', words), own];
  if (why) return [say('whereOff'), own, why === 'lost' ? say('whereLost', { said: place.en }) : sentence(place)];
  if (wanted === 'on') return [say('whereOn')];
  return [place.tried ? say('whereSlower', words) : say('whereLater')];
}

function draw() {
  const { place, wanted } = app, box = byId('on-gpu');
  box.disabled = !navigator.gpu || ['none', 'refused', 'differs'].includes(place.why);
  box.checked = !box.disabled && (wanted === 'on' || (wanted === 'auto' && place.on));
  put(byId('where'), parts(app).filter(Boolean).join(language() === 'zh' ? '' : ' '));
}

/** 'on', 'off', or 'auto': where it is faster. */
export function wants(gpu) {
  app.wanted = gpu;
  watch();
  changed('where');
}

export function where() {
  part('where', draw);
  byId('on-gpu').addEventListener('change', ({ target }) => wants(target.checked ? 'on' : 'off'));
}
