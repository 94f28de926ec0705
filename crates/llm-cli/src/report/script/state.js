// What is shown, kept in the address so that a view is a link.

const page = JSON.parse(document.getElementById('data').textContent);
const root = document.documentElement;
const state = { lang: 'en', theme: 'light', scale: 'linear', layer: 0, head: 0, token: 0, run: null };
const dark = matchMedia('(prefers-color-scheme: dark)');
const asked = () => new URLSearchParams(location.hash.slice(1));
const within = (x, n) => Math.min(Math.max(Math.trunc(Number(x)) || 0, 0), Math.max(n - 1, 0));

function readAddress() {
  const wanted = asked();
  const lang = wanted.get('lang') ?? ((navigator.language || 'en').startsWith('zh') ? 'zh' : 'en');
  state.lang = lang === 'zh' ? 'zh' : 'en';
  const theme = wanted.get('theme') ?? (dark.matches ? 'dark' : 'light');
  state.theme = theme === 'dark' ? 'dark' : 'light';
  const scale = wanted.get('scale');
  state.scale = scale === 'log' || scale === 'linear' ? scale : scaleAtFirst();
  const maps = page.attention;
  if (maps) {
    const [layer, head] = wanted.has('layer') || wanted.has('head') ? [wanted.get('layer'), wanted.get('head')] : headAtFirst();
    state.layer = within(layer, maps.layers.length);
    state.head = within(head, maps.layers[state.layer]?.length ?? 0);
    state.token = within(wanted.get('token') ?? tokenAtFirst(maps.layers[state.layer]?.[state.head] ?? []), maps.tokens.length);
  }
}

function putInAddress(change) {
  const wanted = asked();
  for (const [key, value] of Object.entries(change)) wanted.set(key, value);
  // Some browsers refuse this for files: then the view just has no address.
  try { history.replaceState(null, '', '#' + wanted); } catch { /* nothing is lost */ }
}

const say = key => WORDS[key][state.lang === 'zh' ? 1 : 0];
const both = text => text[state.lang];
/** Words with places for values. */
const filled = (key, values) => say(key).replace(/\{(\w+)\}/g, (_, name) => values[name]);
