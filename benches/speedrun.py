#!/usr/bin/env python3
"""Seconds to a quality that is fixed beforehand, on data that are fixed too; how to get there is free.

    cargo build --release
    python benches/speedrun.py --text tinyshakespeare.txt --large rust-10MB.txt OUT      # a quiet machine; goes on where it was cut
        --before FOLDER      the programs of another commit, with its own recipes beside these
        --torch PYTHON       one that has PyTorch: nanoGPT's recipe, see benches/peers/torch_learns.py
        --tracks stories     some of them alone; text-bits and second-bits: what --time takes, on --text and on --second
    python benches/speedrun.py --table OUT                                               # what is done
    python benches/speedrun.py --text tinyshakespeare.txt --check "chars 1.9 now" OUT    # one row again: the same bytes?

What counts are the seconds of the steps, from the first one to the measurement that reaches the target; measuring itself
does not count, nor does starting. Measured is the whole unseen part. A rate that falls to 0 reaches its target at its last
step, so a recipe is a number of steps; a recipe of before or of others that measures on the way counts up to the first
measurement that is good enough. Of several seeds the mean must reach the target. The runs take turns, so that what else the
machine does is shared. Results are in benches/speedrun.json, with the SHA-256 of each checkpoint: who has another recipe for a
target, a line in RECIPES, runs it beside these; who doubts a row runs it again with --check, on any processor. The text of
10 MB is that of benches/size_and_time.py.
"""
import argparse
import hashlib
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "speedrun.json"
PROGRAMS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "release"

CHARS = "--data TEXT --tokenizer char"
TABLES = "--ngrams 2,3,4"
# Track, target, whose, program and flags. Targets: share of facts, nats a character; none: bits a byte in so many seconds.
RECIPES = [
    ("stories", 0.95, "before", "train-gpt-mha --steps 1200"),
    ("stories", 0.95, "now", "train-gpt-mha --steps 650"),
    ("stories", 0.98, "before", "train-gpt-mha"),
    ("stories", 0.98, "now", "train-gpt-mha"),
    ("chars", 1.90, "torch", None),
    ("chars", 1.90, "before", f"train-gpt-mha {CHARS} --steps 1500"),
    ("chars", 1.90, "now", f"train-gpt-modern {CHARS} --layers 2 --steps 340 --lr 8e-3"),
    ("chars", 1.90, "tables", f"train-gpt-modern {CHARS} --layers 1 --steps 115 --lr 8e-3 {TABLES} --ngram-rows 8192"),
    ("chars", 1.81, "torch", None),
    ("chars", 1.81, "before", f"train-gpt-mha {CHARS}"),
    ("chars", 1.81, "now", f"train-gpt-modern {CHARS} --layers 2 --steps 550 --lr 8e-3"),
    ("chars", 1.81, "tables", f"train-gpt-modern {CHARS} --layers 1 --steps 185 --lr 8e-3 {TABLES}"),
    ("chars", 1.60, "now", f"train-gpt-modern {CHARS} --layers 3 --steps 1900"),
    ("chars", 1.60, "tables", f"train-gpt-modern {CHARS} --layers 2 --steps 1050 {TABLES}"),
]
# What --time takes: bits a byte that two blocks came to with the recipe before, in about a quarter of a minute and one.
BPE = "--tokenizer bpe --vocab-size 2048"
BEFORE, NOW = f"train-gpt-modern {BPE} --layers 2", f"train-gpt-modern {BPE} --layers 1"
RECIPES += [(f"{text.lower()}-bits", target, whose, f"{recipe} --data {text}") for text, target, whose, recipe in [
    ("TEXT", 2.475, "before", f"{BEFORE} --steps 300"),
    ("TEXT", 2.475, "now", f"{NOW} --dmodel 64 --steps 260"),
    ("TEXT", 2.475, "tables", f"{NOW} --dmodel 64 --steps 175 --ngrams 2"),
    ("TEXT", 2.28, "before", f"{BEFORE} --steps 1004"),
    ("TEXT", 2.28, "now", f"{NOW} --steps 640"),
    ("TEXT", 2.28, "tables", f"{NOW} --steps 420 --ngrams 2"),
    ("SECOND", 1.67, "before", f"{BEFORE} --steps 300"),
    ("SECOND", 1.67, "now", f"{NOW} --dmodel 64 --steps 260"),
    ("SECOND", 1.67, "tables", f"{NOW} --dmodel 64 --steps 190 --ngrams 2"),
    ("SECOND", 1.37, "before", f"{BEFORE} --steps 1004"),
    ("SECOND", 1.37, "now", f"{NOW} --steps 660"),
    ("SECOND", 1.37, "tables", f"{NOW} --steps 520 --ngrams 2"),
]]
# Seconds, text, whose, program and flags; the steps are those that fit.
TIMED = [(seconds, text, who, f"{program} --data {text} {more}")
         for seconds in (60, 300) for text in ("TEXT", "LARGE")
         for who, program, more in [("before", "train-gpt-mha", ""), ("now", "train-gpt-modern", ""),
                                    ("tables", "train-gpt-modern", TABLES)]]


def quality(result, track):
    """Share of facts, bits a byte on a track of these, nats a token."""
    if result["facts"] is not None:
        return result["facts"]
    return result["bits_per_byte"] if track.endswith("-bits") else result["val_loss"]


