#!/usr/bin/env node
// Makes the pictures of README: the page that trains in a browser, after its run, in both languages.
//
//     web/build && node tools/lab_picture.mjs [STEPS]      into docs/figures/; trains all steps unless told otherwise
//
// Needs chromium, and a font with Chinese characters. Pictures of browsers differ from machine to machine: nothing compares them.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Chromium } from "../tests/browser/chromium.mjs";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const PICTURES = { en: "lab.webp", zh: "lab.zh-CN.webp" };
const WIDTH = 1100;
// Letters stay sharp, and a picture is no larger than a page's other parts together.
const QUALITY = 72;
const steps = Number(process.argv[2] ?? Infinity);
const page = pathToFileURL(path.join(ROOT, "target/web/lab.html")).href;

const tab = new Chromium();
try {
  await tab.open(`${page}#lang=en&theme=light`);
  await tab.send("Emulation.setDeviceMetricsOverride", { width: WIDTH, height: 1000, deviceScaleFactor: 1, mobile: false });
  await tab.value("lab.ready");
  await tab.value("lab.start()");
  let state;
  do {
    await new Promise((done) => setTimeout(done, 1000));
    state = await tab.value("lab.state()");
  } while (state.status === "training" && state.step < steps);
  if (state.status === "training") await tab.value("lab.stop()");
  // The head that looks the answer up most.
  const { heads } = (await tab.value("lab.ask({ do: 'roles', tokens: 16384 })")).answer;
  const { layer, head } = heads.reduce((best, row) => (row.columns.answer > best.columns.answer ? row : best));
  for (const [lang, name] of Object.entries(PICTURES)) {
    await tab.value(`location.hash = "#lang=${lang}&theme=light&layer=${layer}&head=${head}"`);
    await new Promise((done) => setTimeout(done, 1500));
    const end = await tab.value("document.getElementById('heads-section').getBoundingClientRect().bottom + scrollY");
    const clip = { x: 0, y: 0, width: WIDTH, height: Math.ceil(end) + 16, scale: 1 };
    const { data } = await tab.send("Page.captureScreenshot", { format: "webp", quality: QUALITY, captureBeyondViewport: true, clip });
    fs.writeFileSync(path.join(ROOT, "docs/figures", name), Buffer.from(data, "base64"));
  }
} finally {
  await tab.close();
}
