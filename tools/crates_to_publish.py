#!/usr/bin/env python3
"""A copy of the workspace as it goes up to crates.io: under the names that CONTRIBUTING.md's table has, each package whole.

    tools/crates_to_publish.py FOLDER --repository URL
    tools/crates_to_publish.py --check PACKAGE    # whether a packed one has all that crates.io and its readers look for

A package there has the licences' texts, the repository's address, that of its documentation, and what its code takes from outside its
folder. Code keeps its names: a library renamed on crates.io is still `llm_core` in Rust. A dependency that only tests need has a path
and no version, so that cargo leaves it out: two packages may test each other. Prints the packages in their order.
Needs Python's standard library only.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]
# What a manifest says to crates.io.
SHOWN = ["description", "license", "repository", "documentation", "rust-version", "readme", "keywords", "categories"]
# What stands outside a package and is part of its text: where it lies, and the file that says so.
OUTSIDE = {"llm-report": ("web/shared", "src/text.rs")}


def table():
    """The packages of the repository and their names on crates.io, each after those that it uses."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = text.split("<!-- release -->\n", 1)[1].split("\n\n", 1)[0]
    return dict(re.findall(r"^\| `([\w-]+)` \| ([\w-]+) \|$", rows, re.M))


def once(text, pattern, new, flags=re.M):
    text, n = re.subn(pattern, new, text, flags=flags)
    assert n == 1, f"{n} times instead of once: {pattern}"
    return text


def workspace(names, version, repository):
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    members = "".join(f'    "crates/{name}",\n' for name in names)
    text = once(text, r"^members = \[\n.*?^\]", f'members = [\n{members}    "tests",\n]', re.M | re.S)
    text = once(text, r"^exclude = .*\n", "")
    text = once(text, r"^publish = false$", f'publish = true\nrepository = "{repository}"')
    for name, published in names.items():
        if f'\n{name} = {{ path' in text:
            text = once(text, rf"^{name} = {{ path", f'{name} = {{ package = "{published}", version = "{version}", path')
    return text


def manifest(folder, name, names):
    """The manifest of a package under its new name."""
    text = (folder / "Cargo.toml").read_text(encoding="utf-8")
    published = names[name]
    text = once(text, rf'^name = "{name}"$', f'name = "{published}"\nrepository.workspace = true\ndocumentation = "https://docs.rs/{published}"')
    if published != name and (folder / "src/lib.rs").exists():
        text = re.sub(r"^\[(features|dependencies)\]", lambda m: f'[lib]\nname = "{name.replace("-", "_")}"\n\n{m[0]}', text, count=1, flags=re.M)
    before, mark, tests = text.partition("\n[dev-dependencies]\n")
    for other, renamed in names.items():
        tests = re.sub(rf"^{other}\.workspace = true", f'{other} = {{ package = "{renamed}", path = "../{other}", default-features = false }}', tests, flags=re.M)
    return before + mark + tests


def check(package):
    with tarfile.open(package) as packed:
        root = packed.getnames()[0].split("/")[0]
        said = tomllib.load(packed.extractfile(f"{root}/Cargo.toml"))["package"]
        names = packed.getnames()
    missing = [file for file in [*LICENCES, "README.md"] if f"{root}/{file}" not in names] + [key for key in SHOWN if key not in said]
    if missing:
        sys.exit(f"error: {package} lacks {', '.join(missing)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repository", metavar="URL")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        return check(args.folder)
    if not args.repository:
        parser.error("--repository is needed: cargo shows it beside each package")
    names = table()
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M)[1]
    shutil.rmtree(args.folder, ignore_errors=True)
    args.folder.mkdir(parents=True)
    wanted = ["crates", "tests", "web/shared", "README.md", "Cargo.lock", *LICENCES]
    tracked = subprocess.run(["git", "ls-files", "-z", *wanted], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for file in filter(None, tracked.split("\0")):
        if not file.startswith("crates/llm-python/"):
            (args.folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, args.folder / file)
    (args.folder / "Cargo.toml").write_text(workspace(names, version, args.repository), encoding="utf-8")
    others = args.folder / "tests/Cargo.toml"
    others.write_text(once(others.read_text(encoding="utf-8"), r"^publish.workspace = true$", "publish = false"), encoding="utf-8")
    for name, published in names.items():
        folder = args.folder / "crates" / name
        (folder / "Cargo.toml").write_text(manifest(folder, name, names), encoding="utf-8")
        for licence in LICENCES:
            shutil.copyfile(ROOT / licence, folder / licence)
        if name in OUTSIDE:
            outside, file = OUTSIDE[name]
            shutil.copytree(ROOT / outside, folder / "outside")
            text = (folder / file).read_text(encoding="utf-8")
            assert text.count(f"../../../{outside}/"), f"{name} takes nothing from {outside}"
            (folder / file).write_text(text.replace(f"../../../{outside}/", "../outside/"), encoding="utf-8")
        print(published)


if __name__ == "__main__":
    main()