def ran(args, who, command, seed):
    """A run that is whole, from the folder of its commit, flags and seed; else it runs."""
    program, *words = command.split()
    folder = args.out / "-".join([who, *(word.strip("-") for word in command.split()), str(seed)])
    programs = args.before if who == "before" else PROGRAMS
    words = [{"TEXT": args.text, "LARGE": args.large, "SECOND": args.second}.get(word, word) for word in words]
    kept = folder / "run.json"
    if not kept.exists() or json.loads(kept.read_text())["state"] != "done":
        subprocess.run([programs / program, *map(str, words), "--seed", str(seed), "--out", folder, "--gen", "0"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run = json.loads(kept.read_text())
    return {"seed": seed, "steps": run["steps"], "seconds": run["steps"] * run["tokens_per_step"] / run["tokens_per_s"],
            "sha256": hashlib.sha256((folder / "ckpt" / "last").read_bytes()).hexdigest(), "result": run["result"], "processor": run["processor"], "threads": run["threads"]}


def target_run(args, track, target, who, command, seed):
    if who == "torch":
        kept = args.out / f"torch-{seed}.json"
        if not kept.exists():
            targets = [str(target) for track, target, who, _ in RECIPES if who == "torch"]
            script = HERE / "peers" / "torch_learns.py"
            done = subprocess.run([args.torch, script, args.text, "--seed", str(seed), "--targets", *targets],
                                  check=True, stdout=subprocess.PIPE)
            kept.write_bytes(done.stdout)
        peer = json.loads(kept.read_text())
        steps, seconds, loss = peer["reached"].get(str(target), peer["last"])
        return {"seed": seed, "steps": steps, "seconds": seconds, "quality": loss}
    run = ran(args, who, command, seed)
    return {"seed": seed, "steps": run["steps"], "seconds": round(run["seconds"], 3), "quality": quality(run["result"], track),
            "sha256": run["sha256"]}


def timed_run(args, seconds, who, command, seed):
    probe = ran(args, who, f"{command} --steps 300", 1)
    steps = int(seconds * probe["steps"] / probe["seconds"])
    run = ran(args, who, f"{command} --steps {steps}", seed)
    return {"seed": seed, "steps": steps, "seconds": round(run["seconds"], 3), "quality": run["result"]["bits_per_byte"]}


def check(args):
    """One row again, with its first seed: whether the checkpoint has the same bytes."""
    row = json.loads(KEPT.read_text())["rows"][args.check]
    before = row["runs"][0]
    if "sha256" not in before:
        sys.exit(f"error: {args.check!r} is from before checkpoints were compared")
    who = args.check.split()[-1]
    again = ran(args, who, row["command"], before["seed"])
    same = again["sha256"] == before["sha256"]
    print(f"{args.check}: {'the same bytes' if same else 'OTHER BYTES'}, {again['seconds']:.1f} s here, {before['seconds']:.1f} s there")
    sys.exit(0 if same else 1)


def missing(args, who):
    return (who == "before" and not args.before) or (who == "torch" and not args.torch)


def measure(args):
    rows, wanted = {}, lambda track: not args.tracks or track in args.tracks
    for seed in range(1, args.seeds + 1):
        for track, target, who, command in RECIPES:
            if wanted(track) and not missing(args, who) and seed <= (3 if who == "torch" else args.seeds):
                row = rows.setdefault(f"{track} {target:g} {who}", {"command": command, "runs": []})
                row["runs"].append(target_run(args, track, target, who, command, seed))
                print(track, target, who, row["runs"][-1], flush=True)
        for seconds, text, who, command in TIMED:
            if wanted(f"timed-{seconds}") and not missing(args, who) and seed == 1 and (text == "TEXT" or args.large):
                row = rows.setdefault(f"{text.lower()} {seconds} {who}", {"command": command, "runs": []})
                row["runs"].append(timed_run(args, seconds, who, command, seed))
                print(text, seconds, who, row["runs"][-1], flush=True)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"rows": {}}
    kept["rows"].update({name: {**row, **summary(row["runs"])} for name, row in rows.items()})
    kept.setdefault("machine", machine(args))
    kept.setdefault("machines", {}).update({name.split()[0]: machine(args) for name in rows})
    KEPT.write_text(written(kept))


def summary(runs):
    of = lambda what: [run[what] for run in runs]
    spread = lambda values: [round(f(values), 4) for f in (statistics.mean, min, max)]
    return {"seconds": spread(of("seconds")), "quality": spread(of("quality"))}


def machine(args):
    runs = [json.loads(kept.read_text()) for kept in sorted(args.out.glob("*/run.json"))]
    last = max(runs, key=lambda run: run["written"])
    return {"processor": last["processor"], "threads": last["threads"], "kernels": last["kernels"], "version": last["version"],
            "day": last["written"][:10], "system": platform.system()}


def written(kept):
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in kept["rows"].items())
    machines = json.dumps(kept.get("machines", {}))
    return f'{{\n "machine": {json.dumps(kept["machine"])},\n "machines": {machines},\n "rows": {{\n{rows}\n }}\n}}\n'


def table():
    kept = json.loads(KEPT.read_text())
    print(kept["machine"])
    for name, row in kept["rows"].items():
        (seconds, least, most), (quality, worst, best) = row["seconds"], row["quality"]
        print(f"{name:24} {seconds:8.2f} s ({least:.2f} to {most:.2f})   {quality:.4f} ({worst:.4f} to {best:.4f})   {row['command']}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--large", type=pathlib.Path)
    parser.add_argument("--second", type=pathlib.Path, help="the first 1,000,000 bytes of the text of benches/size_and_time.py")
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--torch")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tracks", nargs="+", choices=["stories", "chars", "text-bits", "second-bits", "timed-60", "timed-300"])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", metavar="ROW")
    args = parser.parse_args()
    if args.check:
        args.out = args.out.resolve()
        return check(args)
    if not args.table:
        args.out = args.out.resolve()
        args.out.mkdir(parents=True, exist_ok=True)
        measure(args)
    table()


if __name__ == "__main__":
    main()
