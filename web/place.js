// The place where steps are made: the tab's processor, or its GPU where that is faster. While the GPU makes them it has the weights; the
// core gets them back whenever somebody wants them, and goes on from there when the GPU is lost.

import { openGpu, UNREAD } from './gpu.js';

/** Trial time of each device, in ms. */
const TRIAL_MS = 400;
/** What is run for every micro-batch, and behind the last one of a step. */
const EACH = ['gradient', 'sum'];
const LAST = ['norm', 'clip', 'update'];

export class Place {
  /** `ask` asks the core, `tell` gets what the page is told, `lost` where the run is when the GPU is gone. */
  constructor(ask, tell, lost) {
    Object.assign(this, { ask, tell, lost });
    /** 'off', 'auto': where it is faster, 'on'. */
    this.wanted = 'off';
    this.gpu = null;
    this.forget();
  }

  /** Another model has taken the place of the one that was tried. */
  forget() {
    this.loaded?.end();
    this.loaded = null;
    /** What a trial found: {adapter, gpuMs, processorMs}, or `why` there is no GPU to make steps. */
    this.found = null;
    this.stale();
  }

  /** Marks the GPU's weights as outdated. */
  stale() {
    this.has = false;
    /** Where the core's weights are, and the GPU's. */
    this.core = this.now = 0;
  }

  get onGpu() {
    const { found, wanted } = this;
    if (!found || found.why) return false;
    return wanted === 'on' || (wanted === 'auto' && found.gpuMs < found.processorMs);
  }

  want(wanted) {
    if (this.wanted === wanted) return;
    this.wanted = wanted;
    if (wanted === 'on' && ['lost', 'disguise'].includes(this.found?.why)) this.found = null;
    this.told();
  }

  told() {
    this.tell({ trying: false, ...this.found, on: this.onGpu, tried: Boolean(this.found) });
  }

  /** Measures which device is faster, once for a model. `step` makes one on the processor, which counts, and says its loss; there are
   * `left` steps, and `goesOn` says whether anybody still waits. */
  async choose(step, at, left, goesOn) {
    if (this.wanted === 'off' || this.found) return;
    this.tell({ trying: true });
    const gpu = await this.tried(at, left);
    if (gpu.why) {
      this.found = gpu;
    } else {
      const once = this.wanted === 'on', took = [];
      let first = null;
      do {
        const from = performance.now(), loss = step();
        first ??= loss;
        took.push(performance.now() - from);
      } while (!once && took.length < left && goesOn() && took.reduce((a, b) => a + b) < TRIAL_MS);
      const close = Math.abs(gpu.loss - first) <= gpu.close * Math.max(Math.abs(first), gpu.small);
      this.found = { adapter: gpu.adapter, gpuMs: gpu.ms, processorMs: took.sort((a, b) => a - b)[took.length >> 1], ...(!close && { why: 'differs' }) };
    }
    this.stale(); // what it did was for the clock alone
    this.told();
  }

  /** The next step's loss on the GPU, and how long steps take there. */
  async tried(at, left) {
    try {
      this.gpu ??= await openGpu();
      if (!this.gpu) return { why: 'none' };
      if (this.gpu.isProcessor && this.wanted !== 'on') return { why: 'disguise', adapter: this.gpu.name };
      const { answer, blob } = this.ask({ do: 'list' });
      this.loaded = await this.gpu.load(answer, blob);
      this.upload(at);
      const most = this.wanted === 'on' ? 0 : TRIAL_MS;
      let loss = null, ms = 0, spent = 0;
      for (let n = 1; loss === null || spent < most; n = Math.min(2 * n, UNREAD)) {
        const begun = performance.now();
        const { losses } = await this.make(Array.from({ length: n }, (_, i) => at + i % left));
        loss ??= losses[0];
        ms = (performance.now() - begun) / n;
        spent += n * ms;
      }
      return { adapter: this.gpu.name, loss, ms, close: answer.close, small: answer.small };
    } catch (error) {
      return this.without(error);
    }
  }

  /** Why the GPU makes no steps: the core says it of a model, else the GPU of itself. */
  without(error) {
    if (error.key) throw error; // the core is lost
    const adapter = this.gpu?.name, { code, en, zh } = error;
    this.loaded = null;
    if (code === 'device' || code === 'memory') return { why: 'refused', adapter, en, zh };
    this.gpu?.device.destroy();
    this.gpu = null;
    return { why: 'lost', adapter, en: en ?? error.message, zh: zh ?? error.message };
  }

  upload(at) {
    const { answer, blob } = this.ask({ do: 'weights' });
    this.loaded.write(answer.writes, blob);
    this.has = true;
    this.core = this.now = at;
  }

  /** Queues steps of these numbers, and waits for them. */
  async make(steps) {
    const { micro_batches: n } = this.loaded.list;
    let rate;
    for (const step of steps) {
      for (let micro = 0; micro < n; micro++) {
        const { answer, blob } = this.ask({ do: 'batch', step, micro });
        this.loaded.write(answer.writes, blob);
        const isLast = micro + 1 === n;
        this.loaded.run(isLast ? [...EACH, ...LAST] : EACH, isLast);
        ({ rate } = answer);
      }
    }
    const told = await this.loaded.told();
    if (!told.every(Number.isFinite)) throw new Error('a loss or a norm that is not finite');
    return { losses: Array.from(told.filter((_, i) => i % 2 === 0)), rate };
  }

  /** Makes n steps after step `at` on the GPU; null when it is gone: the run is where the core has it. */
  async steps(at, n) {
    try {
      if (!this.has) this.upload(at);
      const { losses, rate } = await this.make(Array.from({ length: Math.min(n, UNREAD) }, (_, i) => at + i));
      this.now = at + losses.length;
      return { step: this.now, losses, rate, tokens: losses.length * this.loaded.list.tokens };
    } catch (error) {
      return this.fail(error);
    }
  }

  /** The core gets the weights, if the GPU is ahead of it. */
  async home() {
    if (!this.has || this.now === this.core) return;
    try {
      const bytes = await this.loaded.read(this.loaded.list.state);
      this.core = this.ask({ do: 'back', step: this.now }, bytes).answer.step;
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    const { core } = this;
    this.found = { ...this.found, ...this.without(error), why: 'lost' };
    this.stale();
    this.lost(core, this.found);
    this.told();
    return null;
  }
}
