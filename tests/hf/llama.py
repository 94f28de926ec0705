#!/usr/bin/env python3
"""Models and tokenizers of Llama and its kin through this project, compared with what transformers and
tokenizers compute.

Needs torch, transformers and tokenizers; .ci/deep runs it. For six kinds of model, stored in three
precisions and in several files: logits within 1e-4 of float64, 50 greedy tokens equal, weights that come
out again equal bit for bit. For four kinds of tokenizers: the tokens of random texts, the end of a text
and the chat template. Then a model of SmolLM2-135M's sizes comes in within 10 s and 1.5 GB.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (AutoModelForCausalLM, AutoTokenizer, LlamaConfig, MistralConfig, PreTrainedTokenizerFast,
                          Qwen2Config, Qwen3Config, logging)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOLERANCE = 1e-4
logging.set_verbosity_error()
logging.disable_progress_bar()

SIZES = {"vocab_size": 101, "hidden_size": 48, "num_hidden_layers": 3, "max_position_embeddings": 128,
         "bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
SLOWED = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
CONFIGS = {
    "as many keys as queries, tied": LlamaConfig(**SIZES, num_attention_heads=4, num_key_value_heads=4,
                                                 intermediate_size=100, tie_word_embeddings=True, rms_norm_eps=1e-5),
    "one key, biases, slowed pairs": LlamaConfig(**SIZES, num_attention_heads=6, num_key_value_heads=1,
                                                 intermediate_size=64, attention_bias=True, mlp_bias=True,
                                                 rope_theta=300.0, rope_scaling=SLOWED),
    "heads of their own width": LlamaConfig(**SIZES, num_attention_heads=4, num_key_value_heads=2, head_dim=20,
                                            intermediate_size=96),
    "a window": MistralConfig(**SIZES, num_attention_heads=6, num_key_value_heads=2, intermediate_size=80,
                              sliding_window=9),
    "biases of queries, keys and values": Qwen2Config(**SIZES, num_attention_heads=6, num_key_value_heads=3,
                                                      intermediate_size=72, tie_word_embeddings=True),
    "normed queries and keys, a window": Qwen3Config(**SIZES, num_attention_heads=4, num_key_value_heads=1,
                                                     head_dim=16, intermediate_size=88, use_sliding_window=True,
                                                     sliding_window=12, max_window_layers=0),
}


def fail(what):
    sys.exit(f"error: {what}")


def build():
    profile = os.environ.get("HF_PROFILE", "release")
    command = ["cargo", "build", "-q", "--locked", "-p", "llm-formats", "--example", "hf_folder"]
    subprocess.run([*command, "--release"] if profile == "release" else command, cwd=ROOT, check=True)
    return (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")).resolve() / profile / "examples" / "hf_folder"


def run(program, folder, target, **asked):
    return subprocess.run([program, folder, target], input=json.dumps(asked), capture_output=True, text=True)


def through(program, folder, target, **asked):
    done = run(program, folder, target, **asked)
    if done.returncode != 0:
        fail(f"{folder.name}: {done.stderr}")
    return json.loads(done.stdout)


def random_model(config, seed):
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config).eval()
    for name, p in model.named_parameters():
        torch.nn.init.normal_(p, 1.0 if "norm" in name else 0.0, 0.25)
    return model


def greedy(model, ids, n):
    """The tokens, and the smallest distance of a best score to the next one."""
    text, gap = list(ids), float("inf")
    with torch.no_grad():
        for _ in range(n):
            best = model(torch.tensor([text])).logits[0, -1].topk(2)
            gap = min(gap, (best.values[0] - best.values[1]).item())
            text.append(best.indices[0].item())
    return text[len(ids):], gap


def check_models(program, work):
    ids = [5, 17, 0, 99, 42, 3, 3, 77, 8, 1, 60, 61, 62, 63]
    stored = [(torch.float32, "10MB"), (torch.bfloat16, "10MB"), (torch.float16, "60KB"), (torch.float32, "60KB")]
    for n, (what, config) in enumerate(CONFIGS.items()):
        for dtype, shard in stored:
            folder, out = work / f"model-{n}-{dtype}-{shard}", work / f"out-{n}-{dtype}-{shard}"
            model = random_model(config, n).to(dtype)
            model.save_pretrained(folder, max_shard_size=shard)
            if (folder / "model.safetensors.index.json").exists() != (shard == "60KB"):
                fail(f"{what}: not what was to be tried")
            # Read again: a change of type would round the angles of the rotation too, which no file holds.
            exact, whole = (AutoModelForCausalLM.from_pretrained(folder, dtype=kind).eval()
                            for kind in (torch.float64, torch.float32))
            expected, gap = greedy(exact, ids, 50)
            found = through(program, folder, out, ids=ids, n=50)
            with torch.no_grad():
                worst = (torch.tensor(found["logits"]) - exact(torch.tensor([ids])).logits[0]).abs().max().item()
            if not worst <= TOLERANCE:
                fail(f"{what}, {dtype}: logits differ by {worst:g}")
            if found["greedy"] != expected and gap > 2 * TOLERANCE:
                fail(f"{what}, {dtype}: greedy {found['greedy']}, transformers has {expected}")
            again, info = AutoModelForCausalLM.from_pretrained(out, output_loading_info=True, dtype=torch.float32)
            if any(info.get(key) for key in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs")):
                fail(f"{what}: {info}")
            if type(again) is not type(model):
                fail(f"{what}: came out as {type(again).__name__}")
            first, second = whole.state_dict(), again.state_dict()
            if first.keys() != second.keys() or any(not torch.equal(first[k], second[k]) for k in first):
                fail(f"{what}, {dtype}: other weights came out")
            with torch.no_grad():
                a, b = (m.eval()(torch.tensor([ids])).logits for m in (whole, again))
            if not torch.equal(a, b):
                fail(f"{what}: what came out computes something else")
            print(f"{what}, {dtype}, {shard}: logits within {worst:.1e}, 50 greedy tokens, weights equal")


BEFORE = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
AFTER = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
BARE = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), BARE])


KINDS = {
    "GPT-2": (LEVEL, False),
    "SmolLM2": (pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), LEVEL]), False),
    "Llama 3": (split(BEFORE + r"\p{N}{1,3}" + AFTER), False),
    "Qwen": (split(BEFORE + r"\p{N}" + AFTER), True),
}
WORDS = ["the", " cat", "'s", "'LL", "'", " ", "  ", "\n", "\r\n", "\t", "!", "...", "12345", "7", "é", "e\u0301", "\u1100\u1161",
         "猫", "。", "\u3000", "\u00a0", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "<|im_end|", "\u0338", "ſ",
         "🐈\u200d⬛", "\u0085", "\x0b", "²", "Ⅷ", "१२", "a_b", "\u2028"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"


def texts(count, words=WORDS, seed=1):
    draw = random.Random(seed)
    for _ in range(count):
        some = [draw.choice(words) for _ in range(draw.randint(0, 24))]
        some += [chr(draw.choice([draw.randrange(0x20, 0x250), draw.randrange(0x20, 0xD800)])) for _ in range(3)]
        draw.shuffle(some)
        yield "".join(some)


def check_tokenizers(program, work):
    corpus = [path.read_text() for path in sorted(ROOT.glob("docs/**/*.md"))]
    for name, (words, nfc) in KINDS.items():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer, tokenizer.decoder = words, decoders.ByteLevel()
        if nfc:
            tokenizer.normalizer = normalizers.NFC()
        trainer = trainers.BpeTrainer(vocab_size=1200, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                      show_progress=False)
        tokenizer.train_from_iterator(corpus, trainer)
        tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
        if name != "GPT-2":
            tokenizer.add_tokens([AddedToken("<think>", normalized=False, special=False)])
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|im_start|>", eos_token="<|im_end|>")
        fast.chat_template = TEMPLATE
        folder, out = work / f"words-{name}", work / f"words-out-{name}"
        size = len(fast)
        config = LlamaConfig(vocab_size=size + 3, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                             intermediate_size=8, bos_token_id=fast.bos_token_id, eos_token_id=fast.eos_token_id)
        random_model(config, 1).save_pretrained(folder)
        fast.save_pretrained(folder)
        some = list(texts(4000))
        found = through(program, folder, out, texts=some)
        again = AutoTokenizer.from_pretrained(out)
        for text, ours in zip(some, found["tokens"]):
            if ours != tokenizer.encode(text, add_special_tokens=False).ids:
                fail(f"{name}: {text!r} is {tokenizer.encode(text).tokens}, ours {ours}")
        for text in some[:500]:
            if again(text)["input_ids"] != fast(text)["input_ids"]:
                fail(f"{name}: {text!r} is cut in another way by what came out")
        ends = {found["end_of_text"], again.eos_token_id, AutoModelForCausalLM.from_pretrained(out).generation_config.eos_token_id}
        if ends != {fast.eos_token_id} or again.bos_token_id != fast.bos_token_id:
            fail(f"{name}: texts end with {ends}, not {fast.eos_token_id}")
        talk = [{"role": "user", "content": "the cat"}]
        if again.apply_chat_template(talk, tokenize=False) != fast.apply_chat_template(talk, tokenize=False):
            fail(f"{name}: another chat template came out")
        print(f"{name}: {len(some)} texts, the end of a text and the chat template as there")


def check_size(program, work):
    """SmolLM2-135M's sizes: seconds and memory of an import."""
    config = LlamaConfig(vocab_size=49152, hidden_size=576, num_hidden_layers=30, num_attention_heads=9,
                         num_key_value_heads=3, intermediate_size=1536, tie_word_embeddings=True,
                         max_position_embeddings=8192, rope_theta=100000.0, rms_norm_eps=1e-5)
    folder = work / "smollm2"
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    before = time.monotonic()
    child = subprocess.Popen([program, folder, work / "smollm2.ckpt"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    child.stdin.write(b"{}")
    child.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    seconds, peak = time.monotonic() - before, usage.ru_maxrss / 1e6
    print(f"SmolLM2-135M's sizes: {seconds:.1f} s, of which {usage.ru_utime + usage.ru_stime:.1f} s of the processor; {peak:.2f} GB")
    if status != 0 or seconds > 10 or peak > 1.5:
        fail("an import has to take at most 10 s and 1.5 GB")


def main():
    program = build()
    with tempfile.TemporaryDirectory(prefix="hf-llama-") as folder:
        work = pathlib.Path(folder)
        wanted = sys.argv[1:] or ["models", "tokenizers", "size"]
        for name, check in (("models", check_models), ("tokenizers", check_tokenizers), ("size", check_size)):
            if name in wanted:
                check(program, work)
    print("all equal")


if __name__ == "__main__":
    main()
