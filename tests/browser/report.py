#!/usr/bin/env python3
"""The page report.html in a real browser: every section, both languages, both themes, on a phone.

Needs chromium; .ci/deep runs it. Uses Python's standard library only. Pages come from the programs: one
training run, one comparison; and the sections that neither has are put into a copy of the run's data. Where axe-core
is at hand (npm install axe-core), it looks for what keeps people out.

    report.py [--program FILE] [--keep FOLDER] [--axe FILE]     (screenshots go to FOLDER; FILE is axe.min.js)
"""

import argparse
import html
import html.parser
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)
failures = []


def check(what, holds, seen=""):
    print(("ok    " if holds else "FAILED ") + what + (f": {seen}" if seen and not holds else ""))
    if not holds:
        failures.append(what)


class Browser:
    """Chromium without a window and without a network."""

    def __init__(self, folder):
        self.program = next(filter(None, map(shutil.which, BROWSERS)), None)
        if self.program is None:
            sys.exit(f"error: none of {', '.join(BROWSERS)} is there")
        self.folder = folder

    def run(self, address, *flags, width=1280, height=900):
        net = self.folder / "net.json"
        command = [self.program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--no-first-run", "--disable-background-networking", "--disable-component-update",
                   "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--no-pings",
                   f"--user-data-dir={self.folder / 'profile'}", "--proxy-server=127.0.0.1:9",
                   "--enable-logging=stderr", "--virtual-time-budget=3000", f"--log-net-log={net}",
                   f"--window-size={width},{height}", *flags, address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        # What the page's own console says; the browser has worries of its own.
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return done.stdout, said, net

    def dom(self, address, **size):
        text, said, net = self.run(address, "--dump-dom", **size)
        check(f"no word on the console ({address.rpartition('/')[2]})", not said, said)
        return Dom(text), net

    def picture(self, address, file, **size):
        self.run(address, f"--screenshot={file}", **size)


class Dom(html.parser.HTMLParser):
    """Tags, attributes and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.raw, self.tags, self.words, self.open = text, [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, text):
        self.words.append(text)

    def find(self, tag, **wanted):
        wanted = {key.replace("_", "-"): value for key, value in wanted.items()}
        return [a for t, a in self.tags if t == tag and all(a.get(k) == v for k, v in wanted.items())]

    def sections(self):
        return [a["id"] for t, a in self.tags if t == "section"]

    def body(self):
        """What stands in the page, without the scripts."""
        return re.sub(r"<(script|style)\b.*?</\1>", "", self.raw, flags=re.S)


def pages(folder, program):
    """The page of a run, that of a comparison, one with every section, and one of several runs."""
    sizes = ["--seq", "64", "--dmodel", "16", "--layers", "2", "--batch", "2"]

    def ours(*words):
        subprocess.run([program, *words, *sizes], cwd=folder, check=True, capture_output=True)

    ours("--steps", "40", "--sample-every", "20", "--gen", "80", "--heads", "4", "--eval-every", "10", "--out", "run")
    ours("compare", "--steps", "6", "--heads", "1,2,4", "--seeds", "3", "--out", "compare")
    run, compare = folder / "run" / "report.html", folder / "compare" / "report.html"
    text = run.read_text(encoding="utf-8")
    data = json.loads(DATA.search(text)[2])
    data["compare"] = json.loads(DATA.search(compare.read_text(encoding="utf-8"))[2])["compare"]
    hostile = "</script><img src=x onerror=console.error('ran')><b>bold</b>"
    data["rewards"] = {key: [[i, 0.1 * i] for i in range(9)] for key in ("reward", "differ", "length", "entropy", "kl", "start_kl")}
    data["rewards"]["moments"] = [
        {"step": 4 * i, "start_kl": None, "answers": [{"question": hostile, "answer": hostile, "right": [None, False, True][i]}]} for i in range(3)]
    data["samples"].append({"step": 41, "prompt": hostile, "text": hostile})
    data["title"] = "every section " + hostile
    data["heads"] = [
        {"layer": i // 4, "head": i % 4, "scores": [["previous", i / 8], ["first", 0.99], ["of another time", 1 - i / 8], ["entropy", i / 3]],
         "role": {"en": f"looks there {i}", "zh": f"看那里 {i}"}, "evidence": [None, "previous", "first"][i % 3]} for i in range(8)]
    data["even"] = [["previous", 0.1], ["first", 0.05], ["of another time", 0.2], ["entropy", 4.0]]
    off = [{"layer": i // 4, "head": i % 4, "loss": 0.5 + 0.1 * i * (i != 2) - 0.02 * (i == 2), "facts": 1 - i / 9} for i in range(8)]
    data["prune"] = {"loss": 0.5, "facts": 0.95, "alone": off, "greedy": off}
    data["notes"] = [{"en": "A note.", "zh": "一条说明。"}]
    data["runs"] = several(hostile)
    alone = {**data, "title": "several", "runs": several("seed 7"), "curves": None, "rewards": None, "compare": None, "attention": None, "facts": [],
             "heads": [], "even": [], "prune": None, "samples": [], "notes": []}
    return run, compare, copy(folder / "whole.html", text, data), copy(folder / "several.html", text, alone)


def climbed(folder, compare):
    """The page of a comparison, as if its settings were sizes of a ladder."""
    text = compare.read_text(encoding="utf-8")
    data = json.loads(DATA.search(text)[2])
    sizes = {f"{i + 1}": 10 ** (4 + i) for i in range(3)}
    for row, (size, n) in zip(data["compare"]["rows"], sizes.items()):
        row["rung"] = {"layers": int(size), "d_model": 32, "block_parameters": n, "parameters": n, "learned": n, "steps": 9, "passes": 0.5, "lr": 0.004}
    curve = [[10 ** (4 + i / 5), 3 - i / 10, 2.9 - i / 10, 3.1 - i / 10] for i in range(16)]
    points = [{"size": size, "n": n, "losses": [3 - i / 2]} for i, (size, n) in enumerate(sizes.items())]
    said = lambda text: [{"en": text, "zh": text}]
    law = {"of": "", "points": points, "law": {"curve": curve, "ten_times": curve[-1]}, "said": said("loss is so")}
    data["compare"]["ladder"] = {"rules": said("a size is so"), "laws": [law]}
    return copy(folder / "climbed.html", text, data)


def copy(file, page, data):
    """The page with other data."""
    shown = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    file.write_text(DATA.sub(lambda m: m[1] + shown + m[3], page), encoding="utf-8")
    return file


def several(name):
    """Nine runs that differ in rate and heads: some shorter, one without validation, one that has nothing yet."""
    rates, rows = ["0.0003", "0.001", "0.003"], []
    for i in range(9):
        rate, heads, last = rates[i % 3], 2 ** (i // 3), 1000 if i != 4 else 450
        loss = lambda step, i=i: round(0.9 + 0.05 * (i // 3) + (0.4, 0.1, 0.0)[i % 3] + 4.5 * math.exp(-step / (90 + 60 * (2 - i % 3))), 4)
        line = [[step, loss(step)] for step in range(50, last + 1, 50)]
        rows.append({"name": f"runs/{i:02}-lr-{rate}" if i != 5 else name, "settings": [rate, str(heads)], "group": i, "val": line if i not in (6, 8) else [],
                     "smooth": [] if i == 8 else line, "val_loss": line[-1][1] if i not in (6, 8) else None,
                     "best": min(p[1] for p in line) if i not in (6, 8) else None, "steps": last if i != 8 else 0,
                     "seconds": 71.5 + 1200 * i if i != 8 else None,
                     "state": {"en": "done", "zh": "已完成"} if i not in (4, 8) else {"en": "interrupted", "zh": "被中断"}})
    return {"rows": rows, "differing": ["lr", "heads"], "groups": []}


def fetched(net):
    """Addresses that a browser without a network tried to get."""
    log = net.read_text(encoding="utf-8", errors="replace")
    return sorted({url for url in re.findall(r'"url":"([a-z]+://[^"]*)"', log) if not url.startswith(("file:", "chrome:", "data:"))
                   and "googleapis.com" not in url and "google.com" not in url and "gvt1.com" not in url})


def overflow(browser, folder, page, width):
    """Pixels by which a page is wider than the window: measured in a frame of that width."""
    frame = folder / "frame.html"
    frame.write_text(f"""<!DOCTYPE html><body><iframe src="{page.as_uri()}#lang=en" width="{width}" height="800"></iframe>
<pre id="out"></pre><script>onload = () => setTimeout(() => {{
  const d = document.querySelector('iframe').contentDocument;
  document.getElementById('out').textContent = 'wider by ' + (d.documentElement.scrollWidth - d.documentElement.clientWidth);
}}, 500);</script>""", encoding="utf-8")
    text, _, _ = browser.run(frame.as_uri(), "--dump-dom", "--allow-file-access-from-files")
    found = re.search(r"wider by (-?\d+)", text)
    return int(found[1]) if found else None


def with_script(file, page, asks, library=""):
    """A copy of the page that may run scripts of others, and runs these when it is there."""
    text = re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", page.read_text(encoding="utf-8"))
    scripts = f"<script>{library}</script><script>addEventListener('load', () => {{ {asks} }});</script>"
    file.write_text(text.replace("</body>", scripts + "</body>"), encoding="utf-8")
    return file


ACT = """
  const all = selector => [...document.querySelectorAll(selector)], out = [];
  const order = () => all('[data-of-run]').map(b => b.dataset.ofRun).join('');
  const lines = document.querySelector('#runs svg[tabindex]'), box = lines.getBoundingClientRect();
  lines.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + 0.3 * box.width, clientY: box.bottom - 60 }));
  out.push(document.querySelector('#runs .readout').textContent, all('.front').map(g => g.dataset.run).join());
  lines.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown' }));
  out.push(document.querySelector('#runs .readout').textContent);
  all('#runs th button')[1].click();
  out.push(order());
  all('#runs th button')[2].click();
  out.push(order());
  all('[data-of-run="4"]')[0].click();
  out.push(all('[data-of-run][aria-pressed=true]').map(b => b.dataset.ofRun).join(), all('.front').map(g => g.dataset.run).join());
  all('[data-strong="1.0"]')[0].click();
  out.push(all('.matrix').map(c => c.dataset.layer + '.' + c.dataset.head).join(), all('[data-strong][aria-pressed=true]').map(b => b.dataset.strong).join());
  all('[data-set="dark"]')[0].click();
  out.push(document.documentElement.dataset.theme, all('[data-set="dark"]')[0].getAttribute('aria-pressed'), document.activeElement.dataset.set);
  const pre = document.createElement('pre');
  pre.id = 'acted';
  pre.textContent = JSON.stringify(out);
  document.body.append(pre);
