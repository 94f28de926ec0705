#!/usr/bin/env python3
"""What `inspect patch` says of the built-in stories' model, beside PyTorch, TransformerLens and nnsight.

    python benches/causes.py RUN [--program P] [--pairs 10] [--seeds 5]   # RUN, of `train-gpt-mha --out RUN`, is made if not there
    python benches/causes.py --missing                                    # which of the packages are not installed

Every share of every pair is computed again by PyTorch's own hooks, in float64, on the exported weights in GPT-2 of
transformers: what a part computed for one text is put into the other by PyTorch. Paths from head to head too. The model
of RUN has a bias on its output head, which no file of Hugging Face's can hold; a twin of it without, RUN-no-bias, is
exported as others would take it and opened in TransformerLens and nnsight, where these are installed. Further seeds are
RUN-seed-2 and so on. Ends with 1 when anything is further apart than it may be.

Needs torch, transformers, safetensors, numpy. Tried with torch 2.15, transformers 5.24, transformer-lens 4.3, nnsight 0.8.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", TQDM_DISABLE="1", TOKENIZERS_PARALLELISM="false")
ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
WANTED = {"transformer_lens": "transformer-lens", "nnsight": "nnsight", "traingpt": "traingpt"}
MISSING = [name for module, name in WANTED.items() if importlib.util.find_spec(module) is None]
if "--missing" in sys.argv:
    print(*MISSING, sep="\n", end="\n" if MISSING else "")
    sys.exit()

import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors import safe_open  # noqa: E402
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, logging  # noqa: E402

SHARE, LOGIT = 1e-4, 5e-5  # shares are quotients of differences of logits
ALL_HEADS = 0.05
NAMES = ["Lucy", "Ruth", "Ella", "Jane", "Hugo", "Carl", "Kurt", "Finn"]
COLOURS, THINGS = ["grey", "pink", "tan", "brown"], ["ring", "map", "cup", "hat", "key"]
SITES = ["resid_pre", "z", "attn_out", "resid_mid", "mlp_post", "mlp_out", "resid_post"]
logging.set_verbosity_error()
logging.disable_progress_bar()
torch.set_grad_enabled(False)
torch.set_num_threads(1)  # of so small a model
failed = []


def furthest(*apart):
    return float(np.max(np.abs(apart)))  # unlike max, no number stays no number


def check(what, worst, most):
    fine = bool(worst <= most)  # no number is no agreement
    print(f"{what}: {worst:.1e} apart, {most:g} allowed{'' if fine else '  FAILED'}", flush=True)
    if not fine:
        failed.append(what)


def ours(*words):
    done = subprocess.run([PROGRAM, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: exit code {done.returncode} from {' '.join(map(str, words))}:\n{done.stderr}")
    return done.stdout


def made(run, *settings):
    """The folder of a run; trained if it is not there."""
    if not (run / "run.json").is_file():
        ours("--out", run, *settings)
    return run


def patched(run, *words):
    return json.loads(ours("inspect", "patch", "--load", run, "--json", *words).splitlines()[-1])


def pairs(n):
    """Beginnings of stories that ask for the other person, and the same with another one there."""
    found = []
    for i in range(n):
        a, b, c = (NAMES[(i + step) % len(NAMES)] for step in (0, 1 + i % 3, 4 + i % 3))
        colours, things = (([*of, *of])[i % len(of) :] for of in (COLOURS, THINGS))
        told = "{a} met {b}. {a} had a {0} {2}. {b} had a {1} {3}. {a} gave "
        told = told if i % 2 else told + "{b} a gift. So {a} had the {0} {2} and {b} had the {1} {3}. {a} gave "
        text = lambda who: told.format(colours[0], colours[1], things[0], things[1], a=a, b=who)
        found.append((text(b), text(c), b[0], c[0]))
    return found


class Torch:
    """A GPT-2 of transformers, and PyTorch's hooks in it."""

    def __init__(self, model):
        self.model = model.double().eval()
        self.layers, self.heads = model.config.n_layer, model.config.n_head
        self.wide = model.config.n_embd // self.heads

    def run(self, ids, patches=()):
        """The logits `[T, V]` and what the places hold, `[T, N]`, under patches: (place, layer, rows, columns, values)."""
        seen, handles = {}, []

        def at(place, layer, value):
            for where, block, rows, columns, other in patches:
                if (where, block) == (place, layer):
                    value = value.clone()
                    value[0, rows, columns] = other[rows, columns]
            seen[place, layer] = value[0].clone()
            return value

        def before(place, layer):
            return lambda module, args, kwargs: ((at(place, layer, args[0]), *args[1:]), kwargs)

        def behind(place, layer):
            return lambda module, args, value: at(place, layer, value)

        for layer, block in enumerate(self.model.transformer.h):
            handles.append(block.register_forward_pre_hook(before("stream", layer), with_kwargs=True))
            handles.append(block.attn.c_proj.register_forward_pre_hook(before("z", layer), with_kwargs=True))
            handles.append(block.mlp.register_forward_hook(behind("mlp", layer)))
        try:
            logits = self.model(ids, use_cache=False).logits[0]
        finally:
            [handle.remove() for handle in handles]
        return logits, seen

    def columns(self, head):
        return slice(None) if head is None else slice(head * self.wide, head * self.wide + self.wide)


