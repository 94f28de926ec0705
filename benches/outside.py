#!/usr/bin/env python3
"""A crate outside the workspace, with cargo's own release profile, beside the programs: W1 and writing.

    python benches/outside.py [ROUNDS [MOST]]   # builds both, about three minutes; ends with 1 above 1.05

A hot function that is not compiled into its caller takes 1.3 to 8 times as long; beside other work on the machine
equal programs differ by up to a fifth.

Rounds alternate, so that a slow minute of the machine falls on both alike. Judged by the fastest rounds, which
others' work disturbed least; medians beside them.
"""
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
MOST = float(sys.argv[2]) if len(sys.argv) > 2 else 1.05


def run(*command):
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(done.stdout)


def program():
    bench = [TARGET / "release" / "train-gpt-mha", "bench", "--json", "--workload"]
    own = ["--layers", "4", "--heads", "4", "--dmodel", "128", "--seq", "64", "--vocab", "65"]  # W1's
    kinds = ["w1"], ["generate", *own, "--steps", "100"]
    return [run(*bench, *kind)["ms_per_step"] for kind in kinds]


def outside():
    return [run(TARGET / "outside" / "release" / "outside", kind) for kind in ("w1", "generate")]


subprocess.run(["cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt-mha"], cwd=ROOT, check=True)
subprocess.run(
    ["cargo", "build", "-q", "--release", "--locked", "--manifest-path", "benches/Cargo.toml",
     "--bin", "outside", "--target-dir", TARGET / "outside"], cwd=ROOT, check=True)
rounds = [(program(), outside()) for _ in range(ROUNDS)]
worst = 0.0
for i, name in enumerate(("w1", "generate-w1")):
    ours, theirs = ([of[i] for of in side] for side in zip(*rounds))
    ratio = min(theirs) / min(ours)
    medians = statistics.median(theirs) / statistics.median(ours)
    worst = max(worst, ratio)
    print(f"{name}: program {min(ours):.4f} ms, outside crate {min(theirs):.4f} ms, ratio {ratio:.3f} (medians {medians:.3f})")
sys.exit(worst > MOST)
