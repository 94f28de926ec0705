#!/usr/bin/env python3
"""What docs/concepts/adapters.md measures: a story model learns another name, by adapters of rank 1 to 8 and by all its weights.

    cargo build --release -p train-gpt-mha && cargo build --release -p llm-stories --example tell
    python benches/adapters.py runs/adapters    # under ten minutes on two cores; what is whole there stays as it is

The default run of train-gpt-mha is the base. It is taught 800 stories in each of which Ivan stands for Finn, once, in 100 steps
of 8, by one recipe: AdamW, a rate that falls to 0 on a line, no decay. Unseen are such stories, and stories without either of
the two, which the base knows: what is lost there was forgotten. For each rank the first seed chooses the rate, by the unseen
stories; then there are three seeds, each with stories of its own; also with as many old stories among the new ones, in 200
steps, and with Omar for Finn. Needs numpy. Writes the part `adapters` of measured.json.
"""
import json
import pathlib
import statistics
import subprocess
import sys

import numpy as np
from stories import MEASURED, PROGRAMS, asked, said, spread, written

OLD, NEW, OTHER = "Finn", "Ivan", "Kurt"
LETTER = "Omar"  # begins with a byte that is in no story
RANKS, FULL, SEEDS = [1, 2, 4, 8], 0, [1, 2, 3]  # rank 0 stands for all weights
RATES = {rank: [2e-3, 5e-3, 1e-2, 2e-2, 4e-2, 8e-2] for rank in RANKS} | {FULL: [2e-4, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3]}
DIRECTIONS = [1, 2, 4, 8]
HEADS = [(1, head) for head in range(4)]  # at the end of a text those of layer 0 carry nothing
PROGRAM = "train-gpt-mha"
RECIPE = ["--schedule", "linear", "--min-lr", "0", "--warmup", "5", "--weight-decay", "0", "--beta2", "0.99", "--clip", "1",
          "--optimizer", "adamw", "--batch", "8", "--loss-on", "all", "--eval-every", "0"]


