#!/usr/bin/env python3
"""Writes a checkpoint of nanoGPT (ckpt.pt) as a Hugging Face GPT-2 folder, which `import hf` reads.

    python3 tools/nano_gpt_checkpoint.py out/ckpt.pt FOLDER --meta data/shakespeare_char/meta.pkl
    train-gpt-mha import hf FOLDER --save again.ckpt

The function stays the same: nanoGPT's linear maps are [out, in] and GPT-2's [in, out], so they are transposed;
its GELU is the exact one, and config.json says so; a bias that a model without biases lacks is written as zeros.
Needs torch and safetensors.
"""

import argparse
import json
import pathlib
import pickle
import sys

BAD_DATA, NO_INPUT, CANNOT_CREATE = 65, 66, 73
# Maps that are transposed, by block.
LINEAR = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
GPT2_TOKENS, GPT2_PADDED = 50257, 50304
# What nanoGPT's older blocks keep besides: the causal mask.
MASK = "attn.bias"


class Refused(Exception):
    """What is wrong, in a line, and the exit code for it."""

    def __init__(self, code, what):
        super().__init__(what)
        self.code = code


def one_line(error):
    return " ".join(str(error).split())[:200]


def load_checkpoint(path):
    import torch

    try:
        # Numbers and plain Python alone: a file of somebody else runs no code.
        found = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise Refused(NO_INPUT, f"'{path}': {error.strerror or one_line(error)}")
    except Exception:  # noqa: BLE001, as torch's reader raises whatever its parts do
        raise Refused(BAD_DATA, f"'{path}': it is no checkpoint that torch.load reads with weights_only")
    if not isinstance(found, dict) or not {"model", "model_args"} <= found.keys():
        raise Refused(BAD_DATA, f"'{path}': it has no 'model' and 'model_args', as nanoGPT's ckpt.pt has them")
    args, weights = found["model_args"], found["model"]
    if not isinstance(args, dict) or not isinstance(weights, dict):
        raise Refused(BAD_DATA, f"'{path}': its 'model' and 'model_args' are no tables")
    if not all(isinstance(name, str) and torch.is_tensor(value) for name, value in weights.items()):
        raise Refused(BAD_DATA, f"'{path}': its 'model' holds something that is no tensor")
    # What torch.compile puts before every name.
    return args, {name.removeprefix("_orig_mod."): value for name, value in weights.items()}


def sizes_of(args):
    sizes = {}
    for name in ("n_layer", "n_head", "n_embd", "block_size", "vocab_size"):
        value = args.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise Refused(BAD_DATA, f"model_args: {name} is {one_line(value)}, expected: a whole number of 1 or more")
        sizes[name] = value
    if sizes["n_embd"] % sizes["n_head"]:
        raise Refused(BAD_DATA, f"model_args: n_head {sizes['n_head']} does not divide n_embd {sizes['n_embd']}")
    dropout = args.get("dropout", 0.0)
    if not isinstance(dropout, (int, float)) or not 0 <= dropout < 1:
        raise Refused(BAD_DATA, f"model_args: dropout is {one_line(dropout)}, expected: 0 or more, and less than 1")
    return sizes, float(dropout), bool(args.get("bias", True))


def shapes_of(sizes):
    """Every tensor of nanoGPT's model with its shape; those that end in `.bias` may be missing."""
    c, v, t = sizes["n_embd"], sizes["vocab_size"], sizes["block_size"]
    yield "transformer.wte.weight", (v, c)
    yield "transformer.wpe.weight", (t, c)
    outputs = {"attn.c_attn": (3 * c, c), "attn.c_proj": (c, c), "mlp.c_fc": (4 * c, c), "mlp.c_proj": (c, 4 * c)}
    for i in range(sizes["n_layer"]):
        for norm in ("ln_1", "ln_2"):
            yield f"transformer.h.{i}.{norm}.weight", (c,)
            yield f"transformer.h.{i}.{norm}.bias", (c,)
        for linear, shape in outputs.items():
            yield f"transformer.h.{i}.{linear}.weight", shape
            yield f"transformer.h.{i}.{linear}.bias", shape[:1]
    yield "transformer.ln_f.weight", (c,)
    yield "transformer.ln_f.bias", (c,)
    yield "lm_head.weight", (v, c)


def converted(weights, sizes, bias):
    """The tensors of GPT2LMHeadModel, and whether the head is the token table."""
    import torch

    out = {}
    left = {name for name in weights if not name.endswith(MASK)}
    for name, shape in shapes_of(sizes):
        value = weights.get(name)
        if value is None:
            if bias or not name.endswith(".bias"):
                raise Refused(BAD_DATA, f"tensor {name} is missing")
            value = torch.zeros(shape)
        if tuple(value.shape) != shape:
            raise Refused(BAD_DATA, f"tensor {name} is {list(value.shape)}, expected: {list(shape)}")
        left.discard(name)
        value = value.float()
        linear = name.endswith(".weight") and any(f".{part}." in name for part in LINEAR)
        out[name] = (value.t() if linear else value).contiguous()
    if left:
        raise Refused(BAD_DATA, f"tensor {one_line(min(left))} is none of nanoGPT's")
    tied = torch.equal(out["lm_head.weight"], out["transformer.wte.weight"])
    if tied:
        del out["lm_head.weight"]
    return out, tied


