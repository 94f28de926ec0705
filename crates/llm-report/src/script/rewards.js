// What a model got for its answers, how it changed, and what it answered on the way.

/** A small picture of one curve, whose scale ends at `most` at the earliest. */
function rewardPicture(key, points, most) {
  const values = points.map(p => p[1]), isShare = key === 'differ', last = points.at(-1);
  const steps = [points[0][0], Math.max(last[0], points[0][0] + 1)];
  const range = [Math.min(0, smallest(values)), Math.max(most, largest(values) * 1.03)];
  const { picture, line, dot } = plane(300, 190, steps, range, { x: say('step'), label: say(key), percent: isShare, rows: 4 });
  const told = `${say('step')} ${whole(last[0])}: ${isShare ? percent(last[1]) : fixed(last[1], 3)}`;
  picture.append(line(points, 'k-0'), dot(last, { class: 'f-0', r: 3.5 }, told));
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
    el('div', { class: 'grid' }, ...pictures.filter(([, points]) => points.length > 1).map(of => rewardPicture(...of))),
    ...(rows.length ? [el('h3', {}, say('answersOver')), table([say('step'), ...heads], rows)] : []));
}
