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
import statistics
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
        ran = subprocess.run([PROGRAMS / program, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        kept.write_bytes(ran.stdout if "--json" in words else ran.stderr + ran.stdout)
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
    numbers = {"loss": float(loss), "top1": float(top1), "facts": [float(x) for x in facts],
               "without_reading": [float(x) for x in guesses], "best": [best["step"], round(best["val_loss"], 4)],
               "story": re.search("^Lucy met.*$", shown, re.MULTILINE).group()}
    one_head = re.search(r"facts   ([\d.]+) %", one).group(1)
    other = [re.search(r"([\d.]+) % +[\d,]+ +2 +other-person", text).group(1) for text in (one, shown)]
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
    """Tables of the comparison: losses, facts by kind, and what the rule concludes."""
    where = folder / "compare"
    said(folder, "compare", "train-gpt-mha", "compare", "--heads", HEADS, "--seeds", SEEDS, "--out", where)
    found = json.loads((where / "compare.json").read_text())["comparison"]
    rows = found["rows"]
    loss = [[row["n_heads"], row["head_dim"], *(round(x, 4) for x in spread(row["loss"]))] for row in rows]
    kinds = [kind for kind, _ in rows[0]["facts"]]
    of = {"all": [row["facts_total"] for row in rows]}
    of.update({kind: [dict(row["facts"])[kind] for row in rows] for kind in kinds})
    facts = [[kind] + [percent(x) for shares in of[kind] for x in spread(shares)[:2]] for kind in [*kinds, "all"]]
    for line in found["conclusion"]:
        print(line["en"])
    return {"seeds": int(SEEDS), "loss": loss, "facts": facts}


def spread(values):
    return [statistics.mean(values), statistics.stdev(values), min(values), max(values)]


def written(value, depth=1):
    """JSON with a line for each row of a table."""
    pad = "\n" + " " * depth
    if isinstance(value, dict):
        inner = [f"{pad}{json.dumps(key)}: {written(of, depth + 1)}" for key, of in value.items()]
        return "{" + ",".join(inner) + pad[:-1] + "}"
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[" + ",".join(pad + json.dumps(row, ensure_ascii=False) for row in value) + pad[:-1] + "]"
    return json.dumps(value, ensure_ascii=False)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    measured = json.loads(MEASURED.read_text())
    measured["readme"].update(readme(folder))
    measured["inside"].update({**inside(folder), **compared(folder)})
    MEASURED.write_text(written(measured) + "\n")


if __name__ == "__main__":
    main()
