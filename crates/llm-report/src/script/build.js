// The page of its sections.

/** One of several views, kept in the address. */
function toggle(key, value, text) {
  return el('button', { type: 'button', 'data-set': value, 'aria-pressed': value === (key === 'lang' ? language() : view[key]), lang: value === 'zh' ? 'zh-CN' : null, onclick: () => {
    look({ [key]: value });
    build();
    document.querySelector(`[data-set="${value}"]`)?.focus({ preventScroll: true });
  } }, text);
}

/** Buttons of which one is on, and what they choose. */
function choice(key, ...buttons) {
  return el('div', { class: 'choice', role: 'group', 'aria-label': say(key) }, el('span', { class: 'soft', 'aria-hidden': 'true' }, say(key)), ...buttons);
}

function build() {
  const sections = [
    page.curves && curvesSection, page.rewards && rewardsSection, page.pairs && pairsSection, page.compare && compareSection, page.runs && runsSection, page.facts.length && factsSection,
    maps && attentionSection, page.heads.length && headsSection, page.causes && causesSection, page.lens && lensSection, page.prune && pruneSection, page.samples.length && samplesSection,
  ].filter(Boolean).map(make => make());
  const jump = made => el('a', { href: `#${made.id}`, onclick: event => {
    event.preventDefault();
    made.scrollIntoView({ behavior: calm() ? 'auto' : 'smooth' });
  } }, say(made.id));
  byId('page').replaceChildren(
    el('header', {},
      el('div', {}, el('h1', {}, page.title), el('div', { class: 'soft' }, page.made_by)),
      choice('language', toggle('lang', 'en', 'English'), toggle('lang', 'zh', '中文')),
      choice('colours', toggle('theme', 'light', say('light')), toggle('theme', 'dark', say('dark')))),
    ...(sections.length > 1 ? [el('nav', { 'aria-label': page.title }, ...sections.map(jump))] : []),
    ...page.notes.map(text => el('p', { class: 'note' }, both(text))),
    el('main', {}, ...sections),
    el('footer', {}, maps ? say('link') : ''));
}

function renew() {
  readAddress();
  build();
}
renew();
let wasNarrow = narrow();
addEventListener('resize', () => { if (wasNarrow !== narrow()) { wasNarrow = narrow(); build(); } });
addEventListener('hashchange', renew);
followSystem(build);
