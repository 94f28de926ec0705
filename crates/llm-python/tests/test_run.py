"""Made, trained, measured, saved: the same bits as the programs."""

import pathlib
import re

import numpy as np
import pytest
import traingpt
from conftest import SMALL


def test_it_learns_and_writes(text):
    run = traingpt.Trainer(text, **{**SMALL, "steps": 60})
    done = run.train()
    assert done["loss"].shape == (60,) and done["loss"].dtype == np.float32
    assert done["loss"][-5:].mean() < done["loss"][:5].mean() - 0.5
    assert list(done["step"]) == list(range(1, 61)) and run.step == 60
    found = run.evaluate()
    assert 0 < found["loss"] < 5 and found["perplexity"] == pytest.approx(np.exp(found["loss"]))
    assert 0 <= found["accuracy"] <= 1 and found["scored"] > 1000
    assert found["bits_per_byte"] == pytest.approx(found["loss"] / np.log(2))
    assert len(run.sample("Lucy ", 40)) == 40
    assert run.decode(run.generate("Lucy ", 40)) == run.sample("Lucy ", 40)
    until = run.sample("Lucy ", 40, stop=[" "])
    assert run.sample("Lucy ", 40).startswith(until) and " " not in until
    assert run.sample("Lucy ", 40) == run.sample("Lucy ", 40) != run.sample("Lucy ", 40, seed=5)
    assert run.sample("Lucy ", 40, temperature=0) == run.sample("Lucy ", 40, temperature=0, seed=5)


def test_equal_bits_for_any_number_of_threads(text):
    one, two = (traingpt.Trainer(text, threads=n, **SMALL) for n in (1, 3))
    assert (one.train()["loss"] == two.train()["loss"]).all()
    for a, b in zip(one.state_dict().values(), two.state_dict().values()):
        assert (a == b).all()


@pytest.mark.parametrize(
    ("name", "flags", "keywords"),
    [
        ("train-gpt-mha", [], {}),
        ("train-gpt-mha", ["--heads", 2, "--lr", 0.01, "--arch", "gpt2"], dict(heads=2, lr=0.01, arch="gpt2")),
        ("train-gpt", ["--tokenizer", "char"], dict(heads=1, tokenizer="char")),
        ("train-gpt-mha", ["--tokenizer", "bpe", "--bpe-vocab-size", 300], dict(tokenizer="bpe", vocab_size=300)),
        ("train-gpt-modern", ["--kv-heads", 2], dict(kv_heads=2)),
        ("train-gpt-modern", [], dict(attention="modern")),
        ("train-gpt-modern", ["--arch", "qwen3", "--window", 16], dict(arch="qwen3", window=16)),
        ("train-gpt-mha", ["--optimizer", "adamw", "--schedule", "cosine", "--dropout", 0.1, "--accum", 2],
         dict(optimizer="adamw", schedule="cosine", dropout=0.1, accum=2)),
    ],
)
@pytest.mark.parametrize("source", ["path", "text"])
def test_the_file_of_the_program(program, tmp_path, book, text, name, flags, keywords, source):
    sizes = ["--layers", 2, "--dmodel", 32, "--seq", 32, "--batch", 4, "--steps", 6]
    if "--bpe-vocab-size" in flags:
        flags = [*flags[:2], "--vocab-size", 300]
    shown = program(name, "--data", book, *sizes, *flags, "--save", "a.ckpt", "--eval-every", 0,
                    "--message-format", "json", "--log-every", 1)
    options = dict(n_layers=2, d_model=32, seq_len=32, batch_size=4, steps=6)
    run = traingpt.Trainer(book if source == "path" else text, **options, **keywords)
    losses = run.train()["loss"]
    run.save(tmp_path / "b.ckpt")
    assert (tmp_path / "a.ckpt").read_bytes() == (tmp_path / "b.ckpt").read_bytes()
    said = [np.float32(x) for x in re.findall(r'"event":"step".*?"loss":([0-9.e+-]+)', shown.stdout)]
    assert said and (np.array(said) == losses).all()


def test_the_built_in_stories_of_the_program(program, tmp_path):
    program("train-gpt-mha", "--steps", 3, "--layers", 1, "--dmodel", 16, "--save", "a.ckpt")
    run = traingpt.Trainer(steps=3, n_layers=1, d_model=16)
    run.train()
    run.save(tmp_path / "b.ckpt")
    assert (tmp_path / "a.ckpt").read_bytes() == (tmp_path / "b.ckpt").read_bytes()
    found = run.evaluate(tokens=4096)
    assert set(found["facts"]) and 0 <= found["facts_accuracy"] <= 1
    assert run.sample(n=20)


