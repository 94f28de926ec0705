"""What somebody tries who comes from PyTorch or transformers: it works, or the answer says what to do."""

import io
import json
import re
import sys
import weakref

import numpy as np
import pytest
import traingpt
from conftest import SMALL
from traingpt import _progress


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("learning_rate", "did you mean lr?"), ("n_embd", "did you mean d_model?"),
        ("hidden_size", "did you mean d_model?"), ("block_size", "did you mean seq_len?"),
        ("num_hidden_layers", "did you mean n_layers?"), ("n_head", "did you mean heads?"),
        ("max_iters", "did you mean steps?"),
        ("dtype", "float32"), ("compile", "settings_help"),
    ],
)
def test_names_of_other_libraries_are_known(text, name, said):
    with pytest.raises(TypeError, match=said):
        traingpt.Trainer(text, **{name: 1})


def test_no_name_is_suggested_for_itself(small, tmp_path):
    small.save(tmp_path / "a")
    for name in ["tokenizer", "vocab_size", "arch"]:
        with pytest.raises(TypeError, match=rf"load\(\) does not take '{name}'$"):
            traingpt.Trainer.load(tmp_path / "a", **{name: 1})
    with pytest.raises(ValueError, match="d_model 32 in file, 64 given; leave it out"):
        traingpt.Trainer.load(tmp_path / "a", d_model=64)


def test_numbers_below_0_are_values_and_true_is_no_number(small, text):
    calls = [
        lambda n: traingpt.Trainer(text, heads=n), lambda n: traingpt.Trainer(text, threads=n),
        small.train, lambda n: small.train(1, every=n), lambda n: small.evaluate(tokens=n),
        lambda n: small.sample("a", n), lambda n: small.sample("a", top_k=n),
        lambda n: small.sample("a", seed=n), lambda n: small.generate("a", n), small.batch,
        lambda n: small.head_roles(tokens=n), lambda n: small.prune_heads(most=n), traingpt.stories,
    ]
    for call in calls:
        with pytest.raises(ValueError, match="-1 is no whole number (of|from) 0"):
            call(-1)
        for wrong in [True, 1.0, "1"]:
            with pytest.raises(TypeError, match="whole number"):
                call(wrong)
    with pytest.raises(ValueError, match=r"no head \(-1, 0\): layers are 0 to 1"):
        small.without_heads([(-1, 0)])
    assert small.step == 0


def test_steps_and_epochs_are_not_both_given(text):
    with pytest.raises(ValueError, match="steps or epochs"):
        traingpt.Trainer(text, epochs=1, **SMALL)


class NeedsGrad:
    """As a parameter of PyTorch's."""

    def __array__(self, *_, **__):
        raise RuntimeError("call detach() first")


def test_a_state_dict_that_does_not_fit_is_said_whole(small):
    weights = small.state_dict()
    other = {f"module.{name}": w for name, w in weights.items() if name != "wte"}
    with pytest.raises(KeyError) as e:
        small.load_state_dict({**other, "wpe": weights["wpe"]})
    said = str(e.value)
    missing, unknown = said.split(";")
    assert "wte" in missing and "b_lm" in missing and "wpe" not in missing and "module.b_lm" in unknown
    for wrong in [None, [1], "wte", list(weights.items()), {1: 2}, small]:
        with pytest.raises(TypeError, match="a dict of names and arrays"):
            small.load_state_dict(wrong)
    with pytest.raises(TypeError, match=r"wte: .* \(call detach\(\) first\)"):
        small.load_state_dict({**weights, "wte": NeedsGrad()})
    with pytest.raises(TypeError, match="wte: .* of type complex64"):
        small.load_state_dict({**weights, "wte": weights["wte"] * np.complex64(1)})


def test_one_row_of_tokens_is_a_text(small):
    tokens = small.encode("Lucy met")
    assert (small.generate(tokens[None], 5) == small.generate(tokens, 5)).all()
    assert (small.attention(tokens[None])[1] == small.attention(tokens)[1]).all()
    for wrong in [small.generate, small.attention, small.run_with_cache]:
        with pytest.raises(ValueError, match=r"\[T\] or \[1, T\], not 2 rows"):
            wrong([[1, 2], [3, 4]])
    with pytest.raises(TypeError, match="expected a text, bytes or an array of token numbers, not list"):
        small.logits(["one text", "two"])
    with pytest.raises(TypeError, match="not of type bool"):
        small.logits(np.array([True, False]))


@pytest.mark.parametrize("ignored", [-1, -100])
def test_targets_that_are_ignored(small, ignored):
    inputs, targets = small.batch(0)
    logits = small.logits(inputs).astype(np.float64)
    losses = np.log(np.exp(logits).sum(-1)) - np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    kept = targets != ord("e")
    assert 0 < kept.sum() < kept.size
    loss, _ = small.loss_and_gradients(inputs, np.where(kept, targets, ignored))
    assert loss == pytest.approx(losses[kept].mean(), rel=1e-5)
    with pytest.raises(ValueError, match="-2 is no token number"):
        small.loss_and_gradients(inputs, np.where(kept, targets, -2))


