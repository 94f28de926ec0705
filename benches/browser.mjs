// How the trainer in a browser does: the time to the first sentence, to 95 % of the facts and to the last step, the longest
// that the page stood still, and its memory. A quiet machine, web/build before it, chromium; Node alone, no packages.
//
//     node benches/browser.mjs [--race] [--pictures FOLDER]
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Chromium } from "../tests/browser/chromium.mjs";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const pictures = process.argv.includes("--pictures") && process.argv[process.argv.indexOf("--pictures") + 1];
const race = process.argv.includes("--race");
const GOAL = 0.95;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const tab = new Chromium();
await pause(10_000); // the browser's own start is not the page's
const begin = performance.now();
const seconds = (from = begin) => (performance.now() - from) / 1000;
const told = (what, value) => console.log(`${what.padEnd(36)} ${value}`);

async function picture(name) {
  if (!pictures) return;
  const { data } = await tab.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
  fs.mkdirSync(pictures, { recursive: true });
  fs.writeFileSync(path.join(pictures, `${name}.png`), Buffer.from(data, "base64"));
}

/** One run to its end. */
async function trained(from) {
  let sentence = false, goal = false, before = 0;
  for (;;) {
    await pause(500);
    const now = await tab.value("lab.state()");
    if (!sentence && now.sample) {
      sentence = true;
      told("first sentence after", `${seconds().toFixed(1)} s`);
    }
    if (!before && now.step >= 500) {
      before = now.memory;
      await picture("under-way");
    }
    if (!goal && now.facts >= GOAL) {
      goal = true;
      told("95 % of the facts after", `${seconds(from).toFixed(1)} s, step ${now.step}`);
    }
    if (now.step < now.steps) continue;
    told("facts at the end", `${(100 * now.facts).toFixed(1)} %`);
    told("memory at step 500, at the end", `${before >> 20} MiB, ${now.memory >> 20} MiB`);
    return told("tokens a second", Math.round(now.tokensPerSecond));
  }
}

/** One head against four, to the end of both. */
async function raced() {
  for (let n = 0; ; n += 1) {
    await pause(500);
    if (n === 40) await picture("race");
    const { status, lanes } = await tab.value("lab.race.state()");
    if (status !== "done") continue;
    for (const { heads, facts, losses } of lanes)
      told(`${heads} heads`, `facts ${(100 * facts).toFixed(1)} %, loss ${losses.at(-1).toFixed(4)}`);
    return;
  }
}

try {
  await tab.open(pathToFileURL(path.join(ROOT, "target/web/lab.html")).href);
  await tab.send("Emulation.setDeviceMetricsOverride", { width: 1280, height: 900, deviceScaleFactor: 1, mobile: false });
  // A task of 50 ms and more is told by the browser itself; shorter waits by a clock that should strike every 10 ms.
  await tab.value(`(() => {
    window.stood = { tasks: [], longest: 0 };
    new PerformanceObserver((list) => list.getEntries().forEach((task) => stood.tasks.push(\`\${Math.round(task.duration)} ms at \${(task.startTime / 1000).toFixed(1)} s\`)))
      .observe({ type: 'longtask', buffered: true });
    let last = performance.now();
    setInterval(() => { const now = performance.now(); stood.longest = Math.max(stood.longest, now - last - 10); last = now; }, 10);
  })()`);
  await tab.value("lab.ready");
  told("ready after", `${seconds().toFixed(1)} s`);
  const from = performance.now();
  await tab.value(`document.getElementById('${race ? "race-button" : "train"}').click()`);
  await (race ? raced() : trained(from));
  told("the last step after", `${seconds(from).toFixed(1)} s`);
  await pause(3000);
  const stood = await tab.value("stood");
  told("tasks of 50 ms and more", stood.tasks.length ? stood.tasks.join(", ") : "none");
  told("longest wait of the page", `${Math.round(stood.longest)} ms`);
  await picture(race ? "race-done" : "done");
  told("console", tab.said.length ? tab.said.join(" ") : "nothing");
} finally {
  await tab.close();
}
