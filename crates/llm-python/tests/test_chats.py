"""Conversations: learned from dicts as from files, answered; and names of files that are no texts."""

import json

import numpy as np
import pytest
import traingpt
from conftest import SMALL

TALKS = [[{"role": "user", "content": f"what is {i % 10}?"}, {"role": "assistant", "content": f"it is {i % 10}."}]
         for i in range(200)]
SIZES = {**SMALL, "seq_len": 96, "steps": 4}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in TALKS))
    return path


class Rows:
    """As a table of `datasets`."""

    def __len__(self):
        return len(TALKS)

    def __getitem__(self, n):
        if n >= len(TALKS):
            raise IndexError(n)
        return {"messages": TALKS[n]}


@pytest.mark.parametrize("data", [[{"messages": talk} for talk in TALKS], TALKS, Rows()])
def test_dicts_are_learned_as_their_file_is(file, data):
    run, of_file = traingpt.Trainer(data, **SIZES), traingpt.Trainer(file, **SIZES)
    assert "200 conversations" in run.notes[0]
    assert (run.batch(0)[1] == of_file.batch(0)[1]).all() and (run.batch(0)[1] == -1).any()
    assert (run.train()["loss"] == of_file.train()["loss"]).all()
    assert run.evaluate(data)["loss"] == of_file.evaluate(file)["loss"]


def test_what_are_no_conversations():
    for wrong, said in [({"messages": TALKS[0]}, "a list of them"), ([{"messages": {1, 2}}], "JSON can hold")]:
        with pytest.raises(TypeError, match=said):
            traingpt.Trainer(wrong, **SIZES)
    with pytest.raises(ValueError, match="messages"):
        traingpt.Trainer([{"turns": 1}], **SIZES)


def test_a_tuned_model_answers(file, tmp_path):
    run = traingpt.Trainer(file, **{**SIZES, "steps": 150, "lr": 0.01})
    run.train()
    answer = run.chat("what is 7?", temperature=0)
    assert answer.startswith("it is") and "<|" not in answer
    assert run.chat([{"role": "user", "content": "what is 7?"}], temperature=0) == answer
    assert len(run.encode(run.chat("what is 7?", temperature=0, max_new_tokens=3))) <= 3
    assert run.chat("what is 7?", seed=1) == run.chat("what is 7?", seed=1)
    told = run.chat(TALKS[1] + [{"role": "user", "content": "what is 2?"}], temperature=0, max_new_tokens=5)
    assert isinstance(told, str) and isinstance(run.chat("and 3?", system="count"), str)
    run.save(tmp_path / "model")
    assert traingpt.Trainer.load(tmp_path / "model").chat("what is 7?", temperature=0) == answer


def test_what_cannot_be_answered(small):
    for wrong, error, said in [
        (5, TypeError, "a question, or a list"), ([], ValueError, "there is none"),
        ([{"role": "user"}], TypeError, "a question, or a list"), (["hi"], TypeError, "a question, or a list"),
        ([{"role": "assistant", "content": "a"}], ValueError, "role 'user' is answered"),
        ("x" * 500, ValueError, "too many for the model's context"),
    ]:
        with pytest.raises(error, match=said):
            small.chat(wrong)
    with pytest.raises(ValueError, match="an answer needs a token"):
        small.chat("a", max_new_tokens=0)


@pytest.mark.parametrize("name", ["books.txt", "data/books", "Chats.JSONL", r"C:\chats", "~/book.txt.gz"])
def test_the_name_of_no_file_is_no_text(name, small):
    for ask in [lambda: traingpt.Trainer(name, **SMALL), lambda: small.evaluate(name)]:
        with pytest.raises(ValueError, match=r"none of that name: a path is given as pathlib.Path"):
            ask()


@pytest.mark.parametrize("text", ["and/or is a word. " * 5, "see book.txt", "one\n/two", "a" * 60 + "."])
def test_texts_are_no_names(text):
    sizes = {**SMALL, "seq_len": 4, "steps": 1, "val_frac": 0}
    assert len(traingpt.Trainer(text, **sizes).train()["loss"]) == 1


def test_what_others_do_not_have_has_a_way_out(small, text, tmp_path):
    for write in [small.to_hf, small.to_gguf]:
        small.train(1)
        with pytest.raises(ValueError, match=r'make the trainer with head_bias=False, or arch="llama"'):
            write(tmp_path / "out")
    odd = traingpt.Trainer(text, kv_heads=1, positions="none", head_bias=False, **SMALL)
    for write in [odd.to_hf, odd.to_gguf]:
        with pytest.raises(ValueError, match=r'make the trainer with arch="llama", or keep it'):
            write(tmp_path / "out")
    for way in [dict(head_bias=False), dict(arch="llama")]:
        made = traingpt.Trainer(text, **SMALL, **way)
        made.to_hf(tmp_path / str(len(way)) / str(way))
        assert np.isfinite(made.train(1)["loss"]).all()
