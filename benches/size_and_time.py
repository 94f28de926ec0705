#!/usr/bin/env python3
"""How large a model, how long: what 1, 10 and 60 minutes make of 0.1, 1, 10 and 100 MB of text.

    cargo build --release
    cargo vendor --locked vendor           # the crates of Cargo.lock; their files in an order that mixes them
    find vendor -name '*.rs' | xargs sha256sum | LC_ALL=C sort | cut -c67- | xargs cat > rust.txt
    python benches/size_and_time.py --plan rust.txt    # quiet machine, some minutes: steps that fit into each time
    python benches/size_and_time.py rust.txt runs      # the runs, some four hours; goes on where it was cut
    python benches/size_and_time.py --table            # what is done, as the table of docs/size_and_time.md

Each run gets as many steps as `--dry-run` says will fit into its time, so that the learning rate comes down
at the end. What a step makes of the weights does not depend on how long it takes: once the steps are known, the
runs may go on beside other work, on another machine, or on another day. `benches/size_and_time.json` has the plan and
what is done. A text's last tenth is never learned; the loss there is told in bits per byte, which tokenizers do not change.
"""
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BINARY = HERE.parent / "target" / "release" / "train-gpt-mha"
KEPT = HERE / "size_and_time.json"
TEXTS = {"0.1 MB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000, "100 MB": 100_000_000}
MODELS = {
    "small": "--layers 4 --dmodel 128 --heads 4 --seq 64 --batch 12 --lr 1e-3",
    "medium": "--layers 6 --dmodel 192 --heads 6 --seq 128 --batch 16 --lr 1e-3",
}
#: Validation losses before the last one, at most: not oftener than the program measures by itself.
ON_THE_WAY, OFTENEST = 10, 250
BPE = "--tokenizer bpe --vocab-size 2048"
# What is worth trying: text, minutes, model, and what else is typed.
RUNS = [
    ("0.1 MB", 1, "small", ""), ("0.1 MB", 1, "small", "--dropout 0.1"),
    ("1 MB", 1, "small", ""), ("1 MB", 1, "small", BPE),
    ("10 MB", 1, "small", ""), ("10 MB", 1, "small", BPE),
    ("100 MB", 1, "small", ""), ("100 MB", 1, "small", BPE),
    ("0.1 MB", 10, "small", "--dropout 0.2"),
    ("1 MB", 10, "small", BPE), ("10 MB", 10, "small", BPE), ("100 MB", 10, "small", BPE),
    ("10 MB", 10, "medium", BPE), ("1 MB", 10, "small", f"{BPE} --dropout 0.1"),
    ("1 MB", 60, "medium", f"{BPE} --dropout 0.2"), ("10 MB", 60, "medium", BPE), ("100 MB", 60, "medium", BPE),
]


def name(run):
    return "-".join(run[0].split() + [f"{run[1]}min", run[2]] + run[3].replace("-", "").split())


def flags(run, text, folder):
    """What is typed, once the text is cut."""
    size, _, model, more = run
    cut = folder / f"{size.replace(' ', '-')}.txt"
    if not cut.exists():
        with open(text, "rb") as whole:
            cut.write_bytes(whole.read(TEXTS[size]))
    return ["--data", str(cut), *MODELS[model].split(), *more.split()]


def events(*typed):
    done = subprocess.run([BINARY, *typed, "--message-format", "json"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def asked(run, steps, text, folder):
    """What is typed for a number of steps: validation losses on the way as well."""
    return [*flags(run, text, folder), "--steps", str(steps), "--eval-every", str(max(OFTENEST, steps // ON_THE_WAY))]


def planned(run, text, folder):
    """Steps that fit, by the seconds of a step and of all else as the program foresees them."""
    steps, of_a_step = 1000, []
    for _ in range(3):  # how much is measured depends on the steps; and a short look at a step is a noisy one
        dry = events(*asked(run, steps, text, folder), "--dry-run")
        said = next(line for line in dry if line["event"] == "estimate")
        of_a_step.append(said["step_ms"] / 1000)
        step = statistics.median(of_a_step)
        rest = said["seconds"] - steps * of_a_step[-1]
        steps = max(50, int((60 * run[1] - rest) / step))
    return {"steps": steps, "step_ms": round(1000 * step, 1), "rest_s": round(rest, 1)}


def trained(run, plan, text, folder):
    """Trains from where the run stands, and says how it ended."""
    out = folder / name(run)
    if (out / "ckpt" / "last").exists():
        typed = ["--load", str(out)]
    else:
        typed = [*asked(run, plan["steps"], text, folder), "--gen", "0", "--out", str(out)]
    if state(out) != "done":
        events(*typed)
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    result = json.loads((out / "run.json").read_text())["result"]
    bits = result["bits_per_byte"] / result["val_loss"]
    evals = [(bits * row["val_loss"], row["step"]) for row in rows if row["val_loss"] is not None]
    best, best_step = min([*evals, (result["bits_per_byte"], plan["steps"])])
    return {"last": result["bits_per_byte"], "best": best, "best_step": best_step}


def state(out):
    told = out / "run.json"
    return json.loads(told.read_text())["state"] if told.exists() else None


def table(plans):
    """The rows of docs/size_and_time.md, and their numbers into the file for the test of the page."""
    rows = []
    for text, minutes, model, more in sorted(RUNS, key=lambda run: (run[1], float(run[0].split()[0]))):
        plan = plans.get(name((text, minutes, model, more)), {})
        if "result" not in plan:
            continue
        dropout = more.partition("--dropout ")[2] or "0"
        result = plan["result"]
        cut = "bpe" if "bpe" in more else "bytes"
        rows.append([minutes, float(text.split()[0]), plan["steps"], float(dropout), round(result["last"], 2), round(result["best"], 2)])
        print(f"| {minutes} min | {text} | {model} | {cut} | {plan['steps']:,} | {dropout} | {result['last']:.2f} | {result['best']:.2f} |")
    return rows


def digest(text):
    """Digest of the part of a text that is used: a plan and its results are of one text."""
    with open(text, "rb") as whole:
        return hashlib.sha256(whole.read(max(TEXTS.values()))).hexdigest()


def main(verb, words):
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"runs": {}}
    plans = kept["runs"]
    if verb == "--table":
        kept["rows"] = table(plans)
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        return
    text = words[0]
    read = digest(text)
    if kept.setdefault("text", read) != read:
        sys.exit(f"error: {KEPT.name} is of another text; move it away to begin anew")
    if verb == "" and any(name(run) not in plans for run in RUNS):
        sys.exit("error: not all runs are planned; --plan first")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(words[1] if verb == "" else temporary)
        folder.mkdir(exist_ok=True)
        for run in RUNS:
            if verb == "--plan" and name(run) not in plans:
                plans[name(run)] = planned(run, text, folder)
            elif verb == "" and "result" not in plans[name(run)]:
                plans[name(run)]["result"] = trained(run, plans[name(run)], text, folder)
            else:
                continue
            KEPT.write_text(json.dumps(kept, indent=1) + "\n")
            print(name(run), plans[name(run)], flush=True)


WORDS = {"--plan": 1, "--table": 0, "": 2}
verb = next((word for word in sys.argv[1:2] if word.startswith("--")), "")
words = sys.argv[1 + (verb != ""):]
if len(words) != WORDS.get(verb):
    sys.exit(__doc__)
main(verb, words)
