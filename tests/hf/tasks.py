#!/usr/bin/env python3
"""`eval --task` beside lm-evaluation-harness: the same questions, the same model by `export hf`, the same shares.

Needs torch, transformers and lm_eval (a venv with `pip install torch transformers lm_eval`); .ci/deep runs it. The tasks
are the harness's own definitions of HellaSwag, ARC, BLiMP and GSM8K on questions about stories that are made here, and one
for each of the two plain shapes. Shares are equal to the last digit, each question's ln p within 1e-3, answers that are
written the same texts. Models: BPE with a token that ends texts, bytes with a context shorter than many questions,
characters, the first with heads switched off, and one that learned conversations, asked in its chat template: the harness
counts the line break at the template's end to the answer, so there acc and differences of ln p are compared.
"""

import contextlib
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEOPLE = ["Lucy", "Ruth", "Ella", "Jane", "Hugo", "Carl", "Kurt", "Finn"]
THINGS = ["map", "shoe", "lamp", "drum", "kite", "book"]
COLOURS = ["silver", "pink", "green", "tiny", "old"]
PLACES = ["shed", "garden", "box under the bed", "barn", "tree"]
QUESTIONS = 80
TOLERANCE = 1e-3


def story(draw):
    a, b, *_ = draw.sample(PEOPLE, 4)
    (x, y), (p, q), place = draw.sample(THINGS, 2), draw.sample(COLOURS, 2), draw.choice(PLACES)
    told = [f"{a} met {b}.", f"{b} had a {p} {x}.", f"{a} had a {q} {y}.", f"They hid the {q} {y} in the {place}."]
    return a, b, x, y, place, " ".join(told)


def sum_of(draw):
    a, b = draw.randint(2, 20), draw.randint(2, 20)
    asked = f"{draw.choice(PEOPLE)} had {a} kites and found {b}. How many are that?"
    return asked, f"{a} + {b} = {a + b}\n#### {a + b}"


def text(draw):
    for _ in range(1500):
        a, b, x, y, place, told = story(draw)
        yield f"{told} {draw.choice([f'{b} kept the {x}', f'The {y} is in the {place}'])}."
        asked, answer = sum_of(draw)
        yield f"Question: {asked}\nAnswer: {answer}"
        if draw.random() < 0.2:
            yield f"Question: {told} Where is the {y}?\nAnswer: {place}"


def tasks(draw):
    """Questions by shape."""
    found = {name: [] for name in ["hellaswag", "arc", "blimp", "gsm8k", "choices", "answer"]}
    for n in range(QUESTIONS):
        a, b, x, y, place, told = story(draw)
        others = draw.sample([p for p in PEOPLE if p not in (a, b)], 2)
        people = draw.sample([a, b, *others], 4)
        places = draw.sample([place, *draw.sample([p for p in PLACES if p != place], 2 + n % 3)], 3 + n % 3)
        ends = [f"{b} kept the {x}.", f"{a} [substep]  kept the {x}.", f"The {x}  is in the {place}.", f"{b} kept thé {x}"]
        mixed = draw.sample(ends, 4)
        found["hellaswag"].append({
            "ind": n, "activity_label": "[header] Stories [title]", "ctx_a": told, "ctx_b": ["", "so it WAS."][n % 2],
            "ctx": told, "endings": mixed, "label": str(mixed.index(ends[0])), "split": "val", "split_type": "indomain",
            "source_id": f"own~{n}"})
        labels = ["A", "B", "C", "D", "E"] if n % 2 else ["1", "2", "3", "4", "5"]
        found["arc"].append({
            "id": str(n), "question": f"{told} Where is the {y}?", "choices": {"text": places, "label": labels[:len(places)]},
            "answerKey": labels[places.index(place)]})
        good = f"{a} had a {COLOURS[n % 5]} {x}."
        bad = draw.choice([good.replace("had a", "had"), good.replace(x, y), good.replace(a, b), good[:-1]])
        found["blimp"].append({"sentence_good": good, "sentence_bad": bad, "field": "syntax", "pair_id": n})
        asked, answer = sum_of(draw)
        found["gsm8k"].append({"question": asked, "answer": answer})
        # A space at the end of the prompt belongs to the choices.
        found["choices"].append({"prompt": f"{told} ", "choices": people, "answer": people.index(b)})
        found["answer"].append({"prompt": f"{told} {b} kept the", "answer": f" {x}"})
    return found


def definitions(folder, tokens_written):
    """The harness's tasks, on the questions in `folder`."""
    import lm_eval.tasks

    own = pathlib.Path(lm_eval.tasks.__file__).parent
    plain = {"choices": ("multiple_choice", "acc, acc_norm", ["doc_to_choice: choices", "doc_to_target: answer"]),
             "answer": ("loglikelihood", "acc", ['doc_to_target: "{{answer}}"'])}
    for name, file in {"hellaswag": "hellaswag/hellaswag.yaml", "arc": "arc/arc_easy.yaml", "blimp": "blimp/_template_yaml",
                       "gsm8k": "gsm8k/gsm8k.yaml", "choices": None, "answer": None}.items():
        lines = [f"task: own_{name}", "dataset_path: json", "dataset_name: null", "training_split: null",
                 "validation_split: null", "fewshot_split: null", "test_split: test", "num_fewshot: 0", "dataset_kwargs:",
                 f"  data_files: {{test: {folder / name}.jsonl}}"]
        if file:
            lines.insert(0, f"include: {own / file}")
        else:
            kind, metrics, more = plain[name]
            lines += [f"output_type: {kind}", 'doc_to_text: "{{prompt}}"', 'target_delimiter: ""', *more, "metric_list:"]
            lines += [f"  - metric: {metric}" for metric in metrics.split(", ")]
        if name == "gsm8k":
            lines += ["generation_kwargs:", '  until: ["Question:", "</s>", "<|im_end|>"]', "  do_sample: false",
                      f"  max_gen_toks: {tokens_written}"]
        (folder / f"own_{name}.yaml").write_text("\n".join(lines) + "\n")


