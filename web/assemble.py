#!/usr/bin/env python3
"""Puts the page and its core together: a folder for any file server, and one file to open from disk.

    web/assemble.py WASM OUT [--book BASE --ending .md|.html]

OUT/site/ gets the page as it is with the core beside it, packed; OUT/lab.html holds everything. Links into the book lead to BASE;
if it is not given, to the book that mdBook made beside OUT, or to the pages of this repository where there is none.
Needs Python's standard library only.
"""

import argparse
import base64
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys

WEB = pathlib.Path(__file__).resolve().parent
DOCS = WEB.parent / "docs"
MOST = 1_500_000
# All that a module has of a module: lines of these two kinds. Reports are made of those in shared/ by the same
# (crates/llm-report/src/text.rs).
IMPORT = re.compile(r"^import \{ ([^}]*) \} from '\./([\w/]+)\.js';\n", re.M)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.M)
STYLES = ["shared/shared.css", "style.css"]


def modules(first):
    """A module and all that it needs, each after those that it imports; their imports name files as seen from here."""
    found, open_ones = {}, []

    def take(name):
        if name in open_ones:
            sys.exit(f"error: web: a circle of imports: {' -> '.join([*open_ones, name])}")
        if name in found:
            return
        open_ones.append(name)
        text = (WEB / f"{name}.js").read_text(encoding="utf-8")
        text = IMPORT.sub(lambda m: f"import {{ {m[1]} }} from './{pathlib.PurePosixPath(name).parent / m[2]}.js';\n", text)
        for _, other in IMPORT.findall(text):
            take(other)
        open_ones.pop()
        found[name] = text

    take(first)
    return found


def script(first):
    """One script of a module and all that it needs: a function each, so that their names stay their own."""
    parts = []
    for name, text in modules(first).items():
        names = ", ".join(EXPORT.findall(text))
        body = IMPORT.sub(lambda m: f"const {{ {m[1].replace(' as ', ': ')} }} = in_{m[2].replace('/', '_')};\n", text)
        body = re.sub(r"^export ", "", body, flags=re.M)
        for word in ("import ", "export "):
            left = [line for line in body.splitlines() if line.startswith(word)]
            if left:
                sys.exit(f"error: web/{name}.js: this script cannot take '{left[0]}'")
        parts.append(f"const in_{name.replace('/', '_')} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();\n")
    text = "'use strict';\n" + "".join(parts)
    if "</script" in text:
        sys.exit("error: web: a script would end in its middle")
    return text


def with_book(page, base, ending):
    page, n = re.subn(r'data-base="[^"]*" data-ending="[^"]*"', f'data-base="{base}" data-ending="{ending}"', page)
    assert n == 1, "where the book is"
    return page.replace('href="../docs/README.md"', f'href="{base}README{ending}"')


def with_version(page):
    """As Cargo.toml has it; between two releases with the commit."""
    version = re.search(r'^version = "(.*)"', (WEB.parent / "Cargo.toml").read_text(encoding="utf-8"), re.M)[1]

    def git(*words):
        found = subprocess.run(["git", *words], cwd=WEB, capture_output=True, text=True)
        return found.stdout.strip() if found.returncode == 0 else ""

    commit = git("rev-parse", "--short=8", "HEAD")
    if commit and f"v{version}" not in git("tag", "--points-at", "HEAD").split():
        version += f"+{commit}"
    return once(page, 'name="version" content=""', f'name="version" content="{version}"')


def once(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"error: web/index.html: expected once: {old}")
    return text.replace(old, new)


def packed(wasm):
    """Without a time: the same core gives the same file."""
    return gzip.compress(wasm, 9, mtime=0)


def as_text(core):
    """Four bytes are five letters: a sixteenth less than in base64. A point for '<', which would begin a comment now and then."""
    return base64.b85encode(core).decode("ascii").replace("<", ".")


def one_file(page, core):
    policy = ("default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'; "
              "img-src data:; base-uri 'none'; form-action 'none'")
    page, n = re.subn(r'(http-equiv="Content-Security-Policy" content=")[^"]*', lambda m: m[1] + policy, page)
    assert n == 1, "the policy"
    links = "".join(f'<link rel="stylesheet" href="{name}">\n' for name in STYLES)
    style = "".join((WEB / name).read_text(encoding="utf-8") for name in STYLES)
    page = once(page, links, f"<style>\n{style}</style>\n")
    page = once(page, '<script type="module" src="main.js"></script>\n', "")
    return once(page, "</body>", f'<script type="text/plain" id="wasm-packed">{as_text(core)}</script>\n'
                f'<script type="text/plain" id="worker-source">{script("worker")}</script>\n<script>\n{script("main")}</script>\n</body>')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wasm", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--book", help="where the pages of the book are, as seen from lab.html")
    parser.add_argument("--ending", choices=[".md", ".html"], help="what its pages are")
    args = parser.parse_args()
    page, core = with_version((WEB / "index.html").read_text(encoding="utf-8")), packed(args.wasm.read_bytes())
    site = args.out / "site"
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)

    book = args.out.resolve().parent / "book"
    made = (book / "index.html").exists()
    ending = args.ending or (".html" if made and not args.book else ".md")

    def base(folder):
        return args.book or os.path.relpath(book if made else DOCS, folder.resolve()).replace(os.sep, "/") + "/"

    (site / "shared").mkdir()
    for file in [*STYLES, *(f"{name}.js" for name in sorted({**modules("main"), **modules("worker")}))]:
        shutil.copyfile(WEB / file, site / file)
    (site / "index.html").write_text(with_book(page, base(site), ending), encoding="utf-8")
    (site / "llm_web.wasm.gz").write_bytes(core)
    lab = args.out / "lab.html"
    lab.write_text(one_file(with_book(page, base(args.out), ending), core), encoding="utf-8")
    for built, size in [(lab, lab.stat().st_size), (site, sum(file.stat().st_size for file in site.rglob("*") if file.is_file()))]:
        print(f"{built}: {size} bytes")
        if size > MOST:
            sys.exit(f"error: {built} is larger than {MOST} bytes")


if __name__ == "__main__":
    main()
