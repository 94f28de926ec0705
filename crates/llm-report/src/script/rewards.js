// What a model got for its answers, how it changed, and what it answered on the way.

/** A small picture of some curves, whose scale ends at `most` at the earliest. */
function smallPicture(key, curves, { most = 0, percent: isShare = false } = {}) {
  const drawn = curves.filter(({ points }) => points.length > 1), all = drawn.flatMap(({ points }) => points);
  if (!all.length) return null;
  const values = all.map(p => p[1]), at = all.map(p => p[0]);
  const steps = [smallest(at), Math.max(largest(at), smallest(at) + 1)];
  const range = [Math.min(0, smallest(values) * 1.03), Math.max(most, largest(values) * 1.03)];
  const { picture, line, dot } = plane(300, 190, steps, range, { x: say('step'), label: say(key), percent: isShare, rows: 4 });
  for (const { points, line: kind, dot: fill } of drawn) {
    const last = points.at(-1), told = `${say('step')} ${whole(last[0])}: ${isShare ? percent(last[1]) : fixed(last[1], 3)}`;
    picture.append(line(points, kind), dot(last, { class: fill, r: 3.5 }, told));
  }
  return figure(say(key), picture);
}

function rewardsSection() {
  const { reward, differ, length, entropy, kl, start_kl: startKl, moments } = page.rewards;
  const pictures = [['reward', reward, 1], ['differ', differ, 1], ['entropyOf', entropy, 0.1], ['startKl', startKl, 0.01], ['klNow', kl, 0.01], ['length', length, 1]];
  const shown = moments.filter(moment => moment.answers.length);
  const heads = (shown[0]?.answers ?? []).map(of => el('th', { scope: 'col', class: 'words' }, of.question));
  const cell = ({ answer, right }) => td(`${answer} ${right === null ? '' : right ? '✓' : '✗'}`.trim(),
    { class: 'words', style: right ? { backgroundColor: 'rgba(var(--shade), 0.2)' } : {} });
  const rows = shown.map(moment => [whole(moment.step), ...moment.answers.map(cell)]);
  return section('rewards',
    soft(say('rewardsHint')),
    el('div', { class: 'grid' }, ...pictures.map(([key, points, most]) => smallPicture(key, [{ points, line: 'k-0', dot: 'f-0' }], { most, percent: key === 'differ' })).filter(Boolean)),
    ...(rows.length ? [el('h3', {}, say('answersOver')), table([say('step'), ...heads], rows)] : []));
}

/** What was made of pairs of answers: of those of the steps, and of those that no step learns from. */
function pairsSection() {
  const { learned, unseen } = page.pairs;
  const points = (of, key) => of.map(at => [at.step, at[key]]);
  const kinds = [['learnedPairs', learned, 'k-0 thin', 'f-0'], ['unseenPairs', unseen, 'k-1', 'f-1']].filter(([, of]) => of.length > 1);
  const both = (key, word, more) => smallPicture(word, kinds.map(([, of, line, dot]) => ({ points: points(of, key), line, dot })), more);
  const seen = unseen.length > 1 ? unseen : learned;
  const gains = [['better', 'k-2', 'f-2'], ['worse', 'k-3', 'f-3']].map(([key, line, dot]) => ({ key, points: points(seen, key), line, dot }));
  const entries = [...kinds.map(([word, , line]) => [say(word), line]), ...gains.map(({ key, line }) => [say(key), line])];
  return section('pairs',
    soft(say('pairsHint')),
    el('ul', { class: 'legend' }, ...entries.map(([word, line]) => legendEntry(word, { class: line, 'stroke-width': 3 }))),
    el('div', { class: 'grid' }, ...[both('loss', 'pairsLoss', { most: 0.7 }), both('margin', 'margin', { most: 0.1 }),
      both('accuracy', 'pairsRight', { most: 1, percent: true }), smallPicture('gains', gains, { most: 0.1 })].filter(Boolean)));
}