def theirs(folder, exported, names, talks, **model):
    import torch
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    torch.set_num_threads(1)  # the models are small
    lm = HFLM(pretrained=str(exported), device="cpu", dtype="float32", batch_size=1, **model)
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    names = [f"own_{name}" for name in names]
    return simple_evaluate(lm, tasks=names, task_manager=manager, bootstrap_iters=2, log_samples=True, apply_chat_template=talks)


def ours(folder, program, name, run, *words):
    rows = folder / f"rows-{name}"
    command = [program, "eval", "--load", run, "--task", folder / f"{name}.jsonl", "--per-question", rows, "--json", *words]
    done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {done.stderr}")
    return json.loads(done.stdout), [json.loads(line) for line in rows.read_text().splitlines()]


def compared(what, name, found, rows, their, talks):
    """The shares of both, and the largest difference of ln p."""
    metrics, samples = their["results"][f"own_{name}"], their["samples"][f"own_{name}"]
    shares = {}
    for key, value in metrics.items():
        metric = re.sub("_stderr|,none", "", key)
        if metric not in found or metric == "name" or talks and metric == "acc_norm":
            continue
        if "_stderr" in key:
            mine, near = found[f"{metric}_stderr"], 1e-12
        else:
            mine, near = found[metric], 0
            shares[metric] = value
        assert abs(mine - value) <= near, f"{what} {name} {key}: {mine} here, {value} there"
    wanted = 1 if name in ("blimp", "answer") or talks and name != "gsm8k" else 2
    assert len(shares) == wanted, f"{what} {name}: {shares} compared, of {list(metrics)}"
    apart = 0.0
    for sample in samples:
        row = rows[sample["doc_id"]]
        if name == "gsm8k":
            assert row["text"] == sample["resps"][0][0], f"{what}: {row['text']!r} here, {sample['resps'][0][0]!r} there"
            continue
        lls = [float(resp[0][0]) for resp in sample["resps"]]
        assert len(lls) == len(row["logprobs"])
        more = lls[0] - row["logprobs"][0] if talks else 0.0
        apart = max(apart, *(abs(a - b - more) for a, b in zip(lls, row["logprobs"])))
    assert apart < TOLERANCE, f"{what} {name}: ln p apart by {apart}"
    said = ", ".join(f"{metric} {share:.4f}" for metric, share in shares.items())
    print(f"{what:12} {name:9} {said}; ln p within {apart:.1e}", flush=True)


def main():
    cargo = ["cargo", "build", "-q", "--release", "--locked", "-p", "train-gpt-modern", "-p", "train-gpt-mha"]
    subprocess.run(cargo, cwd=ROOT, check=True)
    target = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target")).resolve() / "release"
    modern, many = target / "train-gpt-modern", target / "train-gpt-mha"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def run(*words):
            done = subprocess.run([*map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"error: {' '.join(map(str, words))}: {done.stderr}")

        draw = random.Random(5)
        (folder / "ended.txt").write_text("<|endoftext|>".join(text(draw)))
        (folder / "plain.txt").write_text("\n".join(text(draw)))
        for name, rows in tasks(draw).items():
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        small = ["--layers", 2, "--dmodel", 64, "--batch", 16, "--gen", 0, "-q"]
        run(modern, "--data", "ended.txt", "--end-of-text", "marked", "--tokenizer", "bpe", "--vocab-size", 400, "--seq", 128, "--steps", 200, *small,
            "--save", "bpe")
        run(modern, "--data", "plain.txt", "--seq", 64, "--steps", 300, *small, "--save", "bytes")
        run(many, "--data", "plain.txt", "--tokenizer", "char", "--arch", "gpt2", "--seq", 192, "--steps", 200, *small,
            "--save", "chars")
        run(modern, "inspect", "prune", "--load", "bpe", "--data", "plain.txt", "--drop", 1, "--save", "masked")
        spoken = ({"prompt": q, "completion": a.split("#### ")[-1]} for q, a in (sum_of(draw) for _ in range(400)))
        (folder / "chats.jsonl").write_text("".join(json.dumps(line) + "\n" for line in spoken))
        run(modern, "--data", "chats.jsonl", "--seq", 256, "--steps", 150, *small, "--save", "chats")
        every = list(tasks(random.Random(1)))
        unwritten = [name for name in every if name != "gsm8k"]
        # Bytes outside a vocabulary of characters are refused.
        chars = [name for name in unwritten if name != "hellaswag"]
        for what, program, names, written in [("bpe", modern, every, 64), ("bytes", modern, unwritten, 32),
                                              ("chars", many, chars, 96), ("masked", modern, unwritten, 64),
                                              ("chats", modern, ["arc", "choices", "gsm8k"], 128)]:
            talks = what == "chats"
            run(program, "export", "hf", "--load", what, f"{what}-hf")
            definitions(folder, written)
            asked = ["--apply-chat-template"] if talks else []
            both = {name: ours(folder, program, name, what, *asked) for name in names}
            model = {"prefix_token_id": both["blimp"][0]["begins_with"]} if what == "chars" else {}
            with contextlib.redirect_stderr(io.StringIO()):
                their = theirs(folder, folder / f"{what}-hf", names, talks, **model)
            for name in names:
                compared(what, name, *both[name], their, talks)
            if what == "bytes":
                assert both["arc"][0]["cut"] > 0, "no question is longer than the context"


if __name__ == "__main__":
    main()
