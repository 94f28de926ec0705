#!/usr/bin/env python3
"""How the time of a training step grows with T, C, L, H, V and threads: one size at a time, from W1.

    cargo build --release && python benches/sweep.py        # the table of docs/performance.md
"""
import json
import statistics
import subprocess
from pathlib import Path

BINARY = Path(__file__).resolve().parent.parent / "target" / "release" / "train-gpt-mha"
ROUNDS = 3
SWEEPS = {
    "T (B·T = 768)": [["--seq", t, "--batch", 768 // t] for t in (32, 64, 128, 256)],
    "C": [["--dmodel", c] for c in (64, 128, 256, 512)],
    "L": [["--layers", l] for l in (1, 2, 4, 8)],
    "H": [["--heads", h] for h in (1, 2, 4, 8)],
    "V": [["--vocab", v] for v in (65, 256, 4096, 32768)],
    "threads": [["--threads", n] for n in (1, 2)],
}


def ms(flags):
    command = [BINARY, "bench", "--workload", "w1", "--json", "--steps", "60", *map(str, flags)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    line = json.loads(done.stdout)
    return line["ms_per_step"], 100 * line["share_of_peak"]


for name, settings in SWEEPS.items():
    # Rounds outside: a slow minute of the machine falls on all sizes alike.
    runs = [[ms(flags) for flags in settings] for _ in range(ROUNDS)]
    for i, flags in enumerate(settings):
        time, share = (statistics.median(run[i][part] for run in runs) for part in (0, 1))
        print(f"{name:14} {flags[1]:>6} {time:9.2f} ms {share:5.1f} % of peak", flush=True)
