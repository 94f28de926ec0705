// The table of facts, samples.

function factsSection() {
  const values = page.facts.map(fact => fact.value.en).join(' · ');
  const used = Object.keys(LETTERS).filter(letter => new RegExp(`(^|[ (])${letter} \\d`).test(values));
  const letters = used.map(letter => letter + (language() === 'zh' ? '：' : ': ') + spoken(LETTERS[letter])).join(' · ');
  return section('facts',
    el('dl', {}, ...page.facts.flatMap(fact => [el('dt', {}, both(fact.label)), el('dd', {}, both(fact.value))])),
    used.length ? el('p', { class: 'soft letters' }, letters) : null);
}

/** The newest can be seen at once, those before it by opening them. */
function samplesSection() {
  const shown = page.samples.map(sample => el('div', { class: 'sample' },
    el('div', { class: 'soft' }, `${say('afterStep')} ${whole(sample.step)} ${say('afterStep2')}`.trim()),
    el('pre', {}, el('span', { class: 'prompt' }, sample.prompt), sample.text)));
  const newest = shown.pop();
  const title = shown.length === 1 ? say('earlierOne') : say('earlier', { n: shown.length });
  return section('samples', newest, shown.length ? el('details', {}, el('summary', {}, title), ...shown) : null);
}
