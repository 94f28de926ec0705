// The trainer in a tab whose GPU makes the steps: the processor's losses, files that go both ways, and what the page says.
// The GPU is SwiftShader's, which is the processor: slow, so models are tiny.
//
// Needs web/build to have run, and chromium; .ci/deep runs it. Node alone, no packages.
//
//     node tests/browser/gpu.mjs [--steps N]
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Chromium, program as browser } from "./chromium.mjs";
import { open } from "./core.mjs";
import { served } from "./served.mjs";

const BUILT = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../target/web");
const STEPS = Number(process.argv[process.argv.indexOf("--steps") + 1]) || 200;
const NEAR = 1e-4;
const TINY = { heads: 2, layers: 1, width: 16, window: 32, batch: 2, steps: STEPS + 50 };
/** As wide and deep, and with windows as long, as the page's own model; of its eight stories a step one. */
const STORIES = { batch: 1, steps: 50 };
let failed = 0;

function check(what, holds, seen = "") {
  console.log((holds ? "ok    " : "FAILED ") + what + (seen === "" ? "" : `: ${seen}`));
  if (!holds) failed += 1;
}

if (!browser()) {
  console.error("error: no chromium");
  process.exit(69);
}

const core = await open(path.join(BUILT, "llm_web.wasm"));
const losses = (n) => core.ask({ do: "step", n }).answer.losses;
const made = (settings) => core.ask({ do: "make", ...settings });
const opened = (file) => core.ask({ do: "load", name: "tab.ckpt" }, file);
const apart = (a, b) => a.length === b.length ? Math.max(...a.map((x, i) => Math.abs(x - b[i]))) : Infinity;
const near = (what, a, b) => check(`${what}: losses within ${NEAR} of the processor's`, apart(a, b) <= NEAR, apart(a, b).toExponential(1));
const whole = (of) => {
  let found = of();
  while (!found.done) found = of();
  return found;
};
const inBase64 = (file) => `Uint8Array.from(atob(${JSON.stringify(Buffer.from(file).toString("base64"))}), (c) => c.charCodeAt(0))`;

/** A tab with the page, and what tests ask of it. */
async function tabOf(address, gpu, work) {
  const tab = new Chromium(gpu);
  const of = {
    tab,
    value: (expression) => tab.value(expression),
    state: () => tab.value("lab.state()"),
    told: () => tab.value(`new Promise((done) => setTimeout(done, 400)).then(() => document.getElementById("where").textContent)`),
    make: (settings, on) => tab.value(`lab.gpu("${on}"), lab.make(${JSON.stringify(settings)}).then(() => 0)`),
    step: (n) => tab.value(`lab.step(${n}).then((done) => done.losses)`),
    save: async () => Uint8Array.from(await tab.value("lab.save().then((file) => Array.from(file))")),
    async until(holds) {
      for (let i = 0; i < 1200; i += 1) {
        if (holds(await of.state())) return true;
        await new Promise((done) => setTimeout(done, 100));
      }
      return false;
    },
  };
  try {
    await tab.open(address);
    await tab.value("lab.ready");
    await work(of);
    check("nothing on the console", tab.said.length === 0, tab.said.join("\n"));
  } finally {
    await tab.close();
  }
}

/** Some steps on the GPU, and some more of its checkpoint in Node. */
async function onAndBack({ make, step, save, state }, n, more) {
  await make(TINY, "on");
  const there = await step(n), file = await save(), { place, pace } = await state();
  opened(file);
  return { on: place.on && Number.isFinite(pace.gpu), there: [...there, ...losses(more)], pace };
}

async function trains({ tab, value, state, told, make, step, save, until }) {
  await make(TINY, "off");
  const here = await step(STEPS);
  made(TINY);
  const own = losses(STEPS + 5);
  check("switched off, the tab's processor: the losses of Node, to the bit", apart(here, own.slice(0, STEPS)) === 0);
  check("the page says so", (await told()).startsWith("Steps are made by this tab’s processor. Each takes "), await told());
  const { on, there, pace } = await onAndBack({ make, step, save, state }, STEPS, 5);
  check(`${STEPS} steps on the GPU`, on, `${pace.gpu.toFixed(0)} ms each, ${pace.processor.toFixed(1)} on the processor`);
  near("there", there.slice(0, STEPS), own.slice(0, STEPS));
  near("its file goes on on the processor", there.slice(STEPS), own.slice(STEPS));
  const sentence = await told();
  check("the page says which and how fast", /^Steps are made by the GPU \(.*swiftshader.*\), [\d.]+ ms each; this tab’s processor takes [\d.]+ ms\.$/.test(sentence), sentence);
  await value(`location.hash = "#lang=zh"`);
  check("in Chinese too", /^训练步由 GPU（.*swiftshader.*）来做，每步 [\d.]+ 毫秒；/.test(await told()), await told());
  await value(`location.hash = "#lang=en"`);

  made(TINY);
  losses(20);
  const file = core.ask({ do: "save" }).blob;
  await value(`lab.load(${inBase64(file)}, "node.ckpt").then(() => 0)`);
  const gone = await step(10);
  near("the processor's file goes on on the GPU", gone, losses(10));
  await value(`lab.gpu("off")`);
  const off = await step(5);
  await value(`lab.gpu("on")`);
  near("switched off and on in its middle", [...off, ...await step(5)], losses(10));

  // All that the page does on the way: moments, maps, samples, measurements, keeping.
  const short = { ...TINY, steps: 52 };
  made(short);
  const all = losses(52), measured = whole(() => core.ask({ do: "measure", tokens: 0, slice: 64 }).answer);
  await make(short, "on");
  await value("lab.start()");
  check("a whole training ends", await until(({ status }) => status === "done"));
  const done = await state();
  near("its steps", await value("lab.losses()"), all);
  check("what it has learned is measured", Math.abs(done.validation - measured.validation_loss) <= NEAR, `${done.validation} and ${measured.validation_loss}`);
  check("moments are remembered", [0, 10, 20, 40, 50, 52].every((step) => done.moments.includes(step)), done.moments.join());

  // The GPU goes: the run goes on from the weights that came back last.
  await make(short, "on");
  await value("lab.start()");
  await until(({ step }) => step >= 12);
  await tab.send("Browser.crashGpuProcess");
  check("a training whose GPU was lost ends", await until(({ status }) => status === "done"));
  near("with all steps", await value("lab.losses()"), all);
  const trouble = await value(`document.getElementById("troubles").textContent`);
  check("in one sentence", /^The GPU has stopped \(.*\)\. Training goes on with this tab’s processor, from step \d+\.×$/.test(trouble), trouble);
  check("and the page says who goes on", (await told()).startsWith("Steps are made by this tab’s processor. Each takes "), await told());
}

