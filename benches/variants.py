#!/usr/bin/env python3
"""Variants side by side: the figures of docs/variants/modern/measured.md, into benches/variants.json.

    cargo build --release -p train-gpt-modern
    python benches/variants.py tinyshakespeare.txt runs    # about two hours; what is whole in runs/ stays as it is
    python benches/variants.py tinyshakespeare.txt runs ladder    # one part alone; this one, of docs/looking_inside.md, takes minutes

Every variant is trained with the same seeds on the same data, by `compare`. What a step makes of the weights does not
depend on how long it takes, so other work beside it does no harm: no time is written down.
"""
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BINARY = HERE.parent / "target" / "release" / "train-gpt-modern"
VARIANTS = "mha,rms,swiglu,relu2,rope,nope,window:16,gqa:2,mqa,qk-norm,llama,qwen3"
SEEDS = "3"
# The way of training with which the page was measured.
COSINE = ["--schedule", "cosine", "--optimizer", "adamw", "--init", "fan-in"]
STORIES = ["--steps", "1500", "--lr", "6e-3", "--min-lr", "6e-4", *COSINE]
PLAYS = ["--steps", "1000", "--lr", "1e-3", "--min-lr", "1e-4", *COSINE]


def compared(folder, flags):
    """The comparison in a folder, made if it is not there."""
    told = folder / "compare.json"
    typed = ["compare", "--variants", VARIANTS, "--seeds", SEEDS, *flags]
    if not (told.exists() and json.loads(told.read_text())["comparison"]["complete"]):
        subprocess.run([BINARY, *typed, "--out", folder], check=True)
    whole = json.loads(told.read_text())
    folders = {}
    for run in whole["runs"]:
        folders.setdefault(run["settings"]["variant"], []).append(folder / pathlib.Path(run["path"]).name)
    sizes = [whole["model"]["d_model"], whole["model"]["seq_len"], whole["steps"]]
    known = {"typed": " ".join(pathlib.Path(word).name if "/" in word else word for word in typed), "width, window, steps": sizes}
    if whole["comparison"]["without_reading"]:
        known["last_mentioned"] = whole["comparison"]["without_reading"][1]
    rows = {row["values"]: {**numbers(row), "early": early(folders[row["values"]])} for row in whole["comparison"]["rows"]}
    return {**known, "rows": rows}


def ladder(folder, text):
    """The sizes of a ladder, and the law of their losses."""
    told = folder / "compare.json"
    typed = ["compare", "--data", text, "--ladder", "tiny,mini,3,small", "--token-ratio", "2", "--seeds", SEEDS]
    if not (told.exists() and json.loads(told.read_text())["comparison"]["complete"]):
        subprocess.run([BINARY, *typed, "--out", folder], check=True)
    found = json.loads(told.read_text())["comparison"]
    row = lambda of: [of["rung"][key] for key in ("block_parameters", "parameters", "learned", "steps")]
    rows = [[*row(of), round(of["rung"]["passes"], 1), *mean_and_sd(of["loss"])] for of in found["rows"]]
    (one,) = found["ladder"]["laws"]
    law = one["law"]
    for line in one["said"]:
        print(line["en"])
    numbers = [law["floor"], law["scale"], law["exponent"], *law["exponent_interval"], *law["ten_times"][1:]]
    return {"rows": rows, "law": digits(numbers)}


def mean_and_sd(values):
    return digits([statistics.mean(values), statistics.stdev(values)])


def digits(values):
    return [round(value, 5) for value in values]


def early(folders):
    """Each run's first validation loss."""
    logs = [[json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()] for folder in folders]
    return digits(next(row["val_loss"] for row in log if row["val_loss"] is not None) for log in logs)


def longer(folder, flags):
    """One run by itself: steps, loss and share of the facts at its end."""
    typed = ["--heads", "4", *STORIES, "--steps", "6000", *flags]
    if not (folder / "run.json").exists():
        subprocess.run([BINARY, *typed, "--out", folder], check=True)
    told = json.loads((folder / "run.json").read_text())
    return [told["step"], *digits([told["result"]["val_loss"], told["result"]["facts"]])]


def numbers(row):
    """A list has a number for each seed."""
    costs = row["costs"]
    known = {"parameters": row["parameters"], "cache_bytes": costs["cache_bytes"], "loss": digits(row["loss"])}
    if row["facts_total"]:
        known["facts"] = digits(row["facts_total"])
    known["at_lengths"] = [digits(loss) for _, loss in costs["at_lengths"]]
    return known


if len(sys.argv) < 3:
    sys.exit(__doc__)
out = pathlib.Path(sys.argv[2])
parts = {
    "stories": lambda: compared(out / "stories", ["--heads", "4", *STORIES]),
    "tinyshakespeare": lambda: compared(out / "tinyshakespeare", ["--heads", "4", "--data", sys.argv[1], *PLAYS]),
    "longer": lambda: {"mha": longer(out / "mha-longer", []), "rope": longer(out / "rope-longer", ["--positions", "rotary"])},
    "ladder": lambda: ladder(out / "ladder", sys.argv[1]),
}
kept = HERE / "variants.json"
found = json.loads(kept.read_text()) | {part: parts[part]() for part in sys.argv[3:] or parts}
kept.write_text(json.dumps(found, indent=1) + "\n")
