// A head's weights as a picture: the scale of colours is that of every map of this project, the square root of the weight.

const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const rgb = name => [1, 3, 5].map(i => parseInt(style(name).slice(i, i + 2), 16));

/** The colours of a theme, once they are known: to ask for them makes the browser style all that has changed. */
const known = new Map();

/** The colours of the theme that is on. */
export function colours() {
  const { theme } = document.documentElement.dataset;
  if (!known.has(theme)) known.set(theme, { low: rgb('--heat-0'), high: rgb('--heat-1'), blank: rgb('--card') });
  return known.get(theme);
}

/** P of one head, a pixel a weight: `weights` [L, H, t, t], from `offset` on. */
export function paint(canvas, weights, offset, t, { low, high, blank }) {
  if (canvas.width !== t || canvas.height !== t) canvas.width = canvas.height = t;
  const context = canvas.getContext('2d');
  const image = context.createImageData(t, t);
  for (let i = 0; i < t; i++) {
    for (let j = 0; j < t; j++) {
      const ink = j <= i ? Math.sqrt(Math.min(Math.max(weights[offset + i * t + j], 0), 1)) : 0;
      const from = j <= i ? low : blank;
      const at = 4 * (i * t + j);
      for (let c = 0; c < 3; c++) image.data[at + c] = from[c] + ink * (high[c] - from[c]);
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

/** Where the weights of a head begin. */
export const offsetOf = (maps, layer, head) => (layer * maps.heads + head) * maps.t * maps.t;
