// Axes with round numbers, and what is drawn on them: lines, dots, levels.

import { fixed, largest, svg, whole } from './make.js';

/** Round numbers that a scale from `low` to `high` is marked with, and their digits after the point. */
function ticks(low, high, count, round = [1, 2, 2.5, 5, 10]) {
  const raw = (high - low) / Math.max(count, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = round.map(m => m * power).find(s => s >= raw * 0.999) ?? raw;
  const marks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) marks.push(i * step + 0); // + 0: no −0
  return { marks, decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (String(step / power) === '2.5' ? 1 : 0)) };
}

/** Marks of a logarithmic scale: 1, 2 and 5 of every power of ten, or fewer when they are many. */
function decades(low, high, count) {
  const of = digits => {
    const marks = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      marks.push(...digits.map(m => m * power).filter(v => v >= low * 0.999 && v <= high));
    }
    return marks;
  };
  const few = of([1, 2, 5]);
  const marks = few.length > 3 ? few : of([1, 1.5, 2, 3, 5, 7]);
  if (marks.length < 3) return ticks(low, high, count);
  return { marks: marks.length > 2 * count ? marks.filter(v => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9) : marks };
}

/** A mark's number, short enough for the margin. */
function shownMark(v, decimals) {
  const exact = decimals === undefined ? Number(v.toPrecision(2)) : Number(v.toFixed(Math.min(decimals, 20)));
  if (exact === 0) return '0';
  if (Math.abs(exact) < 1e-3) return Number(v.toPrecision(2)).toExponential().replace('-', '−');
  if (Math.abs(exact) >= 1e6) return `${Number((exact / 1e6).toPrecision(3))} M`;
  if (Math.abs(exact) >= 1e5) return `${Number((exact / 1e3).toPrecision(3))} k`;
  if (Math.abs(exact) >= 1e4) return whole(exact);
  return decimals === undefined ? String(exact) : fixed(v, decimals);
}

/** A picture with axes, and makers of what is drawn there. `columns`: marks below, with their words, instead of whole numbers `every` so far. */
export function plane(width, height, [x0, x1], [y0, y1], options) {
  const { left = 52, right = 24, top = options.y ? 28 : 8, rows = 5, every = width < 500 ? 80 : 110, label = '' } = options;
  const inner = width - left - right;
  // Names that are wider than their columns stand aslant.
  const widest = 6.4 * largest((options.columns ?? []).map(([, text]) => text.length));
  const aslant = options.columns && widest > inner / options.columns.length;
  const bottom = height - (aslant ? 30 + 0.7 * widest : options.bottom ?? 40);
  const scaled = options.log ? v => Math.log(Math.max(v, y0)) : v => v;
  const x = v => left + (v - x0) / (x1 - x0 || 1) * inner;
  const y = v => bottom - (scaled(Math.min(v, y1)) - scaled(y0)) / (scaled(y1) - scaled(y0) || 1) * (bottom - top);
  const place = ([from, value]) => [x(from), y(value)];
  const level = (value, kind) => svg('line', { class: kind, x1: left, x2: width - right, y1: y(value), y2: y(value) });
  const line = (points, kind, attributes) => svg('path', {
    class: `curve ${kind}`, d: points.map(place).map(([cx, cy], i) => `${i ? 'L' : 'M'}${cx.toFixed(1)} ${cy.toFixed(1)}`).join(''), ...attributes,
  });
  const dot = ([from, value], attributes, title) => svg('circle', { cx: x(from), cy: y(value), ...attributes }, title && svg('title', {}, title));
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label });
  const { marks, decimals } = (options.log ? decades : ticks)(y0, y1, rows);
  for (const v of marks) {
    picture.append(level(v, 'rule'), svg('text', { x: left - 7, y: y(v) + 4, 'text-anchor': 'end' }, options.percent ? fixed(100 * v, 0) : shownMark(v, decimals)));
  }
  const columns = options.columns ?? ticks(x0, x1, Math.round(width / every), options.round).marks
    .filter(v => Math.abs(v - Math.round(v)) < 1e-6).map(v => [v, whole(v)]); // steps and heads are whole
  for (const [v, text] of columns) {
    const [cx, cy] = [x(v), bottom + (aslant ? 14 : 18)];
    picture.append(svg('text', aslant ? { x: cx + 4, y: cy, 'text-anchor': 'end', transform: `rotate(-45 ${cx + 4} ${cy})` }
      : { x: cx, y: cy, 'text-anchor': v === x1 && right < 16 ? 'end' : 'middle' }, text));
  }
  if (options.x) picture.append(svg('text', { class: 'below', x: left + inner / 2, y: height - 4, 'text-anchor': 'middle' }, options.x));
  if (options.y) picture.append(svg('text', { class: 'name', x: 4, y: 14 }, options.y));
  /** The value below which somebody points. */
  const at = event => {
    const box = picture.getBoundingClientRect();
    return x0 + ((event.clientX - box.left) / box.width * width - left) / inner * (x1 - x0);
  };
  return { picture, x, y, place, level, line, dot, at, inner, left, right, top, bottom };
}