def test_the_batch_of_conversations_has_a_loss(tmp_path):
    says = [[("user", f"what is {i}?"), ("assistant", f"it is {i}.")] for i in range(300)]
    lines = [json.dumps({"messages": [{"role": who, "content": what} for who, what in of]}) for of in says]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    run = traingpt.Trainer(tmp_path / "chats.jsonl", **{**SMALL, "seq_len": 64})
    inputs, targets = run.batch(0)
    assert (targets == -1).any() and (targets > -1).any()
    assert run.loss_and_gradients(inputs, targets)[0] == pytest.approx(run.train(1)["loss"][0], rel=1e-5)


def test_a_callback_that_is_none_costs_nothing(small):
    with pytest.raises(TypeError, match=r"callback: 5 is no function of \(run, report\)"):
        small.train(1, 5)
    small.train()
    before = small.settings
    with pytest.raises(TypeError):
        small.train(3, "stop")
    assert small.step == 12 and small.settings == before


def test_a_callback_that_trains_stays_within_the_plan(small):
    done = small.train(callback=lambda run, report: run.train(min(4, run.steps - run.step)) and None)
    assert small.step == 12 == len(small.history["loss"])
    assert list(done["step"]) == [1, 6, 11]


def test_a_finished_run_says_so_and_takes_a_rate(small):
    small.train(4)
    with pytest.raises(ValueError, match="lr: .* 8 of the 12 that were planned are left"):
        small.train(4, lr=0.001)
    small.train()
    with pytest.warns(UserWarning, match=r"no step is left of the plan: train\(n\) makes n more"):
        assert len(small.train()["loss"]) == 0
    for rate in [0.001, 0.002]:
        with pytest.warns(UserWarning, match="a new course"):
            assert small.train(4, lr=rate)["lr"][0] == np.float32(rate)
    with pytest.raises(ValueError, match="lr: -1 is not"):
        small.train(4, lr=-1)
    assert small.step == 20


@pytest.mark.parametrize("keywords", [dict(schedule="constant"), dict(min_lr=0.0005)])
def test_the_rate_of_more_steps_is_the_one_asked_for(text, keywords):
    run = traingpt.Trainer(text, **SMALL, **keywords)
    run.train()
    with pytest.warns(UserWarning) if "min_lr" in keywords else pytest.MonkeyPatch.context():
        assert run.train(3, lr=0.002)["lr"][0] == np.float32(0.002)


def test_a_model_of_numbers_has_no_text():
    run = traingpt.Trainer(np.arange(2000) % 5, **SMALL)
    works = [
        lambda: run.sample([1, 2], 3), lambda: run.sample(n=3), lambda: run.decode([1]),
        lambda: run.encode("a"), lambda: run.logits("a"), lambda: run.evaluate("some text"),
    ]
    for work in works:
        with pytest.raises(ValueError, match=r"token numbers and no text: .* generate\(\)"):
            work()
    assert run.vocabulary == ["[0]", "[1]", "[2]", "[3]", "[4]"]
    assert run.attention([1, 2])[0] == ["[1]", "[2]"] and len(run.generate([1, 2], 3)) == 3
    assert "<pre" not in run._repr_html_()


def test_one_text_that_stops(small):
    whole = small.sample("Lucy", 40)
    end = next(letter for letter in whole[5:] if letter.isascii())
    assert small.sample("Lucy", 40, stop=end) == small.sample("Lucy", 40, stop=[end]) == whole[:whole.index(end)]
    for wrong in [5, [5], [b"a"]]:
        with pytest.raises(TypeError, match="stop: expected a text or a list of texts$"):
            small.sample("Lucy", 5, stop=wrong)


def test_files_of_others_are_sent_to_their_method(text, tmp_path):
    run = traingpt.Trainer(text, arch="gpt2", **SMALL)
    run.to_hf(tmp_path / "hf")
    run.to_gguf(tmp_path / "m.gguf")
    for path, said in [("hf", "from_hf"), ("hf/model.safetensors", "from_hf"), ("m.gguf", "from_gguf")]:
        with pytest.raises(ValueError, match=rf"Trainer\.{said}\(\)"):
            traingpt.Trainer.load(tmp_path / path)
    imported = traingpt.Trainer.from_hf(tmp_path / "hf")
    with pytest.raises(ValueError, match=r"came without a text: give it one by set_data\(\)"):
        imported.train(1)
    assert imported.steps == 0  # nothing is planned by a call that fails
    imported.set_data(text)
    assert len(imported.train(2)["loss"]) == 2


def test_a_trainer_can_be_referred_to_weakly(text):
    run = traingpt.Trainer(text, **SMALL)
    seen = weakref.ref(run)
    assert seen() is run
    del run
    assert seen() is None


def test_curve_and_text_are_no_wider_than_their_place(small):
    small.train(3)
    shown = small._repr_html_()
    (outer,) = re.findall(r'<div style="max-width: 40em">(<svg[^>]*>)', shown)
    assert 'width="100%"' in outer and "height" not in outer and "viewBox" in outer
    assert '<pre style="white-space: pre-wrap">' in shown


def test_the_line_of_progress_ends_with_the_last_step(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    line = _progress.Line(3)
    line.begun -= 2 * _progress.QUICK
    line.last = line.begun
    line.update(1, 0.5)
    line.update(2, 0.25)  # too soon to be shown on the way
    line.close()
    first, last = shown.getvalue().rstrip().split("\r")[1:]
    assert first.startswith("1/3 steps  loss=0.5000") and "left" in first
    assert last.startswith("3/3 steps  loss=0.2500  2 s") and "left" not in last
