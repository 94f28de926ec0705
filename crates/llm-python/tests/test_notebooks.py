"""The notebooks run from top to bottom, with fewer steps unless TRAINGPT_NOTEBOOKS=full."""

import os
import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
FULL = os.environ.get("TRAINGPT_NOTEBOOKS") == "full"
SHORTER = [(r"^steps = \d+$", "steps = 30"), (r"^seeds = \[1, 2, 3\]$", "seeds = [1, 2]")]


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code), "clear its outputs"
    changed = 0
    for cell in code:
        for pattern, shorter in [] if FULL else SHORTER:
            cell.source, n = re.subn(pattern, shorter, cell.source, flags=re.M)
            changed += n
    assert FULL or changed > 0
    nbclient.NotebookClient(book, timeout=1200, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    if path.stem.startswith("1_"):
        shown = [o["data"] for cell in code for o in cell.outputs if "data" in o]
        assert any("<svg" in data.get("text/html", "") for data in shown)
    if FULL:
        nbformat.write(book, tmp_path / path.name)
        print(*(o.get("text", "") for cell in code for o in cell.outputs))
