#!/usr/bin/env python3
"""Trains an exported model on, in several processes: PyTorch's DistributedDataParallel over gloo.

    train-gpt-mha export hf --load runs/001 exported
    torchrun --nproc_per_node 2 examples/continue_with_torchrun.py exported book.txt --steps 20 --out continued
    train-gpt-mha import hf continued --save continued.ckpt

Each process draws its own windows of the text, DDP averages the gradients, and process 0 prints and saves.
On machines with GPUs the same script runs with `--backend nccl`. Needs torch, transformers.
"""
import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoTokenizer, GPT2LMHeadModel

parser = argparse.ArgumentParser()
parser.add_argument("model", help="folder written by `export hf`")
parser.add_argument("text", help="UTF-8 text file")
parser.add_argument("--out", help="folder for the model after training")
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--batch", type=int, default=6, help="windows per process and step")
parser.add_argument("--seq", type=int, help="tokens in a window [default: the model's context]")
parser.add_argument("--lr", type=float, default=1e-4)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--val-frac", type=float, default=0.1, help="the text's end, for the validation loss")
parser.add_argument("--backend", default="gloo", choices=["gloo", "nccl"])
args = parser.parse_args()

dist.init_process_group(args.backend)
rank, world = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if args.backend == "nccl" else torch.device("cpu")
model = GPT2LMHeadModel.from_pretrained(args.model).to(device)
tokenizer = AutoTokenizer.from_pretrained(args.model)
ids = torch.tensor(tokenizer(Path(args.text).read_text(encoding="utf-8"), verbose=False)["input_ids"])
cut = int(len(ids) * (1 - args.val_frac))
train, val = ids[:cut], ids[cut:]
context = args.seq or model.config.n_positions

matrices = [p for p in model.parameters() if p.dim() >= 2]
others = [p for p in model.parameters() if p.dim() < 2]
groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.99))
shared = DistributedDataParallel(model)


def loss_of(module, rows):
    logits = module(rows[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


@torch.no_grad()
def validation():
    """Mean loss over the windows of the validation part, one after the other, shared out."""
    model.eval()
    windows = [val[i : i + context + 1] for i in range(0, len(val) - context, context)]
    total = torch.zeros(2, device=device)
    for window in windows[rank::world]:
        total += torch.tensor([loss_of(model, window[None].to(device)).item(), 1.0], device=device)
    dist.all_reduce(total)
    model.train()
    return (total[0] / total[1]).item()


def say(text):
    if rank == 0:
        print(text, flush=True)


say(f"{world} processes, {len(train)} tokens to learn from, validation loss before {validation():.4f}")
for step in range(1, args.steps + 1):
    # Another generator for each (seed, step, process): the windows never depend on what came before.
    draw = torch.Generator().manual_seed((args.seed * 1_000_003 + step) * 1_000_003 + rank)
    starts = torch.randint(len(train) - context, (args.batch,), generator=draw).tolist()
    loss = loss_of(shared, torch.stack([train[s : s + context + 1] for s in starts]).to(device))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if step in (1, args.steps) or step % 5 == 0:
        say(f"step {step}  loss {mean.item() / world:.4f}")
say(f"validation loss after {validation():.4f}")
if args.out and rank == 0:
    model.save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)
    print(f"saved {args.out}")
dist.barrier()
dist.destroy_process_group()