def tell(seed, count):
    words = [PROGRAMS / "examples" / "tell", seed, 0, count]
    return subprocess.run(list(map(str, words)), check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines(True)


def texts(folder):
    """Files to learn and to be asked; each story is a text of its own."""
    write = lambda name, stories: (folder / name).write_text("".join(json.dumps({"text": story}) + "\n" for story in stories))
    renamed = lambda stories: [story.replace(OLD, NEW) for story in stories if OLD in story]
    for seed in SEEDS:
        told = tell(100 + seed, 4000)
        new, old = renamed(told)[:800], [story for story in told if OLD not in story][:800]
        write(f"learn-{seed}.jsonl", new)
        write(f"letter-{seed}.jsonl", [story.replace(NEW, LETTER) for story in new])
        write(f"mixed-{seed}.jsonl", [story for both in zip(new, old) for story in both])
    unseen = tell(200, 1000)
    write("new.jsonl", renamed(unseen))
    write("letter.jsonl", [story.replace(NEW, LETTER) for story in renamed(unseen)])
    write("known.jsonl", [story for story in unseen if OLD in story])
    write("old.jsonl", [story for story in unseen if OLD not in story])


def loss(folder, model, name):
    shown = said(folder, f"{model.stem}-{name}", PROGRAM, "eval", "--load", model, "--data", folder / f"{name}.jsonl", "--json")
    return json.loads(shown.splitlines()[-1])["val_loss"]


def learned(folder, rank, rate, seed, text="learn", steps=100):
    model = folder / f"{'' if text == 'learn' else text + '-'}{rank}-{rate}-{seed}.ckpt"
    way = ["--lora", str(rank), "--seed", str(seed)] if rank else ["--allow-data-change"]
    said(folder, model.stem, PROGRAM, "--load", folder / "base.ckpt", *way, *RECIPE, "--steps", str(steps), "--lr", str(rate),
         "--data", folder / f"{text}-{seed}.jsonl", "--val", folder / "new.jsonl", "--save", model)
    return model


def weights(folder, model):
    """All tensors of a model, an adapter merged into them."""
    path = folder / f"{model.stem}.safetensors"
    said(folder, f"{model.stem}-export", PROGRAM, "export", "safetensors", "--load", model, path)
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    tensors = {}
    for name, of in json.loads(whole[8:start]).items():
        if of.get("dtype") == "F32" and name.startswith("blocks") and len(of["shape"]) == 2:
            begin, end = (start + at for at in of["data_offsets"])
            tensors[name] = np.frombuffer(whole[begin:end], np.float32).reshape(of["shape"]).astype(float)
    return tensors


def changes(folder, base, model):
    """How much was added to each matrix, as a share of it, and what of that the first directions hold."""
    before, after = weights(folder, base), weights(folder, model)
    shares, held = {}, {}
    for name, was in before.items():
        squares = np.linalg.svd(after[name] - was, compute_uv=False) ** 2
        shares[name] = np.sqrt(squares.sum()) / np.linalg.norm(was)
        held[name] = [squares[:n].sum() / squares.sum() for n in DIRECTIONS]
    return shares, held


def carriers(folder, model, name):
    """For the question whom she gave a thing: the put-in shares of heads at the end, and both differences of scores."""
    rows = []
    for i, who in enumerate(["Lucy", "Ruth", "Ella", "Jane"]):
        for j, things in enumerate(["a tan hat and a pink cup", "a grey map and a brown key"]):
            text = lambda other: f"{who} met {other}. {who} had {things}. She gave "
            pair = ["--clean", text(name), "--other", text(OTHER), "--answers", name[0], OTHER[0]]
            found = asked(folder, f"{model.stem}-patch-{i}-{j}", model, "patch", *pair)
            share = {(of["layer"], of["head"]): of["put_in"] for of in found["parts"] if of["what"] == "head" and of["at"] == "last"}
            rows.append([share[head] for head in HEADS] + found["differences"])
    return np.mean(rows, axis=0)


def looks(folder, model):
    heads = asked(folder, f"{model.stem}-looks", model, "heads", "--data", str(folder / "new.jsonl"))["heads"]
    return [{name: of for name, of in head["scores"].items() if name not in ("word", "entropy", "entropy_share")} for head in heads]


def rounded(values, digits):
    return [round(float(x), digits) + 0 for x in values]  # 0 and not -0


def measure(folder):
    texts(folder)
    base = folder / "base.ckpt"
    said(folder, "base", PROGRAM, "--save", base, "--save-opt", "0")
    found = {"before": rounded([loss(folder, base, name) for name in ("new", "known", "old", "letter")], 4)}
    tried, rows, moved, held, carried, looked = [], [], {}, {}, [[OLD, *rounded(carriers(folder, base, OLD), 2)]], 0
    was = looks(folder, base)
    for rank in [*RANKS, FULL]:
        of_rate = {}
        for rate in RATES[rank]:
            model = learned(folder, rank, rate, SEEDS[0])
            of_rate[rate] = [loss(folder, model, name) for name in ("new", "old")]
            tried.append([rank, rate, *rounded(of_rate[rate], 4)])
        best = min(of_rate, key=lambda rate: of_rate[rate][0])
        models = [learned(folder, rank, best, seed) for seed in SEEDS]
        mixed = [learned(folder, rank, best, seed, "mixed", 200) for seed in SEEDS]
        letter = [learned(folder, rank, best, seed, "letter") for seed in SEEDS]
        asked_of = [(of, name) for of in (models, mixed) for name in ("new", "old")] + [(letter, "letter")]
        both = [spread([loss(folder, model, name) for model in of])[:2] for of, name in asked_of]
        sizes = asked(folder, f"{models[0].stem}-model", models[0], "model")
        numbers = sizes["adapter"]["parameters"] if rank else sizes["model"]["parameters"]
        rows.append([rank, numbers, best, *rounded([x for two in both for x in two], 4)])
        of_models = [changes(folder, base, model) for model in models]
        for name in of_models[0][0]:
            moved.setdefault(name, []).append(statistics.mean(shares[name] for shares, _ in of_models))
            held[name] = np.mean([held[name] for _, held in of_models], axis=0)  # of all weights in the end
        if rank:
            said_of = {of["name"]: of["change"] for of in sizes["adapter"]["matrices"]}
            assert all(abs(said_of[name] - share) < 1e-4 for name, share in of_models[0][0].items()), said_of
        ways = [carriers(folder, model, NEW) for model in models]
        carried.append([rank, *rounded(np.mean(ways, axis=0), 2), *rounded(np.std(ways, axis=0, ddof=1), 2)])
        for model in models:
            looked = max([looked] + [abs(now[name] - then[name]) for now, then in zip(looks(folder, model), was) for name in now if name in then])
    found["rates"], found["rows"] = tried, rows
    found["moved"] = [[name, *rounded(shares, 3)] for name, shares in moved.items()]
    found["held"] = [[name, *(round(100 * share) for share in shares)] for name, shares in held.items()]
    found["carried"], found["looked"] = carried, round(100 * looked, 1)
    return found


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    found = measure(folder.resolve())
    measured = json.loads(MEASURED.read_text())
    measured.setdefault("adapters", {}).update(found)
    MEASURED.write_text(written(measured) + "\n")


if __name__ == "__main__":
    main()
