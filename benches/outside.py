#!/usr/bin/env python3
"""A crate outside the workspace, with cargo's own release profile, beside the programs: W1 and writing.

    python benches/outside.py [ROUNDS]      # builds both, about three minutes; ends with 1 above 1.05

Rounds alternate, so that a slow minute of the machine falls on both alike; medians.
"""
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 7
MOST = 1.05


def run(*command):
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def program():
    bench = [ROOT / "target" / "release" / "train-gpt-mha", "bench", "--json", "--workload"]
    lines = run(*bench, "w1") + run(*bench, "generate", "--steps", "25")
    return {line["workload"]: line["ms_per_step"] for line in lines}


def outside():
    return run(ROOT / "target" / "outside" / "release" / "outside")[0]


subprocess.run(["cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt-mha"], cwd=ROOT, check=True)
subprocess.run(
    ["cargo", "build", "-q", "--release", "--locked", "--manifest-path", "benches/Cargo.toml",
     "--bin", "outside", "--target-dir", "target/outside"], cwd=ROOT, check=True)
rounds = [(program(), outside()) for _ in range(ROUNDS)]
worst = 0.0
for name in ("w1", "generate-w1"):
    ours, theirs = (statistics.median(of[i][name] for of in rounds) for i in (0, 1))
    worst = max(worst, theirs / ours)
    print(f"{name}: program {ours:.4f} ms, outside crate {theirs:.4f} ms, ratio {theirs / ours:.3f}")
sys.exit(worst > MOST)
