#!/usr/bin/env python3
"""Exported GGUF files, judged by llama.cpp and by the Python package gguf; blocks of every type, read as they read.

Needs numpy, gguf and safetensors for python3, node and npm; .ci/deep runs it. node-llama-cpp, which brings llama.cpp
built, goes into a folder under target. `PROGRAMS=FOLDER` names a folder of programs that are built already.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
JUDGE = "node-llama-cpp@3"
CONTEXT = 64
GREEDY = 32
PROMPTS = ["the cat sat", " Two  spaces,", "lines\n\nand\tmore", "naïve 猫 🐈", "12,345 it's", "The quick brown",
           "over the lazy dog.", "mat", "  ", "Ünïcode <b>"]
# How far a logarithm of a probability may be off: GELU is a table of half-precision numbers there.
OFF = {"f32": 0.02, "bf16": 0.15, "q8_0": 0.3}


def fail(what):
    sys.exit(f"error: {what}")


class Ours:
    """The programs, built once."""

    def __init__(self, folder):
        programs = os.environ.get("PROGRAMS")
        target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
        if programs is None:
            cargo = ["cargo", "build", "-q", "--release", "--locked", "-p"]
            for what in (["train-gpt-mha"], ["train-gpt-mha", "--example", "logits"], ["llm-formats", "--example", "gguf_numbers"],
                         ["llm-formats", "--example", "gguf_rotary"]):
                subprocess.run([*cargo, *what], cwd=ROOT, check=True)
            programs = target / "release"
        programs = pathlib.Path(programs).resolve()
        self.program, self.folder = programs / "train-gpt-mha", folder
        names = ("logits", "gguf_numbers", "gguf_rotary")
        self.example, self.numbers, self.rotary = (programs / "examples" / name for name in names)
        self.judge = target.resolve() / "llama-cpp-judge"
        if not (self.judge / "node_modules" / "node-llama-cpp").exists():
            self.judge.mkdir(parents=True, exist_ok=True)
            (self.judge / "package.json").write_text('{"private": true, "type": "module"}')
            install = ["npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", JUDGE]
            subprocess.run(install, cwd=self.judge, check=True)
        (self.judge / "judge.mjs").write_bytes((ROOT / "tests/gguf/judge.mjs").read_bytes())

    def run(self, *words, program=None, expected=0):
        done = subprocess.run([program or self.program, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if done.returncode != expected:
            fail(f"exit code {done.returncode} from {' '.join(map(str, words))}:\n{done.stderr}")
        return done.stdout if expected == 0 else done.stderr

    def logits(self, checkpoint, ids):
        found = json.loads(self.run(checkpoint, ",".join(map(str, ids)), GREEDY, program=self.example))
        return np.array(found["logits"], np.float64), found["greedy"]

    def encode(self, checkpoint, text):
        file = self.folder / "text"
        file.write_text(text)
        words = self.run("tokenizer", "encode", "--load", checkpoint, "--file", file).split()
        return [int(word) for word in words]

    def ask(self, model, tokens):
        answer = self.folder / "answer.json"
        job = {"model": str(model), "context": CONTEXT, "prompts": PROMPTS, "tokens": tokens, "greedy": GREEDY,
               "answer": str(answer)}
        done = subprocess.run(["node", "judge.mjs"], cwd=self.judge, input=json.dumps(job), capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"llama.cpp on {model}:\n{done.stderr}")
        return json.loads(answer.read_text())


def log_softmax(x):
    return x - x.max() - math.log(np.exp(x - x.max()).sum())


def corpus(folder):
    path = folder / "corpus.txt"
    lines = "\n".join(PROMPTS) + "\nThe quick brown fox jumps over the lazy dog. the cat sat on a mat.\n"
    path.write_text(lines * 60 + "<|endoftext|>" + lines * 60)
    return path


def models(ours):
    """Six models: 1 to 12 heads, byte, char and bpe, tied and not, ended and not."""
    data = corpus(ours.folder)
    for n, (what, words) in enumerate([
        ("bytes, one head", ["--arch", "gpt2", "--heads", 1]),
        ("bytes, untied, plain norms", ["--head-bias", 0, "--heads", 2]),
        ("bytes, 12 heads, marked", ["--arch", "gpt2", "--heads", 12, "--dmodel", 96, "--end-of-text", "marked"]),
        ("characters, marked", ["--arch", "gpt2", "--tokenizer", "char", "--end-of-text", "marked"]),
        ("bpe, untied", ["--arch", "gpt2", "--tied-head", 0, "--tokenizer", "bpe", "--vocab-size", 300]),
        ("bpe, marked", ["--arch", "gpt2", "--tokenizer", "bpe", "--vocab-size", 400, "--end-of-text", "marked"]),
    ]):
        checkpoint = ours.folder / f"model-{n}"
        sizes = ["--seq", CONTEXT, "--layers", 2, "--batch", 8, "--steps", 150]
        width = [] if "--dmodel" in words else ["--dmodel", 64]
        ours.run("--data", data, *sizes, *width, "--gen", 0, "-q", "--save", checkpoint, *words)
        yield what, checkpoint


def weights(ours, checkpoint):
    """By the names of a GGUF file, as `export safetensors` has them."""
    file = ours.folder / "weights"
    file.unlink(missing_ok=True)
    ours.run("export", "safetensors", "--load", checkpoint, file)
    found = load_file(file)
    names = {"w_qkv": "attn_qkv.weight", "b_qkv": "attn_qkv.bias", "w_proj": "attn_output.weight", "b_proj": "attn_output.bias",
             "w_fc": "ffn_up.weight", "b_fc": "ffn_up.bias", "w_out": "ffn_down.weight", "b_out": "ffn_down.bias"}
    for block in range(2):
        for ours_, theirs in names.items():
            values = found[f"blocks.{block}.{ours_}"]
            yield f"blk.{block}.{theirs}", values.T if values.ndim == 2 else values
    yield "token_embd.weight", found["wte"]
    yield "position_embd.weight", found["wpe"]
    if "w_lm" in found:
        yield "output.weight", found["w_lm"].T


def check_file(what, ours, checkpoint, path, kind):
    """The official reader finds what the checkpoint has."""
    reader = gguf.GGUFReader(path)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    for name, expected in weights(ours, checkpoint):
        tensor = tensors[name]
        found = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(expected.shape)
        rounded = expected.ndim == 2 and name != "position_embd.weight"
        as_kind = gguf.GGMLQuantizationType[kind.upper()] if rounded else gguf.GGMLQuantizationType.F32
        if tensor.tensor_type != as_kind:
            fail(f"{what}: {name} is {tensor.tensor_type}, not {as_kind}")
        # The official writer rounds to the same bytes.
        theirs = gguf.quants.dequantize(gguf.quants.quantize(np.ascontiguousarray(expected), as_kind), as_kind)
        if not np.array_equal(found, theirs.reshape(expected.shape)):
            fail(f"{what}: {name} has other numbers")


def same_greedy(what, logits_of, ids, our_greedy, greedy):
    """Equal, or parted where our own two first tokens are as close as half precision is."""
    for n, (a, b) in enumerate(zip(our_greedy, greedy)):
        if a != b:
            logits = logits_of(ids + our_greedy[:n])
            gap = logits[-1][a] - logits[-1][b]
            if gap > OFF["f32"]:
                fail(f"{what}: token {n} is {b}, ours is {a}, {gap:g} ahead")
            print(f"{what}: parted at token {n}, where two are {gap:.1e} apart")
            return False
    return True


def judged(what, ours, checkpoint, path, kind):
    lists = [ours.encode(checkpoint, prompt) for prompt in PROMPTS]
    found = ours.ask(path, lists)
    for prompt, ids, theirs in zip(PROMPTS, lists, found["prompts"]):
        if theirs["tokens"] != ids:
            fail(f"{what}: {prompt!r} is {theirs['tokens']}, ours is {ids}")
        if prompt.isascii() and "".join(theirs["pieces"]) != prompt:
            fail(f"{what}: {prompt!r} comes back as {theirs['pieces']}")
    worst, equal = 0.0, 0
    for ids, theirs in zip(lists, found["lists"]):
        logits, greedy = ours.logits(checkpoint, ids)
        expected = log_softmax(logits[-1])
        for token, p in theirs["probabilities"]:
            if p > 1e-4:
                worst = max(worst, abs(math.log(p) - expected[token]))
        if kind == "f32":
            logits_of = lambda ids: ours.logits(checkpoint, ids)[0]
            equal += same_greedy(what, logits_of, ids, greedy, theirs["greedy"])
    if not worst <= OFF[kind]:
        fail(f"{what} as {kind}: a logarithm of a probability is off by {worst:g}")
    more = f", {equal} of {len(lists)} texts of {GREEDY} tokens equal" if kind == "f32" else ""
    print(f"{what} as {kind}: tokens equal, logarithms of probabilities within {worst:.1e}{more}")


def exports(ours):
    for what, checkpoint in models(ours):
        for kind in OFF:
            path = ours.folder / "model.gguf"
            ours.run("export", "gguf", "--load", checkpoint, "--type", kind, path)
            check_file(f"{what} as {kind}", ours, checkpoint, path, kind)
            judged(what, ours, checkpoint, path, kind)
            if kind == "f32":
                there_and_back(what, ours, checkpoint, path)


def there_and_back(what, ours, checkpoint, path):
    back, again = ours.folder / "back", ours.folder / "again" / path.name
    again.parent.mkdir(exist_ok=True)
    ours.run("import", "gguf", path, "--save", back)
    ours.run("export", "gguf", "--load", back, again)
    if path.read_bytes() != again.read_bytes():
        fail(f"{what}: another file after a round trip")
    before, after = dict(weights(ours, checkpoint)), dict(weights(ours, back))
    if any(not np.array_equal(before[name], after[name]) for name in before):
        fail(f"{what}: other weights after a round trip")


def blocks(ours):
    """Any bytes as blocks of every type, read as the package reads them."""
    rng = np.random.default_rng(1)
    for kind in ("F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"):
        as_kind = gguf.GGMLQuantizationType[kind]
        numbers, size = gguf.GGML_QUANT_SIZES[as_kind]
        count = 4096 // numbers * 4
        data = rng.integers(0, 256, (count, size), dtype=np.uint8)
        # Scales as they are: other bits would be numbers that are not finite.
        scales = rng.standard_normal((count, 2)).astype(np.float16).view(np.uint8).reshape(count, 4)
        if kind in ("F16", "BF16"):
            halves = rng.standard_normal((count, 1)).astype(np.float32)
            data = (halves.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8) if kind == "BF16" \
                else halves.astype(np.float16).view(np.uint8)
        elif kind == "Q6_K":
            data[:, -2:] = scales[:, :2]
        else:
            two = 4 if kind in ("Q4_1", "Q5_1", "Q4_K", "Q5_K") else 2
            data[:, :two] = scales[:, :two]
        expected = gguf.quants.dequantize(data, as_kind).astype(np.float32).reshape(-1)
        path = ours.folder / "blocks"
        path.write_bytes(data.tobytes())
        out = subprocess.run([ours.numbers, kind, path], capture_output=True, check=True).stdout
        found = np.frombuffer(out, np.float32)
        if found.shape != expected.shape or not np.array_equal(found.view(np.uint32), expected.view(np.uint32)):
            worst = np.abs(found - expected).max() if found.shape == expected.shape else "the shape"
            fail(f"{kind}: other numbers, {worst}")
        print(f"{kind}: {found.size} numbers equal bit for bit")


def rotary(ours):
    """Models like Llama and Qwen3, whose weights are random: what llama.cpp computes is what we compute."""
    for kind in ("llama", "grouped", "wide", "biased", "qwen3"):
        for stored in OFF:
            path, other = ours.folder / f"{kind}-{stored}.gguf", ours.folder / "other.gguf"

            def answer(ids, path=other):
                words = (kind, stored, path, ",".join(map(str, ids)), GREEDY)
                found = json.loads(ours.run(*words, program=ours.rotary))
                return np.array(found["logits"], np.float64), found["greedy"]

            lists = [list(prompt.encode()) for prompt in PROMPTS]
            answers = [answer(ids, path) for ids in lists]
            found = ours.ask(path, lists)
            worst, equal = 0.0, 0
            for ids, theirs, (logits, greedy), prompt in zip(lists, found["lists"], answers, found["prompts"]):
                if prompt["tokens"] != ids:
                    fail(f"{kind}: {ids} is {prompt['tokens']}")
                expected = log_softmax(logits[-1])
                worst = max([worst, *(abs(math.log(p) - expected[t]) for t, p in theirs["probabilities"] if p > 1e-4)])
                if stored == "f32":
                    equal += same_greedy(kind, lambda ids: answer(ids)[0], ids, greedy, theirs["greedy"])
            if not worst <= OFF[stored]:
                fail(f"{kind} as {stored}: a logarithm of a probability is off by {worst:g}")
            more = f", {equal} of {len(lists)} texts of {GREEDY} tokens equal" if stored == "f32" else ""
            print(f"{kind} as {stored}: logarithms of probabilities within {worst:.1e}{more}")


def main():
    with tempfile.TemporaryDirectory(prefix="gguf-judged-") as folder:
        ours = Ours(pathlib.Path(folder))
        blocks(ours)
        rotary(ours)
        exports(ours)
    print("all equal")


main()
