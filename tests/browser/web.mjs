// The trainer in a browser: the same numbers in a tab, in Node and in the terminal; files that go both ways.
//
// Needs web/build to have run, chromium, and train-gpt-mha; .ci/deep runs it. Node alone, no packages.
//
// Where axe-core is at hand (npm install axe-core), it looks for what keeps people out, in every step of the tour.
//
//     node tests/browser/web.mjs [--program FILE] [--steps N] [--long N] [--axe FILE] [--node]    (--node: without a browser)
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Chromium, program as browser } from "./chromium.mjs";
import { open } from "./core.mjs";
import { served } from "./served.mjs";
import { twins } from "./twins.mjs";

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

// The tab has no fused multiply-add: it computes what kernels without it do, to the bit.
core.ask({ do: "step", n: 5 });
fs.writeFileSync(path.join(folder, "tab-5.ckpt"), core.ask({ do: "save" }).blob);
fs.copyFileSync(path.join(folder, "node.ckpt"), path.join(folder, "portable-5.ckpt"));
process.env.LLM_KERNELS = "portable";
terminal("--load", "portable-5.ckpt", "--steps", "5", "--gen", "0", "--save", "portable-5.ckpt");
delete process.env.LLM_KERNELS;
const weights = ["tab-5", "portable-5"].map((name) => {
  terminal("export", "safetensors", "--load", `${name}.ckpt`, `${name}.safetensors`);
  return fs.readFileSync(path.join(folder, `${name}.safetensors`));
});
check("five more steps give the bytes of the terminal's portable kernels", weights[0].equals(weights[1]));

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

// Page zero's question, letters that are alike, units of the MLP: before and after these steps.
const STORY = fs.readFileSync(path.join(ROOT, "web/train.js"), "utf8").match(/STORY = '([^']*)'/)[1];
core.ask({ do: "make", run: 2 });
const [then, now] = [2, 0].map((run) => core.ask({ do: "next", run, text: STORY, choices: ["Jane"] }).answer);
const sum = then.likeliest.reduce((all, { share }) => all + share, 0);
check("an untrained model spreads its guess", sum < 0.3 && then.pieces === 256, sum);
check("a trained one does not", now.likeliest[0].share > 2 * then.likeliest[0].share, JSON.stringify(now.likeliest[0]));
const alike = core.ask({ do: "embedding", token: 74 }).answer;
check("letters that are alike", alike.token === 74 && alike.nearest.every(({ cosine }) => Math.abs(cosine) <= 1) && alike.tokens.every(({ at }) => at.every(Number.isFinite)),
  `J: ${alike.nearest.map(({ piece, cosine }) => `${piece} ${cosine.toFixed(2)}`).join(", ")}`);
const fires = core.ask({ do: "hidden", text: STORY }).answer;
check("units of the MLP", fires.values.length === STORY.length && Math.abs(fires.values.at(-1) - fires.strongest[0].value) < 1e-6, JSON.stringify(fires.strongest[0]));

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

/** Page zero first, and then the views of letters and units: what is chosen is shown, and the same in both languages. */
async function pageZero(tab) {
  const text = (id) => tab.value(`document.getElementById("${id}").textContent`);
  const until = async (what, holds) => {
    for (let i = 0; i < 100; i += 1) {
      if (await tab.value(holds)) return check(what, true);
      await new Promise((done) => setTimeout(done, 100));
    }
    return check(what, false);
  };
  check("the page opens on a question", await tab.value(`document.querySelector("main").firstElementChild.id === "question" && !document.getElementById("question").hidden`));
  check("nobody is told before guessing", await tab.value(`document.getElementById("question-answer").hidden`));
  await tab.value(`[...document.querySelectorAll("#question-choices button")].find((button) => button.textContent === "Finn").click()`);
  await until("the untrained model's guess", `document.querySelectorAll("#question-bars li").length === 5 && !document.getElementById("question-go").hidden`);
  check("how the story goes on", (await text("question-told")).includes("Jane"), await text("question-told"));
  await until("a model that has learned nothing is said not to know its twins", `!document.getElementById("twins").hidden && document.getElementById("twins-untaught").getBoundingClientRect().height > 0`);
  await until("a map of letters", `document.querySelectorAll("#letters-map text").length > 30`);
  await tab.value(`document.querySelector("#letters-list button").click()`);
  await until("another letter's neighbours", `document.querySelector("#letters-map .chosen").dataset.token === new URLSearchParams(location.hash.slice(1)).get("letter")`);
  await until("units and where they fire", `document.querySelectorAll("#units-list li").length === 8 && document.querySelectorAll("#units-text span").length === ${STORY.length}`);
  await tab.value(`document.querySelector("#units-text span").click()`);
  await until("units of another letter", `document.getElementById("units-of").textContent.includes("i = 0")`);
}

