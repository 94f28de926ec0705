#!/usr/bin/env python3
"""From a chat's export to a model that answers, there and in other programs, typed as a user types it, in an empty folder.

    python tests/hf/from_chats.py PROGRAM [--time 2m | --steps N] [--exports NAMES] [--stages NAMES] [--seq N] [--base MODEL] [--keep FOLDER]

Stages, for each of the exports that `exports.py` makes: `import` (chats.jsonl is what was exported), `train`, `ask` (three
questions of the unseen part have the right kind of answer), `gguf` (llama.cpp, as gpt4all carries it, writes the same greedy
text and stops there), `modelfile` (Ollama's rules read it, and its TEMPLATE asks as transformers' `apply_chat_template` does),
`hf` (transformers asks with the same tokens, writes the same greedy text and stops there). Without `import` the
conversations are written down as they would be imported. .ci/chats runs it.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import exports
import ollama

STAGES = ["import", "train", "ask", "gguf", "modelfile", "hf"]
NEEDS = {"gguf": ["gguf", "jinja2", "gpt4all", "transformers", "torch"], "modelfile": ["transformers", "torch"], "hf": ["transformers", "torch"]}
# Tokens of an answer, and how near the two likeliest have to be where two programs may part: sums have another order there.
LONGEST, NEAR = 60, 0.02


class Fault(Exception):
    """What a stage found wrong."""


class Export:
    """One export on its way."""

    def __init__(self, program, name, folder, options):
        self.program, self.name, self.folder, self.options = program, name, folder, options
        self.questions, self.answers = [], {}

    def run(self, *words, given=""):
        words = [self.program, *map(str, words)]
        done = subprocess.run(words, cwd=self.folder, input=given, capture_output=True, text=True)
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or ["(nothing said)"])[-1]
            raise Fault(f"exit code {done.returncode} from `{' '.join(['train-gpt-modern', *words[1:]])}`: {said}")
        return done.stdout, done.stderr

    def imported(self):
        file, make = exports.ALL[self.name]
        (self.folder / file).write_text(make(), encoding="utf-8", newline="")
        self.run("import", "chats", file, "--me", exports.ME[self.name], "--save", "chats.jsonl")
        talks = self.talks()
        found = [(a["content"], b["content"]) for turns in talks for a, b in zip(turns, turns[1:])
                 if (a["role"], b["role"]) == ("user", "assistant")]
        wanted = list(exports.exchanges())
        missing = [pair for pair in wanted if pair not in found]
        if missing:
            raise Fault(f"{len(missing)} of {len(wanted)} exchanges are not in chats.jsonl, the first {missing[0]}; it has {found[:2]}")
        if any("omitted" in turn["content"] or "encrypted" in turn["content"] for turns in talks for turn in turns):
            raise Fault("what stands for a picture, or a line of the program's, is in chats.jsonl")
        return f"{len(talks)} conversations, {len(found)} exchanges"

    def written_down(self):
        lines = [{"messages": [{"role": "user", "content": q}, {"role": "assistant", "content": a}]} for q, a in exports.exchanges()]
        (self.folder / "chats.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def talks(self):
        lines = (self.folder / "chats.jsonl").read_text().splitlines()
        return [json.loads(line)["messages"] for line in lines]

    def train(self):
        sizes = ["--steps", self.options.steps] if self.options.steps else ["--time", self.options.time]
        more = ["--seq", self.options.seq] if self.options.seq else []
        more += ["--load", self.options.base.resolve()] if self.options.base else []
        said = "".join(self.run("--data", "chats.jsonl", *sizes, *more, "--out", "run"))
        result = [line for line in said.splitlines() if line.startswith(("result", "final"))]
        following = [line.strip() for line in said.splitlines() if line.startswith("next") and " chat " in line]
        if not following:
            raise Fault("the run does not say that `chat` is next")
        return " ".join(result)

    def unseen(self):
        """Three questions of as many kinds, of the last tenth."""
        talks = self.talks()
        last = talks[-max(1, len(talks) // 10):]
        asked = [turn["content"] for turns in last for turn in turns if turn["role"] == "user"]
        kinds = {}
        for question in asked:
            kinds.setdefault(exports.kind_of(question), question)
        kinds.pop(None, None)
        if len(kinds) < 3:
            raise Fault(f"the last tenth of {len(talks)} conversations has questions of {len(kinds)} kinds")
        return list(kinds.values())[:3]

    def ask(self):
        self.questions = self.unseen()
        wrong = []
        for question in self.questions:
            said, _ = self.run("chat", "--load", "run", "--temp", 0, "-n", LONGEST, "--message-format", "json", given=question + "\n")
            [answer] = [json.loads(line) for line in said.splitlines()]
            self.answers[question] = answer
            if not re.fullmatch(exports.kind_of(question), answer["text"].strip()) or answer["finish"] == "length":
                wrong.append(f"{question!r}: {answer['text']!r} ({answer['finish']})")
        if wrong:
            raise Fault("not the right kind of answer: " + "; ".join(wrong))
        return "; ".join(f"{question} {answer['text'].strip()}" for question, answer in self.answers.items())

    def exported(self, kind, target):
        """Where the model stands as other programs have it."""
        place = self.folder / target
        if not place.exists():
            self.run("export", kind, "--load", "run", target)
        return place

    def theirs(self):
        if not hasattr(self, "loaded"):
            import transformers

            transformers.logging.set_verbosity_error()
            transformers.logging.disable_progress_bar()
            folder = self.exported("hf", "hf")
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            if not tokenizer.chat_template:
                raise Fault("the folder has no chat template")
            self.loaded = tokenizer, transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
        return self.loaded

    def asked_there(self, question):
        """The tokens that transformers asks it with."""
        turns = [{"role": "user", "content": question}]
        return self.theirs()[0].apply_chat_template(turns, add_generation_prompt=True, return_dict=True)["input_ids"]

    def same(self, who, question, ours, text):
        """Refuses another text than ours, but where the two likeliest tokens are as near as rounding is."""
        if text.strip() == ours.strip():
            return
        try:
            gap = self.gap(question, os.path.commonprefix([text, ours]))
        except Fault:
            gap = NEAR
        if gap >= NEAR:
            raise Fault(f"{who} answers {question!r} with {text!r}, we with {ours!r}")

    def gap(self, question, written):
        """Between the two likeliest after what was written."""
        import torch

        tokenizer, model = self.theirs()
        ids = self.asked_there(question) + tokenizer(written, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            two = model(torch.tensor([ids])).logits[0, -1].topk(2).values
        return (two[0] - two[1]).item()

    def asked(self):
        if not self.answers:
            raise Fault("nothing was asked: the stage `ask` has to be run before")
        return [(question, answer["text"], answer["finish"]) for question, answer in self.answers.items()]

    def hf(self):
        import torch

        tokenizer, model = self.theirs()
        ends = set()
        for question, ours, finish in self.asked():
            ids = self.asked_there(question)
            with torch.no_grad():
                out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), do_sample=False,
                                     max_new_tokens=LONGEST, pad_token_id=0)[0][len(ids):].tolist()
            if finish != "length" and len(out) == LONGEST:
                raise Fault(f"generate does not stop: {tokenizer.decode(out)!r}, we stop after {ours!r}")
            if finish != "length":
                ends.add(tokenizer.decode(out[-1:]))
            self.same("transformers", question, ours, tokenizer.decode(out, skip_special_tokens=True))
        return f"the same three texts, ended by {sorted(ends)}"

    def gguf(self):
        import gpt4all
        import gguf
        import jinja2.sandbox
        from gpt4all._pyllmodel import LLModel

        path = self.exported("gguf", "model.gguf")
        fields = gguf.GGUFReader(path).fields
        if "tokenizer.chat_template" not in fields:
            raise Fault("the file has no tokenizer.chat_template")
        field = lambda name: fields[name].contents() if name in fields else None
        tokens = field("tokenizer.ggml.tokens")
        bos, eos = (field(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos"))
        template = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(
            field("tokenizer.chat_template"))
        context = next(field(name) for name in fields if name.endswith(".context_length"))
        with quiet():
            # On the processor: nothing is given to a card.
            model = LLModel(str(path), context, 0, "auto")
            loaded = model.load_model()
        if not loaded:
            raise Fault("llama.cpp does not read the file")
        for question, ours, finish in self.asked():
            turns = [{"role": "user", "content": question}]
            prompt = template.render(messages=turns, add_generation_prompt=True, bos_token=tokens[bos] if bos is not None else "",
                                     eos_token=tokens[eos] if eos is not None else "")
            # llama.cpp begins with it by itself.
            if bos is not None and field("tokenizer.ggml.add_bos_token"):
                prompt = prompt.removeprefix(tokens[bos])
            text = []
            model.prompt_model(prompt, "%1", lambda _, piece: text.append(piece) or True, n_predict=LONGEST, top_k=1, temp=0.0,
                               repeat_penalty=1.0, reset_context=True, special=True)
            try:
                self.same("llama.cpp", question, ours, "".join(text))
            except Fault as why:
                named = {name: tokens[of] for name in ("eos", "eot") if (of := field(f"tokenizer.ggml.{name}_token_id")) is not None}
                raise Fault(f"{why}; the file's ends are {named}, and gpt4all looks at eos alone") from None
        model.close()
        return f"gpt4all {importlib.metadata.version('gpt4all')} writes the same three texts"

    def modelfile(self):
        self.exported("gguf", "model.gguf")
        tokenizer, _ = self.theirs()
        try:
            found = ollama.Modelfile(self.folder / "model.Modelfile")
            if found.file.resolve() != (self.folder / "model.gguf").resolve():
                raise Fault(f"FROM names {found.file}")
            if found.template is None:
                raise Fault("there is no TEMPLATE")
            ask, answer = {"role": "user", "content": "Q, ?"}, {"role": "assistant", "content": "A."}
            system = {"role": "system", "content": "Be S."}
            if not ollama.can_render():
                return "read; its TEMPLATE is not rendered: no go (apt-get install golang-go)"
            for turns in ([ask], [system, ask], [ask, answer, ask], [system, ask, answer, ask]):
                wanted = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
                theirs = ollama.rendered(found.template, turns, self.folder)
                if theirs != wanted:
                    raise Fault(f"{[turn['role'] for turn in turns]} is asked as {theirs!r}, transformers has {wanted!r}")
            # What ends an answer there ends it here.
            whole = tokenizer.apply_chat_template([ask, answer], tokenize=False)
            end = whole.rpartition(answer["content"])[2].strip()
            stops = found.parameters.get("stop", [])
            if not any(stop and end.startswith(stop) for stop in stops):
                raise Fault(f"an answer is ended by {end!r}, `stop` is {stops}")
        except ollama.Refused as why:
            raise Fault(f"Ollama refuses it: {why}") from None
        return f"TEMPLATE asks as transformers does, stop is {stops}"


class quiet:
    """Keeps what a library in C writes about itself from the terminal."""

    def __enter__(self):
        self.kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)

    def __exit__(self, *_):
        os.dup2(self.kept, 2)
        os.close(self.kept)


def missing(stage):
    return [name for name in NEEDS.get(stage, []) if importlib.util.find_spec(name) is None]


def judge(export, stages):
    """How many stages failed."""
    failed, trained = 0, True
    ways = {"import": export.imported, "train": export.train, "ask": export.ask, "gguf": export.gguf, "modelfile": export.modelfile,
            "hf": export.hf}
    if "import" not in stages:
        export.written_down()
    for stage in stages:
        begin = f"{export.name:17}{stage:10}"
        if not trained:
            print(f"{begin}not tried", flush=True)
        elif missing(stage):
            print(f"{begin}not run: no {', '.join(missing(stage))} for python3", flush=True)
        else:
            try:
                print(f"{begin}ok: {ways[stage]()}", flush=True)
            except Fault as why:
                print(f"{begin}FAILED: {why}", flush=True)
                failed += 1
                if stage == "import":
                    export.written_down()
                trained = stage != "train" or (export.folder / "run").exists()
    return failed


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    several = lambda known: lambda text: [one for one in known if one in text.split(",")]
    words.add_argument("program", type=pathlib.Path)
    words.add_argument("--time", default="2m")
    words.add_argument("--steps", type=int)
    words.add_argument("--seq", type=int)
    words.add_argument("--base", type=pathlib.Path, help="a model that is tuned; without it a new one learns")
    words.add_argument("--stages", type=several(STAGES), default=STAGES)
    words.add_argument("--exports", type=several(exports.ALL), default=list(exports.ALL))
    words.add_argument("--keep", type=pathlib.Path, help="a folder for what is made")
    options = words.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="chats-") as work:
        for name in options.exports:
            folder = (options.keep or pathlib.Path(work)).resolve() / name
            folder.mkdir(parents=True)
            failed += judge(Export(options.program.resolve(), name, folder, options), options.stages)
    print(f"{failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
