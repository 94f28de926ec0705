// The trainer in a browser: the same numbers in a tab, in Node and in the terminal; files that go both ways.
//
// Needs web/build to have run, chromium, and train-gpt-mha; .ci/deep runs it. Node alone, no packages.
//
// Where axe-core is at hand (npm install axe-core), it looks for what keeps people out, in every step of the tour.
//
//     node tests/browser/web.mjs [--program FILE] [--steps N] [--long N] [--axe FILE] [--node]    (--node: without a browser)
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Chromium, program as browser } from "./chromium.mjs";
import { open } from "./core.mjs";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "../..");
const option = (name) => process.argv.includes(name) && process.argv[process.argv.indexOf(name) + 1];
const PROGRAM = option("--program") || path.resolve(ROOT, process.env.CARGO_TARGET_DIR || "target", "release/train-gpt-mha");
const BUILT = path.join(ROOT, "target/web");
const MOST_BYTES = 1_500_000;
const STEPS = Number(option("--steps") || 200);
const LONG = Number(option("--long") || 1000); // memory is watched for so many
let failed = 0;

function check(what, holds, seen = "") {
  console.log((holds ? "ok    " : "FAILED ") + what + (seen === "" ? "" : `: ${seen}`));
  if (!holds) failed += 1;
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "web-"));
process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));

function terminal(...words) {
  const done = spawnSync(PROGRAM, words, { cwd: folder, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`${words.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

const KINDS = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };

/** A file server for a folder. `named`: it tells the browser that a packed file is one. */
function served(folder, named) {
  const server = http.createServer((asked, answer) => {
    const name = new URL(asked.url, "http://localhost").pathname.slice(1) || "index.html";
    const place = path.join(folder, name);
    if (!fs.existsSync(place)) return answer.writeHead(404).end();
    const packing = named && name.endsWith(".gz") ? { "Content-Encoding": "gzip" } : {};
    answer.writeHead(200, { "Content-Type": KINDS[path.extname(name)] || "application/octet-stream", ...packing });
    answer.end(fs.readFileSync(place));
  });
  return new Promise((listening) => server.listen(0, "127.0.0.1", () => listening(server)));
}

const same = (a, b) => a.length === b.length && a.every((x, i) => Object.is(x, b[i]));
const near = (a, b, most) => Math.abs(a - b) <= most;
const whole = (measure) => {
  let found = measure();
  while (!found.done) found = measure();
  return found;
};
const facts = (of) => Object.fromEntries(of.facts.map((fact) => [fact.kind, fact.right / fact.of]));

// Sizes: the page in one file holds everything, the folder for a server too, both with the module packed.
const file = path.join(BUILT, "llm_web.wasm");
const lab = path.join(BUILT, "lab.html");
const site = path.join(BUILT, "site");
const bytesOf = (place) => fs.statSync(place).isFile() ? fs.statSync(place).size
  : fs.readdirSync(place).reduce((sum, name) => sum + bytesOf(path.join(place, name)), 0);
console.log(`      the module has ${bytesOf(file)} bytes`);
for (const built of [lab, site])
  check(`${path.basename(built)} has at most ${MOST_BYTES} bytes`, bytesOf(built) <= MOST_BYTES, bytesOf(built));

// In Node.
const core = await open(file);
core.ask({ do: "make" });
const begin = performance.now();
const { losses } = core.ask({ do: "step", n: STEPS }).answer;
const seconds = (performance.now() - begin) / 1000;
const tokens = core.ask({ do: "describe" }).answer.tokens_per_step * STEPS;
check(`${STEPS} steps in Node`, losses.every(Number.isFinite) && losses[STEPS - 1] < losses[0],
  `loss ${losses[0].toFixed(4)} to ${losses[STEPS - 1].toFixed(4)}, ${Math.round(tokens / seconds)} tokens/s`);
const measured = whole(() => core.ask({ do: "measure", tokens: 0, slice: 64 }).answer);

// A file of WebAssembly in the terminal.
fs.writeFileSync(path.join(folder, "node.ckpt"), core.ask({ do: "save" }).blob);
const evaluated = JSON.parse(terminal("eval", "--load", "node.ckpt", "--json"));
check("the terminal measures the same loss", near(evaluated.val_loss, measured.validation_loss, 1e-5),
  `${evaluated.val_loss} and ${measured.validation_loss}`);
terminal("--load", "node.ckpt", "--steps", "5", "--gen", "0", "--save", "on.ckpt");
check("the terminal trains on", fs.existsSync(path.join(folder, "on.ckpt")));

// A file of the terminal in WebAssembly.
terminal("--steps", String(STEPS), "--gen", "0", "--save", "terminal.ckpt");
const theirs = JSON.parse(terminal("eval", "--load", "terminal.ckpt", "--json"));
const terminalFile = fs.readFileSync(path.join(folder, "terminal.ckpt"));
const loaded = core.ask({ do: "load", run: 1, name: "terminal.ckpt" }, terminalFile).answer;
check("a file of the terminal opens", loaded.step === STEPS && loaded.program === "train-gpt-mha");
const again = whole(() => core.ask({ do: "measure", run: 1, tokens: 0, slice: 64 }).answer);
check("it has the same loss", near(again.validation_loss, theirs.val_loss, 1e-5));
const [here, there] = [facts(again), theirs.facts];
check("it has the same facts", Object.keys(there).length === Object.keys(here).length &&
  Object.entries(there).every(([kind, share]) => near(here[kind], share, 1e-9)), JSON.stringify(here));

const AXE = [option("--axe"), ...[process.cwd(), ROOT].map((base) => path.join(base, "node_modules/axe-core/axe.min.js"))]
  .find((place) => place && fs.existsSync(place));

/** What axe-core finds that keeps people out: on the page as it stands, and in each step of its tour. */
async function barriers(tab) {
  if (!AXE) return console.log("skipped: barriers are not looked for, axe-core is not here (npm install axe-core)");
  await tab.value(`${fs.readFileSync(AXE, "utf8")}; null`);
  const look = async (when) => {
    const found = await tab.value(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
      .filter(({ impact }) => ["serious", "critical"].includes(impact))
      .map(({ id, nodes }) => [id, nodes.length, nodes[0].target.join(" "), nodes[0].failureSummary]))`);
    check(`no barriers ${when}`, found.length === 0, found.length ? JSON.stringify(found) : "");
  };
  for (const [width, scheme] of [[1280, "light"], [375, "dark"]]) {
    await tab.send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
    await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    await look(`at ${width} pixels, ${scheme}`);
    await tab.value(`document.getElementById("tour-start").click()`);
    for (let step = 1; await tab.value(`!document.getElementById("tour").hidden`); step += 1) {
      await look(`in step ${step} of the tour, ${width} pixels, ${scheme}`);
      await tab.value(`document.getElementById("tour-next").click()`);
    }
  }
}