"""


def act(browser, folder, page):
    """What happens to somebody who points, types and clicks."""
    file = with_script(folder / "act.html", page, ACT)
    text, said, _ = browser.run(file.as_uri() + "#lang=en&theme=light", "--dump-dom")
    found = re.search(r'<pre id="acted">(.*?)</pre>', text, re.S)
    check("the page can be used", found is not None, said)
    if found is None:
        return
    pointed, front, below, down, by_rate, pressed, held, head, strong, theme, on, focus = json.loads(html.unescape(found[1]))
    check("pointing at a line names its run", "runs/02-lr-0.003 · lr 0.003 · heads 1 · step" in pointed and front == "2", pointed)
    check("an arrow key names the next one", "runs/03-lr-0.0003" in below, below)
    check("a click on a column turns its order around, the unknown stay last", down == "304715268", down)
    check("another column sorts by its numbers", by_rate[:3] == "036" and by_rate[-3:] == "258", by_rate)
    check("a name in the table keeps its line in front", (pressed, held) == ("4", "4"), (pressed, held))
    check("a sentence leads to its head", (head, strong) == ("1.0", "1.0"), (head, strong))
    check("the button for dark is on when it is dark, and keeps the focus", (theme, on, focus) == ("dark", "true", "dark"), (theme, on, focus))


def look_for_barriers(browser, folder, axe, pages):
    """What axe-core finds that keeps people out, in copies of the pages that may run it; skipped without axe-core."""
    places = [axe] if axe else [base / "node_modules/axe-core/axe.min.js" for base in [pathlib.Path.cwd(), ROOT]]
    axe = next((place for place in places if place.is_file()), None)
    if axe is None:
        print("skipped: barriers are not looked for, axe-core is not here (npm install axe-core)")
        return
    asks = """axe.run(document, { resultTypes: ['violations'] }).then(found => {
      const out = document.createElement('pre');
      out.id = 'axe';
      out.textContent = JSON.stringify(found.violations.filter(v => ['serious', 'critical'].includes(v.impact))
        .map(v => [v.id, v.nodes.length, v.nodes[0].target.join(' '), v.nodes[0].failureSummary]));
      document.body.append(out);
    });"""
    for page, name in pages:
        file = with_script(folder / f"axe-{name}.html", page, asks, axe.read_text(encoding="utf-8"))
        for address in ["#lang=en&theme=light", "#lang=zh&theme=dark"]:
            for width in [375, 1280]:
                text, _, _ = browser.run(file.as_uri() + address, "--dump-dom", width=width, height=4000)
                found = re.search(r'<pre id="axe">(.*?)</pre>', text, re.S)
                barriers = json.loads(html.unescape(found[1])) if found else ["axe-core did not end"]
                check(f"no barriers in {file.name}{address} at {width} pixels", not barriers, barriers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="train-gpt-mha [default: built in release]")
    parser.add_argument("--axe", type=pathlib.Path, help="axe.min.js [default: that of node_modules here or in the repository]")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for screenshots")
    args = parser.parse_args()
    program = args.program
    if program is None:
        subprocess.run(["cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt-mha"], cwd=ROOT, check=True)
        program = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")).resolve() / "release" / "train-gpt-mha"
    program = str(pathlib.Path(program).resolve())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        browser = Browser(folder)
        run, compare, whole, runs = pages(folder, program)

        dom, net = browser.dom(run.as_uri() + "#lang=en")
        check("a run's sections", dom.sections() == ["curves", "facts", "attention", "heads", "causes", "lens", "samples"], dom.sections())
        shaded = text_of(dom, "shaded")
        check("the text that is read has spaces", " " in shaded and "␣" not in shaded, shaded)
        check("even attention is beside the heads", "even" in text_of(dom, "dense"), text_of(dom, "dense"))
        check("nothing is fetched", not fetched(net), fetched(net))
        check("curves are drawn", len(dom.find("path", **{"class": "curve k-train"})) == 1)
        beside = [a.get("data-of") for a in dom.find("svg") if "data-of" in a]
        check("rate, norm and speed are beside them", beside == ["lr", "gradNorm", "speed"], beside)
        check("the last measurement is marked apart", len(dom.find("circle", id="final-loss")) == 1)
        legend = text_of(dom, "legend")
        check("it is named apart", "on the way" in legend and "at the end, on all unseen data" in legend, legend)
        letters = text_of(dom, "soft letters")
        check("the letters of the table are explained", all(f"{letter}: " in letters for letter in "VLCHDTB"), letters)
        check("the newest sample is open, the others are folded", text_of(dom, "sample").startswith("After step 40") and len(dom.find("details")) == 1)
        scales = [scale_of(browser.dom(run.as_uri() + f"#lang=en{more}")[0]) for more in ["", "&scale=log", "&scale=linear"]]
        check("the address chooses the scale, and a run that still falls has a linear one", scales == ["linear", "log", "linear"], scales)
        data = json.loads(DATA.search(run.read_text(encoding="utf-8"))[2])
        soon = {**data["curves"], "smooth": [[s, 5.0 if s < 8 else 0.5] for s in range(1, 41)]}
        flat = copy(folder / "flat.html", run.read_text(encoding="utf-8"), {**data, "curves": soon})
        scales = [scale_of(browser.dom(flat.as_uri() + f"#lang=en{more}")[0]) for more in ["", "&scale=linear"]]
        check("a run that is soon at its floor has a logarithmic one, unless asked", scales == ["log", "linear"], scales)
        dom, _ = browser.dom(compare.as_uri() + "#lang=en")
        check("a comparison's sections", dom.sections() == ["compare", "runs", "facts"], dom.sections())
        check("a point for every run", dom.raw.count('class="seed f-0"') >= 9, dom.raw.count('class="seed f-0"'))
        dom, _ = browser.dom(climbed(folder, compare).as_uri() + "#lang=en")
        of = lambda name: sum(name in a.get("class", "").split() for tag in ("path", "circle") for a in dom.find(tag))
        check("a law has a curve, a band, and a ring at ten times the largest", [of("band"), of("dashed"), of("hollow")] == [1, 1, 1],
              [of("band"), of("dashed"), of("hollow")])
        check("a law and the rules of its sizes are said", "loss is so" in dom.body() and "a size is so" in dom.body())

        dom, _ = browser.dom(runs.as_uri() + "#lang=en&theme=light")
        lines = [a["data-run"] for a in dom.find("g") if "data-run" in a]
        check("a line for every run that has one", lines == list("01234567"), lines)
        names = [a["data-of-run"] for a in dom.find("button") if "data-of-run" in a]
        check("sorted by validation loss, the unknown last", names == list("251740368"), names)
        check("one is the best", len(dom.find("tr", **{"class": "best"})) == 1 and dom.body().count('class="tag"') == 1)
        drawn = re.findall(r'<g data-run="\d+"[^>]*><path([^>]*)>', dom.raw)
        styles = {tuple(re.findall(r'(?:class|stroke-dasharray)="([^"]*)"', attributes)) for attributes in drawn}
        check("lines differ in colour and dashes", len(styles) == 8, styles)
        check("lines are named by what differs", "lr 0.003 · heads 1" in dom.body())

        every = ["curves", "rewards", "compare", "runs", "facts", "attention", "heads", "causes", "lens", "prune", "samples"]
        dom, _ = browser.dom(whole.as_uri() + "#layer=1&head=2&token=5&lang=en&theme=light")
        check("every section", dom.sections() == every, dom.sections())
        check("hostile text is text", not dom.find("img") and not dom.find("b") and "<b>bold</b>" in "".join(dom.words))
        check("the address chooses layer, head and token", len(dom.find("canvas", data_layer="1", data_head="2", data_token="5")) == 1)
        check("one small picture is marked", [a["data-head"] for a in dom.find("button", aria_pressed="true") if "data-head" in a] == ["1.2"])
        query = [a["data-i"] for a in dom.find("span", **{"class": "query"})]
        check("one token is marked", query == ["5"], query)
        check("later tokens are pale", len(dom.find("span", **{"class": "later"})) == 64 - 6)
        other, _ = browser.dom(whole.as_uri() + "#layer=0&head=3&token=40&lang=en&theme=light")
        check("another head looks elsewhere", weights(dom) != weights(other), weights(dom))
        first, _ = browser.dom(whole.as_uri() + "#lang=en")
        shown = [(a["data-layer"], a["data-head"]) for a in first.find("canvas", **{"class": "matrix"})]
        check("the head shown first is the strongest that looks at something", shown == [("1", "3")], shown)
        strong = [a["data-strong"] for a in first.find("button") if "data-strong" in a]
        check("the strongest heads are named, each role before a second head of it", strong == ["1.3", "0.2", "1.0", "0.1"], strong)
        check("in a sentence", "Layer 1, head 3 looks there 7 (88\u00a0% of its weight; even attention: 10\u00a0%)" in html.unescape(first.body()))
        at = int(first.find("canvas", **{"class": "matrix"})[0]["data-token"])
        check("the query shown first is one of the text", 0 < at < 64, at)
        check("tokens are beside the map", len(first.find("tspan")) >= 20)
        wild, _ = browser.dom(whole.as_uri() + "#layer=99&head=-4&token=x&lang=en")
        check("a wild address chooses something", len(wild.find("canvas", data_layer="1", data_head="0", data_token="0")) == 1)

        # Heads without a job: one of them rests on the only line end, from where it stands on.
        data = json.loads(DATA.search(whole.read_text(encoding="utf-8"))[2])
        data["heads"] = [{**row, "evidence": None} for row in data["heads"]]
        tokens = data["attention"]["tokens"]
        data["attention"]["tokens"] = [token.replace("↵", "x") for token in tokens]
        even = lambda i: [round(10000 / (i + 1))] * (i + 1)
        data["attention"]["layers"] = [[[even(i) for i in range(len(tokens))] for _ in heads] for heads in data["attention"]["layers"]]
        idle, _ = browser.dom(copy(folder / "idle.html", whole.read_text(encoding="utf-8"), data).as_uri() + "#lang=en")
        check("where no head has a job, that is said", "No head has one of the jobs in the table of heads: over all" in idle.body())
        data["attention"]["tokens"][5] = "↵"
        data["attention"]["layers"][1][2][5:] = [[9000 if j == 5 else round(1000 / i) for j in range(i + 1)] for i in range(5, len(tokens))]
        rests, _ = browser.dom(copy(folder / "rests.html", whole.read_text(encoding="utf-8"), data).as_uri() + "#lang=en")
        found = html.unescape(rests.body())
        check("and what heads rest on", "Layer 1, head 2: line ends (90\u00a0% of its weight; even attention: 4\u00a0%)" in found, re.findall(r"Layer \d, head \d: [^<]*", found))
        check("that head is shown first", [(a["data-layer"], a["data-head"]) for a in rests.find("canvas", **{"class": "matrix"})] == [("1", "2")])

        chinese, _ = browser.dom(whole.as_uri() + "#lang=zh&theme=dark")
        check("language and theme are those of the address", [(a.get("lang"), a.get("data-theme")) for a in chinese.find("html")] == [("zh-CN", "dark")])
        titles = {lang: re.findall(r"<h2[^>]*>(.*?)</h2>", d.body()) for lang, d in [("en", dom), ("zh", chinese)]}
        check("every title is in both languages", len(titles["zh"]) == len(every) and all(
            re.search(r"[一-鿿]", zh) and not re.search(r"[一-鿿]", en) for en, zh in zip(titles["en"], titles["zh"])), titles)
        check("no Chinese label in English", not chinese_labels(dom), chinese_labels(dom))
        check("notes in both", "A note." in dom.body() and "一条说明。" in chinese.body())

        kinds = re.findall(r"<figcaption[^>]*>(.*?)</figcaption>", browser.dom(compare.as_uri() + "#lang=zh")[0].body())
        check("kinds of facts have Chinese names", any("另一个人" in kind for kind in kinds), kinds)
        for page, name in [(run, "run"), (compare, "compare"), (whole, "whole"), (runs, "several")]:
            for width in [360, 375, 1280]:
                wider = overflow(browser, folder, page, width)
                check(f"{name} fits into {width} pixels", wider == 0, f"wider by {wider}")
            size = page.stat().st_size
            check(f"{name} is small", size < 1_500_000, size)
        act(browser, folder, whole)
        look_for_barriers(browser, folder, args.axe, [(run, "run"), (compare, "compare"), (whole, "whole"), (runs, "several")])
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            for name, page, address, size in [
                ("run-light", run, "#lang=en&theme=light", (1280, 2600)), ("run-dark", run, "#lang=en&theme=dark", (1280, 2600)),
                ("compare-light", compare, "#lang=en&theme=light", (1280, 2400)), ("compare-dark-zh", compare, "#lang=zh&theme=dark", (1280, 2400)),
                ("several-light", runs, "#lang=en&theme=light", (1280, 1300)), ("several-dark-zh", runs, "#lang=zh&theme=dark", (1280, 1300)),
                ("whole-zh", whole, "#lang=zh&theme=light", (1280, 5400)), ("whole-phone", whole, "#lang=en&theme=dark", (500, 7000))]:
                browser.picture(page.as_uri() + address, args.keep.resolve() / f"{name}.png", width=size[0], height=size[1])
    print(f"{len(failures)} failed")
    sys.exit(bool(failures))


def text_of(dom, kind):
    """The text in the first part of this class."""
    part = re.search(rf'<(\w+)[^>]*class="{kind}"[^>]*>(.*?)</\1>', dom.body(), re.S)
    return html.unescape(re.sub("<[^>]*>", " " if kind == "dense" else "", part[2])) if part else ""


def scale_of(dom):
    """The scale of the losses that is on."""
    on = [a["data-set"] for a in dom.find("button", aria_pressed="true") if a.get("data-set") in ("linear", "log")]
    return on[0] if on else None


def weights(dom):
    """The line under the text that names the most weights."""
    return re.search(r'id="weights"[^>]*>(.*?)</div>', dom.raw)[1]


def chinese_labels(dom):
    """Chinese in an English page, but for the button that leads to the Chinese one."""
    return [w for w in re.findall(r"[一-鿿]+", dom.body().split("<noscript>")[-1].split("</noscript>")[-1]) if w != "中文"]


if __name__ == "__main__":
    main()
