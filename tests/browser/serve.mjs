// The page of `serve` in a browser: it writes, stops, talks, and shows what the heads look at, by keys alone.
//
//     node tests/browser/serve.mjs PROGRAM [--axe FILE]      a release build of train-gpt-modern, or any that serves
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Chromium } from "./chromium.mjs";

const program = path.resolve(process.argv[2]);
const axe = process.argv.indexOf("--axe") > 0 ? fs.readFileSync(process.argv[process.argv.indexOf("--axe") + 1], "utf8") : null;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "serve-"));
let failed = 0;

function check(what, holds, seen = "") {
  console.log((holds ? "ok    " : "FAILED ") + what + (holds || seen === "" ? "" : `: ${seen}`));
  if (!holds) failed += 1;
}

function made(name, ...words) {
  const done = spawnSync(program, [...words, "--layers", "2", "--dmodel", "32", "--gen", "0", "--save", name], { cwd: folder, encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
}

/** What is asked of a page at an address, with its tab. */
async function on(address, width, language, ask) {
  const tab = new Chromium();
  const until = async (what, expression) => {
    for (let i = 0; i < 200; i += 1) {
      if (await tab.value(expression)) return check(what, true);
      await new Promise((done) => setTimeout(done, 50));
    }
    check(what, false, await tab.value("document.body.innerText"));
  };
  const key = async (name, text) => {
    const code = { Enter: 13, Tab: 9 }[name];
    await tab.send("Input.dispatchKeyEvent", { type: "keyDown", key: name, code: name, windowsVirtualKeyCode: code, text });
    await tab.send("Input.dispatchKeyEvent", { type: "keyUp", key: name, code: name, windowsVirtualKeyCode: code });
  };
  try {
    await tab.open("about:blank");
    await tab.send("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: width < 500 });
    await tab.send("Emulation.setUserAgentOverride", { userAgent: "Chromium", acceptLanguage: language });
    await tab.open(address);
    const where = `${width} px, ${language}`;
    await until(`the model's name, or a place for the key (${where})`, "(document.title === document.querySelector('h1').textContent && document.title.length > 0) || document.activeElement.id === 'key'");
    check("the page speaks the browser's language", (await tab.value("document.documentElement.lang")).slice(0, 2) === language.slice(0, 2));
    await ask({ tab, until, key, type: (text) => tab.send("Input.insertText", { text }) });
    check("nothing stands out at the side", await tab.value("document.documentElement.scrollWidth <= innerWidth"));
    const from = await tab.value("performance.getEntriesByType('resource').map((one) => new URL(one.name).origin).filter((origin) => origin !== location.origin).join(' ')");
    check("nothing comes from elsewhere", from === "", from);
    if (axe) {
      await tab.value(`${axe}; 0`);
      const found = await tab.value("axe.run().then((done) => done.violations.map((one) => one.id + ': ' + one.nodes[0].html).join('; '))");
      check("nothing that keeps people out", found === "", found);
    }
    check("nothing on the console", tab.said.length === 0, tab.said.join("\n"));
  } finally {
    await tab.close();
  }
}

const count = (selector) => `document.querySelectorAll("${selector}").length`;

async function writes({ tab, until, key, type }) {
  await until("a model without a template writes on", "document.getElementById('mode').value === 'text'");
  await tab.value("document.getElementById('ask').focus()");
  await type("Lucy met Tom. Tom had a red cup. ");
  await key("Enter", "\r");
  await until("a stop while it writes, or the answer", `['Stop', '停'].includes(document.getElementById('go').textContent) || ${count(".token")} > 0`);
  await until("each token of the answer can be asked", `${count(".token")} > 20`);
  const heads = await tab.value(count("#heads button"));
  check("a cell for each head", heads === 8, heads);
  const first = await tab.value("document.getElementById('where').textContent");
  await tab.value("document.querySelectorAll('.token')[10].focus()");
  await key("Enter", "\r");
  await until("Enter on a word shows where it came from", `document.getElementById('where').textContent !== ${JSON.stringify(first)}`);
  const sum = "[...document.querySelectorAll('#seen span')].reduce((sum, one) => sum + parseFloat(one.title), 0)";
  check("shares of one attention", Math.abs((await tab.value(sum)) - 100) < 3, await tab.value(sum));
  await tab.value("document.querySelectorAll('#heads button')[5].focus()");
  await key("Enter", "\r");
  await until("one head, when it is chosen", "/ 1\\.1$/.test(document.getElementById('where').textContent) && document.querySelectorAll('#heads [aria-pressed=true]').length === 1");
  check("shares of one head", Math.abs((await tab.value(sum)) - 100) < 3, await tab.value(sum));
  await tab.value("document.getElementById('anew').click(); document.getElementById('max_tokens').value = 100000");
  await type("Lucy met ");
  await key("Enter", "\r");
  await until("an answer begins", "document.querySelector('.assistant').textContent.length > 12 && document.getElementById('go').textContent.length > 0");
  await tab.value("document.getElementById('go').click()");
  await until("it ends when it is stopped, or is at its end", "['Send', '发送'].includes(document.getElementById('go').textContent)");
}

async function talks({ tab, until, key, type }) {
  await until("a model with a template talks", "document.getElementById('mode').value === 'chat'");
  await type("secret");
  await tab.value("document.getElementById('key').onchange()");
  await until("a key tells the model's name", "document.title === 'chats'");
  await tab.value("document.getElementById('temperature').value = 0; document.getElementById('ask').focus()");
  await type("Who?");
  await key("Enter", "\r");
  await until("it answers", "document.querySelector('.assistant')?.textContent.includes('It is me.')");
  await until("a word of the answer can be asked", `${count(".token")} > 0`);
  await type("Who?");
  await key("Enter", "\r");
  await until("it goes on", `${count(".assistant")} === 2 && document.querySelectorAll('.assistant')[1].textContent.length > 0`);
}

/** What is asked of a served model. */
async function served(model, words, ask) {
  const server = spawn(program, ["serve", "--load", model, "--port", "0", ...words], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((done) => server.stdout.once("data", (line) => done(String(line).trim())));
  try {
    await ask(address);
  } finally {
    const ended = new Promise((done) => server.on("exit", done));
    server.kill("SIGTERM");
    check("a signal ends the server", (await ended) === 0);
  }
}

try {
  made("stories", "--steps", "60");
  fs.writeFileSync(path.join(folder, "chats.jsonl"), '{"prompt": "Who?", "completion": "It is me."}\n'.repeat(60));
  made("chats", "--data", "chats.jsonl", "--data-as", "chats", "--tokenizer", "byte", "--steps", "200", "--seq", "128");
  await served("stories", ["--quiet"], async (address) => {
    await on(address, 375, "en-US", writes);
    await on(address, 1100, "zh-CN", writes);
  });
  await served("chats", ["--quiet", "--api-key", "secret"], async (address) => {
    await on(address, 375, "zh-CN", talks);
  });
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
process.exit(failed > 0 ? 1 : 0);