def test_a_file_of_the_program_goes_on(program, tmp_path, book, text):
    program("train-gpt-mha", "--data", book, "--steps", 9, "--layers", 1, "--dmodel", 16,
            "--save", "whole.ckpt")
    half = traingpt.Trainer(text, steps=9, n_layers=1, d_model=16)
    half.train(4)
    half.save(tmp_path / "half.ckpt")
    program("train-gpt-mha", "--load", "half.ckpt", "--data", book, "--save", "rest.ckpt")
    again = traingpt.Trainer.load(tmp_path / "half.ckpt", text)
    again.train()
    again.save(tmp_path / "again.ckpt")
    whole = (tmp_path / "whole.ckpt").read_bytes()
    assert whole == (tmp_path / "rest.ckpt").read_bytes() == (tmp_path / "again.ckpt").read_bytes()


def test_the_folder_of_a_run_is_loaded_with_its_text(program, tmp_path, book):
    program("train-gpt-mha", "--data", book, "--steps", 3, "--layers", 1, "--dmodel", 16, "--out", "run")
    run = traingpt.Trainer.load(tmp_path / "run")
    assert run.step == 3 and run.evaluate()["scored"] > 100
    with pytest.warns(UserWarning, match="a new course"):
        run.train(2)
    assert run.step == 5


def test_more_steps_are_those_of_the_program(program, tmp_path, book, text):
    options = ["--layers", 1, "--dmodel", 16]
    program("train-gpt-mha", "--data", book, "--steps", 4, *options, "--save", "a.ckpt")
    program("train-gpt-mha", "--load", "a.ckpt", "--data", book, "--steps", 3, "--save", "b.ckpt")
    run = traingpt.Trainer(text, steps=4, n_layers=1, d_model=16)
    run.train()
    with pytest.warns(UserWarning, match="a new course"):
        run.train(3)
    run.save(tmp_path / "c.ckpt")
    assert (tmp_path / "b.ckpt").read_bytes() == (tmp_path / "c.ckpt").read_bytes()


def test_what_is_saved_comes_back(small, text, tmp_path):
    small.train(5)
    small.save(tmp_path / "a")
    small.save(str(tmp_path / "light"), optimizer=False)
    assert (tmp_path / "light").stat().st_size < (tmp_path / "a").stat().st_size
    again = traingpt.Trainer.load(tmp_path / "a")
    assert again.step == 5 and again.settings == small.settings
    with pytest.raises(ValueError, match=r"set_data\(\)"):
        again.train(1)
    with pytest.raises(ValueError, match="give the same data, or add allow_data_change"):
        again.set_data(text + "!")
    again.set_data(text)
    assert (again.train()["loss"] == small.train()["loss"]).all()
    again.set_data(text + "!", allow_data_change=True)
    changed = traingpt.Trainer.load(tmp_path / "a", text, lr=0.5)
    assert changed.settings["lr"] == 0.5


@pytest.mark.parametrize("kind", ["byte", "char"])
def test_every_kind_of_data(text, tmp_path, book, kind):
    (tmp_path / "more.txt").write_text("another file. " * 40)
    for data in [text, text.encode(), bytearray(text.encode()), book, [book, tmp_path / "more.txt"], tmp_path]:
        run = traingpt.Trainer(data, tokenizer=kind, **{**SMALL, "steps": 1})
        assert np.isfinite(run.train()["loss"]).all()


def test_every_kind_of_token_numbers():
    numbers = np.arange(2000) % 17
    losses = set()
    for data in [
        numbers, numbers.astype(np.uint16), numbers.astype(np.int8), numbers.tolist(),
        np.repeat(numbers, 2)[::2], numbers[::-1].copy()[::-1], np.stack([numbers, numbers], 1)[:, 0],
        numbers.astype(">i4"),
    ]:
        run = traingpt.Trainer(data, **{**SMALL, "steps": 2})
        assert run.vocab_size == 17
        losses.add(tuple(run.train()["loss"]))
    assert len(losses) == 1
    written = run.generate([1, 2, 3], 5, temperature=0)
    assert written.shape == (5,) and written.dtype == np.int64 and (written < 17).all()
    assert written[0] == run.logits([1, 2, 3])[-1].argmax()
    with pytest.raises(ValueError, match="numbers"):
        run.sample("text", 5)


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (np.array([1, -1]), ValueError, "-1 is no token number"),
        (np.array([1, 1 << 40]), ValueError, "no token number"),
        (np.array([1.0, 2.0]), TypeError, "whole numbers"),
        (["one", "two"], TypeError, "join them"),
        ([], ValueError, "empty"),
        ("too short", ValueError, "too small"),
        (pathlib.Path("no/such/file"), FileNotFoundError, "no/such/file"),
        (object(), TypeError, "a text, bytes, a path"),
        (np.zeros((3, 3), int), ValueError, "2 axes"),
    ],
)
def test_what_is_no_data_is_refused(data, error, said):
    with pytest.raises(error, match=said):
        traingpt.Trainer(data, **SMALL)


def test_a_name_is_not_taken_for_a_text(book, monkeypatch):
    monkeypatch.chdir(book.parent)
    with pytest.raises(ValueError, match=r"pathlib.Path\('book.txt'\)"):
        traingpt.Trainer("book.txt", **SMALL)


