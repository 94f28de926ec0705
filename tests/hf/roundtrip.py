#!/usr/bin/env python3
"""Models to Hugging Face's transformers and back, compared with what transformers computes.

Needs torch, transformers and safetensors; .ci/deep runs it. For each way: logits within 1e-4, and in
the cases where weights come back, weights that are equal bit for bit.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, logging

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOLERANCE = 1e-4
logging.set_verbosity_warning()
logging.disable_progress_bar()


def fail(what):
    sys.exit(f"error: {what}")


class Ours:
    """The programs, built once."""

    def __init__(self, folder):
        cargo = ["cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt", "-p", "train-gpt-mha"]
        subprocess.run(cargo, cwd=ROOT, check=True)
        subprocess.run([*cargo[:5], "-p", "train-gpt-mha", "--example", "logits"], cwd=ROOT, check=True)
        target = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")).resolve() / "release"
        self.one, self.many = target / "train-gpt", target / "train-gpt-mha"
        self.example = target / "examples" / "logits"
        self.folder = folder

    def run(self, program, *words):
        done = subprocess.run([program, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"exit code {done.returncode} from {' '.join(map(str, words))}:\n{done.stderr}")
        return done.stdout

    def logits(self, checkpoint, ids):
        found = json.loads(self.run(self.example, checkpoint, ",".join(map(str, ids)), 20))
        return torch.tensor(found["logits"]), found["greedy"]


def theirs(model, ids):
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
        greedy = model.generate(torch.tensor([ids]), max_new_tokens=20, do_sample=False,
                                attention_mask=torch.ones(1, len(ids), dtype=torch.long), pad_token_id=0)
    return logits, greedy[0][len(ids):].tolist()


def compare(what, ours, model, ids, checkpoint):
    (a, our_greedy), (b, their_greedy) = ours.logits(checkpoint, ids), theirs(model, ids)
    worst = (a - b).abs().max().item()
    if not worst <= TOLERANCE:
        fail(f"{what}: logits differ by {worst:g}")
    if our_greedy != their_greedy:
        fail(f"{what}: greedy tokens {our_greedy}, transformers has {their_greedy}")
    print(f"{what}: logits within {worst:.1e}, {len(our_greedy)} greedy tokens equal")


def random_gpt2(heads, tied, vocab, seed, **more):
    torch.manual_seed(seed)
    config = GPT2Config(vocab_size=vocab, n_positions=64, n_embd=48, n_layer=3, n_head=heads, bos_token_id=None,
                        eos_token_id=None, tie_word_embeddings=tied, **more)
    model = GPT2LMHeadModel(config).eval()
    # Its biases and gains begin as 0 and 1, which would hide an error.
    for name, p in model.named_parameters():
        torch.nn.init.normal_(p, 1.0 if "ln_" in name and name.endswith("weight") else 0.0, 0.3)
    return model


def rewrite(folder, change):
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def as_on_the_hub(tensors):
    """Names without prefix, and the masks that older files hold."""
    short = {name.removeprefix("transformer."): t for name, t in tensors.items()}
    for i in range(3):
        short[f"h.{i}.attn.bias"] = torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64)
        short[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    return short


def imports(ours):
    ids = [5, 17, 0, 99, 42, 3, 3, 77]
    for heads in (1, 2, 3, 4, 12):
        for tied in (True, False):
            folder = ours.folder / f"gpt2-{heads}-{tied}"
            model = random_gpt2(heads, tied, 101, heads)
            model.save_pretrained(folder)
            checkpoint = ours.folder / "imported"
            program = ours.one if heads == 1 else ours.many
            ours.run(program, "import", "hf", folder, "--save", checkpoint)
            compare(f"import, {heads} heads, {'tied' if tied else 'untied'}", ours, model, ids, checkpoint)
            before = checkpoint.read_bytes()
            rewrite(folder, as_on_the_hub)
            ours.run(program, "import", "hf", folder, "--save", checkpoint)
            if checkpoint.read_bytes() != before:
                fail("names of the hub give another checkpoint")
            # And out again: the same tensors.
            out = ours.folder / f"out-{heads}-{tied}"
            ours.run(program, "export", "hf", "--load", checkpoint, out)
            first, again = model.state_dict(), GPT2LMHeadModel.from_pretrained(out).state_dict()
            if any(not torch.equal(first[name], again[name]) for name in first) or first.keys() != again.keys():
                fail("a model that went through here has other weights")
    rewrite(ours.folder / "gpt2-2-True", lambda t: {**t, "lm_head.weight": t["wte.weight"].clone()})
    ours.run(ours.many, "import", "hf", ours.folder / "gpt2-2-True", "--save", ours.folder / "imported")


def stored_otherwise(ours):
    """16 bits a number, in several files."""
    for dtype in (torch.float16, torch.bfloat16):
        for shard in ("10MB", "60KB"):
            what = f"{dtype} in files of at most {shard}"
            folder = ours.folder / f"stored-{dtype}-{shard}"
            model = random_gpt2(4, False, 101, 7).to(dtype)
            model.save_pretrained(folder, max_shard_size=shard)
            if (folder / "model.safetensors.index.json").exists() != (shard == "60KB"):
                fail(f"{what}: not what was to be tried")
            checkpoint = ours.folder / "imported"
            ours.run(ours.many, "import", "hf", folder, "--save", checkpoint)
            compare(f"import of {what}", ours, model.float(), [5, 17, 0, 99, 42, 3], checkpoint)


def relatives(ours):
    """An exact GELU, and an MLP that is not four times as wide."""
    for activation, inner in (("gelu", None), ("gelu", 100), ("gelu_new", 100)):
        model = random_gpt2(4, True, 101, 9, activation_function=activation, n_inner=inner)
        folder, checkpoint = ours.folder / f"relative-{activation}-{inner}", ours.folder / "imported"
        model.save_pretrained(folder)
        ours.run(ours.many, "import", "hf", folder, "--save", checkpoint)
        what = f"{activation} with an inner width of {inner}"
        compare(f"import, {what}", ours, model, [5, 17, 0, 99, 42, 3], checkpoint)
        out = ours.folder / f"out-{activation}-{inner}"
        ours.run(ours.many, "export", "hf", "--load", checkpoint, out)
        again = GPT2LMHeadModel.from_pretrained(out).eval()
        compare(f"export, {what}", ours, again, [5, 17, 0, 99, 42, 3], checkpoint)


# Byte 0x14 as vocabularies write it: what begins a text for programs that judge a model, where no token ends one.
BEGINNING = "Ĕ"
TEXTS = ["the cat sat on a mat", " Two  spaces,\n\nlines\tand tabs ", "naïve 猫 🐈 Ünïcode", "12,345 <|endoftext|> it's", ""]


def exports(ours):
    corpus = ours.folder / "corpus.txt"
    corpus.write_text("\n".join(TEXTS * 60) + "The quick brown fox jumps over the lazy dog. " * 40)
    cases = [
        ("bytes, gpt2", ours.many, ["--arch", "gpt2", "--heads", "4", "--dropout", "0.1"]),
        ("bytes, plain norms, own head", ours.many, ["--head-bias", "0", "--heads", "2"]),
        ("bytes, one head", ours.one, ["--arch", "gpt2", "--tied-head", "0"]),
        ("characters", ours.many, ["--arch", "gpt2", "--tokenizer", "char"]),
        ("bpe", ours.many, ["--arch", "gpt2", "--tokenizer", "bpe", "--vocab-size", "300"]),
    ]
    # The corpus has marks: with a token for them.
    cases += [(f"{what}, marked", program, [*words, "--end-of-text", "marked"])
              for what, program, words in cases if "gpt2" in words]
    for n, (what, program, words) in enumerate(cases):
        checkpoint, folder, back = (ours.folder / f"{name}-{n}" for name in ("trained", "exported", "back"))
        ours.run(program, "--data", corpus, "--seq", 64, "--dmodel", 32, "--layers", 2, "--batch", 8, "--steps", 60,
                 "--gen", 0, "-q", "--save", checkpoint, *words)
        ours.run(program, "export", "hf", "--load", checkpoint, folder)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
        if any(info.get(key) for key in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs")):
            fail(f"{what}: {info}")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        made = tokenizer("the cat sat on a mat")
        if set(made) != {"input_ids", "attention_mask"}:
            fail(f"{what}: the tokenizer also makes {set(made)}, which changes what the model computes")
        ids = made["input_ids"]
        check_end(what, ours, program, checkpoint, tokenizer, model)
        compare(f"export, {what}", ours, model.eval(), ids, checkpoint)
        check_tokens(what, ours, program, checkpoint, tokenizer)
        ours.run(program, "import", "hf", folder, "--save", back)
        twice = ours.folder / f"twice-{n}"
        ours.run(program, "export", "hf", "--load", back, twice)
        for file in sorted(folder.iterdir()):
            if file.read_bytes() != (twice / file.name).read_bytes():
                fail(f"{what}: {file.name} is another one after a round trip")
        if not torch.equal(ours.logits(checkpoint, ids)[0], ours.logits(back, ids)[0]):
            fail(f"{what}: imported back, the logits differ")
        if AutoConfig.from_pretrained(folder).architectures != ["GPT2LMHeadModel"]:
            fail(f"{what}: not a GPT2LMHeadModel")


def check_end(what, ours, program, checkpoint, tokenizer, model):
    """The token that ends a text is known to all, or to none."""
    info = json.loads(ours.run(program, "tokenizer", "info", "--load", checkpoint, "--json"))
    end = info["end_of_text"]
    if "marked" in what and end is None:
        fail(f"{what}: no token ends a text")
    known = {tokenizer.eos_token_id, model.config.eos_token_id, model.generation_config.eos_token_id}
    if end is not None:
        known.add(tokenizer.bos_token_id)
    elif tokenizer.bos_token not in (None, BEGINNING):
        fail(f"{what}: texts begin with {tokenizer.bos_token!r}")
    if known != {end} or (end is not None and tokenizer.eos_token != "<|endoftext|>"):
        fail(f"{what}: token {end} ends a text, there {known}, {tokenizer.eos_token!r}")


def our_ids(ours, program, checkpoint, text):
    file = ours.folder / "text"
    file.write_text(text)
    return [int(word) for word in ours.run(program, "tokenizer", "encode", "--load", checkpoint, "--file", file).split()]


def check_tokens(what, ours, program, checkpoint, tokenizer):
    for text in TEXTS:
        if what == "characters, marked" and "<|" in text:
            continue  # the signs of the mark are none of its characters
        # As text: what is written like a token is none.
        ids, expected = tokenizer(text, split_special_tokens=True)["input_ids"], our_ids(ours, program, checkpoint, text)
        if ids != expected:
            fail(f"{what}: {text!r} is {ids}, ours is {expected}")
        if tokenizer.decode(ids) != text:
            fail(f"{what}: {text!r} comes back as {tokenizer.decode(ids)!r}")


def main():
    with tempfile.TemporaryDirectory(prefix="hf-roundtrip-") as folder:
        ours = Ours(pathlib.Path(folder))
        imports(ours)
        stored_otherwise(ours)
        relatives(ours)
        exports(ours)
    print("all equal")


main()
