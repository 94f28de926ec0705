// Axes with round numbers, and lines on them. A picture is as many units wide as it has pixels: letters keep their size.

import { fixed, svg, ticks, whole } from './make.js';

const MARGIN = { left: 46, right: 14, top: 26, bottom: 38 };

/** 1, 2 and 5 of every power of ten. */
function decades(low, high) {
  const marks = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    marks.push(...[1, 2, 5].map(m => m * power).filter(v => v >= low * 0.999 && v <= high));
  }
  return marks;
}

/** The 1, 2 or 5 of a power of ten that is not above a value. */
export function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [5, 2, 1].map(m => m * power).find(v => v <= value * 1.001) ?? power;
}

/** A picture with axes, and the functions from values to places. */
export function plane(width, height, [x0, x1], [y0, y1], { log = false, share = false, x: xTitle, y: yTitle, label }) {
  const { left, right, top, bottom } = MARGIN;
  const scaled = log ? v => Math.log(Math.max(v, y0)) : v => v;
  const x = v => left + (v - x0) / (x1 - x0 || 1) * (width - left - right);
  const y = v => height - bottom - (scaled(Math.min(v, y1)) - scaled(y0)) / (scaled(y1) - scaled(y0) || 1) * (height - top - bottom);
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label });
  const rows = log ? decades(y0, y1) : ticks(y0, y1, 5).marks;
  const shown = v => share ? fixed(100 * v, 0) : String(Number(v.toPrecision(3)));
  for (const v of rows) {
    picture.append(
      svg('line', { class: 'rule', x1: left, x2: width - right, y1: y(v), y2: y(v) }),
      svg('text', { x: left - 7, y: y(v) + 4, 'text-anchor': 'end' }, shown(v)));
  }
  for (const v of ticks(x0, x1, Math.round(width / 100)).marks.filter(Number.isInteger)) {
    picture.append(svg('text', { x: x(v), y: height - bottom + 17, 'text-anchor': v === x1 && width - x(v) < 24 ? 'end' : 'middle' }, whole(v)));
  }
  picture.append(
    svg('line', { class: 'axis', x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    svg('text', { class: 'name', x: 2, y: 13 }, yTitle));
  if (xTitle) picture.append(svg('text', { class: 'name', x: (left + width - right) / 2, y: height - 4, 'text-anchor': 'middle' }, xTitle));
  return { picture, x, y, inner: width - left - right, top, bottom: height - bottom };
}

export const path = points => points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');

/** At most so many points, each the mean of its neighbours: more than there are pixels cannot be seen. */
export function thinned(losses, before, most) {
  const bin = Math.max(1, Math.ceil(losses.length / most));
  const points = [];
  for (let i = 0; i < losses.length; i += bin) {
    const some = losses.slice(i, i + bin);
    points.push([before + i + (some.length + 1) / 2, some.reduce((a, b) => a + b, 0) / some.length]);
  }
  return points;
}

/** A running mean that follows quickly at first: one step is a noisy judge. */
export function smoothed(losses) {
  let mean = 0;
  return losses.map((loss, i) => mean += (loss - mean) / Math.min(i + 1, 30));
}

/** Steps, and how far down: the same for pictures that are compared. */
export function lossRange(runs) {
  const all = runs.flatMap(run => [...thinned(run.losses, run.before, 400).map(p => p[1]), ...run.measured.map(m => m.loss)]);
  const lowest = Math.min(...all, runs.some(run => run.made?.data === 'stories') ? 0.06 : 1);
  const highest = Math.max(...all, Math.log(Math.max(...runs.map(run => run.made?.vocabulary ?? 2))));
  return [roundBelow(Math.max(lowest, 1e-6)), highest * 1.05];
}
