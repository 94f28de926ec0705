"""The page on notebooks from top to bottom; its Python is the same in both languages."""

import pathlib
import re
import warnings

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"


def blocks(name):
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / name).read_text(encoding="utf-8"), re.M | re.S)


def test_the_page_runs(tmp_path, monkeypatch):
    found = blocks("in_a_notebook.md")
    assert len(found) > 4 and found == blocks("in_a_notebook.zh-CN.md")
    monkeypatch.chdir(tmp_path)
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in found:
            exec(compile(block, "in_a_notebook.md", "exec"), names)
    assert names["seen"] and {p.name for p in tmp_path.iterdir()} >= {"model.ckpt", "exported"}


def test_the_readme_runs(tmp_path, monkeypatch):
    readme = pathlib.Path(__file__).resolve().parents[1] / "README.md"
    (block,) = re.findall(r"^```python\n(.*?)^```$", readme.read_text(encoding="utf-8"), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    shorter, n = re.subn(r"steps=\d+", "steps=3", block)
    assert n == 1
    exec(compile(shorter, "README.md", "exec"), {})
    assert (tmp_path / "model.ckpt").exists()


@pytest.mark.parametrize("language", ["", ".zh-CN"])
def test_what_the_page_names_is_there(language):
    import traingpt

    page = (DOCS / f"in_a_notebook{language}.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| (`.*?) \|", page, re.M)
    names = [name for row in tables for name in re.findall(r"`(\w+)\(", row)]
    assert len(names) > 8
    for name in names:
        assert hasattr(traingpt.Trainer, name), name
