// Small makers of elements, and of numbers as one reads them. Texts become text nodes, never markup.

export function fill(node, attributes, children = []) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'style') Object.assign(node.style, value); // as an attribute the rules of these pages would not allow it
    else if (key.startsWith('aria-') && typeof value === 'boolean') node.setAttribute(key, String(value));
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}
export const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
export const byId = id => document.getElementById(id);

/** What a key asks for, of those that ask for something here; then it does nothing else. */
export const onKeys = (meanings, then) => event => {
  const meaning = meanings[event.key];
  if (meaning === undefined) return;
  event.preventDefault();
  then(meaning);
};

export const fixed = (x, digits) => Number.isFinite(x) ? x.toFixed(digits) : '–';
/** With commas; by hand, for what the browser has for it takes a frame's time when it is asked first. */
export const whole = n => Number.isFinite(n) ? String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',') : '–';
/** With a space that does not break. */
export const percent = (x, digits = 0) => Number.isFinite(x) ? `${(100 * x).toFixed(digits)}\u00a0%` : '–';
export const cut = (text, most) => [...text].length > most ? [...text].slice(0, most - 1).join('') + '…' : text;
export const within = (x, low, high) => Math.min(Math.max(x, low), high);
/** An index from outside: anything becomes one of 0..n. */
export const index = (x, n) => within(Math.trunc(Number(x)) || 0, 0, Math.max(n - 1, 0));
/** Long lists would be too many arguments. */
export const smallest = values => values.reduce((a, b) => Math.min(a, b), Infinity);
export const largest = values => values.reduce((a, b) => Math.max(a, b), -Infinity);
export const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
