#!/usr/bin/env python3
"""Measures this project and PyTorch in turn and prints ratios: below 1, this project is faster.

Absolute times drift with whatever else a machine does, so every round measures all peers one after the
other, and the ratio is one of medians over the rounds.

    cargo build --release && python benches/peers/compare.py            # needs: pip install torch; cc
    python benches/peers/compare.py --workloads w1-llama smollm2 write-smollm2 write-smollm2-long
    python benches/peers/compare.py --workloads w1 w3 --rounds 5 --threads 2
    python benches/peers/compare.py --workloads w1 w3 w4 --matmul bf16   # and beside our own f32
    python benches/peers/compare.py --kernels avx2                       # both as on a machine without AVX-512
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE.parent.parent / "target" / "release"
#: Seconds between two peers: a rented machine that was at work may be slower for a moment.
PAUSE = 5
ALL = ["w1", "w1h1", "w2", "w3", "w4", "attention", "generate"]
# The sizes that torch_peer.py has under these names, as flags of train-gpt-modern's bench.
SMOLLM2 = ["--arch", "llama", "--layers", "30", "--heads", "9", "--kv-heads", "3", "--dmodel", "576", "--vocab", "49152"]
MODERN = {
    "w1-llama": ["w1", "--arch", "llama"],
    "smollm2": ["w4", *SMOLLM2, "--seq", "256", "--batch", "1", "--steps", "5"],
    "write-smollm2": ["generate", *SMOLLM2, "--seq", "1024"],
    "write-smollm2-long": ["generate", *SMOLLM2, "--seq", "1024", "--after", "880"],
}

parser = argparse.ArgumentParser()
parser.add_argument("--workloads", nargs="+", default=ALL, choices=[*ALL, *MODERN])
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--matmul", choices=["f32", "bf16"], default="f32", help="bf16: PyTorch under autocast")
parser.add_argument("--kernels", choices=["avx2"], help="what both are held to; default: all that the machine has")
parser.add_argument("--json", action="store_true", help="print every measurement too")
args = parser.parse_args()


if args.kernels:
    os.environ.update(LLM_KERNELS="avx2", ATEN_CPU_CAPABILITY="avx2", MKL_ENABLE_INSTRUCTIONS="AVX2", ONEDNN_MAX_CPU_ISA="AVX2")


def preload():
    """The compiled preload, or None without a C compiler or off Linux."""
    target = Path(tempfile.mkdtemp()) / "mkl_avx512.so"
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", HERE / "mkl_avx512.c", "-o", target], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return target


def measure(command, env=None):
    time.sleep(PAUSE)
    done = subprocess.run(command, env={**os.environ, **(env or {})}, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))} failed with {done.returncode}")
    lines = [json.loads(l) for l in done.stdout.splitlines() if l.startswith("{")]
    if args.json:
        print(done.stdout, end="", flush=True)
    return {line["workload"]: line["ms_per_step"] for line in lines}


def ours(workload, *settings):
    """By the names that PyTorch's script gives them."""
    if workload not in MODERN:
        return measure([PROGRAMS / "train-gpt-mha", "bench", "--json", "--workload", workload, *settings])
    flags = [*MODERN[workload], *settings]
    [ms] = measure([PROGRAMS / "train-gpt-modern", "bench", "--json", "--workload", *flags]).values()
    return {workload: ms}


threads = str(args.threads)
TORCH = [sys.executable, HERE / "torch_peer.py", "--workload"]
SETTINGS = ["--threads", threads, "--matmul", args.matmul]
peers = {
    "this project": lambda w: ours(w, *SETTINGS),
    "torch": lambda w: measure([*TORCH, w, *SETTINGS]),
}
library = None if args.kernels else preload()
if args.matmul == "bf16":
    peers["this project, f32"] = lambda w: ours(w, "--threads", threads)
if library:
    peers["torch, AVX-512 forced"] = lambda w: measure(
        [*TORCH, w, *SETTINGS], {"LD_PRELOAD": str(library)})

print(f"{args.rounds} rounds, {threads} threads, median ms per step or token; ratio = this project / torch")
print(f"{'workload':28} {'this project':>14} " + " ".join(f"{p:>24} {'ratio':>7}" for p in list(peers)[1:]))
for workload in args.workloads:
    times = {peer: {} for peer in peers}
    for _ in range(args.rounds):
        for peer, run in peers.items():
            for name, ms in run(workload).items():
                times[peer].setdefault(name, []).append(ms)
    for name in times["this project"]:
        ms = {peer: statistics.median(times[peer][name]) for peer in peers}
        own = ms.pop("this project")
        row = " ".join(f"{theirs:24.3f} {own / theirs:7.2f}" for theirs in ms.values())
        print(f"{name:28} {own:14.3f} {row}", flush=True)
