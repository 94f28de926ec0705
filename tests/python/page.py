#!/usr/bin/env python3
"""docs/in_python.md from top to bottom: its commands typed, its Python run, its table computed by that Python.

Needs numpy, torch, transformers and safetensors; the block on TensorBoard runs where tensorboard is there. .ci/deep
runs it. With a folder as its argument it takes the programs that were built there.
"""

import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "in_python.md"
CARGO = "cargo run --release -p train-gpt-mha -- "


def fail(what):
    sys.exit(f"error: {what}")


def blocks():
    """Language and lines of every block, in order."""
    return re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def program():
    if len(sys.argv) > 1:
        return pathlib.Path(sys.argv[1]).resolve() / "train-gpt-mha"
    subprocess.run(["cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt-mha"], cwd=ROOT, check=True)
    return (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")).resolve() / "release" / "train-gpt-mha"


def typed(lines, ours):
    for line in lines.splitlines():
        if line.startswith("pip "):
            continue
        command = line.replace(CARGO, f"{shlex.quote(str(ours))} ", 1)
        done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"exit code {done.returncode} from {line}:\n{done.stderr}")


def starts(names):
    """The rows of the table, and what the page's Python has for them."""
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    if len(rows) < 4:
        fail(f"only {len(rows)} starts are found")
    for row in rows:
        *of, start = map(int, row)
        if names["start_of"](*of) != start:
            fail(f"the start of {of} is {names['start_of'](*of)}, the page says {start}")


def shown(names):
    """What TensorBoard reads."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator("tensorboard").Reload()
    found = [(event.step, event.value) for event in events.Scalars("loss")]
    wanted = [(int(row["step"]), float(row["loss"])) for row in names["log"]]
    same = [a[0] == b[0] and abs(a[1] - b[1]) < 1e-5 for a, b in zip(found, wanted)]
    if len(found) != len(wanted) or not all(same):
        fail(f"TensorBoard reads {len(found)} losses of {len(wanted)}, not the same")


def main():
    ours, names = program(), {}
    board = importlib.util.find_spec("tensorboard") is not None
    with tempfile.TemporaryDirectory(prefix="in-python-") as folder:
        os.chdir(folder)
        for name in ("docs", "README.md"):
            os.symlink(ROOT / name, name)
        found = blocks()
        for language, lines in found:
            if language == "sh":
                typed(lines, ours)
            elif "tensorboard" not in lines or board:
                exec(compile(lines, str(PAGE), "exec"), names)  # noqa: S102, as it is what the page shows
        starts(names)
        if board:
            shown(names)
        os.chdir(ROOT)
    print(f"{len(found)} blocks" + ("" if board else "; not run: that on TensorBoard, there is no tensorboard for python3"))


main()