def from_safetensors(file):
    """An export of a model with biases, an output head of its own and a bias there, as a GPT-2."""
    with safe_open(file, "pt") as opened:
        described = json.loads(opened.metadata()["tiny-gpt"])
        weights = {name: opened.get_tensor(name) for name in opened.keys()}
    of, c = described["config"], described["config"]["d_model"]
    config = GPT2Config(vocab_size=of["vocab_size"], n_positions=of["seq_len"], n_embd=c, n_layer=of["n_layers"],
                        n_head=described["attention"]["n_heads"], tie_word_embeddings=False, bos_token_id=None,
                        eos_token_id=None)
    model = GPT2LMHeadModel(config)
    model.lm_head = torch.nn.Linear(c, of["vocab_size"])
    theirs = {"wte": "wte.weight", "wpe": "wpe.weight"}
    for layer in range(of["n_layers"]):
        for our, name in [("qkv", "attn.c_attn"), ("proj", "attn.c_proj"), ("fc", "mlp.c_fc"), ("out", "mlp.c_proj")]:
            theirs[f"blocks.{layer}.w_{our}"] = f"h.{layer}.{name}.weight"
            theirs[f"blocks.{layer}.b_{our}"] = f"h.{layer}.{name}.bias"
    state = {f"transformer.{theirs[name]}": weights.pop(name) for name in theirs}
    state.update({"lm_head.weight": weights.pop("w_lm").T, "lm_head.bias": weights.pop("b_lm")})
    if weights:
        sys.exit(f"error: no place for {', '.join(weights)}")
    missing = model.load_state_dict(state, strict=False)
    # Its norms have gains of one and biases of zero, as a new one has.
    if missing.unexpected_keys or any(".ln_" not in name for name in missing.missing_keys):
        sys.exit(f"error: {missing}")
    return model


def ids_of(text):
    return torch.tensor([list(text.encode())])


class Both:
    """A pair as PyTorch reads it."""

    def __init__(self, model, clean, other, a, b):
        self.model, self.ids, self.answers = model, [ids_of(clean), ids_of(other)], (ord(a), ord(b))
        (self.logits, self.clean), (logits, self.other) = (model.run(ids) for ids in self.ids)
        self.ends = self.d(self.logits), self.d(logits)
        t = len(clean)
        changed = [i for i in range(t) if clean[i] != other[i]]
        self.at = {"last": [t - 1], "all": list(range(t)), "changed": changed,
                   "between": [i for i in range(t - 1) if i not in changed], **{str(i): [i] for i in range(t)}}

    def d(self, logits):
        a, b = self.answers
        return (logits[-1, a] - logits[-1, b]).item()

    def share(self, d):
        return (self.ends[0] - d) / (self.ends[0] - self.ends[1])

    def shares(self, layer, what, head, at):
        place = {"head": "z", "heads": "z"}.get(what, what)
        of = lambda values: (place, layer, self.at[at], self.model.columns(head), values[place, layer])
        put_in = self.share(self.d(self.model.run(self.ids[0], [of(self.other)])[0]))
        return put_in, 1 - self.share(self.d(self.model.run(self.ids[1], [of(self.clean)])[0]))

    def path(self, sender, receiver):
        """What the receiver reads at the end from what the sender writes, heads between held."""
        (layer, head), (to, reader) = sender, receiver
        patches = [("z", layer, self.at["all"], self.model.columns(head), self.other["z", layer])]
        for between in range(layer + 1, to):
            patches.append(("z", between, self.at["all"], slice(None), self.clean["z", between]))
        given = self.model.run(self.ids[0], patches)[1]["z", to]
        put = ("z", to, self.at["last"], self.model.columns(reader), given)
        return self.share(self.d(self.model.run(self.ids[0], [put])[0]))


