#!/usr/bin/env python3
"""What the pages say of the built-in stories, measured again: `readme` and `inside` of benches/measured.json.

    cargo build --release
    python benches/stories.py runs/stories    # about fifteen minutes on two cores; what is whole there stays as it is

The default run of train-gpt-mha and what `inspect` finds in it; the default run of train-gpt; and `compare` of one to eight
heads. What a step makes of the weights does not depend on how long it takes, so other work beside it does no harm: the
seconds of the first run are printed, and written down by hand.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MEASURED = HERE / "measured.json"
PROGRAMS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "release"
HEADS, SEEDS = "1,2,4,8", "5"
COLUMNS = ["previous", "word", "after", "answer"]


def said(folder, name, program, *words):
    """What a program prints, kept in a file: it is not run again."""
    kept = folder / f"{name}.txt"
    if not kept.exists():
        ran = subprocess.run([PROGRAMS / program, *words], check=True, stdout=subprocess.PIPE)
        kept.write_bytes(ran.stdout)
    return kept.read_text()


def percent(share, digits=1):
    return round(100 * share, digits)


def readme(folder):
    shown = said(folder, "four", "train-gpt-mha", "--out", folder / "four")
    one = said(folder, "one", "train-gpt", "--out", folder / "one")
    loss, top1 = re.search(r"loss ([\d.]+) nats.*top-1 ([\d.]+) %", shown).groups()
    facts = re.search(r"facts   ([\d.]+) % .*one place ([\d.]+) % · two places ([\d.]+) %", shown).groups()
    guesses = re.search(r"most frequent word ([\d.]+) %, last mentioned ([\d.]+) %", shown).groups()
    best = json.loads((folder / "four" / "run.json").read_text())["best"]
    seconds = json.loads((folder / "four" / "run.json").read_text())["seconds"]
    print(f"the default run took {seconds:.1f} s here")
    print(shown)
    print(one)
    numbers = {"loss": float(loss), "top1": float(top1), "facts": [float(x) for x in facts],
               "without_reading": [float(x) for x in guesses], "best": [best["step"], round(best["val_loss"], 4)]}
    one_head = re.search(r"facts   ([\d.]+) %", one).group(1)
    other = [re.search(r"other-person +([\d.]+) %", text).group(1) for text in (one, shown)]
    return {**numbers, "one_head": [round(float(x)) for x in (one_head, *other)]}


def inside(folder):
    heads = json.loads(said(folder, "heads", "train-gpt-mha", "inspect", "heads", "--load", folder / "four", "--json").splitlines()[-1])
    prune = json.loads(said(folder, "prune", "train-gpt-mha", "inspect", "prune", "--load", folder / "four", "--json").splitlines()[-1])
    name = lambda of: float(f"{of['layer']}.{of['head']}")
    shares = lambda scores: [percent(scores[column], None) for column in COLUMNS]
    order = {name(of): (i + 1, of) for i, of in enumerate(prune["greedy"])}
    rows = []
    for alone in prune["alone"]:
        number, then = order[name(alone)]
        rises = [round(of["loss"] - prune["loss"], 4) for of in (alone, then)]
        rows.append([name(alone), rises[0], percent(alone["facts_accuracy"]), number, rises[1], percent(then["facts_accuracy"])])
    for head in heads["heads"]:
        print(name(head), head["role"]["en"] or "-", "|", head["role"]["zh"] or "-")
    return {"heads": [[name(head), *shares(head["scores"])] for head in heads["heads"]], "even": shares(heads["uniform"]),
            "outputs": [round(heads["outputs"][1][which]["std"], 3) for which in ("concatenated", "projected")],
            "whole": [round(prune["loss"], 4), percent(prune["facts_accuracy"])], "prune": rows}


def compared(folder):
    where = folder / "compare"
    print(said(folder, "compare", "train-gpt-mha", "compare", "--heads", HEADS, "--seeds", SEEDS, "--out", where))
    return json.loads((where / "compare.json").read_text())["comparison"]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    numbers = readme(folder)
    found = inside(folder)
    comparison = compared(folder)
    print(json.dumps({"readme": numbers, "inside": found}))
    print(json.dumps(comparison)[:4000])


if __name__ == "__main__":
    main()
