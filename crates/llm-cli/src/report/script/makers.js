// Small makers: texts become text nodes, never markup.

function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}
function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}
function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key.startsWith('aria-') && typeof value === 'boolean') node.setAttribute(key, String(value));
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}
const fixed = (x, n) => Number.isFinite(x) ? x.toFixed(n) : '–';
const whole = n => n.toLocaleString('en-US');
const narrow = () => innerWidth < 640;
const percent = (x, n = 1) => fixed(100 * x, n) + '\u00a0%';
/** Long lists would be too many arguments. */
const smallest = values => values.reduce((a, b) => Math.min(a, b), Infinity);
const largest = values => values.reduce((a, b) => Math.max(a, b), -Infinity);

/** Round numbers that a scale from `low` to `high` is marked with. */
function ticks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw * 0.999) ?? raw;
  const marks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) marks.push(i * step + 0); // + 0: no −0
  return { marks, decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (String(step / power) === '2.5' ? 1 : 0)) };
}

/** The same for a logarithmic scale: 1, 2 and 5 of every power of ten, or fewer when they are many. */
function decades(low, high, count) {
  const of = digits => {
    const marks = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      marks.push(...digits.map(m => m * power).filter(v => v >= low && v <= high));
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

/** Axes with marks; gives the functions from values to places. */
function plane(width, height, [x0, x1], [y0, y1], options = {}) {
  const margin = { left: options.left ?? 52, right: options.right ?? 24, top: options.y ? 28 : 8, bottom: options.bottom ?? 40 };
  // Names that are wider than their columns stand aslant.
  const widest = 6.4 * largest((options.columns ?? []).map(([, text]) => text.length));
  const aslant = options.columns && widest > (width - margin.left - margin.right) / options.columns.length;
  if (aslant) margin.bottom = 30 + 0.7 * widest;
  const x = v => margin.left + (v - x0) / (x1 - x0 || 1) * (width - margin.left - margin.right);
  const scaled = options.log ? v => Math.log(Math.max(v, y0)) : v => v;
  const y = v => height - margin.bottom - (scaled(v) - scaled(y0)) / (scaled(y1) - scaled(y0) || 1) * (height - margin.top - margin.bottom);
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': options.label ?? '' });
  const rows = (options.log ? decades : ticks)(y0, y1, options.rows ?? 5);
  for (const v of rows.marks) {
    picture.append(
      svg('line', { class: 'axis', x1: margin.left, x2: width - margin.right, y1: y(v), y2: y(v) }),
      svg('text', { x: margin.left - 7, y: y(v) + 4, 'text-anchor': 'end' }, options.percent ? fixed(100 * v, 0) : shownMark(v, rows.decimals)));
  }
  // Steps and heads are whole.
  const columns = options.columns ?? ticks(x0, x1, Math.round(width / (width < 500 ? 80 : 110))).marks.filter(v => Math.abs(v - Math.round(v)) < 1e-6).map(v => [v, whole(Math.round(v))]);
  for (const [v, text] of columns) {
    const [cx, cy] = [x(v), height - margin.bottom + (aslant ? 14 : 18)];
    picture.append(svg('text', aslant ? { x: cx + 4, y: cy, 'text-anchor': 'end', transform: `rotate(-45 ${cx + 4} ${cy})` } : { x: cx, y: cy, 'text-anchor': 'middle' }, text));
  }
  if (options.x) picture.append(svg('text', { x: (margin.left + width - margin.right) / 2, y: height - 4, 'text-anchor': 'middle' }, options.x));
  if (options.y) picture.append(svg('text', { class: 'name', x: 4, y: 14 }, options.y));
  return { picture, x, y, margin };
}
const path = points => points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');

function section(id, ...children) {
  return el('section', { id, 'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title` }, say(id)), ...children);
}
const swatch = mark => svg('svg', { class: 'swatch', viewBox: '0 0 26 10', 'aria-hidden': 'true' }, mark);
function legendEntry(text, attributes) {
  return el('li', {}, swatch(svg('line', { x1: 0, x2: 26, y1: 5, y2: 5, ...attributes })), text);
}