async function learnsStories({ state, make, step }) {
  made(STORIES);
  await make(STORIES, "on");
  const there = await step(3), { place, pace } = await state();
  check("the stories' own shape on the GPU", place.on, `${pace.gpu?.toFixed(0)} ms a step, ${pace.processor?.toFixed(0)} on the processor`);
  near("there", there, losses(3));
}

/** Where the GPU is not asked for, a clock decides. */
async function chooses({ value, state, told, make, until }, faster) {
  await make({ ...TINY, steps: 30 }, "auto");
  await value("lab.start()");
  check("a training ends", await until(({ status }) => status === "done"));
  const sentence = await told(), { place } = await state();
  check(`who is ${faster ? "faster" : "slower"} is measured`, place.on === faster && place.gpuMs > 0 && place.processorMs > 0, sentence);
  check("and said", sentence.startsWith(faster ? "Steps are made by the GPU (" : "Steps are made by this tab’s processor, "));
}

const lab = pathToFileURL(path.join(BUILT, "lab.html")).href;
await tabOf(lab, "swiftshader", trains);
await tabOf(lab, "swiftshader", learnsStories);
await tabOf(lab, "swiftshader", async ({ told, make, value, until }) => {
  await make({ ...TINY, steps: 30 }, "auto");
  await value("lab.start()");
  check("a GPU that is the processor is left alone", await until(({ status }) => status === "done"));
  check("and the page says so", (await told()).includes("is the processor too"), await told());
});
await tabOf(lab, "none", async ({ told, make, value, until }) => {
  const short = { ...TINY, steps: 30 };
  await make(short, "auto");
  await value("lab.start()");
  await until(({ status }) => status === "done");
  made(short);
  check("without a GPU the processor trains", apart(await value("lab.losses()"), losses(30)) === 0);
  check("and the page says so", (await told()).includes("the browser offers no GPU here"), await told());
});

/** The page with something else in a source. */
async function changed(changes, work) {
  const server = await served(path.join(BUILT, "site"), {
    changed(name, bytes) {
      let text = bytes;
      for (const [of, from, to] of changes.filter(([of]) => of === name)) {
        text = String(text);
        if (text.split(from).length !== 2) throw new Error(`${of} has not one '${from}'`);
        text = text.replace(from, to);
      }
      return text;
    },
  });
  try {
    await tabOf(`http://127.0.0.1:${server.address().port}/`, "swiftshader", work);
  } finally {
    server.close();
  }
}
const HONEST = ["gpu.js", "info.isFallbackAdapter ?? false", "false"];
await changed([HONEST], (of) => chooses(of, false));
await changed([HONEST, ["place.js", "name, loss, ms, close", "name, loss, ms: 0.001, close"]], (of) => chooses(of, true));

// What is wrong is seen.
made(TINY);
const right = losses(17);
for (const [what, ...fault] of [
  ["an update that is left out", "place.js", "'norm', 'clip', 'update'", "'norm', 'clip'"],
  ["clipping that is left out", "place.js", "'norm', 'clip', 'update'", "'norm', 'update'"],
  ["words in the wrong room", "gpu.js", "writeBuffer(this.at(room), 0, blob", "writeBuffer(this.at(Math.max(room - 1, 0)), 0, blob"],
  ["weights and moments that change places", "place.js", "read(this.loaded.list.state)", "read(this.loaded.list.state.toReversed())"],
  ["weights that do not come back", "place.js", "this.ask({ do: 'back', step: this.now }, bytes).answer.step", "this.now"],
]) {
  await changed([fault], async (of) => {
    const found = await onAndBack(of, 12, 5).catch(({ message }) => ({ refused: message.split("\n")[0] }));
    const off = found.there && apart(found.there, right);
    const seen = found.refused ?? (found.on ? off.toExponential(1) : await of.told());
    check(`${what}: seen`, !found.on || !(off <= NEAR), seen);
  });
}
process.exit(failed > 0 ? 1 : 0);
