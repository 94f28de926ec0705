// The run as an address: whoever opens it makes the same run, and sees whether it came to the same loss.

import { app, part, put, tell } from './app.js';
import { byId } from './shared/make.js';
import { say } from './shared/say.js';
import { SETTINGS } from './view.js';

const version = document.querySelector('meta[name="version"]').content;

/** Decimal digits that tell numbers of 32 bits apart. */
const DIGITS = 9;
const digits = value => String(Number(value.toPrecision(DIGITS)));

/** A number of 32 bits in as few digits as it needs. */
function shortest(value) {
  for (let n = 1; n < DIGITS; n += 1) {
    const short = Number(value.toPrecision(n));
    if (Math.fround(short) === Math.fround(value)) return String(short);
  }
  return digits(value);
}

/** The loss on all unseen text where the planned steps end, if they were all made by this processor; else null. */
function lossOf({ measured, made, onGpu }) {
  const end = measured.find(({ step, all }) => all && step === made.steps);
  return end && !onGpu ? digits(end.loss) : null;
}

/** Whether a link can make this run: it began here, on the built-in stories. */
const canBeLinked = ({ made, before, name }) => Boolean(made) && made.data === 'stories' && !before && !name;

/** The address that makes this run; null for a run that no link can make. */
export function linkOf(run) {
  if (!canBeLinked(run)) return null;
  const fields = new URLSearchParams(SETTINGS.map(name => [name, shortest(run.made[name])]));
  const loss = lossOf(run);
  if (loss) fields.set('loss', loss);
  if (version) fields.set('version', version);
  return `${location.href.split('#')[0]}#${fields}`;
}

/** What there is to say of the loss. */
function found(run) {
  const { linked, made } = run, loss = lossOf(run), steps = made.steps;
  if (!linked?.loss) return say(loss ? 'linkLoss' : run.onGpu ? 'linkGpu' : 'linkSettings', { loss, steps });
  if (run.onGpu) return say('linkGpu');
  if (!loss) return say('linkNames', { loss: linked.loss, steps });
  const words = { loss, named: linked.loss, theirs: linked.version, version };
  if (loss === linked.loss) return say('linkSame', words);
  return say(linked.version && linked.version !== version ? 'linkOther' : 'linkDiffers', words);
}

function draw() {
  const { run } = app, address = linkOf(run);
  byId('link').hidden = !address;
  if (!address) return;
  byId('link-address').value = address;
  put(byId('link-told'), found(run) + (location.protocol === 'file:' ? ` ${say('linkFile')}` : ''));
}

/** From a file a browser may refuse the clipboard: then the address is marked, to be copied by hand. */
async function copy() {
  byId('link-address').select();
  try {
    await navigator.clipboard.writeText(byId('link-address').value);
    tell('linkCopied');
  } catch {
    tell(document.execCommand('copy') ? 'linkCopied' : 'linkMarked');
  }
}

export function link() {
  part('link', draw);
  byId('link-copy').addEventListener('click', copy);
  put(byId('version'), version ? `train-gpt ${version}` : '');
}
