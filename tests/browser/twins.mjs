// Twins in the tab: a head is moved from one story into the other, with keys, a mouse and a finger, and the word flips.

/** The card of a model that has learned: what is moved, what becomes of the answer, and what is said of it. */
export async function twins(tab, check) {
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const until = async (what, holds) => {
    for (let i = 0; i < 100; i += 1) {
      if (await tab.value(holds)) return check(what, true);
      await pause(100);
    }
    return check(what, false, JSON.stringify(await tab.value(`document.getElementById("twins").innerText`)));
  };
  const text = (id) => tab.value(`document.getElementById("${id}").textContent`);
  const size = (width) => tab.send("Emulation.setDeviceMetricsOverride", { width, height: 812, deviceScaleFactor: 1, mobile: false });
  const lang = (of) => tab.value(`location.hash = "#lang=${of}"; new Promise((done) => setTimeout(done, 300))`);
  const word = (side) => `document.querySelector("#twin-${side} .blank").textContent`;
  const share = (side) => `document.querySelector("#twin-${side} .value").textContent`;
  const chip = (side, part) => `document.querySelector("#twin-${side} [data-part='${part}']")`;
  const key = async (name, code) => {
    const of = { key: name, code: name, windowsVirtualKeyCode: code, text: name === "Enter" ? "\r" : "" };
    await tab.send("Input.dispatchKeyEvent", { type: "keyDown", ...of });
    await tab.send("Input.dispatchKeyEvent", { type: "keyUp", ...of });
  };
  const middle = async (node) => {
    await tab.value(`${node}.scrollIntoView({ block: "center" })`);
    return tab.value(`(({ left, top, width, height }) => ({ x: left + width / 2, y: top + height / 2 }))(${node}.getBoundingClientRect())`);
  };
  const way = ([from, to]) => [0.2, 0.6, 1].map((part) => ({ x: from.x + part * (to.x - from.x), y: from.y + part * (to.y - from.y) }));
  const drag = async (from, to) => {
    await tab.value(`document.getElementById("twins-body").scrollIntoView()`);
    const ends = await tab.value(`[${from}, ${to}].map((node) => (({ left, top, width, height }) => ({ x: left + width / 2, y: top + height / 2 }))(node.getBoundingClientRect()))`);
    const mouse = (type, at) => tab.send("Input.dispatchMouseEvent", { type, ...at, button: "left", buttons: 1, clickCount: 1 });
    await mouse("mousePressed", ends[0]);
    for (const at of way(ends)) await mouse("mouseMoved", at);
    check("what is dragged follows the pointer, and where it may be dropped shows", await tab.value(`document.querySelectorAll(".chip.ghost").length === 1 && document.querySelectorAll(".twin.over").length === 1`));
    await mouse("mouseReleased", ends[1]);
    check("nothing of it is left", await tab.value(`!document.querySelector(".chip.ghost, .twin.over")`));
  };

  await size(1200);
  await until("the model knows both answers", `!document.getElementById("twins-body").hidden && document.getElementById("twins-untaught").hidden && ${word("story")} !== ${word("twin")}`);
  const { answer: pair } = await tab.value(`lab.ask({ do: "twins" })`);
  const marked = (side) => tab.value(`[...document.querySelectorAll("#twin-${side} mark")].map((node) => node.textContent).join("")`);
  const shown = await Promise.all(["story", "twin"].map(marked));
  check("what differs is marked", shown.every((letters, i) => letters === pair.changed.map((at) => pair.texts[i][at]).join("")), shown.join(" and "));
  const [own, its] = [await tab.value(word("story")), await tab.value(word("twin"))];

  // The head that carries most, as the core says.
  const heads = Array.from({ length: pair.layers * pair.heads }, (_, i) => [Math.floor(i / pair.heads), i % pair.heads]);
  const carried = [];
  for (const [layer, head] of heads) carried.push((await tab.value(`lab.ask({ do: "patch", moved: [{ layer: ${layer}, head: ${head} }] })`)).answer.carried);
  const best = carried.indexOf(Math.max(...carried)), part = heads[best].join("."), percents = `${Math.round(100 * carried[best])}\u00a0%`;
  check("some head carries more than half", carried[best] > 0.5, `${part}: ${percents}`);

  await middle(chip("twin", part));
  const all = `[...document.querySelectorAll("#twins :is(button, select)")]`;
  await tab.value(`${all}[${all}.indexOf(${chip("twin", part)}) - 1].focus()`);
  await key("Tab", 9);
  check("the tabulator comes to it, and it is seen where it is", await tab.value(`document.activeElement === ${chip("twin", part)} && getComputedStyle(${chip("twin", part)}).outlineStyle === "solid"`));
  await key("Enter", 13);
  await until("Enter moves a head into the other story, and its word flips", `${word("story")} === ${JSON.stringify(its)} && ${share("story")} === ${JSON.stringify(percents)}`);
  const told = await text("twins-told");
  check("what happened is announced", [part, own, its, percents].every((what) => told.includes(what)) && await tab.value(`document.getElementById("twins-told").getAttribute("role") === "status"`), told);
  check("it shows in both stories, and the focus stays", await tab.value(`${chip("story", part)}.classList.contains("from") && ${chip("twin", part)}.getAttribute("aria-pressed") === "true" && document.activeElement === ${chip("twin", part)}`));
  check("the other story keeps its word", await tab.value(`${word("twin")} === ${JSON.stringify(its)} && ${share("twin")} === "0\u00a0%"`));
  await lang("zh");
  const chinese = await text("twins-told");
  check("in Chinese too", /[\u4e00-\u9fff]/.test(chinese) && [own, its, percents].every((what) => chinese.includes(what)) && await tab.value(`/[\u4e00-\u9fff]/.test(${chip("twin", part)}.getAttribute("aria-label"))`), chinese);
  await lang("en");
  await key(" ", 32);
  await until("the space bar takes it back", `${word("story")} === ${JSON.stringify(own)} && ${share("story")} === "0\u00a0%" && !document.querySelector(".chip.from")`);

  for (const width of [1200, 375]) {
    await size(width);
    await pause(300);
    await drag(chip("twin", part), `document.querySelector("#twin-story .story")`);
    await until(`a head that is dragged over flips the word, ${width} pixels`, `${word("story")} === ${JSON.stringify(its)} && ${chip("story", part)}.classList.contains("from")`);
    await drag(chip("story", part), `document.querySelector("#twin-twin .story")`);
    await until(`dragged back it flips back, ${width} pixels`, `${word("story")} === ${JSON.stringify(own)} && !document.querySelector(".chip.from")`);
  }
  // A finger.
  await tab.send("Emulation.setTouchEmulationEnabled", { enabled: true });
  await tab.value(`document.getElementById("twins-body").scrollIntoView()`);
  const ends = await tab.value(`[${chip("twin", part)}, document.querySelector("#twin-story .story")].map((node) => (({ left, top, width, height }) => ({ x: left + width / 2, y: top + height / 2 }))(node.getBoundingClientRect()))`);
  await tab.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [ends[0]] });
  for (const at of way(ends)) await tab.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [at] });
  await tab.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await tab.send("Emulation.setTouchEmulationEnabled", { enabled: false });
  await until("a finger drags it as well", `${word("story")} === ${JSON.stringify(its)}`);

  // Several at once, everywhere.
  const alone = await tab.value(share("story"));
  await tab.value(`document.querySelectorAll("#twin-twin .chip").forEach((chip) => chip.getAttribute("aria-pressed") === "true" || chip.click())`);
  await until("all parts at the end are all of the answer", `${share("story")} === "100\u00a0%"`);
  await tab.value(`document.querySelectorAll("#twin-twin .chip").forEach((chip) => chip.dataset.part === ${JSON.stringify(part)} || chip.click())`);
  await until("the others go back", `${share("story")} === ${JSON.stringify(alone)}`);
  await tab.value(`document.querySelector("#twins-at [data-at=all]").click()`);
  await until("everywhere", `document.querySelector("#twins-at [data-at=all]").getAttribute("aria-pressed") === "true" && ${share("story")} !== "–"`);

  // The lens.
  await tab.value(`document.getElementById("lens").open = true`);
  await until("a row before the first layer and after each", `document.querySelectorAll("#lens-box tbody tr").length === ${pair.layers} + 1 && document.querySelectorAll("#lens-box thead th").length > 8`);
  check("after the last it says what the model says", await tab.value(`document.querySelector("#lens-box tbody tr:last-child td:last-child b").textContent === ${JSON.stringify(own[0])}`));
  for (const of of ["en", "zh"]) {
    await lang(of);
    const wide = await tab.value(`[...document.querySelectorAll("#twins *")].filter((node) => !node.closest("table") && node.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((node) => node.id || node.tagName).join()`);
    check(`nothing is wider than a phone, ${of}`, wide === "" && await tab.value(`document.documentElement.scrollWidth <= document.documentElement.clientWidth`), wide);
  }
  check("the table scrolls by itself", await tab.value(`document.getElementById("lens-box").scrollWidth > document.getElementById("lens-box").clientWidth`));
  await lang("en");

  // Another pair, another kind.
  const story = await text("twin-story");
  await tab.value(`document.getElementById("twins-another").click()`);
  await until("another pair, with nothing moved", `document.getElementById("twin-story").textContent !== ${JSON.stringify(story)} && !document.querySelector(".chip.from")`);
  for (const kind of await tab.value(`[...document.getElementById("twins-kind").options].map((option) => option.value)`)) {
    await tab.value(`(({ select }) => { select.value = ${JSON.stringify(kind)}; select.dispatchEvent(new Event("change", { bubbles: true })); })({ select: document.getElementById("twins-kind") })`);
    const first = (await tab.value(`lab.ask({ do: "twins", kind: ${JSON.stringify(kind)} })`)).answer.texts[0].join("");
    await until(`a pair of kind ${kind}`, `document.querySelector("#twin-story .story").textContent.startsWith(${JSON.stringify(first)})`);
  }
  await tab.send("Emulation.clearDeviceMetricsOverride");
}
