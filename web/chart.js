// What is drawn by step: losses, and facts that are right.

import { guessed } from './history.js';
import { plane } from './shared/chart.js';
import { say } from './shared/say.js';

/** The 1, 2 or 5 of a power of ten that is not above a value. */
function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [5, 2, 1].map(m => m * power).find(v => v <= value * 1.001) ?? power;
}

/** At most `most` points, each the mean of its neighbours: more than there are pixels cannot be seen. */
export function thinned(losses, before, most) {
  const bin = Math.max(1, Math.ceil(losses.length / most));
  const points = [];
  for (let i = 0; i < losses.length; i += bin) {
    const some = losses.slice(i, i + bin);
    points.push([before + i + (some.length + 1) / 2, some.reduce((a, b) => a + b, 0) / some.length]);
  }
  return points;
}

/** Steps on either side that a smoothed value is drawn from; fewer at the beginning, where losses fall fast. */
const BESIDE = 15;

/** One step is a noisy judge: each value is that of a line through the logarithms around it (local linear regression), which,
 * unlike a running mean, does not lag behind a falling loss. */
export function smoothed(losses) {
  const logs = losses.map(loss => Math.log(Math.max(loss, 1e-9)));
  return logs.map((_, i) => {
    const beside = Math.min(BESIDE, Math.ceil((i + 1) / 3));
    const from = Math.max(0, i - beside), near = logs.slice(from, i + beside + 1);
    const middle = (near.length - 1) / 2, mean = near.reduce((a, b) => a + b, 0) / near.length;
    let along = 0, square = 0;
    near.forEach((value, j) => {
      along += (j - middle) * (value - mean);
      square += (j - middle) ** 2;
    });
    return Math.exp(mean + (square ? along / square : 0) * (i - from - middle));
  });
}

/** How far down: the same for pictures that are compared. */
function lossRange(runs) {
  const all = runs.flatMap(run => [...thinned(run.losses, run.before, 400).map(p => p[1]), ...run.measured.map(m => m.loss)]);
  const lowest = Math.min(...all, runs.some(run => run.made?.data === 'stories') ? 0.06 : 1);
  const highest = Math.max(...all, Math.log(Math.max(...runs.map(run => run.made?.vocabulary ?? 2))));
  return [roundBelow(Math.max(lowest, 1e-6)), highest * 1.05];
}

/** Axes from step 0 to the last of these runs. A picture is as many units wide as it has pixels: letters keep their size. */
function bySteps(runs, width, height, range, options) {
  const steps = [0, Math.max(...runs.map(run => Math.max(run.steps, run.before + 10)))];
  const drawn = plane(width, height, steps, range, { x: say('stepAxis'), left: 46, right: 14, every: 100, round: [1, 2, 5, 10], ...options });
  drawn.picture.append(drawn.level(range[0], 'axis'));
  return drawn;
}

export const lossPlane = (runs, width, height, label) => bySteps(runs, width, height, lossRange(runs), { log: true, y: say('lossAxis'), label });

/** Shares of facts that are right, each line with its ink; and what guessing gets right. */
export function factsPicture(runs, lines, width, height, label) {
  const drawn = bySteps(runs, width, height, [0, 1], { percent: true, y: say('factsAxis'), label });
  const guess = guessed(runs.find(run => run.kinds.length)?.kinds ?? []);
  if (Number.isFinite(guess)) drawn.picture.append(drawn.level(guess, 'dashed k-start'));
  for (const [points, ink] of lines) {
    drawn.picture.append(drawn.line(points, `k-${ink}`), ...points.map(p => drawn.dot(p, { class: `f-${ink}`, r: 2 })));
  }
  return drawn;
}
