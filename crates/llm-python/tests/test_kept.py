"""Runs that are trained as the programs train them: kept in a folder, measured, on a device."""

import csv
import json

import numpy as np
import pytest
import traingpt
from conftest import SMALL

MEASURED = dict(SMALL, eval_every=4, save_every=6)


def rows(folder):
    with open(folder / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_a_folder_has_what_the_programs_write(text, tmp_path):
    out = tmp_path / "run"
    run = traingpt.Trainer(text, out=out, **MEASURED)
    assert not out.exists()
    done = run.train()
    assert len(done["loss"]) == run.step == 12
    names = ["config.toml", "metrics.csv", "metrics.jsonl", "run.json", "report.html", "loss.svg"]
    for name in [*names, "ckpt/last", "ckpt/best", "ckpt/best.json"]:
        assert (out / name).is_file(), name
    info = json.loads((out / "run.json").read_text())
    assert (info["program"], info["state"], info["step"]) == ("traingpt", "done", 12)
    log = rows(out)
    assert np.allclose([float(row["loss"]) for row in log], done["loss"])
    seen = run.history
    assert list(seen["val_step"]) == [4, 8, 12] and (np.diff(seen["val_loss"]) < 0).all()
    assert [int(row["step"]) for row in log if row["val_loss"]][:2] == [4, 8]
    # The same bits as without a folder.
    plain = traingpt.Trainer(text, **SMALL)
    assert (plain.train()["loss"] == done["loss"]).all()
    assert "val_step" not in plain.history
    again = traingpt.Trainer.load(out / "ckpt" / "last")
    for a, b in zip(again.state_dict().values(), run.state_dict().values()):
        assert (a == b).all()


def test_a_folder_goes_on(text, tmp_path):
    out = tmp_path / "run"
    first = traingpt.Trainer(text, out=out, **MEASURED)
    first.train(7)
    second = traingpt.Trainer(text, out=out)
    assert (second.step, second.steps) == (7, 12)
    second.train()
    with pytest.warns(UserWarning, match="a new course"):
        third = traingpt.Trainer(text, out=out, steps=3, lr=1e-3)
    third.train()
    assert third.step == 15 and [int(row["step"]) for row in rows(out)] == list(range(1, 16))
    whole = traingpt.Trainer(text, **SMALL)
    whole.train()
    with pytest.raises(ValueError, match="other|data"):
        traingpt.Trainer("another text. " * 500, out=out)
    with pytest.raises(ValueError, match="d_model"):
        traingpt.Trainer(text, out=out, d_model=64)
    same = zip(whole.state_dict().values(), second.state_dict().values())
    assert all((a == b).all() for a, b in same)


def test_the_same_trainer_goes_on_in_its_folder(text, tmp_path):
    run = traingpt.Trainer(text, out=tmp_path / "run", **MEASURED)
    for steps in [5, 7]:
        run.train(steps)
    assert [int(row["step"]) for row in rows(tmp_path / "run")] == list(range(1, 13))


def test_what_is_there_is_left_alone(text, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("mine")
    with pytest.raises(OSError, match="cannot write"):
        traingpt.Trainer(text, out=path, **SMALL).train()
    assert path.read_text() == "mine"


def test_a_callback_gets_a_copy(text, tmp_path):
    run = traingpt.Trainer(text, out=tmp_path / "run", **MEASURED)
    seen = []

    def watch(copy, report):
        assert copy is not run and copy.step == report["step"] == len(copy.history["loss"])
        seen.append((copy.step, copy.sample("a", 3), copy.evaluate(tokens=100)["loss"]))
        return copy.step == 9

    assert len(run.train(callback=watch, every=3)["loss"]) == 9
    assert [step for step, *_ in seen] == [3, 6, 9] and run.step == 9
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "interrupted"

    def fail(copy, report):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run.train(callback=fail)
    assert run.step < 12 and len(run.train()["loss"]) + run.history["step"][-1] >= 12


def test_patience_ends_a_run(text):
    run = traingpt.Trainer(text, **dict(SMALL, steps=60, eval_every=2, patience=2, lr=3.0))
    done = run.train()
    assert len(done["loss"]) < 60


def test_the_notes_name_the_device(text, tmp_path):
    run = traingpt.Trainer(text, out=tmp_path / "run", **dict(MEASURED, matmul="f16"))
    before = run.notes
    assert not any("emulated" in note for note in before)
    for steps in [5, 7]:
        run.train(steps)
        said = [note for note in run.notes if note not in before]
        assert len(said) == 1 and "products in f16 are emulated" in said[0]


def test_what_cannot_be_is_refused(text, tmp_path):
    for keywords, error, said in [
        (dict(device="tpu"), ValueError, "'tpu' is no device"),
        (dict(patience=2, eval_every=0), ValueError, "patience"),
        (dict(save_every=2), ValueError, "save_every: it needs out"),
        (dict(skip_spikes=-1.0), ValueError, "skip_spikes"),
    ]:
        with pytest.raises(error, match=said):
            traingpt.Trainer(text, **SMALL, **keywords)
    try:
        traingpt.Trainer(text, **SMALL, device="gpu").train()
    except (ValueError, OSError) as e:
        assert "device gpu: " in str(e)


def test_the_programs_list_it(program, text, tmp_path):
    traingpt.Trainer(text, out=tmp_path / "runs" / "mine", **MEASURED).train()
    assert "mine" in program("train-gpt-mha", "runs").stdout
