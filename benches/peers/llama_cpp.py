#!/usr/bin/env python3
"""Measures this project and llama.cpp in turn, one token after the other with the sizes of `gpt2`: below 1, this project is faster.

llama.cpp reads files of random weights that its own tool has rounded. Every round measures both, the least of the times
over the rounds counts, for other work on the machine only adds to it.

    cargo build --release && python benches/peers/llama_cpp.py           # needs: pip install gguf numpy; npm
    python benches/peers/llama_cpp.py --threads 1 --rounds 5 --pairs q8 q4
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()
TARGET = HERE.parent.parent.parent / "target"
BINARY = TARGET / "release" / "train-gpt-mha"
LAYERS, HEADS, WIDTH, CONTEXT, VOCABULARY = 12, 12, 768, 1024, 50257
TOKENS, TEXTS = 128, 3
# What this project calls it: llama.cpp's file type, and its number in llama.h.
PAIRS = {"f32": ("F32", 0), "bf16": ("F16", 1), "q8": ("Q8_0", 7), "q4": ("Q4_0", 2)}
PACKAGE = "node-llama-cpp@3"

parser = argparse.ArgumentParser()
parser.add_argument("--pairs", nargs="+", default=list(PAIRS), choices=list(PAIRS))
parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--folder", type=Path, default=TARGET / "llama-cpp-peer", help="for llama.cpp and the files")
parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
args = parser.parse_args()


def libraries():
    """llama.cpp, built for every kind of processor, from npm."""
    place = args.folder / "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64"
    if not place.exists():
        args.folder.mkdir(parents=True, exist_ok=True)
        (args.folder / "package.json").write_text('{"private": true}')
        install = ["npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE]
        subprocess.run(install, cwd=args.folder, check=True)
    return place


class Opaque(ctypes.Structure):
    """Settings that go by value from llama.cpp and back to it, whatever is in them."""
    _fields_ = [("words", ctypes.c_uint64 * 64)]


class Rounding(ctypes.Structure):
    """The beginning of `llama_model_quantize_params`."""
    _fields_ = [("threads", ctypes.c_int32), ("kind", ctypes.c_int32), ("rest", ctypes.c_uint64 * 63)]


class Batch(ctypes.Structure):
    """`llama_batch`."""
    _fields_ = [("n_tokens", ctypes.c_int32), *((name, ctypes.c_void_p) for name in ("token", "embd", "pos", "n_seq_id", "seq_id", "logits"))]


def llama():
    place = libraries()
    names = ("libggml-base*", "libggml.*", "libllama.*")
    base, ggml, llama = (ctypes.CDLL(str(next(place.glob(name))), mode=ctypes.RTLD_GLOBAL) for name in names)
    quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
    llama.kept = quiet
    llama.llama_log_set(quiet, None)
    base.ggml_log_set(quiet, None)
    ggml.ggml_backend_load_all_from_path(str(place).encode())
    llama.llama_backend_init()
    for name, result, given in [
        ("llama_model_default_params", Opaque, []),
        ("llama_context_default_params", Opaque, []),
        ("llama_model_quantize_default_params", Rounding, []),
        ("llama_model_quantize", ctypes.c_uint32, [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Rounding)]),
        ("llama_model_load_from_file", ctypes.c_void_p, [ctypes.c_char_p, Opaque]),
        ("llama_init_from_model", ctypes.c_void_p, [ctypes.c_void_p, Opaque]),
        ("llama_set_n_threads", None, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32]),
        ("llama_get_memory", ctypes.c_void_p, [ctypes.c_void_p]),
        ("llama_memory_clear", None, [ctypes.c_void_p, ctypes.c_bool]),
        ("llama_batch_get_one", Batch, [ctypes.POINTER(ctypes.c_int32), ctypes.c_int32]),
        ("llama_decode", ctypes.c_int32, [ctypes.c_void_p, Batch]),
        ("llama_get_logits", ctypes.POINTER(ctypes.c_float), [ctypes.c_void_p]),
    ]:
        function = getattr(llama, name)
        function.restype, function.argtypes = result, given
    return llama


def files():
    """A file of each type: F32 by the package gguf, the others from it by llama.cpp's own tool."""
    first = args.folder / "F32.gguf"
    if not first.exists():
        libraries()
        write(first.with_suffix(".part"))
        first.with_suffix(".part").rename(first)
    found = {}
    for pair in args.pairs:
        name, kind = PAIRS[pair]
        found[pair] = args.folder / f"{name}.gguf"
        if not found[pair].exists():
            library = llama()
            how = library.llama_model_quantize_default_params()
            how.threads, how.kind = 1, kind
            part = found[pair].with_suffix(".part")
            if library.llama_model_quantize(str(first).encode(), str(part).encode(), ctypes.byref(how)) != 0:
                sys.exit(f"error: llama.cpp made no file of {name}")
            part.rename(found[pair])
    return found


