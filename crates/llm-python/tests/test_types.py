"""The written types are those of the module, and the settings in them are the library's."""

import pathlib
import re
import subprocess
import sys

import pytest
import traingpt

STUB = pathlib.Path(traingpt.__file__).with_name("__init__.pyi")


def test_stubs_are_those_of_the_module():
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "traingpt"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_setting_has_its_type_and_its_names():
    shown = [line.split(None, 1) for line in traingpt.settings_help().splitlines()]
    stub = STUB.read_text()
    settings = stub[stub.index("class Run") : stub.index("class Report")]
    typed = dict(re.findall(r"^    (\w+): (.*) \| None$", settings, re.M))
    assert set(typed) == {name for name, _ in shown}
    for name, what in shown:
        names = re.findall(r"Literal\[(.*)\]", typed[name])
        if names:
            if name != "optimizer":
                assert " | ".join(re.findall('"(.*?)"', names[0])) in what, (name, what)
        else:
            assert typed[name].split(" ")[0] in ["int", "float", "bool", "Sequence[int]"], name


def test_everything_has_a_docstring():
    for name in dir(traingpt.Trainer):
        if not name.startswith("_"):
            assert getattr(traingpt.Trainer, name).__doc__, name
    for name in traingpt.__all__:
        if name != "__version__":
            assert getattr(traingpt, name).__doc__, name


USED = '''
import numpy as np
import pathlib
import traingpt
run = traingpt.Trainer(pathlib.Path("a"), heads=2, n_layers=3, lr=1e-3, optimizer="muon")
x: np.ndarray = run.train(5, lambda r, s: s["loss"] < 1, every=2)["loss"]
loss: float = run.evaluate()["loss"]
hooks = [("blocks.0.z", lambda value, name: value * 2), ("blocks.1.z", lambda value, name: None)]
text: str = run.sample("a", 3, temperature=0, fwd_hooks=hooks)
share: np.ndarray = run.patch("a", "b", ("c", 1))["end"]["heads"]["put_in"]
carries: np.ndarray = run.explain_facts("he-she")["stream"]["changed"]["carries"]
'''


@pytest.mark.parametrize(("change", "fine"), [("", True), ('traingpt.Trainer("a", layers=2)', False),
                                              ('traingpt.Trainer("a", norm="batch")', False)])
def test_an_editor_knows_the_types(tmp_path, change, fine):
    pytest.importorskip("mypy")
    (tmp_path / "used.py").write_text(USED + change)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", tmp_path / "used.py"],
        capture_output=True, text=True, cwd=tmp_path,
    )
    assert (done.returncode == 0) == fine, done.stdout + done.stderr
