#!/usr/bin/env python3
"""How the time of a training step grows with T, C, L, H, V and threads: one size at a time, from W1.

    cargo build --release && python benches/sweep.py          # the table of docs/performance.md, about three minutes
    cargo build --release && python benches/sweep.py H L      # these rows of it alone

Every line is a row as the page has it; the same numbers belong under "sweep" in benches/measured.json.
"""
import json
import statistics
import subprocess
import sys
from pathlib import Path

BINARY = Path(__file__).resolve().parent.parent / "target" / "release" / "train-gpt-mha"
ROUNDS = 3
SWEEPS = {
    "T": [["--seq", t, "--batch", 768 // t] for t in (32, 64, 128, 256)],  # B·T = 768
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


unknown = [name for name in sys.argv[1:] if name not in SWEEPS]
if unknown:
    sys.exit(f"error: no size is called {', '.join(unknown)}; there are {', '.join(SWEEPS)}")
for name in sys.argv[1:] or SWEEPS:
    settings = SWEEPS[name]
    # Rounds outside: a slow minute of the machine falls on all sizes alike.
    runs = [[ms(flags) for flags in settings] for _ in range(ROUNDS)]
    for i, flags in enumerate(settings):
        time, share = (statistics.median(run[i][part] for run in runs) for part in (0, 1))
        print(f"| {name} | {flags[1]} | {round(time, 2)} ms | {share:.1f} % |", flush=True)
