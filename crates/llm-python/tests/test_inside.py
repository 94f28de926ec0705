"""What is inside: attention, gradients, everything that is computed, heads."""

import copy

import numpy as np
import pytest
import traingpt
from conftest import SMALL


@pytest.fixture(scope="module", params=[{}, dict(heads=1), dict(kv_heads=1, window=8), dict(arch="gpt2")])
def trained(request, text):
    run = traingpt.Trainer(text, **{**SMALL, **request.param})
    run.train()
    return run


def test_attention(trained):
    pieces, maps = trained.attention("Lucy met Tom.")
    heads = trained.settings["heads"]
    assert pieces == list("Lucy met Tom.") and maps.shape == (2, heads, 13, 13)
    assert maps.dtype == np.float32 and np.allclose(maps.sum(-1), 1, atol=1e-5)
    assert (np.triu(maps, 1) == 0).all()
    assert (trained.attention(trained.encode("Lucy met Tom."))[1] == maps).all()


def test_everything_that_is_computed(trained):
    logits, cache = trained.run_with_cache("Lucy met Tom.")
    assert (logits == trained.logits("Lucy met Tom.")).all()
    names = ["resid_pre", "pattern", "z", "resid_mid", "mlp_post", "resid_post"]
    assert list(cache) == [f"blocks.{i}.{name}" for i in range(2) for name in names]
    maps = trained.attention("Lucy met Tom.")[1]
    w = trained.state_dict()
    for i in range(2):
        assert (cache[f"blocks.{i}.pattern"] == maps[i]).all()
        pre, mid, post = (cache[f"blocks.{i}.resid_{at}"] for at in ["pre", "mid", "post"])
        attended = cache[f"blocks.{i}.z"] @ w[f"blocks.{i}.w_proj"] + w.get(f"blocks.{i}.b_proj", 0)
        assert np.allclose(pre + attended, mid, atol=1e-5)
        mlp = cache[f"blocks.{i}.mlp_post"] @ w[f"blocks.{i}.w_out"] + w.get(f"blocks.{i}.b_out", 0)
        assert np.allclose(mid + mlp, post, atol=1e-5)
    assert (cache["blocks.0.resid_post"] == cache["blocks.1.resid_pre"]).all()


def test_gradients_are_slopes_of_the_loss(trained):
    inputs, targets = trained.batch()
    assert inputs.shape == targets.shape == (4, 32) and (inputs[:, 1:] == targets[:, :-1]).all()
    loss, gradients = trained.loss_and_gradients(inputs, targets)
    weights = trained.state_dict()
    assert list(gradients) == list(weights)
    assert all(gradients[k].shape == weights[k].shape for k in weights)
    again, _ = trained.loss_and_gradients(np.concatenate([inputs, targets[:, -1:]], 1))
    assert again == loss
    # Along the gradient, the loss rises by its squared norm for each unit.
    norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in gradients.values()))
    step = 1e-2 / norm
    twin = copy.deepcopy(trained)
    ends = []
    for sign in [1, -1]:
        twin.load_state_dict({k: w + sign * step * gradients[k] for k, w in weights.items()})
        ends.append(twin.loss_and_gradients(inputs, targets)[0])
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(norm**2, rel=2e-2)


def test_the_batch_of_the_first_step(text):
    run = traingpt.Trainer(text, **SMALL)
    loss, _ = run.loss_and_gradients(*run.batch(0))
    assert run.train(1)["loss"][0] == np.float32(loss)


def test_roles_of_heads(trained):
    roles = trained.head_roles(tokens=2000)
    heads = trained.settings["heads"]
    assert [(r["layer"], r["head"]) for r in roles] == [(l, h) for l in range(2) for h in range(heads)]
    for r in roles:
        assert not r["off"] and (r["role"] is None or r["role"] in r["scores"])
        assert 0 <= r["scores"]["previous"] <= 1 and set(r["scores"]) == set(r["even"])
    assert trained.head_roles("Lucy met Tom. " * 20, tokens=100) != roles


def test_heads_that_can_go(trained):
    heads = trained.settings["heads"]
    report = trained.prune_heads(tokens=512)
    assert report["loss"] == trained.evaluate(tokens=512)["loss"]
    assert [name for name, _ in report["alone"]] == [(l, h) for l in range(2) for h in range(heads)]
    assert len(report["greedy"]) == 2 * heads
    (first, loss), alone = report["greedy"][0], dict(report["alone"])
    assert loss == alone[first] == min(alone.values())
    with pytest.raises(ValueError, match=r"no head \(2, 0\)"):
        trained.without_heads([(2, 0)])
    if heads > 1:
        without = trained.without_heads([first])
        assert without.evaluate(tokens=512)["loss"] == loss
        assert [r["off"] for r in without.head_roles(tokens=300)].count(True) == 1
        assert trained.evaluate(tokens=512)["loss"] == report["loss"]


def test_a_run_shows_itself(small):
    assert "42,816 parameters" in repr(small) and "<svg" not in small._repr_html_()
    small.train(3)
    shown = small._repr_html_()
    assert "<svg" in shown and "<pre" in shown and "step 3 of 12" in shown


def test_the_help_has_every_setting(small):
    shown = traingpt.settings_help()
    for name in ["n_layers", "kv_heads", "steps", "batch_size"]:
        assert f"\n{name} " in "\n" + shown
    assert "'muon'" in shown and "layer | rms" in shown.replace("layer, rms", "layer | rms")
    for name in small.settings:
        assert name in shown or name == "attention"


def test_a_bar_is_shown_where_it_is_asked_for(small, capsys, monkeypatch):
    import traingpt._progress as progress

    monkeypatch.setattr(progress, "QUICK", 0.0)
    small.train(2)
    assert capsys.readouterr().err == ""
    small.train(2, progress=True)
    monkeypatch.setattr(progress, "tqdm", None)
    monkeypatch.setattr(progress.time, "monotonic", iter(range(100)).__next__)
    small.train(3, callback=lambda run, report: None, progress=True)
    assert "3/3 steps" in capsys.readouterr().err
