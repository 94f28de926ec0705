#!/usr/bin/env python3
"""Adapters in other programs, and theirs here.

    adapters.py [PROGRAM]

For a GPT-2, a Llama and a Qwen3, each taught a little and then an adapter beside it: peft loads `export peft`, and its
logits are ours; llama.cpp loads base and `export gguf --adapter`, and its log-probabilities are ours (without
xllamacpp this is left out, and said). Adapters of peft's come in with other ranks and alphas and compute here what
they do there. Another base of the same shapes is refused. Needs torch, transformers, peft and numpy.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM

warnings.filterwarnings("ignore")
ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROGRAM = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else TARGET / "release" / "train-gpt-modern").resolve()
SIZES = ["--seq", "32", "--dmodel", "32", "--layers", "2", "--batch", "4", "--gen", "0", "--threads", "1"]
KINDS = {"gpt2": ["--arch", "gpt2"], "llama": ["--arch", "llama", "--kv-heads", "2"], "qwen3": ["--arch", "qwen3", "--kv-heads", "2"]}
LOGITS, LOG_PROBABILITIES = 1e-5, 5e-4
LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
THEIRS = {
    "gpt2": [dict(r=3, lora_alpha=5, target_modules=["c_attn", "mlp.c_proj"], fan_in_fan_out=True)],
    "llama": [
        dict(r=2, lora_alpha=3, target_modules=["q_proj", "v_proj"], use_rslora=True),
        dict(r=4, lora_alpha=6, target_modules=LINEAR, layers_to_transform=[1], rank_pattern={"down_proj": 2, "k_proj": 1},
             alpha_pattern={"self_attn.q_proj": 2}),
    ],
    "qwen3": [dict(r=2, lora_alpha=1, target_modules="all-linear")],
}


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{words}: {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stderr


def ours(tokens, *load):
    """Logits [T, V] of a window."""
    pathlib.Path("window").write_bytes(bytes(tokens + [0]))
    run("eval", *load, "--data", "window", "--data-as", "bytes", "--npz", "logits.npz", "-q")
    return torch.from_numpy(np.load("logits.npz")["logits"]).double()


def theirs(model, tokens):
    with torch.no_grad():
        return model.double().eval()(torch.tensor([tokens])).logits[0]


def check(what, far, most):
    print(f"{what}: {far:.1e}, {most:.0e} at most")
    if not far <= most:
        sys.exit(f"{what} is too far off")


def base_of(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def of_llama_cpp(base, adapter, tokens):
    """Log-probabilities of the token behind the window."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_predict, settings.warmup = base, 64, 1, False
    settings.n_parallel, settings.cpuparams.n_threads = 1, 1
    if adapter:
        info = xllamacpp.CommonAdapterLoraInfo()
        info.path, info.scale = adapter, 1.0
        settings.lora_adapters = [info]
    asked = {"prompt": tokens, "n_predict": 1, "n_probs": 256, "temperature": 0}
    got = xllamacpp.Server(settings).handle_completions(asked)
    got = json.loads(got) if isinstance(got, (str, bytes)) else got
    return {one["id"]: one["logprob"] for one in got["choices"][0]["logprobs"]["content"][0]["top_logprobs"]}


def with_llama_cpp(kind, tokens):
    run("export", "gguf", "base.gguf", "--load", "base")
    run("export", "gguf", "adapter.gguf", "--adapter", "--load", "adapter")
    far = []
    for adapter, load in (("", "base"), ("adapter.gguf", "adapter")):
        got = of_llama_cpp("base.gguf", adapter, tokens)
        want = torch.log_softmax(ours(tokens, "--load", load)[-1], 0)
        far.append(max(abs(x - want[i].item()) for i, x in got.items()))
    moved = (torch.log_softmax(ours(tokens, "--load", "base")[-1], 0) - want).abs().max().item()
    check(f"{kind}: llama.cpp with base and adapter (base alone {far[0]:.1e}, the adapter moves it by {moved:.2f})", far[1], LOG_PROBABILITIES)
    if moved < 0.1:
        sys.exit("an adapter that changes so little shows nothing")


def kind(name):
    train = [*SIZES, "--data", "text"]
    for file, seed in (("base", 1), ("other", 2)):
        run(*train, *KINDS[name], "--head-bias", 0, "--steps", 30, "--seed", seed, "--save", file)
    run(*train[len(SIZES):], "--gen", 0, "--load", "base", "--lora", 4, "--steps", 30, "--lr", 0.01, "--save", "adapter")
    tokens = list(pathlib.Path("text").read_bytes()[200:231])
    run("export", "hf", "hf", "--load", "base")
    run("export", "peft", "peft", "--load", "adapter")
    there = theirs(PeftModel.from_pretrained(base_of("hf"), "peft"), tokens)
    check(f"{name}: peft with export peft", (there - ours(tokens, "--load", "adapter")).abs().max().item(), LOGITS)
    run("import", "peft", "peft", "--base", "other", "--save", "wrong", code=65)
    for i, words in enumerate(THEIRS[name]):
        torch.manual_seed(i)
        model = get_peft_model(base_of("hf"), LoraConfig(task_type="CAUSAL_LM", **words))
        with torch.no_grad():
            for key, p in model.named_parameters():
                if "lora_B" in key:
                    p.normal_(std=0.3)
        model.save_pretrained(f"theirs{i}")
        if "not proven" not in run("import", "peft", f"theirs{i}", "--base", "base", "--save", "theirs"):
            sys.exit("nothing is said of a base that nothing proves")
        far = (theirs(model, tokens) - ours(tokens, "--load", "theirs")).abs().max().item()
        check(f"{name}: import peft of {words}", far, LOGITS)
    if importlib.util.find_spec("xllamacpp"):
        with_llama_cpp(name, tokens)
    else:
        print(f"{name}: llama.cpp is left out, no xllamacpp (pip install --no-deps xllamacpp)")


def main():
    text = (ROOT / "README.md").read_text().encode("ascii", "ignore")
    for name in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            pathlib.Path("text").write_bytes(text)
            kind(name)
            os.chdir(ROOT)


main()
