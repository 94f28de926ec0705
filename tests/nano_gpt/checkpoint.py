#!/usr/bin/env python3
"""Checkpoints of nanoGPT to this project: tools/nano_gpt_checkpoint.py, then `import hf`.

Makes models of nanoGPT's definition with torch, saves them as its train.py does, and compares logits within
1e-4; then the imported model trains on, resumes and writes. Needs torch and safetensors; .ci/deep runs it.
With a folder as its argument it takes the programs that were built there.
"""

import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONVERTER = ROOT / "tools" / "nano_gpt_checkpoint.py"
TOLERANCE = 1e-4
TEXT = "the cat sat on the mat, and the dog saw it.\n" * 200


def fail(what):
    sys.exit(f"error: {what}")


class Norm(nn.Module):
    def __init__(self, c, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(c))
        self.bias = nn.Parameter(torch.zeros(c)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, c, heads, bias):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(c, 3 * c, bias=bias), nn.Linear(c, c, bias=bias)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))


class Mlp(nn.Module):
    def __init__(self, c, bias):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(c, 4 * c, bias=bias), nn.Linear(4 * c, c, bias=bias)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, c, heads, bias):
        super().__init__()
        self.ln_1, self.attn = Norm(c, bias), Attention(c, heads, bias)
        self.ln_2, self.mlp = Norm(c, bias), Mlp(c, bias)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class NanoGpt(nn.Module):
    def __init__(self, n_layer, n_head, n_embd, block_size, bias, vocab_size, dropout):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocab_size, n_embd),
            "wpe": nn.Embedding(block_size, n_embd),
            "h": nn.ModuleList(Block(n_embd, n_head, bias) for _ in range(n_layer)),
            "ln_f": Norm(n_embd, bias),
        })
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.transformer["wte"].weight = self.lm_head.weight
        for name, p in self.named_parameters():
            # Gains and biases begin as 1 and 0, which would hide an error.
            nn.init.normal_(p, 1.0 if "ln_" in name and name.endswith("weight") else 0.0, 0.3)

    def forward(self, ids):
        x = self.transformer["wte"](ids) + self.transformer["wpe"](torch.arange(ids.shape[1]))
        for block in self.transformer["h"]:
            x = block(x)
        return self.lm_head(self.transformer["ln_f"](x))


def saved(path, model, args, prefix):
    """A ckpt.pt with what nanoGPT's train.py puts in."""
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.tensor([[1, 2]])).sum().backward()
    optimizer.step()
    weights = {prefix + name: value for name, value in model.state_dict().items()}
    torch.save({"model": weights, "optimizer": optimizer.state_dict(), "model_args": args, "iter_num": 1,
                "best_val_loss": torch.tensor(1.5), "config": {"dataset": "x", "batch_size": 12}}, path)