def write(path):
    import gguf
    import numpy as np
    rng = np.random.default_rng(1)
    numbers = lambda *shape: (0.02 * rng.standard_normal(shape)).astype(np.float32)
    file = gguf.GGUFWriter(path, "gpt2")
    file.add_context_length(CONTEXT)
    file.add_embedding_length(WIDTH)
    file.add_feed_forward_length(4 * WIDTH)
    file.add_block_count(LAYERS)
    file.add_head_count(HEADS)
    file.add_layer_norm_eps(1e-5)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    file.add_token_list([f"t{i}" for i in range(VOCABULARY)])
    file.add_token_types([gguf.TokenType.NORMAL] * VOCABULARY)
    file.add_token_merges(["t 0"])
    file.add_eos_token_id(0)
    file.add_bos_token_id(0)
    file.add_tensor("token_embd.weight", numbers(VOCABULARY, WIDTH))
    file.add_tensor("position_embd.weight", numbers(CONTEXT, WIDTH))
    norm = lambda name: [file.add_tensor(f"{name}.{what}", numbers(WIDTH) + one) for what, one in (("weight", 1), ("bias", 0))]
    for layer in range(LAYERS):
        for name, k, n in [("attn_qkv", 1, 3), ("attn_output", 1, 1), ("ffn_up", 1, 4), ("ffn_down", 4, 1)]:
            file.add_tensor(f"blk.{layer}.{name}.weight", numbers(n * WIDTH, k * WIDTH))
            file.add_tensor(f"blk.{layer}.{name}.bias", numbers(n * WIDTH))
        norm(f"blk.{layer}.attn_norm")
        norm(f"blk.{layer}.ffn_norm")
    norm("output_norm")
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def write_text(path, threads):
    """llama.cpp, always the likeliest token: milliseconds of a token."""
    library = llama()
    model = library.llama_model_load_from_file(str(path).encode(), library.llama_model_default_params())
    context = model and library.llama_init_from_model(model, library.llama_context_default_params())
    if not context:
        sys.exit(f"error: llama.cpp does not take {path}")
    library.llama_set_n_threads(context, threads, threads)
    import numpy as np
    times = []
    for text in range(TEXTS + 1):
        library.llama_memory_clear(library.llama_get_memory(context), True)
        token = ctypes.c_int32(0)
        start = time.perf_counter()
        for _ in range(TOKENS):
            if library.llama_decode(context, library.llama_batch_get_one(ctypes.byref(token), 1)) != 0:
                sys.exit("error: llama.cpp does not go on")
            scores = np.ctypeslib.as_array(library.llama_get_logits(context), (VOCABULARY,))
            token.value = int(scores.argmax())
        if text > 0:  # the first warms up
            times.append((time.perf_counter() - start) / TOKENS * 1e3)
    print(json.dumps(statistics.median(times)), flush=True)
    os._exit(0)  # nothing of it is wanted any more


def theirs(path, threads):
    command = [sys.executable, HERE, "--folder", args.folder, "--file", path, "--threads", str(threads)]
    return json.loads(run(command))


def ours(kind, threads):
    bench = [BINARY, "bench", "--workload", "generate", "--json", "--weights", kind, "--threads", threads, "--steps", TEXTS]
    lines = [json.loads(line) for line in run(bench).splitlines() if line.startswith("{")]
    return next(line["ms_per_step"] for line in lines if "-w4" in line["workload"])


def run(command):
    done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))} failed with {done.returncode}")
    return done.stdout


if args.file:
    write_text(args.file, args.threads[0])
if args.rounds < 1:
    parser.error("--rounds: at least one")
made = files()
print(f"{args.rounds} rounds, milliseconds a token; ratio = this project / llama.cpp")
print(f"{'threads':>7} {'ours':>6} {'ms':>8} {'theirs':>7} {'ms':>8} {'ratio':>6}")
for threads in args.threads:
    for pair, path in made.items():
        a, b = map(min, zip(*((ours(pair, threads), theirs(path, threads)) for _ in range(args.rounds))))
        print(f"{threads:7} {pair:>6} {a:8.2f} {PAIRS[pair][0]:>7} {b:8.2f} {a / b:6.2f}", flush=True)
