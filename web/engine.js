// The page's end of a worker: what is asked becomes a promise, what happens on the way goes to who listens.

import { failure } from './app.js';
import { byId } from './shared/make.js';

/** In the one file the core and the worker stand in the page itself; on a server they are files beside it. */
const embedded = id => byId(id)?.textContent;

function startWorker() {
  const source = embedded('worker-source');
  try {
    if (source === undefined) return new Worker('worker.js', { type: 'module' });
    const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    const worker = new Worker(address);
    URL.revokeObjectURL(address);
    return worker;
  } catch {
    throw failure('noWorker');
  }
}

/** The core, packed: text in one file, a file beside the page on a server. */
async function wasmBytes() {
  const text = embedded('wasm-packed');
  if (text !== undefined) return text.trim();
  let answer;
  try { answer = await fetch('llm_web.wasm.gz'); } catch { throw failure('noCore'); }
  if (!answer.ok) throw failure('noCore');
  return answer.arrayBuffer();
}

export class Engine {
  /** `listen` gets every event. */
  constructor(listen) {
    this.listen = listen;
    this.waiting = new Map();
    this.next = 1;
    this.memory = 0;
    /** Nothing in there can be relied on any more. */
    this.lost = false;
  }

  /** Starts the worker and the core in it. */
  async boot() {
    if (typeof Worker !== 'function') throw failure('noWorker');
    this.worker = startWorker();
    this.worker.onmessage = ({ data }) => this.take(data);
    // A worker that cannot even be read says so here.
    this.worker.onerror = event => { event.preventDefault(); this.fail(failure('noWorker')); };
    await this.call({ boot: await wasmBytes() });
    return this;
  }

  take(data) {
    this.memory = data.memory ?? this.memory;
    if (data.event) {
      this.listen(data);
      return;
    }
    const { resolve, reject } = this.waiting.get(data.id);
    this.waiting.delete(data.id);
    if (data.error?.key === 'noMemory') {
      this.lost = true;
      this.listen({ event: 'failed', error: data.error });
    }
    if (data.error) reject(Object.assign(new Error(data.error.message), data.error));
    else resolve({ answer: data.answer, blob: data.blob });
  }

  fail(error) {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
    this.listen({ event: 'failed', error });
  }

  /** Bytes that are given are copied: who asks keeps theirs. */
  call(message) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...message });
    });
  }

  ask(request, bytes) {
    return this.call({ ask: request, bytes });
  }
  watch(fields) {
    this.worker?.postMessage({ watch: fields });
  }
  steps(n) {
    return this.call({ steps: n });
  }
  train() {
    return this.call({ train: true });
  }
  pause() {
    return this.call({ pause: true });
  }
  /** The worker's memory goes with it. */
  end() {
    this.worker?.terminate();
    this.worker = null;
  }
}
