// What is shown, kept in the address so that a view is a link.

const page = JSON.parse(byId('data').textContent);
/** The rows of every head, as shares of their weight. */
const maps = page.attention?.layers.map(heads => heads.map(rows => rows.map(row => row.map(weight => weight / 10000))));
Object.assign(view, { scale: 'linear', layer: 0, head: 0, token: 0, run: null });
learn(WORDS);

/** What the address does not name is what says most. */
function readAddress() {
  readLooks();
  const wanted = asked(), scale = wanted.get('scale');
  view.scale = scale === 'log' || scale === 'linear' ? scale : scaleAtFirst();
  if (!maps) return;
  const [layer, head] = wanted.has('layer') || wanted.has('head') ? [wanted.get('layer'), wanted.get('head')] : headAtFirst();
  view.layer = index(layer, maps.length);
  view.head = index(head, maps[view.layer]?.length ?? 0);
  view.token = index(wanted.get('token') ?? tokenAtFirst(rowsShown()), page.attention.tokens.length);
}

const rowsShown = () => maps[view.layer]?.[view.head] ?? [];
const both = text => text[language()];
const narrow = () => innerWidth < 640;
