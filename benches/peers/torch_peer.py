"""PyTorch on the workloads of `train-gpt-mha bench`: one JSON line per measurement, the same fields.

The model is GPT-2's architecture, fp32, as a PyTorch user would write it today: fused attention, fused
AdamW, gradient norm clipped at 1.0. A step is batch, forward, loss, backward, clip, update. The workloads
of `torch_llama.py` are those of `train-gpt-modern bench` with the flags that `compare.py` gives it.

    python benches/peers/torch_peer.py --workload w1 --threads 2
"""
import argparse
import json
import os
import statistics
import time

# name: layers, heads, width, context, batch, vocabulary, measured steps
TRAINING = {
    "w1": (4, 4, 128, 64, 12, 65, 200),
    "w1h1": (4, 1, 128, 64, 12, 256, 200),
    "w2": (1, 1, 64, 64, 4, 256, 1000),
    "w3": (6, 6, 384, 256, 8, 65, 15),
    "w4": (12, 12, 768, 64, 4, 50257, 10),
}
# The same of Llama's: with groups after the heads, and the width of the MLP after that of the stream.
LLAMA = {
    "w1-llama": (4, 4, 4, 128, 352, 64, 12, 65, 200),
    "smollm2": (30, 9, 3, 576, 1536, 256, 1, 49152, 5),
}
ATTENTION = [(4, 12, 1024, 64), (8, 6, 256, 64)]  # batch, heads, context, head width

WRITING = [("w1", 64, 63), ("w4", 1024, 128)]  # model, context, tokens written
# Sizes of a Llama but for its batch and steps, tokens of the text before, tokens written.
WRITING_LLAMA = {
    "write-smollm2": ((30, 9, 3, 576, 1536, 1024, 49152), 1, 128),
    "write-smollm2-long": ((30, 9, 3, 576, 1536, 1024, 49152), 880, 128),
}

parser = argparse.ArgumentParser()
parser.add_argument("--workload", choices=[*TRAINING, *LLAMA, "attention", "generate", *WRITING_LLAMA], required=True)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--steps", type=int)
parser.add_argument("--matmul", choices=["f32", "bf16"], default="f32", help="bf16: forward and loss under autocast")
args = parser.parse_args()
os.environ.setdefault("OMP_NUM_THREADS", str(args.threads))

import torch
from torch.nn.functional import gelu, scaled_dot_product_attention

from torch_gpt import Model, adamw, batch, learn
from torch_llama import Llama, writer

torch.set_num_threads(args.threads)
torch.manual_seed(1)
PEER = "torch-avx512" if "mkl_avx512" in os.environ.get("LD_PRELOAD", "") else "torch"
precision = lambda: torch.autocast("cpu", torch.bfloat16, enabled=args.matmul == "bf16")


def timed(step, warmup, count):
    for _ in range(warmup):
        step()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def report(workload, ms, tokens, **more):
    line = {"peer": PEER, "workload": workload, "ms_per_step": round(ms, 3),
            "tokens_per_s": round(tokens / ms * 1e3, 1), "threads": args.threads, **more}
    print(json.dumps(line), flush=True)


def training(name):
    *sizes, context, rows, vocabulary, count = TRAINING[name] if name in TRAINING else LLAMA[name]
    count = args.steps or count
    model = (Model if name in TRAINING else Llama)(*sizes, context, vocabulary)
    optimizer = adamw(model, 1e-4)
    data = torch.randint(vocabulary, (100_000,))

    def step():
        with precision():
            loss = model(*batch(data, rows, context))
        loss.backward()
        learn(model, optimizer)

    report(name, timed(step, max(3, count // 5), count), rows * context, peak_kib=peak_kib())


def attention():
    for b, h, t, d in ATTENTION:
        q, k, v = (torch.randn(b, h, t, d, requires_grad=True) for _ in range(3))
        dy = torch.randn(b, h, t, d)

        def forward():
            with torch.no_grad():
                scaled_dot_product_attention(q, k, v, is_causal=True)

        def both():
            q.grad = k.grad = v.grad = None
            scaled_dot_product_attention(q, k, v, is_causal=True).backward(dy)

        count = args.steps or 15
        fwd_ms = round(timed(forward, 2, count), 3)
        report(f"attention-B{b}-H{h}-T{t}-D{d}", timed(both, 2, count), b * t, fwd_ms=fwd_ms)


@torch.no_grad()
def generate():
    """Greedy, one text, from one token, with keys and values kept in preallocated storage."""
    for name, context, count in WRITING:
        layers, heads, width, _, _, vocabulary, _ = TRAINING[name]
        model = Model(layers, heads, width, context, vocabulary)
        kept = torch.zeros(layers, 2, heads, context, width // heads)

        def next_token(token, position):
            x = model.tokens.weight[token] + model.positions.weight[position : position + 1]
            for i, layer in enumerate(model.layers):
                q, k, v = layer.qkv(layer.norm1(x)).view(3, heads, 1, width // heads)
                kept[i, 0, :, position], kept[i, 1, :, position] = k[:, 0], v[:, 0]
                k, v = kept[i, :, :, : position + 1]
                y = scaled_dot_product_attention(q[None], k[None], v[None])
                x = x + layer.proj(y.view(1, width))
                x = x + layer.out(gelu(layer.fc(layer.norm2(x)), approximate="tanh"))
            return torch.mv(model.tokens.weight, model.norm(x)[0]).argmax()[None]

        def text():
            token = torch.zeros(1, dtype=torch.long)
            for position in range(count):
                token = next_token(token, position)

        ms = timed(text, 1, args.steps or 5) / count
        report(f"generate-{name}", ms, 1)


@torch.no_grad()
def write_llama(name):
    """Greedy, one text, after a text that is read before the clock starts."""
    sizes, after, count = WRITING_LLAMA[name]
    read = writer(Llama(*sizes), sizes[-2])
    first = read(torch.zeros(after, dtype=torch.long), 0)

    def text():
        token = first
        for position in range(after, after + count):
            token = read(token, position)

    report(name, timed(text, 1, args.steps or 5) / count, 1)


def peak_kib():
    """Most memory this process has had resident, in KiB (Linux)."""
    try:
        with open("/proc/self/status") as status:
            return next(int(l.split()[1]) for l in status if l.startswith("VmHWM:"))
    except OSError:
        return None


apart = {"attention": attention, "generate": generate}
if args.workload in apart:
    apart[args.workload]()
elif args.workload in WRITING_LLAMA:
    write_llama(args.workload)
else:
    training(args.workload)
