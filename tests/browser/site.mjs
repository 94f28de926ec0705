// What a release has for a browser: the site from a server and from the disk, the page in one file from the disk.
//
//     node tests/browser/site.mjs SITE LAB      a folder and a file, as tools/release made them; .ci/smoke calls it
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Chromium } from "./chromium.mjs";
import { served } from "./served.mjs";

const [site, lab] = process.argv.slice(2);
const STEPS = 5;
let failed = 0;
let losses;

function check(what, holds, seen = "") {
  console.log((holds ? "ok    " : "FAILED ") + what + (seen === "" ? "" : `: ${seen}`));
  if (!holds) failed += 1;
}

/** A page with a trainer: some steps, the same losses wherever it lies, its version in its foot. */
async function trains(where, address) {
  const tab = new Chromium();
  try {
    await tab.open(`${address}#lang=en`);
    await tab.value("lab.ready");
    const seen = await tab.value(`lab.step(${STEPS}).then((done) => done.losses)`);
    losses ??= seen;
    check(`${STEPS} steps, ${where}`, seen.length === STEPS && seen.every((loss, i) => Object.is(loss, losses[i])), seen.at(-1));
    check("its foot has the version", /^train-gpt \d/.test(await tab.value(`document.getElementById("version").textContent`)));
    check("nothing on the console", tab.said.length === 0, tab.said.join("\n"));
  } finally {
    await tab.close();
  }
}

/** A page of the book that shows text and a figure. */
async function reads(where, address) {
  const tab = new Chromium();
  try {
    await tab.open(address);
    const [words, broken] = await tab.value(`[document.querySelector("main").textContent.split(/\\s+/).length, [...document.images].filter((image) => !image.complete || !image.naturalWidth).length]`);
    check(`a page of the book, ${where}`, words > 200 && broken === 0, `${words} words`);
  } finally {
    await tab.close();
  }
}

await trains("the page in one file, from the disk", pathToFileURL(lab).href);
await trains("the site's one file, from the disk", pathToFileURL(path.join(site, "web/lab.html")).href);
await reads("from the disk", pathToFileURL(path.join(site, "book/concepts/guess_the_next.html")).href);
const server = await served(site);
const base = `http://127.0.0.1:${server.address().port}`;
await trains("the site, from a server", `${base}/web/site/index.html`);
await reads("from a server", `${base}/book/concepts/guess_the_next.html`);
server.close();
const first = fs.readFileSync(path.join(site, "index.html"), "utf8");
const dead = [...first.matchAll(/href="([^"#]*)/g)].map(([, link]) => link).filter((link) => !fs.existsSync(path.join(site, link)));
check("every link of the first page leads somewhere", dead.length === 0, dead.join(" "));
process.exit(failed > 0 ? 1 : 0);
