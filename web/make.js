// Small makers of elements, and of numbers as one reads them. Texts become text nodes, never markup.

export function fill(node, attributes, children = []) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key.startsWith('aria-') && typeof value === 'boolean') node.setAttribute(key, String(value));
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}
export const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
export const byId = id => document.getElementById(id);

/** How wide an element is, without an order to lay out the page in the middle of a drawing: 0 until it has been. */
const widths = new WeakMap();
export const widthOf = node => widths.get(node) ?? 0;
export function followWidth(node, then) {
  new ResizeObserver(([{ contentRect }]) => {
    widths.set(node, contentRect.width);
    then();
  }).observe(node);
}

/** Text is written only where it changed: what reads the page aloud repeats nothing. */
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export const fixed = (x, digits) => Number.isFinite(x) ? x.toFixed(digits) : '–';
/** With commas; by hand, for what the browser has for it takes a frame's time when it is asked first. */
export const whole = n => Number.isFinite(n) ? String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',') : '–';
/** With a narrow space that does not break; none below one in a thousand is called zero. */
export const percent = (x, digits = 0) => Number.isFinite(x) ? `${(100 * x).toFixed(digits)}\u00a0%` : '–';
export const within = (x, low, high) => Math.min(Math.max(x, low), high);
/** An index from outside: anything becomes one of 0..n. */
export const index = (x, n) => within(Math.trunc(Number(x)) || 0, 0, Math.max(n - 1, 0));
export const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** Sizes in the units that files are told in. */
export function size(bytes) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const power = within(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 0, units.length - 1);
  const value = bytes / 1000 ** power;
  return `${power && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

/** Round numbers that a scale from `low` to `high` is marked with, and their digits after the point. */
export function ticks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw * 0.999) ?? raw;
  const marks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) marks.push(i * step + 0); // + 0: no −0
  return { marks, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}