if (!process.argv.includes("--node")) {
  if (!browser()) {
    console.error("error: no chromium");
    process.exit(69);
  }
  for (const page of [pathToFileURL(lab).href]) {
    const tab = new Chromium();
    try {
      await tab.open(page);
      await tab.value("lab.ready");
      const inTab = await tab.value(`lab.step(${STEPS}).then((done) => done.losses)`);
      check(`the same ${STEPS} losses in a tab as in Node, to the bit`, same(inTab, losses));
      const saved = await tab.value("lab.save().then((file) => Array.from(file))");
      fs.writeFileSync(path.join(folder, "tab.ckpt"), Uint8Array.from(saved));
      const node = fs.readFileSync(path.join(folder, "node.ckpt"));
      check("the same file as from Node, to the byte", node.equals(Buffer.from(saved)));
      const of = JSON.parse(terminal("eval", "--load", "tab.ckpt", "--json"));
      check("the terminal opens what the tab saved", near(of.val_loss, measured.validation_loss, 1e-5));
      terminal("--load", "tab.ckpt", "--steps", "5", "--gen", "0", "--save", "tab-on.ckpt");
      const memory = async () => (await tab.value("lab.state()")).memory;
      const before = await memory();
      await tab.value(`lab.step(${LONG})`);
      const after = await memory();
      check(`memory is steady over ${LONG} steps`, after <= before, `${before >> 20} MiB, then ${after >> 20} MiB`);
      const bytes = `Uint8Array.from(atob(${JSON.stringify(terminalFile.toString("base64"))}), (c) => c.charCodeAt(0))`;
      await tab.value(`lab.load(${bytes}, "terminal.ckpt")`);
      const opened = await tab.value("lab.state()");
      check("a file of the terminal opens in the tab", opened.step === STEPS, JSON.stringify(opened.said));
      check("nothing on the console", tab.said.length === 0, tab.said.join("\n"));
      await barriers(tab);
      // Without frames, as where nobody sees it, the page takes a second to start: long enough to open a file before.
      await tab.send("Page.addScriptToEvaluateOnNewDocument", { source: "window.requestAnimationFrame = () => 0" });
      await tab.open(page);
      const then = await tab.value(`(async () => {
        const { status } = lab.state(), late = new Promise((done) => setTimeout(done, 60_000));
        await Promise.race([Promise.all([lab.load(${bytes}, "terminal.ckpt"), lab.ready]), late]);
        return [status, lab.state().step];
      })()`);
      check("a file that is opened while the page starts stays", same(then, ["starting", STEPS]), JSON.stringify(then));
    } finally {
      await tab.close();
    }
  }

  // The folder, from servers of two kinds: one sends the packed module as it lies there, one says that it is packed.
  for (const named of [false, true]) {
    const server = await served(site, named);
    const tab = new Chromium();
    try {
      await tab.open(`http://127.0.0.1:${server.address().port}/`);
      await tab.value("lab.ready");
      const inTab = await tab.value("lab.step(20).then((done) => done.losses)");
      check(`20 losses from a server that ${named ? "names the packing" : "sends files as they are"}`, same(inTab, losses.slice(0, 20)));
      check("nothing on the console", tab.said.length === 0, tab.said.join("\n"));
    } finally {
      await tab.close();
      server.close();
    }
  }
}
process.exit(failed > 0 ? 1 : 0);
