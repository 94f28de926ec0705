#!/usr/bin/env python3
"""The page report.html in a real browser: every section, both languages, both themes, on a phone.

Needs chromium; .ci/deep runs it. Uses Python's standard library only. Pages come from the programs: one
training run, one comparison; and the sections that neither has are put into a copy of the run's data.

    report.py [--program FILE] [--keep FOLDER]     (screenshots go to FOLDER)
"""

import argparse
import html
import html.parser
import json
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
    """The page of a run, that of a comparison, and one with every section."""
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
    data["samples"].append({"step": 41, "prompt": hostile, "text": hostile})
    data["title"] = "every section " + hostile
    data["heads"] = [
        {"layer": i // 4, "head": i % 4, "scores": [["previous", i / 8], ["of another time", 1 - i / 8], ["entropy", i / 3]],
         "role": {"en": f"role {i}", "zh": f"作用 {i}"}} for i in range(8)]
    data["even"] = [["previous", 0.1], ["of another time", 0.2], ["entropy", 4.0]]
    off = [{"layer": i // 4, "head": i % 4, "loss": 0.5 + 0.1 * i * (i != 2) - 0.02 * (i == 2), "facts": 1 - i / 9} for i in range(8)]
    data["prune"] = {"loss": 0.5, "facts": 0.95, "alone": off, "greedy": off}
    data["notes"] = [{"en": "A note.", "zh": "一条说明。"}]
    whole = folder / "whole.html"
    shown = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    whole.write_text(DATA.sub(lambda m: m[1] + shown + m[3], text), encoding="utf-8")
    return run, compare, whole


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="train-gpt-mha [default: built in release]")
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
        run, compare, whole = pages(folder, program)

        dom, net = browser.dom(run.as_uri() + "#lang=en")
        check("a run's sections", dom.sections() == ["facts", "curves", "samples", "attention", "heads"], dom.sections())
        shaded = text_of(dom, "shaded")
        check("the text that is read has spaces", " " in shaded and "␣" not in shaded, shaded)
        check("even attention is beside the heads", "even" in text_of(dom, "dense"), text_of(dom, "dense"))
        check("nothing is fetched", not fetched(net), fetched(net))
        check("curves are drawn", len(dom.find("path", **{"class": "curve k-train"})) == 1)
        dom, _ = browser.dom(compare.as_uri() + "#lang=en")
        check("a comparison's sections", dom.sections() == ["facts", "compare"], dom.sections())
        check("a point for every run", dom.raw.count('class="seed f-0"') >= 9, dom.raw.count('class="seed f-0"'))

        every = ["facts", "curves", "compare", "samples", "attention", "heads", "prune"]
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
        wild, _ = browser.dom(whole.as_uri() + "#layer=99&head=-4&token=x&lang=en")
        check("a wild address chooses something", len(wild.find("canvas", data_layer="1", data_head="0", data_token="0")) == 1)

        chinese, _ = browser.dom(whole.as_uri() + "#lang=zh&theme=dark")
        check("language and theme are those of the address", [(a.get("lang"), a.get("data-theme")) for a in chinese.find("html")] == [("zh-CN", "dark")])
        titles = {lang: re.findall(r"<h2[^>]*>(.*?)</h2>", d.body()) for lang, d in [("en", dom), ("zh", chinese)]}
        check("every title is in both languages", len(titles["zh"]) == 7 and all(
            re.search(r"[一-鿿]", zh) and not re.search(r"[一-鿿]", en) for en, zh in zip(titles["en"], titles["zh"])), titles)
        check("no Chinese label in English", not chinese_labels(dom), chinese_labels(dom))
        check("notes in both", "A note." in dom.body() and "一条说明。" in chinese.body())

        for page, name in [(run, "run"), (compare, "compare"), (whole, "whole")]:
            for width in [360, 1280]:
                wider = overflow(browser, folder, page, width)
                check(f"{name} fits into {width} pixels", wider == 0, f"wider by {wider}")
            size = page.stat().st_size
            check(f"{name} is small", size < 1_500_000, size)
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            for name, page, address, size in [
                ("run-light", run, "#lang=en&theme=light", (1280, 2600)), ("run-dark", run, "#lang=en&theme=dark", (1280, 2600)),
                ("compare-light", compare, "#lang=en&theme=light", (1280, 2400)), ("compare-dark-zh", compare, "#lang=zh&theme=dark", (1280, 2400)),
                ("whole-zh", whole, "#lang=zh&theme=light", (1280, 5400)), ("whole-phone", whole, "#lang=en&theme=dark", (500, 7000))]:
                browser.picture(page.as_uri() + address, args.keep.resolve() / f"{name}.png", width=size[0], height=size[1])
    print(f"{len(failures)} failed")
    sys.exit(bool(failures))


def text_of(dom, kind):
    """The text in the first part of this class."""
    part = re.search(rf'<(\w+)[^>]*class="{kind}"[^>]*>(.*?)</\1>', dom.body(), re.S)
    return html.unescape(re.sub("<[^>]*>", " " if kind == "dense" else "", part[2])) if part else ""


def weights(dom):
    """The line under the text that names the most weights."""
    return re.search(r'id="weights"[^>]*>(.*?)</div>', dom.raw)[1]


def chinese_labels(dom):
    """Chinese in an English page, but for the button that leads to the Chinese one."""
    return [w for w in re.findall(r"[一-鿿]+", dom.body().split("<noscript>")[-1].split("</noscript>")[-1]) if w != "中文"]


if __name__ == "__main__":
    main()
