// A head's weights as a picture with tokens beside it; the colour is the square root of the weight, in every map of this project.

import { cut, index, largest, svg } from './make.js';

const rgb = name => {
  const style = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map(i => parseInt(style.slice(i, i + 2), 16));
};

/** The colours of a theme, once they are known: to ask for them makes the browser style all that has changed. */
const inks = new Map();
function colours() {
  const { theme } = document.documentElement.dataset;
  if (!inks.has(theme)) {
    const blank = rgb('--card'), mark = rgb('--mark');
    inks.set(theme, { low: rgb('--heat-0'), high: rgb('--heat-1'), blank, later: blank.map((c, i) => 0.65 * c + 0.35 * mark[i]) });
  }
  return inks.get(theme);
}

/** P of one head, a pixel a weight; `row` gives the weights of one of its n rows. What is ahead of the token `query` is tinted. */
export function paint(canvas, n, row, query = -1) {
  const { low, high, blank, later } = colours();
  if (canvas.width !== n || canvas.height !== n) canvas.width = canvas.height = n;
  const context = canvas.getContext('2d'), image = context.createImageData(n, n);
  for (let i = 0; i < n; i++) {
    const weights = row(i);
    for (let j = 0; j < n; j++) {
      const ink = j <= i ? Math.sqrt(Math.min(Math.max(weights[j], 0), 1)) : 0;
      const from = j <= i ? low : i === query ? later : blank;
      const at = 4 * (i * n + j);
      for (let c = 0; c < 3; c++) image.data[at + c] = from[c] + ink * (high[c] - from[c]);
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

/** A token by itself shows its spaces. */
export const seen = token => token.replaceAll(' ', '␣').replaceAll('\n', '↵') || '∅';

/** Tokens beside a map, as many as fit where each needs `room`, in a picture of this width. */
export function axes(tokens, width, queryName, keyName, room) {
  const n = tokens.length;
  const shown = tokens.map(token => cut(seen(token), 8));
  const longest = largest(shown.map(text => [...text].length)), upright = longest === 1;
  const aside = Math.round(6.6 * longest) + 8, left = aside + 16, top = (upright ? 16 : aside) + 18;
  const side = width - left - 6, cell = side / n, height = top + side + 4;
  const sides = {
    query: { anchor: 'end', at: middle => ({ x: left - 5, y: top + middle + 3.5 }) },
    key: upright ? { anchor: 'middle', at: middle => ({ x: left + middle, y: top - 5 }) }
      : { anchor: 'start', turn: 'rotate(-90)', at: middle => ({ x: 5 - top, y: left + middle + 3.5 }) },
  };
  // One text for all labels of an axis: the browser lays out every text by itself.
  const labels = (axis, some, kind) => {
    const { anchor, turn, at } = sides[axis];
    return svg('text', { class: kind, 'text-anchor': anchor, transform: turn },
      ...some.map(i => svg('tspan', at((i + 0.5) * cell), shown[i])));
  };
  const fitting = (axis, room) => {
    const every = Math.max(1, Math.ceil(room / cell));
    return labels(axis, shown.flatMap((_, i) => i % every ? [] : [i]), cell < 11 ? 'mark small' : 'mark');
  };
  const chosen = svg('g');
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true' },
    svg('text', { class: 'name', x: left, y: 11 }, `${keyName} →`),
    svg('text', { class: 'name', 'text-anchor': 'end', transform: `translate(11 ${top}) rotate(-90)` }, `← ${queryName}`),
    fitting('query', room), fitting('key', upright ? 8 : room), chosen);
  const share = (part, of) => `${(100 * part / of).toFixed(3)}%`;
  return {
    picture,
    /** The query and its key are always named; -1 stands for no key. */
    choose(i, j) {
      chosen.replaceChildren(labels('query', [i], 'chosen'), ...(j >= 0 ? [labels('key', [j], 'chosen')] : []));
    },
    /** Lays something over the map, or over a part of it. */
    cover(node, row = 0, column = 0, rows = n, columns = n) {
      Object.assign(node.style, {
        left: share(left + column * cell, width), top: share(top + row * cell, height), width: share(columns * cell, width), height: share(rows * cell, height),
      });
    },
  };
}

/** The row and the column of a map that somebody points at. */
export function cellAt({ currentTarget, clientX, clientY }, n) {
  const { left, top, width, height } = currentTarget.getBoundingClientRect();
  return [index((clientY - top) / height * n, n), index((clientX - left) / width * n, n)];
}

/** A text shaded by what its token `query` gives to those before it. */
export function shadeText(spans, query, share, darkest) {
  spans.forEach((span, i) => {
    const ink = i <= query ? Math.sqrt(share(i)) : 0;
    span.className = i === query ? 'query' : i > query ? 'later' : '';
    span.style.backgroundColor = ink > 0.02 ? `rgba(var(--shade), ${(darkest * ink).toFixed(3)})` : '';
  });
}
