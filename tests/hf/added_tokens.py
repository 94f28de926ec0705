#!/usr/bin/env python3
"""Vocabularies with tokens that somebody added: found as transformers finds them, or refused by name.

    python tests/hf/added_tokens.py [VOCABULARIES [TEXTS [SEED]]]      # 40 of 500 texts each

Needs torch, transformers and tokenizers; .ci/deep runs it. Each vocabulary is cut in one of four ways and gets
up to eight tokens with options that are drawn, written as one of three kinds of folders: tokenizer.json, the same
with tokenizer_config.json, vocab.json with merges.txt and what older programs write beside them.
"""

import json
import pathlib
import random
import re
import shutil
import sys
import tempfile

from llama import KINDS, ROOT, WORDS, build, fail, random_model, run, texts
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import GPT2TokenizerFast, LlamaConfig, PreTrainedTokenizerFast

CONTENTS = ["<think>", "</think>", "<|im_start|>", "<|im_end|>", "<tool_call>", "[PAD]", "<pad>", "<mask>", "cat", "the",
            "e\u0301", "\u00e4", "\u00e9", "\u00c3\u00a4", "\u732b", "\U0001f408", "<|a|>", "<|a|><|b|>", "<|b|>", "1", "123", "ing", "'s", "<", "|>"]
WITH_SPACE = [" the", "new\n", "\n\n", "a b", "  "]


def drawn(draw, plain):
    """Tokens with their options; `plain`: with those that are told nothing but their text."""
    tokens = []
    contents = draw.sample(CONTENTS, draw.randint(1, 8))
    if draw.random() < 0.1:
        contents.append(draw.choice(WITH_SPACE))
    strips = draw.random() < 0.1
    for content in contents:
        often = lambda p: draw.random() < p
        options = {} if plain else {"normalized": often(0.4), **{key: strips and often(0.3) for key in ("single_word", "lstrip", "rstrip")}}
        tokens.append(AddedToken(content, special=plain or often(0.5), **options))
    return tokens


def vocabulary(kind, size, corpus):
    words, nfc = KINDS[kind]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = words, decoders.ByteLevel()
    if nfc:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return tokenizer


def write(folder, form, kind, draw, corpus):
    """The folder's tokenizer, and the judge of it."""
    tokenizer = vocabulary(kind, draw.choice([300, 700]), corpus)
    tokens = drawn(draw, plain=form == "older" and draw.random() < 0.5)
    if form != "older":
        for token in tokens:
            (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
        folder.mkdir()
        tokenizer.save(str(folder / "tokenizer.json"))
        fast = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
        if form == "with its settings":
            fast.save_pretrained(folder)
        return fast, tokens
    inner = json.loads(tokenizer.to_str())["model"]
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(inner["vocab"]))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in inner["merges"]))
    named = {"unk_token": None, "bos_token": None, "eos_token": None}
    fast = GPT2TokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"), **named)
    fast.add_tokens(tokens)
    new = {token.content: fast.convert_tokens_to_ids(token.content) for token in tokens}
    beyond = {content: number for content, number in new.items() if number >= len(inner["vocab"])}
    if draw.random() < 0.5:
        said = {str(number): {"content": token.content, "lstrip": token.lstrip, "normalized": token.normalized,
                              "rstrip": token.rstrip, "single_word": token.single_word, "special": token.special}
                for token in tokens for number in [new[token.content]]}
        settings = {"added_tokens_decoder": said, "tokenizer_class": "GPT2Tokenizer", **named}
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    else:
        (folder / "added_tokens.json").write_text(json.dumps(beyond))
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer", **named}))
    return GPT2TokenizerFast.from_pretrained(folder), tokens


def main():
    count, many, seed = [int(word) for word in sys.argv[1:]] + [40, 500, random.randrange(1 << 32)][len(sys.argv) - 1:]
    print(f"seed {seed}")
    program, draw = build(), random.Random(seed)
    corpus = [path.read_text() for path in sorted(ROOT.glob("docs/*.md"))]
    equal = refused = 0
    with tempfile.TemporaryDirectory(prefix="added-tokens-") as work:
        for n in range(count):
            form = draw.choice(["alone", "with its settings", "older"])
            kind = "GPT-2" if form == "older" else draw.choice(list(KINDS))
            folder, out = (pathlib.Path(work) / name for name in ("folder", "out"))
            for old in (folder, out):
                shutil.rmtree(old, ignore_errors=True)
            judge, tokens = write(folder, form, kind, draw, corpus)
            name = f"{n}: {kind}, {form}, {[(t.content, t.special, t.normalized) for t in tokens]}"
            config = LlamaConfig(vocab_size=len(judge), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                                 intermediate_size=8, bos_token_id=None, eos_token_id=None)
            random_model(config, 1).save_pretrained(folder)
            words = WORDS + [token.content for token in tokens] * 2
            some = list(texts(many, words, draw.random()))
            done = run(program, folder, out, texts=some)
            if done.returncode != 0:
                line = re.sub(r"\\u\{(\w+)\}", lambda m: chr(int(m[1], 16)), done.stderr.strip().replace("\\\\", "\\"))
                if len(line.splitlines()) != 1 or not any(json.dumps(t.content)[1:-1] in line or t.content in line for t in tokens):
                    fail(f"{name}: refused, but not by name: {line}")
                refused += 1
                print(f"{name}: {line.split(': ', 1)[1][:150]}")
                continue
            for text, ours in zip(some, json.loads(done.stdout)["tokens"]):
                theirs = judge(text, add_special_tokens=False)["input_ids"]
                if ours != theirs:
                    fail(f"{name}: {text!r} is {judge.convert_ids_to_tokens(theirs)}, ours {judge.convert_ids_to_tokens(ours)}")
            equal += 1
    print(f"{equal} vocabularies of {many} texts each as transformers cuts them, {refused} refused by name")


main()