def beside_pytorch(run, model, n):
    """Every share of every pair."""
    worst, count, right = {"heads and MLPs": 0, "the stream": 0, "paths": 0, "differences": 0}, 0, 0

    def further(kind, *apart):
        nonlocal count
        count += len(apart)
        worst[kind] = furthest(worst[kind], *apart)

    for clean, other, a, b in pairs(n):
        found, torchs = patched(run, "--clean", clean, "--other", other, "--answers", a, b), Both(model, clean, other, a, b)
        right += found["pairs"]
        # In units of logits: shares are judged by themselves.
        further("differences", *(x - y for x, y in zip(found["differences"], torchs.ends)))
        for part in found["parts"]:
            put_in, taken_out = torchs.shares(part["layer"], part["what"], part["head"], part["at"])
            kind = "the stream" if part["what"] == "stream" else "heads and MLPs"
            further(kind, part["put_in"] - put_in, part["taken_out"] - taken_out)
        for layer in range(model.layers):
            for i in range(len(clean)):
                put_in, taken_out = torchs.shares(layer, "stream", None, str(i))
                further("the stream", found["stream"]["put_in"][layer][i] - put_in,
                        found["stream"]["taken_out"][layer][i] - taken_out)
        for path in found["paths"]:
            for receiver, share in zip(found["receivers"], path["shares"]):
                if share is not None:
                    further("paths", share - torchs.path(path["from"], receiver))
    print(f"{n} pairs, {right} of them answered right on both sides; {count} numbers beside PyTorch in float64")
    for kind, apart in worst.items():
        check(f"PyTorch: {kind}", apart, LOGIT if kind == "differences" else SHARE)


def arrays_are_the_table(run, n, folder):
    """The means of --json are those of the arrays of --npz, part by part."""
    found = patched(run, "--pairs", max(n, 2), "--npz", folder / "patch.npz")
    arrays = np.load(folder / "patch.npz")
    shape = (found["pairs"], len(found["parts"]))
    if any(arrays[name].shape != shape for name in ("put_in", "taken_out", "turned")):
        sys.exit(f"error: arrays of other shapes than {shape}")
    worst = 0
    for i, part in enumerate(found["parts"]):
        for name in ("put_in", "taken_out", "turned"):
            column = arrays[name][:, i].astype(np.float64)
            worst = furthest(worst, column.mean() - part[name])
            if name != "turned":
                worst = furthest(worst, column.std(ddof=1) - part[f"{name}_sd"])
    check(f"{found['pairs']} pairs of stories, means and deviations: --npz and --json", worst, 1e-6)


def our_logits(run, text, folder):
    """The program's scores for every token but the first."""
    (folder / "text").write_text(text)
    ours("eval", "--load", run, "--data", folder / "text", "--npz", folder / "eval.npz")
    return np.load(folder / "eval.npz")["logits"]


def beside_transformer_lens(run, exported, n, folder):
    import pandas
    from transformer_lens import TransformerBridge, patching

    model = TransformerBridge.boot_transformers(str(exported), dtype=torch.float64)
    layers, heads = model.cfg.n_layers, model.cfg.n_heads
    ends, everywhere, logits, places = 0, 0, 0, 0
    trainer = None
    if "traingpt" not in MISSING:
        import traingpt

        trainer = traingpt.Trainer.load(run)
    for clean, other, a, b in pairs(n):
        found = patched(run, "--clean", clean, "--other", other, "--answers", a, b)
        runs = [(ids, *model.run_with_cache(ids)) for ids in (ids_of(clean), ids_of(other))]
        logits = furthest(logits, *(runs[0][1][0, :-1].numpy() - our_logits(run, clean, folder)).flat)
        d = lambda of: (of[0, -1, ord(a)] - of[0, -1, ord(b)]).item()
        d_clean, d_other = (d(of) for _, of, _ in runs)
        share = lambda of: torch.tensor((d_clean - d(of)) / (d_clean - d_other), dtype=torch.float64)
        last = [(layer, len(clean) - 1, head) for layer in range(layers) for head in range(heads)]
        table = pandas.DataFrame(last, columns=["layer", "pos", "head"])
        for side, (text, cache) in {"put_in": (0, 1), "taken_out": (1, 0)}.items():
            given = (model, runs[text][0], runs[cache][2], share)
            setter = patching.layer_pos_head_vector_patch_setter
            at_end = patching.generic_activation_patch(*given, setter, "z", index_df=table).reshape(layers, heads)
            at_all = patching.get_act_patch_attn_head_out_all_pos(*given)
            for part in found["parts"]:
                if part["what"] != "head":
                    continue
                theirs = (at_end if part["at"] == "last" else at_all)[part["layer"], part["head"]].item()
                apart = (theirs if side == "put_in" else 1 - theirs) - part[side]
                if part["at"] == "last":
                    ends = furthest(ends, apart)
                else:
                    everywhere = furthest(everywhere, apart)
        if trainer:
            _, ours_there = trainer.run_with_cache(clean)
            for layer in range(layers):
                for name in [*SITES, "pattern"]:
                    theirs = runs[0][2][name, layer][0].numpy()
                    mine = ours_there[f"blocks.{layer}.{name}"].reshape(theirs.shape)
                    places = furthest(places, *(theirs - mine).flat)
    check("TransformerLens: logits", logits, LOGIT)
    check("TransformerLens: shares of heads at the end, by its activation patching", ends, SHARE)
    check("TransformerLens: shares of heads everywhere, by its activation patching", everywhere, SHARE)
    if trainer:
        check("TransformerLens: all that the wheel's cache holds, name by name", places, LOGIT)


