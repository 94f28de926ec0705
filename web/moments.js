// A slider over the moments that were remembered: when did a head find its job? The right end is now.

import { app, changed, part, put } from './app.js';
import { chosenMoment, wantMaps } from './maps.js';
import { byId, calm, whole } from './shared/make.js';
import { say } from './shared/say.js';
import { look, view } from './shared/view.js';

/** A moment is looked at so long while they are played. */
const PLAY_MS = 450;
let playing = null;

/** Most bytes that the weights of moments take in all. */
const ROOM = 64e6;
/** The beginning is where most happens. */
const EARLY = [0, 10, 20, 40, 70];

/** The steps whose weights are remembered: not too many for the memory; `wished` is one that a link names. */
export function momentsFor({ parameters, steps }, wished = null) {
  const most = Math.max(2, Math.min(40, Math.floor(ROOM / (4 * parameters))));
  const raw = steps / Math.max(1, most - EARLY.length);
  const spacing = [10, 25, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000].find(s => s >= raw) ?? Math.ceil(raw);
  const usual = Array.from({ length: Math.floor(steps / spacing) + 1 }, (_, i) => i * spacing);
  const chosen = most > 3 * EARLY.length ? [...EARLY, ...usual] : usual;
  if (wished !== null) chosen.push(wished);
  return [...new Set(chosen)].filter(step => step <= steps).sort((a, b) => a - b);
}

function show(at) {
  const { moments } = app.run;
  look({ step: at >= moments.length ? null : moments[at].step });
  wantMaps();
  changed('moments', 'heads', 'large', 'question', 'letters', 'units', 'twins');
}

function stopPlaying() {
  clearInterval(playing);
  playing = null;
  changed('moments');
}

/** One after the other; who wants no motion gets one for each press. */
function play() {
  const { moments } = app.run, slider = byId('moment');
  const from = Number(slider.value) >= moments.length ? -1 : Number(slider.value);
  if (calm()) return show(from + 1);
  if (playing) return stopPlaying();
  let at = from;
  const next = () => {
    at += 1;
    show(at);
    if (at >= app.run.moments.length) stopPlaying();
  };
  playing = setInterval(next, PLAY_MS);
  next();
}

function draw() {
  const { moments, step } = app.run, slider = byId('moment');
  const chosen = chosenMoment();
  const waiting = view.step !== null && !chosen;
  slider.max = moments.length;
  slider.value = chosen ? moments.indexOf(chosen) : moments.length;
  slider.disabled = moments.length === 0;
  const told = chosen ? say('atStep', { step: whole(chosen.step) }) : say('nowAt', { step: whole(step) });
  slider.setAttribute('aria-valuetext', told);
  put(byId('moment-told'), told);
  put(byId('moment-first'), moments.length ? say('atStep', { step: whole(moments[0].step) }) : '');
  put(byId('moment-note'), waiting ? say('waitsFor', { step: whole(view.step) }) : moments.length < 2 ? say('momentsLater') : '');
  byId('play').disabled = moments.length < 2;
  put(byId('play'), say(calm() ? 'nextMoment' : playing ? 'stopPlaying' : 'play'));
}

export function moments() {
  part('moments', draw);
  byId('moment').addEventListener('input', event => { if (playing) stopPlaying(); show(Number(event.target.value)); });
  byId('play').addEventListener('click', play);
}
