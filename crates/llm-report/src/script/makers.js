// What sections are made of.

function section(id, ...children) {
  return el('section', { id, 'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title` }, say(id)), ...children);
}
const soft = text => el('p', { class: 'soft' }, text);
const figure = (label, picture) => el('figure', {}, el('figcaption', {}, label), picture);
const swatch = mark => svg('svg', { class: 'swatch', viewBox: '0 0 26 10', 'aria-hidden': 'true' }, mark);
const legendEntry = (text, attributes) => el('li', {}, swatch(svg('line', { x1: 0, x2: 26, y1: 5, y2: 5, ...attributes })), text);

/** Cells and heads; what is one already stays as it is. */
const td = (value, attributes) => value instanceof Node ? value : el('td', attributes, String(value));
const th = value => value instanceof Node ? value : el('th', { scope: 'col' }, value);
const tr = (cells, attributes) => el('tr', attributes, ...cells.map(value => td(value)));

/** `rows` are lists of cells, or a body. */
function table(heads, rows, ...foot) {
  return el('div', { class: 'scroll', tabindex: 0 }, el('table', {}, el('thead', {}, tr(heads.map(th))),
    rows instanceof Node ? rows : el('tbody', {}, ...rows.map(cells => tr(cells))), ...foot));
}

/** Heads and body of a table that is sorted by any column with a `value`, what is not known last; `falls`: at first the highest on top. */
function sorted(columns, rows, order, attributes = () => ({})) {
  const body = el('tbody');
  const heads = columns.map(({ label, title, kind, value, falls = false }, column) => el('th', { scope: 'col', class: kind, title }, value ? el('button', { type: 'button', onclick: () => {
    order = { column, down: order.column === column ? !order.down : falls };
    show();
  } }, label) : label));
  function show() {
    const { value = () => 0 } = columns[order.column] ?? {}, sign = order.down ? -1 : 1;
    const shown = [...rows].sort((a, b) => {
      const [p, q] = [value(a), value(b)];
      if (p === null || q === null) return (p === null) - (q === null);
      return sign * (typeof p === 'number' && typeof q === 'number' ? p - q : String(p).localeCompare(String(q)));
    });
    columns.forEach((of, column) => of.value && heads[column].setAttribute('aria-sort', column !== order.column ? 'none' : order.down ? 'descending' : 'ascending'));
    body.replaceChildren(...shown.map(row => tr(columns.map(({ kind, cell }) => td(cell(row), { class: kind })), attributes(row))));
  }
  show();
  return [heads, body];
}

/** Behind a share in a table. */
const shade = (value, share) => td(value, { style: { backgroundColor: `rgba(var(--shade), ${(0.42 * within(share, 0, 1)).toFixed(3)})` } });
