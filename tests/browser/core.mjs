// The WebAssembly core in Node, without a page.
import fs from "node:fs";

export async function open(file) {
  const { instance } = await WebAssembly.instantiate(fs.readFileSync(file), {});
  const core = instance.exports;
  const give = (bytes) => {
    if (bytes.length === 0) return [0, 0];
    const place = core.give(bytes.length);
    if (place === 0) throw new Error("memory");
    new Uint8Array(core.memory.buffer, place, bytes.length).set(bytes);
    return [place, bytes.length];
  };
  const taken = (place, length) => new Uint8Array(core.memory.buffer, place, length).slice();
  const ask = (request, blob = new Uint8Array()) => {
    const failed = core.ask(...give(new TextEncoder().encode(JSON.stringify(request))), ...give(blob));
    const answer = JSON.parse(new TextDecoder().decode(taken(core.answer_ptr(), core.answer_len())));
    if (failed) throw Object.assign(new Error(answer.error.en), answer.error);
    return { answer, blob: taken(core.blob_ptr(), core.blob_len()) };
  };
  return { ask, memory: () => core.memory.buffer.byteLength };
}
