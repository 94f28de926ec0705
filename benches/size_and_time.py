#!/usr/bin/env python3
"""How large a model, how long: what 1, 10 and 60 minutes make of 0.1, 1, 10 and 100 MB of text.

    cargo build --release
    find ~/.cargo/registry/src -name '*.rs' | sort | xargs cat > rust.txt      # a large text: code of the crates in Cargo.lock
    python benches/size_and_time.py rust.txt results.json                      # about five hours; goes on where it was cut
    python benches/size_and_time.py --table results.json                       # the table of docs/how_large_how_long.md

Each run gets as many steps as `--dry-run` says will fit into its time, so that the learning rate comes down
at the end. Its last tenth is never learnt; the loss there is told in bits per byte, which tokenizers do not change.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

BINARY = pathlib.Path(__file__).resolve().parent.parent / "target" / "release" / "train-gpt-mha"
TEXTS = {"0.1 MB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000, "100 MB": 100_000_000}
MODELS = {
    "small": "--layers 4 --dmodel 128 --heads 4 --seq 64 --batch 12 --lr 1e-3",
    "medium": "--layers 6 --dmodel 192 --heads 6 --seq 128 --batch 16 --lr 1e-3",
    "large": "--layers 6 --dmodel 384 --heads 6 --seq 256 --batch 8 --lr 1e-3",
}
BPE = "--tokenizer bpe --vocab-size 2048"
# What is worth trying: text, minutes, model, and what else is typed.
RUNS = [
    ("0.1 MB", 1, "small", ""), ("0.1 MB", 1, "small", "--dropout 0.1"), ("0.1 MB", 10, "small", "--dropout 0.2"),
    ("0.1 MB", 10, "medium", "--dropout 0.2"),
    ("1 MB", 1, "small", ""), ("1 MB", 1, "medium", ""), ("1 MB", 10, "medium", "--dropout 0.1"), ("1 MB", 10, "large", "--dropout 0.1"),
    ("10 MB", 1, "small", ""), ("10 MB", 1, "medium", ""), ("10 MB", 10, "medium", BPE), ("10 MB", 10, "large", BPE),
    ("100 MB", 1, "small", ""), ("100 MB", 1, "medium", ""), ("100 MB", 10, "medium", BPE), ("100 MB", 10, "large", BPE),
    ("1 MB", 60, "large", "--dropout 0.2"), ("10 MB", 60, "large", BPE), ("100 MB", 60, "large", BPE),
]


def seconds_of(flags):
    """Seconds of a step, and of all else, as the program foresees them."""
    steps = 1000
    done = subprocess.run([BINARY, *flags, "--steps", str(steps), "--dry-run", "--message-format", "json"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    said = next(line for line in map(json.loads, done.stdout.splitlines()) if line["event"] == "estimate")
    step = said["step_ms"] / 1000
    return step, said["seconds"] - steps * step


def trained(text, minutes, model, more, folder):
    with open(folder / "text", "wb") as cut, open(sys.argv[1], "rb") as whole:
        cut.write(whole.read(TEXTS[text]))
    flags = ["--data", str(folder / "text"), *MODELS[model].split(), *more.split()]
    step, rest = seconds_of(flags)
    steps = max(50, int((60 * minutes - rest) / step))
    run = folder / f"run-{time.time_ns()}"
    begin = time.monotonic()
    events = subprocess.run([BINARY, *flags, "--steps", str(steps), "--eval-every", str(max(1, steps // 10)), "--gen", "0", "--out", str(run),
                             "--message-format", "json"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    took = time.monotonic() - begin
    evals = [line for line in map(json.loads, events.stdout.splitlines()) if line["event"] == "eval"]
    config = next(json.loads(line) for line in events.stdout.splitlines() if '"event":"start"' in line)
    best = min(evals, key=lambda e: e["val_loss"])
    return {"text": text, "minutes": minutes, "model": model, "more": more, "steps": steps, "seconds": round(took), "start": config,
            "last": evals[-1], "best": best}


def table(results):
    for text in TEXTS:
        for minutes in (1, 10, 60):
            for r in (r for r in results if (r["text"], r["minutes"]) == (text, minutes)):
                print(f"| {text} | {minutes} min | {r['model']} {r['more']} | {r['steps']:,} | {r['seconds']} s | "
                      f"{r['last']['bits_per_byte']:.3f} | {r['best']['bits_per_byte']:.3f} at {r['best']['step']:,} |")


def main():
    place = pathlib.Path(sys.argv[2])
    results = json.loads(place.read_text()) if place.exists() else []
    if sys.argv[1] == "--table":
        return table(results)
    done = {(r["text"], r["minutes"], r["model"], r["more"]) for r in results}
    with tempfile.TemporaryDirectory() as folder:
        for run in RUNS:
            if run not in done:
                results.append(trained(*run, pathlib.Path(folder)))
                place.write_text(json.dumps(results, indent=1))
                print(*run, results[-1]["seconds"], "s", results[-1]["last"], flush=True)


main()
