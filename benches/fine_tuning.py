#!/usr/bin/env python3
"""An adapter on two cores: `--lora 16` beside peft on PyTorch, the same model, conversations and size of a step, in turn.

    benches/fine_tuning.py FOLDER FILE.jsonl [--rounds 2] [--threads 2]

FOLDER is a Llama as `export hf` writes it, with a chat template; FILE.jsonl has a conversation a line, messages
whose last one is the only answer. Each round runs both for one pass over the learned nine tenths, four conversations of like length to a step, loss on
the answers alone, f32. Printed: seconds of a pass without loading, most memory of the process, loss of the last step.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH, RANK, RATE = 4, 16, 1e-3


def learned(path):
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    return lines[: len(lines) * 9 // 10]


def peft(folder, path, threads):
    """One pass by peft, in this process."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    matrices = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    model = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules=matrices, task_type="CAUSAL_LM"))
    rows = []
    for line in learned(path):
        *question, answer = line["messages"]
        asked = tokenizer.apply_chat_template(question, add_generation_prompt=True, tokenize=False)
        both = tokenizer.apply_chat_template([*question, answer], tokenize=False)
        ids, begun = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (both, asked))
        rows.append((ids, [-100] * len(begun) + ids[len(begun):]))
    rows.sort(key=lambda row: len(row[0]))
    batches = [rows[i:i + BATCH] for i in range(0, len(rows), BATCH)]
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=RATE, weight_decay=0.0)
    begin = time.perf_counter()
    for batch in batches:
        longest = max(len(ids) for ids, _ in batch)
        pad = lambda row, fill: row + [fill] * (longest - len(row))  # noqa: E731
        ids = torch.tensor([pad(ids, 0) for ids, _ in batch])
        labels = torch.tensor([pad(labels, -100) for _, labels in batch])
        mask = torch.tensor([pad([1] * len(ids), 0) for ids, _ in batch])
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    seconds, memory = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"seconds": seconds, "gigabytes": memory, "steps": len(batches), "loss": loss.item()}))


def ours(program, model, path, threads, place):
    """One pass by us: no measurements, no checkpoint but the last."""
    out = pathlib.Path(place) / "run"
    words = [program, "--load", model, "--data", path, "--val-frac", "0.1", "--lora", RANK, "--lr", RATE, "--batch", BATCH,
             "--eval-every", 0, "--gen", 0, "--threads", threads, "--out", out, "--log-every", 1, "-q"]
    with subprocess.Popen([*map(str, words)], stderr=subprocess.PIPE, text=True) as run:
        run.stderr.read()
        _, status, used = os.wait4(run.pid, 0)
    if status:
        sys.exit(f"error: {' '.join(map(str, words))} ended with {status}")
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    shutil.rmtree(out)
    tokens = [0, *(row["tokens"] for row in rows)]
    seconds = sum((now - before) / row["tokens_per_s"] for row, before, now in zip(rows, tokens, tokens[1:]))
    return {"seconds": seconds, "gigabytes": used.ru_maxrss / 1e6, "steps": len(rows), "loss": rows[-1]["loss"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("file")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peft", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peft:
        peft(args.folder, args.file, args.threads)
        return
    subprocess.run(["cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt-modern"], cwd=ROOT, check=True)
    program = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")).resolve() / "release" / "train-gpt-modern"
    with tempfile.TemporaryDirectory() as place:
        model = pathlib.Path(place) / "base.ckpt"
        subprocess.run([program, "import", "hf", args.folder, "--save", model, "-q"], check=True)
        for n in range(args.rounds):
            theirs = [sys.executable, __file__, args.folder, args.file, "--threads", str(args.threads), "--peft"]
            done = subprocess.run(theirs, check=True, stdout=subprocess.PIPE, text=True)
            rows = {"ours": ours(program, model, args.file, args.threads, place), "peft": json.loads(done.stdout.splitlines()[-1])}
            for name, row in rows.items():
                print(f"round {n + 1} {name} {row['steps']} steps {row['seconds']:.1f} s {row['gigabytes']:.2f} GB loss {row['loss']:.4f}", flush=True)


if __name__ == "__main__":
    main()
