#!/usr/bin/env python3
"""lm-evaluation-harness on a server, beside `--model hf` on the folder that `export hf` writes of the same model.

    python tests/serve/harness.py [PROGRAM]

Two tasks are made here: what comes next in a story of the model's own (four choices, by log-probabilities), and sums that
a model of chats answers (written greedily, through its chat template). The accuracies are equal to four decimals, and the
log-probabilities of all choices to NEAR.
"""

import json
import os
import pathlib
import random
import subprocess
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import lm_eval
from lm_eval.tasks import TaskManager

import served

NEAR = 1e-5
CHOICE = """task: next
dataset_path: json
dataset_kwargs: {data_files: {test: %s/next.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{q}}"
doc_to_choice: "{{c}}"
doc_to_target: "{{a}}"
target_delimiter: ""
metric_list: [{metric: acc}, {metric: acc_norm}]
"""
SUMS = """task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: %s/sums.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
generation_kwargs: {until: ["\\n\\n"], max_gen_toks: 24, do_sample: false, temperature: 0}
metric_list: [{metric: exact_match}]
"""


def lines(file, objects):
    file.write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")


def tasks(folder):
    """The tasks' files; the stories are the model's own."""
    words = [served.program(), "generate", "--load", "stories", "-n", "100", "--num-samples", "60", "--temp", "0.8", "--seed", "1", "--json", "--threads", "2"]
    written = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
    texts = [json.loads(line)["text"] for line in written.splitlines()]
    rng, asked = random.Random(3), []
    cuts = [(text, text.find(" ", 60)) for text in texts]
    parts = [(text[:cut], text[cut:cut + 5]) for text, cut in cuts if 60 <= cut < len(text) - 5]
    for beginning, end in parts:
        choices = [end, *rng.sample([other for _, other in parts if other != end], 3)]
        rng.shuffle(choices)
        asked.append({"q": beginning, "c": choices, "a": choices.index(end)})
    lines(folder / "next.jsonl", asked)
    lines(folder / "sums.jsonl", [{"q": question["content"], "a": answer["content"]} for question, answer in served.talks()])
    (folder / "tasks").mkdir()
    (folder / "tasks" / "next.yaml").write_text(CHOICE % folder)
    (folder / "tasks" / "sums.yaml").write_text(SUMS % folder)
    return len(asked)


def judged(folder, task, model, of, **more):
    """Metrics, and what was answered to each question."""
    manager = TaskManager(include_path=str(folder / "tasks"))
    done = lm_eval.simple_evaluate(model=model, model_args=of, tasks=[task], task_manager=manager, log_samples=True, bootstrap_iters=0, **more)
    metrics = {name: value for name, value in done["results"][task].items() if name.endswith(",none") and "stderr" not in name}
    samples = sorted(done["samples"][task], key=lambda sample: sample["doc_id"])
    return metrics, [sample["resps"] for sample in samples]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in [served.stories(folder), served.chats(folder)]:
            subprocess.run([served.program(), "export", "hf", "--load", model, f"{model}-hf"], cwd=folder, check=True, capture_output=True)
        count = tasks(folder)
        # A text's own BPE has no token that begins a text; the harness wants one to be named, and does not use it here.
        hf = {"pretrained": str(folder / "stories-hf"), "dtype": "float32", "prefix_token_id": 10}
        want, theirs = judged(folder, "next", "hf", hf, device="cpu")
        with served.serving(folder, "stories") as server:
            of = {"model": "stories", "base_url": server.address + "/v1/completions", "tokenizer": str(folder / "stories-hf"), "tokenizer_backend": "huggingface", "max_length": 128}
            for more in [{"num_concurrent": 1}, {"num_concurrent": 8}, {"batch_size": 8}]:
                got, ours = judged(folder, "next", "local-completions", {**of, **more})
                assert {k: round(v, 4) for k, v in got.items()} == {k: round(v, 4) for k, v in want.items()}, (got, want)
                pairs = [(a[0], b[0]) for x, y in zip(theirs, ours, strict=True) for a, b in zip(x, y, strict=True)]
                apart = max(abs(float(a[0]) - float(b[0])) for a, b in pairs)
                assert apart < NEAR, apart
                assert all(str(a[1]) == str(b[1]) for a, b in pairs)
        print(f"{count} questions by log-probabilities: {want}; {len(pairs)} choices, at most {apart:.1e} apart")

        hf = {"pretrained": str(folder / "chats-hf"), "dtype": "float32", "prefix_token_id": 10}
        want, theirs = judged(folder, "sums", "hf", hf, device="cpu", apply_chat_template=True)
        with served.serving(folder, "chats") as server:
            of = {"model": "chats", "base_url": server.address + "/v1/chat/completions", "num_concurrent": 4}
            got, ours = judged(folder, "sums", "local-chat-completions", of, apply_chat_template=True)
            assert {k: round(v, 4) for k, v in got.items()} == {k: round(v, 4) for k, v in want.items()}, (got, want)
            assert ours == theirs, [pair for pair in zip(ours, theirs) if pair[0] != pair[1]][:3]
            texts = {"model": "chats", "base_url": server.address + "/v1/completions", "tokenizer": str(folder / "chats-hf"), "tokenizer_backend": "huggingface", "eos_string": "<|im_end|>"}
            got, ours = judged(folder, "sums", "local-completions", texts, apply_chat_template=True)
            assert ours == theirs, [pair for pair in zip(ours, theirs) if pair[0] != pair[1]][:3]
        print(f"100 sums in conversations: {want}; every answer is the same")


if __name__ == "__main__":
    main()