@pytest.mark.parametrize(
    ("keywords", "error", "said"),
    [
        (dict(layers=2), TypeError, "did you mean n_layers?"),
        (dict(batchsize=2), TypeError, "did you mean batch_size?"),
        (dict(head=2), TypeError, "did you mean heads?"),
        (dict(xyzzy=2), TypeError, "settings_help"),
        (dict(n_layers=2.5), TypeError, "n_layers: expected a whole number, not 2.5"),
        (dict(n_layers=True), TypeError, "n_layers: expected a whole number"),
        (dict(n_layers=-1), ValueError, "n_layers: -1"),
        (dict(n_layers=0), ValueError, "n_layers: 0"),
        (dict(dropout=1.5), ValueError, "dropout: 1.5"),
        (dict(heads=5), ValueError, "heads"),
        (dict(optimizer="sgd"), ValueError, "optimizer.*sgd"),
        (dict(arch="bert"), ValueError, "'baseline', 'gpt2', 'llama', 'qwen3'"),
        (dict(tokenizer="words"), ValueError, "'byte', 'char', 'bpe'"),
        (dict(attention="linear"), ValueError, "'single-head', 'multi-head' and 'modern'"),
        (dict(attention="multi-head", kv_heads=1), ValueError, "kv_heads: multi-head attention"),
        (dict(threads=0), ValueError, "threads"),
        (dict(d_model=16384, n_layers=64), MemoryError, "lower d_model, n_layers, batch_size or seq_len"),
    ],
)
def test_wrong_settings_are_refused_by_name(text, keywords, error, said):
    with pytest.raises(error, match=said):
        traingpt.Trainer(text, **{**SMALL, **keywords})


def test_settings_make_such_a_run_again(text):
    for keywords in [{}, dict(kv_heads=1), dict(heads=1), dict(arch="gpt2"), dict(schedule="constant"), dict(ngrams=[2, 3], ngram_rows=40)]:
        run = traingpt.Trainer(text, **{**SMALL, **keywords})
        again = traingpt.Trainer(text, **run.settings)
        assert again.settings == run.settings
        assert (again.train(2)["loss"] == run.train(2)["loss"]).all()


def test_a_longer_training_than_planned_is_asked_about(small):
    small.train(5)
    with pytest.raises(ValueError, match="steps 50: of the 12 that were planned 7 are left"):
        small.train(50)
    assert small.step == 5 and len(small.train()["loss"]) == 7
    assert len(small.history["loss"]) == 12


def test_a_warm_up_that_is_too_long_is_warned_of(text):
    with pytest.warns(UserWarning, match="the peak is never reached") as found:
        traingpt.Trainer(text, **SMALL, warmup_steps=100)
    assert found[0].filename == __file__


def test_validation_text_of_its_own(text):
    run = traingpt.Trainer(text, val="Lucy met Tom. " * 30, **SMALL)
    assert run.evaluate()["scored"] < 500
    with pytest.raises(ValueError, match="learned too"):
        traingpt.Trainer(text, val=text, **SMALL)
    none = traingpt.Trainer(text, val_frac=0.0, **SMALL)
    with pytest.raises(ValueError, match="val_frac"):
        none.evaluate()
    assert none.evaluate("Lucy met Tom. " * 30)["scored"] == 419


def test_weights_are_copies_and_set_all_or_nothing(small, text):
    weights = small.state_dict()
    assert list(weights)[0] == "wte" and weights["blocks.0.w_qkv"].shape == (32, 96)
    assert all(w.dtype == np.float32 for w in weights.values())
    assert sum(w.size for w in weights.values()) == small.parameters
    weights["wte"][:] = 7
    assert not (small.state_dict()["wte"] == 7).any()
    before = small.logits("Lucy")
    missing = {k: v for k, v in weights.items() if k != "b_lm"}
    for state, error in [
        (missing, KeyError), ({**weights, "more": 1}, KeyError),
        ({**weights, "wpe": weights["wpe"][:5]}, ValueError),
        ({**weights, "wpe": np.full_like(weights["wpe"], np.nan)}, ValueError),
        ({**weights, "wpe": "?"}, TypeError),
    ]:
        with pytest.raises(error):
            small.load_state_dict(state)
    assert (small.logits("Lucy") == before).all()
    doubled = {k: np.asfortranarray(v.astype(np.float64)) for k, v in weights.items()}
    small.load_state_dict(doubled)
    assert (small.state_dict()["wte"] == 7).all()


def test_logits(small):
    small.train(1)  # an output head of zeros says the same everywhere
    one = small.logits("Lucy met")
    assert one.shape == (8, 256) and one.dtype == np.float32
    tokens = small.encode("Lucy met")
    assert (small.logits(tokens) == one).all()
    assert (small.logits(np.stack([tokens, tokens]))[1] == one).all()
    assert (small.logits(tokens[::-1])[0] != one[0]).any()
    assert small.decode(tokens) == "Lucy met" and len(small.vocabulary) == 256
    for wrong in ["", "x" * 33, [256], np.zeros((2, 2, 2), int)]:
        with pytest.raises(ValueError):
            small.logits(wrong)
