#!/usr/bin/env python3
"""The book (target/book, from `mdbook build`) in a real browser: what a reader without a network sees, also on a phone.

Needs chromium; .ci/deep runs it. Uses Python's standard library only.

    book.py [--keep FOLDER]     (screenshots go to FOLDER)
"""

import html
import html.parser
import json
import pathlib
import re
import sys
import tempfile
import urllib.parse

sys.dont_write_bytecode = True
from report import Browser, check, failures, fetched

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BOOK = ROOT / "target" / "book"
FORMULA = re.compile(r"^\$\$$", re.MULTILINE)
# Pages that are opened: the first one, formulas, wide tables, figures, code.
OPENED = ["README", "learn_by_hand", "variants/mha/why_multi_head_attention", "performance", "promises",
          "concepts/a_map_of_words", "concepts/masks_and_cross_attention", "exercises"]
WIDTHS = [375, 1280]
# A page in a frame as wide as a phone: by how much it is wider, and what stands beyond its edge and does not scroll.
FRAME = """<!DOCTYPE html><body><iframe src="{page}" width="{width}" height="800"></iframe><pre id="out"></pre><script>
const scrolls = (view, e) => e.tagName != 'MAIN' && (view.getComputedStyle(e).overflowX != 'visible' || scrolls(view, e.parentElement));
onload = () => setTimeout(() => {{
  const view = document.querySelector('iframe').contentWindow, d = view.document;
  const beyond = [...d.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > view.innerWidth + 1);
  const lost = beyond.filter(e => !scrolls(view, e)).map(e => e.outerHTML.slice(0, 80));
  document.getElementById('out').textContent = JSON.stringify([d.documentElement.scrollWidth - d.documentElement.clientWidth, lost]);
}}, 500);</script>"""


class Page(html.parser.HTMLParser):
    """What a page loads, links to, is called by, and says outside of code."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.ids, self.words, self.inside, self.maths = [], [], set(), [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        self.maths += tag == "math"
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif tag in ("script", "img", "source", "iframe", "link"):
            self.loads.append(attributes.get("src") or attributes.get("href") or "")
        if tag in ("code", "pre", "script", "style"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, text):
        if not self.inside:
            self.words.append(text)


def is_outside(address):
    return bool(urllib.parse.urlsplit(address).scheme) or address.startswith("//")


def check_files(pages):
    """No server is asked, links lead somewhere, formulas are formulas."""
    asked = {load for page in pages.values() for load in page.loads if is_outside(load) and not load.startswith("data:")}
    check("nothing is loaded from a server", not asked, asked)
    lost = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            if is_outside(link) or path.name in ("404.html", "toc.html"):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / urllib.parse.unquote(name)).resolve() if name else path
            known = pages.get(target)
            if not target.exists() or anchor and known and urllib.parse.unquote(anchor) not in known.ids:
                lost.append(f"{path.relative_to(BOOK)}: {link}")
    check("every link and figure leads to something in the book", not lost, lost[:20])
    raw = [str(path.relative_to(BOOK)) for path, page in pages.items() if re.search(r"\$\$|\\(frac|mathrm|cdot|\[)", "".join(page.words))]
    check("no formula is left as it was typed", not raw, raw)
    for source in sorted((ROOT / "docs").rglob("*.md")):
        page = pages.get(BOOK / source.relative_to(ROOT / "docs").with_suffix(".html"))
        formulas = len(FORMULA.findall(source.read_text(encoding="utf-8"))) // 2
        if page and page.maths != formulas:
            check(f"{source.name} shows its {formulas} formulas", False, page.maths)


def beyond(browser, folder, page, width):
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(page=page.as_uri(), width=width), encoding="utf-8")
    text, _, _ = browser.run(frame.as_uri(), "--dump-dom", "--allow-file-access-from-files")
    found = re.search(r'<pre id="out">(.*?)</pre>', text, re.S)
    return json.loads(html.unescape(found[1])) if found and found[1] else None


def main():
    keep = pathlib.Path(sys.argv[2]) if sys.argv[1:2] == ["--keep"] else None
    if not (BOOK / "README.html").exists():
        sys.exit("error: no target/book, mdbook build makes it")
    files = [path for path in BOOK.rglob("*.html")]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    check_files(pages)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(pathlib.Path(folder))
        for name in [name + end for name in OPENED for end in (".html", ".zh-CN.html")]:
            page = BOOK / name
            for width in WIDTHS:
                wider = beyond(browser, pathlib.Path(folder), page, width)
                check(f"{name} fits into {width} pixels", wider == [0, []], wider)
            _, net = browser.dom(page.as_uri())
            check(f"{name} asks nobody", not fetched(net), fetched(net))
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                browser.picture(page.as_uri(), keep / f"{name.replace('/', '-')}.png")
    print(f"{len(failures)} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
