"""The training steps of `benches/gpu.sh` in PyTorch on a CUDA card: eager in f32, under bf16 autocast, and that compiled.

One JSON line each; a step is forward, loss, backward, clip, update on a batch that lies on the card. Steps are queued and
waited for once, as a loop that reads its loss rarely has it.
"""
import json
import time

import torch

from torch_gpt import Model, adamw, learn

# name: layers, heads, width, context, batch, vocabulary
SIZES = {
    "stories": (2, 4, 64, 256, 8, 256),
    "w1": (4, 4, 128, 64, 12, 65),
    "w3": (6, 6, 384, 256, 8, 65),
    "w3_b64": (6, 6, 384, 256, 64, 65),
    "w4": (12, 12, 768, 64, 4, 50257),
    "w4_t1024": (12, 12, 768, 1024, 4, 50257),
}
SECONDS = 1.5


def measure(name, mode):
    *sizes, context, rows, vocabulary = SIZES[name]
    torch.manual_seed(1)
    model = Model(*sizes, context, vocabulary).to("cuda")
    optimizer = adamw(model, 1e-4)
    ids, targets = torch.randint(vocabulary, (2, rows, context), device="cuda")
    forward = torch.compile(model) if mode == "bf16 compiled" else model

    def steps(count):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            with torch.autocast("cuda", torch.bfloat16, enabled=mode != "f32"):
                loss = forward(ids, targets)
            loss.backward()
            learn(model, optimizer)
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / count

    steps(5)
    count = max(5, min(500, int(SECONDS / steps(3))))
    ms = 1e3 * steps(count)
    line = {"peer": f"torch {torch.__version__}", "mode": mode, "workload": name, "ms_per_step": round(ms, 3),
            "tokens_per_s": round(rows * context / ms * 1e3)}
    print(json.dumps(line), flush=True)


for mode in ("f32", "bf16", "bf16 compiled"):
    for name in SIZES:
        measure(name, mode)