/** Nothing is wider than a phone: no page, no command, no link of the tour. */
async function narrow(tab) {
  await tab.send("Emulation.setDeviceMetricsOverride", { width: 375, height: 812, deviceScaleFactor: 1, mobile: false });
  const wider = `(() => {
    const room = document.documentElement.clientWidth;
    const out = (node) => node.getBoundingClientRect().right > room + 1 || node.getBoundingClientRect().left < -1 || (node.tagName === "PRE" && node.scrollWidth > node.clientWidth + 1);
    const parts = [document.documentElement, ...document.querySelectorAll("section, section *, #tour, #tour *, header *, footer *")];
    return parts.filter((node) => !node.closest(".unseen") && !(node instanceof SVGElement) && node.getBoundingClientRect().width && out(node)).map((node) => node.id || node.tagName).join();
  })()`;
  for (const lang of ["en", "zh"]) {
    for (let step = 0; step <= 8; step += 1) {
      await tab.value(`location.hash = "#lang=${lang}${step ? `&tour=${step}` : ""}"; new Promise((done) => setTimeout(done, 300))`);
      const found = await tab.value(`${wider} + (document.documentElement.scrollWidth > document.documentElement.clientWidth ? " page" : "")`);
      check(`nothing is cut at 375 pixels, ${lang}, ${step ? `step ${step} of the tour` : "no tour"}`, found === "", found);
    }
  }
  await tab.value(`location.hash = "#lang=en"`);
  await tab.send("Emulation.clearDeviceMetricsOverride");
}

/** A link to a run makes it again, to the loss that it names; the terminal comes to that, too, with kernels that do what a tab does. */
async function links(tab, page) {
  const text = (id) => tab.value(`document.getElementById("${id}").textContent`);
  const opened = async (fields) => {
    await tab.open("about:blank");
    await tab.open(`${page}#lang=en&${fields}`);
    await tab.value("lab.ready");
    await tab.value("new Promise((done) => setTimeout(done, 500))"); // all parts are drawn
  };
  const trained = async () => {
    await tab.value(`lab.start().then(() => new Promise((done) => {
      const look = () => lab.state().status === "done" ? done() : setTimeout(look, 50);
      look();
    }))`);
    return tab.value("lab.state()");
  };
  await opened("steps=40&seed=3&heads=2");
  await tab.value(`lab.gpu("off")`);
  const before = await tab.value("lab.state()");
  check("an address sets steps, seed and heads", before.steps === 40 && before.heads === 2, before.link);
  check("without a loss before there is one", !new URL(before.link).hash.includes("loss="), await text("link-told"));
  const { link } = await trained();
  const fields = new URLSearchParams(new URL(link).hash.slice(1)), loss = fields.get("loss");
  check("the link names settings, loss and version", fields.get("seed") === "3" && Number(loss) > 0 && fields.get("version").length > 4, link);
  await opened(fields);
  check("who opens it is told that loss before", (await text("link-told")).includes(`a loss of ${loss} after 40`), await text("link-told"));
  const again = await trained();
  check("the link reproduces the run, to the loss", (await text("link-told")).includes("came to the same") && again.link === link, await text("link-told"));
  process.env.LLM_KERNELS = "portable";
  terminal("--steps", "40", "--seed", "3", "--heads", "2", "--gen", "0", "--save", "linked.ckpt");
  const here = JSON.parse(terminal("eval", "--load", "linked.ckpt", "--json")).val_loss;
  delete process.env.LLM_KERNELS;
  check("the terminal's portable kernels come to it, too", Number(here.toPrecision(9)) === Number(loss), `${here} and ${loss}`);
  fields.set("seed", "4");
  await opened(fields);
  await trained();
  check("a link that was changed is found out", (await text("link-told")).includes("something in the link was changed"), await text("link-told"));
  await tab.value(`location.hash = "#lang=en&steps=7&heads=1"`);
  await tab.value(`new Promise((done) => setTimeout(done, 1500))`);
  const other = await tab.value("lab.state()");
  check("another run in the address takes its place", other.steps === 7 && other.heads === 1 && other.step === 0, other.link);
  await opened("steps=many&heds=2&heads=5");
  check("what a link has wrong is said by name", await (async () => { const said = await text("troubles"); return ["“heds”", "“many”", "5"].every((word) => said.includes(word)); })(), await text("troubles"));
  check("and the usual model is there", (await tab.value("lab.state()")).heads === 4);
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
      await pageZero(tab);
      await narrow(tab);
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
      await twins(tab, check);
      const bytes = `Uint8Array.from(atob(${JSON.stringify(terminalFile.toString("base64"))}), (c) => c.charCodeAt(0))`;
      await tab.value(`lab.load(${bytes}, "terminal.ckpt")`);
      const opened = await tab.value("lab.state()");
      check("a file of the terminal opens in the tab", opened.step === STEPS, JSON.stringify(opened.said));
      check("nothing on the console", tab.said.length === 0, tab.said.join("\n"));
      await barriers(tab);
      await links(tab, page);
      // Without frames, as in a hidden tab, the page takes a second to start: long enough to open a file before.
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
    const server = await served(site, { named });
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
