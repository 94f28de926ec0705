// How one talks to the core in WebAssembly: a request in JSON, perhaps with bytes; an answer of the same kind.
// Works in a worker and in Node.

/** A function that needs SIMD: whoever refuses it cannot run the core. */
const SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11);

function refusal(key) {
  return Object.assign(new Error(key), { key });
}

/** The core of these bytes. */
export async function instantiate(bytes) {
  if (typeof WebAssembly !== 'object') throw refusal('noWasm');
  if (!WebAssembly.validate(SIMD)) throw refusal('noSimd');
  let instance;
  try {
    ({ instance } = await WebAssembly.instantiate(bytes, {}));
  } catch (error) {
    throw error instanceof RangeError ? refusal('noMemory') : refusal('badWasm');
  }
  return new Core(instance.exports);
}

class Core {
  constructor(exports) {
    this.exports = exports;
    this.lost = false;
  }

  /** Bytes that the core has taken from the browser. */
  get memory() {
    return this.exports.memory.buffer.byteLength;
  }

  /** A copy of bytes in the core's memory, which may have grown for it: views are made anew each time. */
  give(bytes) {
    const at = this.exports.give(bytes.length);
    if (!at && bytes.length) throw refusal('noMemory');
    new Uint8Array(this.exports.memory.buffer, at >>> 0, bytes.length).set(bytes);
    return at;
  }

  taken(at, length) {
    return new Uint8Array(this.exports.memory.buffer, at >>> 0, length >>> 0);
  }

  /** Answers `{answer, blob}`, or throws an Error with the core's `code` and its sentence as `en` and `zh`. */
  ask(request, bytes = null) {
    if (this.lost) throw refusal('noMemory');
    const { exports } = this;
    try {
      const asked = new TextEncoder().encode(JSON.stringify(request));
      const at = this.give(asked);
      const blobAt = bytes?.length ? this.give(bytes) : 0;
      const failed = exports.ask(at, asked.length, blobAt, bytes?.length ?? 0);
      const answer = JSON.parse(new TextDecoder().decode(this.taken(exports.answer_ptr(), exports.answer_len())));
      if (failed) throw Object.assign(new Error(answer.error.en), answer.error);
      const blob = exports.blob_len() ? this.taken(exports.blob_ptr(), exports.blob_len()).slice().buffer : null;
      return { answer, blob };
    } catch (error) {
      // After a trap nothing in there can be relied on.
      if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
        this.lost = true;
        throw refusal('noMemory');
      }
      throw error;
    }
  }
}
