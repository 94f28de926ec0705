#!/usr/bin/env python3
"""Conversations as transformers writes them down, and the loss on their answers as PyTorch has it.

    python tests/hf/chat.py [CONVERSATIONS [SEED]]      # 100 for each template

Needs torch and transformers; .ci/deep runs it. `TEMPLATES=FOLDER` names chat templates of real models (*.jinja) that are tried
beside those below, and `PROGRAMS=FOLDER` programs that are built already. Of each conversation the tokens have to be those
of `apply_chat_template`, the learned ones those of the answers, the mean loss that of `cross_entropy` in float64 with the
other targets ignored, and the loss of a training step that of one conversation.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy
import torch
from llama import ROOT, KINDS, fail, random_model
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

TOLERANCE, IGNORED = 1e-5, 2**32 - 1
# In the manners of known ones: ChatML with marks around answers, Llama's, one whose last answer alone has a thought.
TEMPLATES = {
    "marked": "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>"
              "\n{% endgeneration %}{% else %}{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
              "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "trimmed": "{{ bos_token }}\n{%- for m in messages %}\n    {%- if m.role == 'system' %}\n    {{- '<|sys|>' + m.content | trim + '<|end|>' }}\n"
               "    {%- elif m.role == 'user' %}\n    {{- '<|ask|>' + m['content'].strip() + '<|end|>' }}\n    {%- else %}\n"
               "    {{- '<|say|>' + m['content'] | trim + '<|end|>' }}\n    {%- endif %}\n{%- endfor %}\n"
               "{%- if add_generation_prompt %}{{- '<|say|>' }}{%- else %}{{- eos_token }}{%- endif %}",
    "thought": "{%- set ns = namespace(last=-1) %}\n{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{%- endfor %}"
               "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' and loop.index0 > ns.last %}"
               "{{ '<think>\n\n</think>\n\n' }}{% endif %}{{ m.content + '<|im_end|>\n' }}{% endfor %}"
               "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
}
WORDS = ["the", "cat", " ", "\n", "naïve", "猫", "🐈", "2 + 2 = 4", "{{ x }}", "<b>", "\"quoted\"", "it's", "\\", "a\tb", "e\u0301", "…"]


def program():
    folder = os.environ.get("PROGRAMS")
    if folder is None:
        subprocess.run(["cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt-modern"], cwd=ROOT, check=True)
        folder = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release"
    return pathlib.Path(folder).resolve() / "train-gpt-modern"


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"exit code {done.returncode} from {' '.join(map(str, words))}:\n{done.stderr}")
    return done.stdout


def said(draw):
    while True:
        text = draw.choice(["", " ", "\n"]) + " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 12))) + draw.choice(["", " ", "\n"])
        if text.strip():
            return text


def conversation(draw):
    turns = [{"role": "system", "content": said(draw)}] if draw.random() < 0.3 else []
    for _ in range(draw.randint(1, 4)):
        turns += [{"role": "user", "content": said(draw)}, {"role": "assistant", "content": said(draw)}]
    return turns


def tokenizer_for(template, corpus):
    words, _ = KINDS["SmolLM2"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = words, decoders.ByteLevel()
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    marks = sorted(set(re.findall(r"<[|｜][^\s<>{}'\"]+[|｜]>", template)) | {"<|begin|>", "<|endoftext|>"})
    tokenizer.add_special_tokens([AddedToken(mark, normalized=False) for mark in marks])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|begin|>", eos_token="<|endoftext|>")
    fast.chat_template = template
    return fast


def ids(fast, turns, **more):
    made = fast.apply_chat_template(turns, tokenize=True, return_dict=True, **more)
    return made["input_ids"], made.get("assistant_masks")


def check(program, name, template, count, seed, work):
    draw = random.Random(f"{seed} {name}")
    corpus = [path.read_text() for path in sorted(ROOT.glob("docs/**/*.md"))]
    fast = tokenizer_for(template, corpus)
    folder = work / name
    config = LlamaConfig(vocab_size=len(fast), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                         max_position_embeddings=2048, bos_token_id=fast.bos_token_id, eos_token_id=fast.eos_token_id)
    random_model(config, 1).save_pretrained(folder)
    fast.save_pretrained(folder)
    exact = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    talks = [conversation(draw) for _ in range(count)]
    chats, model, arrays = folder / "chats.jsonl", folder / "model.ckpt", folder / "said.npz"
    chats.write_text("".join(json.dumps({"messages": turns}, ensure_ascii=draw.random() < 0.5) + "\n" for turns in talks))
    run(program, "import", "hf", folder, "--save", model)
    found = json.loads(run(program, "eval", "--load", model, "--data", chats, "--json", "--npz", arrays, "--batch", 4))
    arrays = numpy.load(arrays)
    starts = numpy.flatnonzero(numpy.diff(arrays["windows"], prepend=-1))
    if len(starts) != count:
        fail(f"{name}: {len(starts)} windows for {count} conversations")
    losses, learned = [], 0
    for n, turns in enumerate(talks):
        part = slice(starts[n], starts[n + 1] if n + 1 < count else None)
        wanted, mask = ids(fast, turns, return_assistant_tokens_mask="{% generation" in template)
        ours = arrays["inputs"][part].tolist()
        if ours != wanted[:-1]:
            fail(f"{name}: {turns} is\n{fast.convert_ids_to_tokens(wanted)}, ours\n{fast.convert_ids_to_tokens(ours)}")
        targets = torch.tensor(arrays["tokens"][part].astype("int64"))
        counts = targets != IGNORED
        if (targets[counts] != torch.tensor(wanted[1:])[counts]).any():
            fail(f"{name}: other targets than the tokens that follow")
        if mask is not None and counts.tolist() != [bool(of) for of in mask[1:]]:
            fail(f"{name}: {turns}: other answers than the template marks")
        # Each stretch that is learned is an answer and what ends it, none else.
        text, answers = "", [turn["content"].strip() for turn in turns if turn["role"] == "assistant"]
        stretches = [list(map(int, t)) for t in numpy.split(targets.numpy(), numpy.flatnonzero(numpy.diff(counts.numpy())) + 1)]
        stretches = [fast.decode(t) for t in stretches if t[0] != IGNORED]
        if len(stretches) != len(answers) or any(a not in s for a, s in zip(answers, stretches)):
            fail(f"{name}: learned is {stretches} of {turns}")
        learned += sum(map(len, stretches))
        with torch.no_grad():
            logits = exact(torch.tensor([ours])).logits[0]
        targets[~counts] = -100
        losses.append(torch.nn.functional.cross_entropy(logits, targets, ignore_index=-100, reduction="none")[counts])
    mean = torch.cat(losses).mean().item()
    if not abs(mean - found["val_loss"]) <= TOLERANCE or found["tokens"] != sum(map(len, losses)):
        fail(f"{name}: loss {found['val_loss']}, PyTorch has {mean}")
    worst = 0.0
    for n in draw.sample(range(count), 3):
        one = folder / "one.jsonl"
        one.write_text(json.dumps({"messages": talks[n]}) + "\n")
        lines = run(program, "--load", model, "--data", one, "--val-frac", 0, "--steps", 1, "--batch", 1, "--seq", 2048, "--log-every", 1,
                    "--no-save", "--message-format", "json")
        [step] = [line for line in map(json.loads, lines.splitlines()) if line["event"] == "step"]
        worst = max(worst, abs(step["loss"] - losses[n].mean().item()))
    if not worst <= TOLERANCE:
        fail(f"{name}: the loss of a step is {worst:g} off")
    print(f"{name}: {count} conversations as transformers has them, loss {mean:.5f}, ours {abs(mean - found['val_loss']):.1e} off, of a step {worst:.1e}")


def main():
    count, seed = int(sys.argv[1]) if len(sys.argv) > 1 else 100, sys.argv[2] if len(sys.argv) > 2 else "1"
    found = program()
    templates = dict(TEMPLATES)
    if "TEMPLATES" in os.environ:
        templates |= {path.stem: path.read_text() for path in sorted(pathlib.Path(os.environ["TEMPLATES"]).glob("*.jinja"))}
    with tempfile.TemporaryDirectory(prefix="chat-") as work:
        for name, template in templates.items():
            check(found, name, template, count, seed, pathlib.Path(work))


if __name__ == "__main__":
    main()