class Ours:
    """The programs."""

    def __init__(self, folder, built):
        if built is None:
            cargo = ["cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt-mha"]
            subprocess.run([*cargo, "--bins", "--example", "logits"], cwd=ROOT, check=True)
            built = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")).resolve() / "release"
        self.program, self.example, self.folder = built / "train-gpt-mha", built / "examples" / "logits", folder

    def call(self, *words):
        return subprocess.run([*map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def run(self, *words):
        done = self.call(*words)
        if done.returncode != 0:
            fail(f"exit code {done.returncode} from {' '.join(map(str, words))}:\n{done.stderr}")
        return done.stdout

    def refuses(self, code, needle, *words):
        done = self.call(sys.executable, CONVERTER, *words)
        lines = done.stderr.splitlines()
        if done.returncode != code or len(lines) != 1 or needle not in lines[0]:
            fail(f"exit code {done.returncode}, expected {code} and '{needle}' in one line:\n{done.stderr}")


def compared(what, ours, model, ids):
    found = json.loads(ours.run(ours.example, "imported", ",".join(map(str, ids)), 0))
    with torch.no_grad():
        worst = (torch.tensor(found["logits"]) - model(torch.tensor([ids]))[0]).abs().max().item()
    if not worst <= TOLERANCE:
        fail(f"{what}: logits differ by {worst:g}")
    print(f"{what}: logits within {worst:.1e}")


def trained_on(ours, prompt, data):
    """Two steps more, two more from there, and text."""
    rest = ["--data", *data, "--steps", 2, "-q", "--gen", 0]
    ours.run(ours.program, "--load", "imported", *rest, "--batch", 2, "--save", "more")
    ours.run(ours.program, "--load", "more", *rest, "--save", "again")
    written = ours.run(ours.program, "generate", "--load", "again", *prompt, "-n", 5, "--temp", 0)
    if not written.strip():
        fail("nothing is written")


def characters(ours):
    chars = sorted(set(TEXT))
    meta = {"vocab_size": len(chars), "itos": dict(enumerate(chars)), "stoi": {c: i for i, c in enumerate(chars)}}
    (ours.folder / "meta.pkl").write_bytes(pickle.dumps(meta))
    (ours.folder / "text.txt").write_text(TEXT)
    for n, (bias, prefix) in enumerate([(True, ""), (False, "_orig_mod.")]):
        torch.manual_seed(n)
        args = {"n_layer": 2, "n_head": 4, "n_embd": 32, "block_size": 64, "bias": bias,
                "vocab_size": len(chars), "dropout": 0.1 * n}
        model = NanoGpt(**args).eval()
        saved(ours.folder / "ckpt.pt", model, args, prefix)
        ours.run(sys.executable, CONVERTER, "ckpt.pt", f"folder-{n}", "--meta", "meta.pkl")
        ours.run(ours.program, "import", "hf", f"folder-{n}", "--save", "imported")
        sentence = TEXT[:40]
        (ours.folder / "sentence.txt").write_text(sentence)
        ids = [meta["stoi"][c] for c in sentence]
        told = ours.run(ours.program, "tokenizer", "encode", "--load", "imported", "--file", "sentence.txt")
        if [int(word) for word in told.split()] != ids:
            fail("the characters are other tokens")
        compared(f"characters, bias {bias}", ours, model, ids)
        trained_on(ours, ["-p", "the cat"], ["text.txt"])


def pieces(ours):
    """A table with more rows than BPE has tokens, and the two files of its tokenizer put beside it."""
    ours.run(ours.program, "--data", "text.txt", "--tokenizer", "bpe", "--vocab-size", 290, "--arch", "gpt2", "--dmodel", 16,
             "--seq", 16, "--steps", 1, "--gen", 0, "-q", "--save", "pieces")
    ours.run(ours.program, "export", "hf", "--load", "pieces", "pieces-folder")
    args = {"n_layer": 1, "n_head": 2, "n_embd": 16, "block_size": 32, "bias": True, "vocab_size": 320, "dropout": 0.0}
    model = NanoGpt(**args).eval()
    saved(ours.folder / "ckpt.pt", model, args, "")
    ours.run(sys.executable, CONVERTER, "ckpt.pt", "folder-pieces")
    for name in ("vocab.json", "merges.txt"):
        (ours.folder / "folder-pieces" / name).write_bytes((ours.folder / "pieces-folder" / name).read_bytes())
    ours.run(ours.program, "import", "hf", "folder-pieces", "--save", "imported")
    compared("BPE, rows more than tokens", ours, model, [3, 280, 319, 7])
    trained_on(ours, ["-p", "the cat"], ["text.txt"])


def numbers(ours):
    """A padded vocabulary of GPT-2's, without its tokenizer: the numbers of a train.bin."""
    args = {"n_layer": 1, "n_head": 2, "n_embd": 8, "block_size": 16, "bias": False, "vocab_size": 50304, "dropout": 0.0}
    model = NanoGpt(**args).eval()
    saved(ours.folder / "ckpt.pt", model, args, "_orig_mod.")
    done = ours.call(sys.executable, CONVERTER, "ckpt.pt", "folder-bpe")
    if "vocab.json" not in done.stderr:
        fail(f"nothing is said about the tokenizer: {done.stderr}")
    ours.run(ours.program, "import", "hf", "folder-bpe", "--save", "imported")
    ids = [50256, 11, 262, 50303]
    compared("50,304 tokens", ours, model, ids)
    (ours.folder / "train.bin").write_bytes(b"".join((i * 37 % 50257).to_bytes(2, "little") for i in range(400)))
    trained_on(ours, ["--prompt-ids", "1,2"], ["train.bin", "--data-as", "u16"])


def refusals(ours):
    path = ours.folder / "odd.pt"
    args = {"n_layer": 1, "n_head": 2, "n_embd": 8, "block_size": 4, "bias": True, "vocab_size": 9, "dropout": 0.0}
    weights = NanoGpt(**args).state_dict()

    def refused(needle, found, code=65, more=()):
        torch.save(found, path)
        ours.refuses(code, needle, "odd.pt", "odd", *more)

    ours.refuses(66, "odd.pt", "odd.pt", "odd")
    path.write_text("text")
    ours.refuses(65, "no checkpoint", "odd.pt", "odd")
    refused("model_args", {"model": weights})
    refused("model_args", [1])
    refused("no tensor", {"model": {"x": 1}, "model_args": args})
    for change, needle in [({"n_head": 3}, "does not divide"), ({"n_embd": "8"}, "n_embd"), ({"dropout": 1}, "dropout"),
                           ({"vocab_size": 10}, "wte.weight is [9, 8]"), ({"n_layer": 2}, "h.1.ln_1.weight is missing")]:
        refused(needle, {"model": weights, "model_args": {**args, **change}})
    refused("none of nanoGPT's", {"model": {**weights, "extra": torch.zeros(1)}, "model_args": args})
    good = {"model": weights, "model_args": args}
    (ours.folder / "bad.pkl").write_bytes(pickle.dumps(pathlib.Path("x")))
    refused("no table of characters", good, more=["--meta", "bad.pkl"])
    refused("of another model", good, more=["--meta", "meta.pkl"])
    refused("none.pkl", good, code=66, more=["--meta", "none.pkl"])
    torch.save(good, path)
    ours.refuses(73, "not empty", "odd.pt", "folder-0")
    if (ours.folder / "odd").exists():
        fail("a refused checkpoint leaves a folder")


def main():
    with tempfile.TemporaryDirectory(prefix="nano-gpt-") as folder:
        built = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
        ours = Ours(pathlib.Path(folder), built)
        characters(ours)
        pieces(ours)
        numbers(ours)
        refusals(ours)
    print("all equal")


main()
