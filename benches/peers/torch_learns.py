"""nanoGPT's recipe for a CPU in PyTorch, on a text in characters: how long until the part that it has not seen is
known as well as asked for. One JSON line: seconds of the steps, measuring left out, for each loss that was reached.

    python benches/peers/torch_learns.py tinyshakespeare.txt --targets 1.9 1.81

Four blocks, four heads, width 128, windows of 64, 12 of them a step, 2,000 steps, dropout 0; AdamW 0.9/0.99, decay 0.1,
clip 1; a rate of 1e-3 that falls along half a cosine to 1e-4, 100 steps of warm-up.
"""
import argparse
import json
import math
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("text")
parser.add_argument("--targets", type=float, nargs="+", required=True, help="losses in nats a character")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--every", type=int, default=50, help="steps between two measurements")
parser.add_argument("--first", type=int, default=1000, help="the first measurement")
args = parser.parse_args()
os.environ.setdefault("OMP_NUM_THREADS", str(args.threads))

import torch

from torch_gpt import Model, adamw, batch, learn

LAYERS, HEADS, WIDTH, CONTEXT, ROWS, STEPS, WARMUP = 4, 4, 128, 64, 12, 2000, 100
PEAK, LOWEST = 1e-3, 1e-4

torch.set_num_threads(args.threads)
torch.manual_seed(args.seed)
text = open(args.text, encoding="utf-8").read()
number = {c: i for i, c in enumerate(sorted(set(text)))}
tokens = torch.tensor([number[c] for c in text])
cut = len(tokens) * 9 // 10
seen, unseen = tokens[:cut], tokens[cut:]
model = Model(LAYERS, HEADS, WIDTH, CONTEXT, len(number))
optimizer = adamw(model, PEAK)


def rate(step):
    if step < WARMUP:
        return PEAK * (step + 1) / (WARMUP + 1)
    return LOWEST + (PEAK - LOWEST) * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP)))


@torch.no_grad()
def measured():
    """Every token of the unseen part once, in windows side by side."""
    windows = (len(unseen) - 1) // CONTEXT
    inputs, targets = (unseen[i : i + windows * CONTEXT].view(windows, CONTEXT) for i in (0, 1))
    parts = zip(inputs.split(64), targets.split(64))
    return sum(model(x, y).item() * len(x) for x, y in parts) / windows


seconds, reached, losses = 0.0, {}, []
for step in range(STEPS):
    start = time.perf_counter()
    for group in optimizer.param_groups:
        group["lr"] = rate(step)
    model(*batch(seen, ROWS, CONTEXT)).backward()
    learn(model, optimizer)
    seconds += time.perf_counter() - start
    if step + 1 >= args.first and (step + 1) % args.every == 0:
        losses.append([step + 1, round(seconds, 3), round(measured(), 4)])
        for target in args.targets:
            if losses[-1][2] <= target:
                reached.setdefault(str(target), losses[-1])
print(json.dumps({"peer": "torch", "version": torch.__version__, "reached": reached, "last": losses[-1], "curve": losses}))
