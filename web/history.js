// What is known of a run: what was said when it was made, and everything that was measured since.

/** A run of which nothing is known. */
export function emptyRun() {
  return {
    /** As the core describes it; null until it is there. */
    made: null,
    /** Names it among the runs that are kept. */
    id: '',
    name: '',
    step: 0,
    steps: 0,
    /** The link that it was made from: {loss, version}. */
    linked: null,
    /** Whether a GPU made steps of it: its last bits are its own. */
    onGpu: false,
    /** The step before the first loss: a loaded run begins late. */
    before: 0,
    losses: [],
    /** [{step, loss, all}]; `all`: on the whole unseen part. */
    measured: [],
    /** [{step, share, one, two}]: facts right, 0 to 1. */
    facts: [],
    /** The last measured: [{kind, places, right, of, frequent, last}]. */
    kinds: [],
    /** [{moment, step}]: weights that the core has kept. */
    moments: [],
    /** What heads do, by step. */
    roles: new Map(),
    sample: null,
    seconds: 0,
    speed: null,
    /** What a step takes where it is made, in ms: {gpu, processor}. */
    pace: {},
    /** The last step that a file has, or the browser keeps. */
    saved: -1,
    kept: -1,
    done: false,
  };
}

export function runOf(made, id) {
  const step = made.step ?? 0;
  return { ...emptyRun(), made, id, name: made.name ?? '', step, steps: made.steps, before: step, saved: step, kept: step, done: step >= made.steps };
}

/** A part of the facts: those of `places` places, or all. */
function shareOf(kinds, places) {
  const some = kinds.filter(kind => !places || kind.places === places);
  const sum = field => some.reduce((total, kind) => total + kind[field], 0);
  return sum('of') ? sum('right') / sum('of') : NaN;
}

/** What a worker tells of its run is kept there. */
const told = {
  steps(run, { step, losses, tokens, ms, onGpu }) {
    const speed = 1000 * tokens / ms, each = ms / losses.length, who = onGpu ? 'gpu' : 'processor';
    run.pace[who] = run.pace[who] ? 0.9 * run.pace[who] + 0.1 * each : each;
    run.step = step;
    run.onGpu ||= onGpu;
    run.losses.push(...losses.map(Math.fround));
    run.seconds += ms / 1000;
    run.speed = run.speed === null ? speed : 0.9 * run.speed + 0.1 * speed;
    run.done = step >= run.steps;
  },
  /** What a lost GPU had done after this step is lost with it. */
  back(run, { step }) {
    run.losses.length = step - run.before;
    Object.assign(run, { step, done: false });
  },
  moment(run, { moment, step }) {
    run.moments.push({ moment, step });
  },
  sample(run, { step, prompt, text }) {
    run.sample = { step, prompt, text };
  },
  measured(run, { step, validation_loss: loss, facts, facts_share: share, all }) {
    run.measured.push({ step, loss, all });
    if (!facts?.length) return;
    run.kinds = facts;
    run.facts.push({ step, share, one: shareOf(facts, 1), two: shareOf(facts, 2) });
  },
  roles(run, { step, heads, even }) {
    run.roles.set(step, { heads, even });
  },
};
export const hear = (run, event) => told[event.event]?.(run, event);

/** Facts that a predictor without reading gets right: the better of the two, if they were counted. */
export function guessed(kinds) {
  const best = field => kinds.reduce((total, kind) => total + (kind[field] ?? NaN), 0) / kinds.reduce((total, kind) => total + kind.of, 0);
  return kinds.length ? Math.max(best('frequent'), best('last')) : NaN;
}

/** What heads did, last measured at a step or before it. */
export function rolesUntil(run, step) {
  const known = [...run.roles.keys()].filter(at => at <= step);
  return known.length ? run.roles.get(Math.max(...known)) : null;
}

/** What is kept beside a checkpoint in the browser, so that curves go on where they were. */
export function memoir({ id, name, step, steps, before, losses, measured, facts, kinds, seconds, sample }) {
  return { id, name, step, steps, before, losses: Float32Array.from(losses), measured, facts, kinds, seconds, sample };
}

export function remembered(run, memoir) {
  const { before, measured, facts, kinds, seconds, sample, name, id } = memoir;
  Object.assign(run, { before, measured, facts, kinds, seconds, sample, name, id, losses: [...memoir.losses] });
}