def config_of(sizes, dropout, tied):
    return {
        "activation_function": "gelu",
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": dropout,
        "bos_token_id": None,
        "dtype": "float32",
        "embd_pdrop": dropout,
        "eos_token_id": None,
        "layer_norm_epsilon": 1e-5,
        "model_type": "gpt2",
        "n_embd": sizes["n_embd"],
        "n_head": sizes["n_head"],
        "n_layer": sizes["n_layer"],
        "n_positions": sizes["block_size"],
        "resid_pdrop": dropout,
        "tie_word_embeddings": tied,
        "vocab_size": sizes["vocab_size"],
    }


class Plain(pickle.Unpickler):
    """Tables, numbers and texts alone."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def characters(path, tokens):
    """The characters of a meta.pkl, token 0 first."""
    try:
        with open(path, "rb") as file:
            meta = Plain(file).load()
    except OSError as error:
        raise Refused(NO_INPUT, f"'{path}': {error.strerror or one_line(error)}")
    except Exception:  # noqa: BLE001, as unpickling raises whatever its bytes lead to
        raise Refused(BAD_DATA, f"'{path}': it holds no table of characters")
    itos = meta.get("itos") if isinstance(meta, dict) else None
    found = [itos.get(i) for i in range(len(itos))] if isinstance(itos, dict) else []
    if not found or not all(isinstance(c, str) and len(c) == 1 and not 0xD800 <= ord(c) < 0xE000 for c in found):
        raise Refused(BAD_DATA, f"'{path}': it holds no table of characters")
    if found != sorted(set(found)):
        raise Refused(BAD_DATA, f"'{path}': its characters are not numbered in their sorted order")
    if len(found) != tokens:
        raise Refused(BAD_DATA, f"'{path}': it has {len(found)} characters, the model {tokens} tokens: of another model?")
    return found


def tokenizer_of(found):
    """tokenizer.json as `export hf` writes it for characters: a BPE without merges."""
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {c: i for i, c in enumerate(found)}, "merges": []}
    decoder = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": decoder, "model": model}


def write(folder, tensors, files):
    """Into a new or empty folder; config.json last, as without it the folder is no model."""
    from safetensors.torch import save_file

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Refused(CANNOT_CREATE, f"'{folder}': the folder is not empty; nothing was written")
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise Refused(CANNOT_CREATE, f"'{folder}': {error.strerror or one_line(error)}")


def advice(sizes, meta):
    """What there is to do about the tokenizer."""
    if meta is not None:
        return None
    if sizes["vocab_size"] in (GPT2_TOKENS, GPT2_PADDED):
        return "its tokens are GPT-2's: put vocab.json and merges.txt of gpt2 into the folder before import hf"
    return "without a tokenizer; --meta meta.pkl gives it that of nanoGPT's characters"


def convert(words):
    args, weights = load_checkpoint(words.checkpoint)
    sizes, dropout, bias = sizes_of(args)
    tensors, tied = converted(weights, sizes, bias)
    files = {}
    if words.meta is not None:
        files["tokenizer.json"] = tokenizer_of(characters(words.meta, sizes["vocab_size"]))
        files["tokenizer_config.json"] = {"clean_up_tokenization_spaces": False,
                                          "model_input_names": ["input_ids", "attention_mask"],
                                          "model_max_length": sizes["block_size"],
                                          "tokenizer_class": "PreTrainedTokenizerFast"}
    files["config.json"] = config_of(sizes, dropout, tied)
    write(words.folder, tensors, files)
    print(f"wrote   {words.folder}: {', '.join(f'{name} {size}' for name, size in sizes.items())}", file=sys.stderr)
    if what := advice(sizes, words.meta):
        print(f"note    {what}", file=sys.stderr)
    print(f"next    train-gpt-mha import hf {words.folder} --save FILE", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", metavar="CKPT.pt", type=pathlib.Path)
    parser.add_argument("folder", metavar="FOLDER", type=pathlib.Path, help="new or empty")
    parser.add_argument("--meta", metavar="meta.pkl", type=pathlib.Path, help="the characters that its tokens are")
    words = parser.parse_args()
    try:
        convert(words)
    except Refused as refused:
        print(f"error: {refused}", file=sys.stderr)
        sys.exit(refused.code)
    except ImportError as error:
        sys.exit(f"error: {one_line(error)}; this needs the packages torch and safetensors")


main()
