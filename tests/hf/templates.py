#!/usr/bin/env python3
"""The chat templates that trl, axolotl and unsloth ship, as transformers writes conversations with them.

    python tests/hf/templates.py [FOLDER..]

Needs numpy, safetensors and transformers, and looks for the packages trl, axolotl and unsloth, whose templates (*.jinja) are
read and nothing of which is run (`pip install --no-deps` will do); FOLDER names more templates. .ci/deep runs it.
`PROGRAMS=FOLDER` names programs that are built already. Each template writes down three conversations, with transformers and
here: what both write must be the same tokens; what one alone refuses is listed. `MOST=N` is how many of them may be refused here alone.
"""

import datetime
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = int(os.environ.get("MOST", 10))


class Today(datetime.datetime):
    """As every day is here."""

    @classmethod
    def now(cls):
        return cls(2024, 7, 26)

CONVERSATIONS = [
    [("user", "Is the ferry late?"), ("assistant", "By an hour.")],
    [("system", "Be brief."), ("user", "Is the ferry late?"), ("assistant", "By an hour."), ("user", "Why?"), ("assistant", "Fog, says Marta.")],
    [("user", "2 + 2?"), ("assistant", "<think>\nTwo and two.\n</think>\n\nFour."), ("user", "And 3?"), ("assistant", "<think>\nOne more.\n</think>\n\nSeven.")],
]


def program():
    folder = os.environ.get("PROGRAMS")
    if folder is None:
        subprocess.run(["cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt-modern"], cwd=ROOT, check=True)
        folder = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release"
    return pathlib.Path(folder).resolve() / "train-gpt-modern"


def templates(folders):
    found = {}
    for package in ["trl", "axolotl", "unsloth"]:
        try:
            files = importlib.metadata.distribution(package).files or []
        except importlib.metadata.PackageNotFoundError:
            print(f"left out: the templates of {package}, which is not there")
            continue
        files = [pathlib.Path(file.locate()) for file in files if file.suffix == ".jinja"]
        found |= {f"{package} {file.stem}": file.read_text() for file in files}
    for folder in folders:
        found |= {file.stem: file.read_text() for file in pathlib.Path(folder).glob("*.jinja")}
    return dict(sorted(found.items()))


def tokenizer_for(template):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={symbol: i for i, symbol in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    marks = sorted(set(re.findall(r"<[|｜][^\s<>{}'\"]+[|｜]>", template)) | {"<|begin|>", "<|endoftext|>"})
    tokenizer.add_special_tokens([AddedToken(mark, normalized=False) for mark in marks])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|begin|>", eos_token="<|endoftext|>")
    fast.chat_template = template
    return fast


def write_model(folder, fast):
    """A Llama of zeros: only its tokenizer counts."""
    folder.mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": len(fast), "hidden_size": 8,
              "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "hidden_act": "silu",
              "max_position_embeddings": 8192, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": True,
              "bos_token_id": fast.bos_token_id, "eos_token_id": fast.eos_token_id}
    (folder / "config.json").write_text(json.dumps(config))
    square = {name: [8, 8] for name in ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                                        "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]}
    shapes = {f"layers.0.{name}": shape for name, shape in (square | {"input_layernorm": [8], "post_attention_layernorm": [8]}).items()}
    shapes |= {"embed_tokens": [len(fast), 8], "norm": [8]}
    save_file({f"model.{name}.weight": numpy.zeros(shape, numpy.float32) for name, shape in shapes.items()}, folder / "model.safetensors")
    fast.save_pretrained(folder)


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def ours(program, model, turns, work):
    """The tokens, or why not."""
    chats, arrays = work / "chats.jsonl", work / "said.npz"
    chats.write_text(json.dumps({"messages": turns}) + "\n")
    done = run(program, "eval", "--load", model, "--data", chats, "--json", "--npz", arrays)
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1] if done.returncode == 65 else sys.exit(f"error: exit code {done.returncode}: {done.stderr}")
    with numpy.load(arrays) as found:
        return found["inputs"].tolist()


def theirs(fast, turns):
    # Templates for images too lose a text without a word, unless it comes in parts: so does trl give it to them.
    if turns[-2]["content"] not in fast.apply_chat_template(turns, tokenize=False):
        turns = [turn | {"content": [{"type": "text", "text": turn["content"]}]} for turn in turns]
    return fast.apply_chat_template(turns, tokenize=True, return_dict=True)["input_ids"]


def main():
    chat_template_utils.datetime = Today
    found, refused, both, neither, pairs = program(), [], 0, 0, 0
    every = templates(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="templates-") as work:
        for n, (name, template) in enumerate(every.items()):
            fast = tokenizer_for(template)
            folder, model = pathlib.Path(work) / str(n), pathlib.Path(work) / f"{n}.ckpt"
            write_model(folder, fast)
            done = run(found, "import", "hf", folder, "--save", model)
            for i, turns in enumerate(CONVERSATIONS):
                turns = [{"role": role, "content": content} for role, content in turns]
                mine = ours(found, model, turns, pathlib.Path(work)) if done.returncode == 0 else done.stderr.strip()
                try:
                    wanted = theirs(fast, turns)
                except Exception as e:
                    wanted, why = None, str(e)
                pairs += 1
                if isinstance(mine, list) and wanted is not None:
                    if mine != wanted[:-1]:
                        sys.exit(f"error: {name}: {turns} is\n{fast.decode(wanted)!r}, ours\n{fast.decode(mine)!r}")
                    both += 1
                elif wanted is not None:
                    refused.append(f"{name}, {i + 1}: {mine}")
                elif isinstance(mine, list):
                    print(f"written here alone: {name}, {i + 1}: {why}")
                else:
                    neither += 1
    print(*refused, sep="\n")
    print(f"{pairs} pairs of a template and a conversation: {both} alike, {neither} refused by both, {len(refused)} here alone")
    if len(refused) > MOST:
        sys.exit(f"error: more than {MOST} refused here alone")


if __name__ == "__main__":
    main()
