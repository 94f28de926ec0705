// Files in and out: a checkpoint is opened, a text is learned from. What a file is, its content says; its size is looked at first.

import { failure, size, tell } from './app.js';
import { settings } from './settings.js';
import { byId } from './shared/make.js';
import { say, spoken } from './shared/say.js';
import { load, make, mayReplace, utf16 } from './train.js';

/** Every checkpoint of the programs begins so. */
const MAGIC = [0x89, 0x4c, 0x4c, 0x4d, 0x43, 0x0d, 0x0a, 0x1a];
/** Larger texts are for the terminal, which reads them piece by piece. */
export const LARGEST_TEXT = 32e6;
const LARGEST_CHECKPOINT = 512e6;

/** Number of bytes sniffed to tell text from binary. */
const LOOKED_AT = 65536;

async function bytesOf(blob, name) {
  try {
    return new Uint8Array(await blob.arrayBuffer());
  } catch {
    throw failure('unreadable', { name });
  }
}

/** Opens a file: a checkpoint or a text. */
export async function open(file) {
  const { name } = file;
  if (file.size === 0) throw failure('emptyFile', { name });
  const start = await bytesOf(file.slice(0, MAGIC.length), name);
  const isCheckpoint = MAGIC.every((byte, i) => start[i] === byte);
  const largest = isCheckpoint ? LARGEST_CHECKPOINT : LARGEST_TEXT;
  if (file.size > largest) throw failure(isCheckpoint ? 'largeCheckpoint' : 'largeText', { name, size: size(file.size), most: size(largest) });
  if (!isCheckpoint && /\.ckpt$/i.test(name)) throw failure('noCheckpoint', { name });
  if (!isCheckpoint && !isText(await bytesOf(file.slice(0, LOOKED_AT), name))) throw failure('noText', { name });
  const bytes = await bytesOf(file, name);
  if (isCheckpoint) return load(bytes, name);
  const made = await make({ data: 'text', name, ...settings() }, bytes);
  // What was found in it, in the language that is chosen when it is told.
  tell('toldText', { get what() { return spoken([made.label.en, made.label.zh]); } });
  return made;
}

/** UTF-8 without zeros in it, or UTF-16. The beginning is looked at here; the core looks at all of it. */
function isText(beginning) {
  if (utf16(beginning)) return true;
  if (beginning.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(beginning, { stream: true });
    return true;
  } catch {
    return false;
  }
}

export function files(pressed) {
  const input = byId('file'), zone = document.documentElement;
  const opened = pressed(async file => { if (file && await mayReplace()) await open(file); });
  byId('open').addEventListener('click', () => input.click());
  input.addEventListener('change', async () => {
    await opened(input.files[0]);
    input.value = ''; // the same file may be chosen again
  });
  const dropping = on => zone.classList.toggle('dropping', on);
  addEventListener('dragover', event => {
    if (![...event.dataTransfer.types].includes('Files')) return;
    event.preventDefault();
    dropping(true);
  });
  addEventListener('dragleave', event => { if (!event.relatedTarget) dropping(false); });
  addEventListener('drop', event => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    dropping(false);
    opened(event.dataTransfer.files[0]);
  });
  byId('drop-limits').textContent = say('dropLimits', { text: size(LARGEST_TEXT) });
}