def beside_nnsight(run, exported, n):
    from nnsight import NNsight

    model = NNsight(AutoModelForCausalLM.from_pretrained(exported, dtype=torch.float64).eval())
    worst = 0
    for clean, other, a, b in pairs(n):
        found = patched(run, "--clean", clean, "--other", other, "--answers", a, b)
        d = lambda logits: (logits[0, -1, ord(a)] - logits[0, -1, ord(b)]).item()
        with model.trace(ids_of(clean)):
            d_clean = model.output.logits.save()
        with model.trace(ids_of(other)):
            read = model.transformer.h[0].output.save()
            d_other = model.output.logits.save()
        i = next(i for i in range(len(clean)) if clean[i] != other[i])
        with model.trace(ids_of(clean)):
            model.transformer.h[0].output[:, i] = read[:, i]
            edited = model.output.logits.save()
        share = (d(d_clean) - d(edited)) / (d(d_clean) - d(d_other))
        worst = furthest(worst, share - found["stream"]["put_in"][1][i])
    check("nnsight: the stream behind block 0, where the texts begin to differ, read and edited", worst, SHARE)


def seed(run, number):
    """The heads of the last block carry the whole answer to who else is there."""
    found = patched(run, "--fact", "other-person")
    part = lambda what: [p for p in found["parts"] if (p["layer"], p["what"], p["at"]) == (1, what, "last")]
    (together,), alone = part("heads"), sum(p["put_in"] for p in part("head"))
    carriers = [f"{p['layer']}.{p['head']}" for p in part("head") if p["carries"]]
    print(f"seed {number}: {found['pairs']} of {found['tried']} pairs; all heads of block 1 at the end put in "
          f"{together['put_in']:.4f} ± {together['put_in_sd']:.4f}, taken out {together['taken_out']:.4f} ± "
          f"{together['taken_out_sd']:.4f}; one at a time they add up to {alone:.4f}; heads that carry it: "
          f"{', '.join(carriers) or 'none'}", flush=True)
    return furthest(*(together[side] - 1 for side in ("put_in", "taken_out")))


def main():
    global PROGRAM
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=TARGET / "release" / "train-gpt-mha")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    PROGRAM = options.program.resolve()
    run, n = made(options.run), options.pairs
    beside = lambda what: run.with_name(f"{run.name}-{what}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ours("export", "safetensors", "--load", run, folder / "model.safetensors")
        beside_pytorch(run, Torch(from_safetensors(folder / "model.safetensors")), n)
        arrays_are_the_table(run, n, folder)
        twin, exported = made(beside("no-bias"), "--head-bias", "0"), folder / "exported"
        ours("export", "hf", "--load", twin, exported)
        for package, judge in [("transformer-lens", lambda: beside_transformer_lens(twin, exported, n, folder)),
                               ("nnsight", lambda: beside_nnsight(twin, exported, n))]:
            if package in MISSING:
                print(f"not compared: {package} is not installed")
            else:
                judge()
    apart = [seed(run, 1)]
    for number in range(2, options.seeds + 1):
        apart.append(seed(made(beside(f"seed-{number}"), "--seed", number), number))
    check(f"all heads of block 1 together at the end (seeds: {options.seeds}), and 1", furthest(*apart), ALL_HEADS)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
