"""What is inside: attention, gradients, everything that is computed, heads."""

import copy
import sys

import numpy as np
import pytest
import traingpt
from conftest import SMALL


TEXT, OTHER = "Lucy met Tom. So Lucy", "Ruth met Sam. So Ruth"
# What can be replaced, in the order in which it is computed.
PLACES = ["resid_pre", "z", "attn_out", "resid_mid", "mlp_post", "mlp_out", "resid_post"]


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
    names = [PLACES[0], "pattern", *PLACES[1:]]
    assert list(cache) == [f"blocks.{i}.{name}" for i in range(2) for name in names]
    maps = trained.attention("Lucy met Tom.")[1]
    w = trained.state_dict()
    for i in range(2):
        assert (cache[f"blocks.{i}.pattern"] == maps[i]).all()
        pre, mid, post = (cache[f"blocks.{i}.resid_{at}"] for at in ["pre", "mid", "post"])
        attended = cache[f"blocks.{i}.z"] @ w[f"blocks.{i}.w_proj"] + w.get(f"blocks.{i}.b_proj", 0)
        assert np.allclose(cache[f"blocks.{i}.attn_out"], attended, atol=1e-5)
        assert (pre + cache[f"blocks.{i}.attn_out"] == mid).all()
        mlp = cache[f"blocks.{i}.mlp_post"] @ w[f"blocks.{i}.w_out"] + w.get(f"blocks.{i}.b_out", 0)
        assert np.allclose(cache[f"blocks.{i}.mlp_out"], mlp, atol=1e-5)
        assert (mid + cache[f"blocks.{i}.mlp_out"] == post).all()
    assert (cache["blocks.0.resid_post"] == cache["blocks.1.resid_pre"]).all()


def at_all(function):
    return [(f"blocks.{i}.{name}", function) for i in range(2) for name in PLACES]


def test_hooks_that_change_nothing(trained):
    logits, cache = trained.run_with_cache(TEXT)
    seen = []

    def look(value, name):
        seen.append(name)
        assert value.dtype == np.float32 and (value == cache[name]).all()
        value[:] = np.nan  # a copy

    assert (trained.run_with_hooks(TEXT, at_all(look)) == logits).all()
    assert seen == [name for name, _ in at_all(look)]
    assert (trained.run_with_hooks(TEXT, at_all(lambda value, name: value)) == logits).all()
    doubles = at_all(lambda value, name: value.astype(np.float64).tolist())
    assert (trained.run_with_hooks(trained.encode(TEXT)[None], fwd_hooks=doubles) == logits).all()
    assert (trained.run_with_hooks(TEXT, []) == logits).all()


def test_heads_that_are_hooked_away(trained):
    heads = trained.settings["heads"]
    for layer in range(2):
        for head in range(heads if heads > 1 else 0):

            def zero(value, name):
                value.reshape(len(value), heads, -1)[:, head] = 0
                return value

            off = trained.run_with_hooks(TEXT, [(f"blocks.{layer}.z", zero)])
            assert np.allclose(off, trained.without_heads([(layer, head)]).logits(TEXT), atol=1e-6)
            assert not np.allclose(off, trained.logits(TEXT), atol=1e-6)


def test_another_text_in_its_place(trained):
    """Whatever the stream is replaced by goes on as if it had been computed."""
    other, cache = trained.run_with_cache(OTHER)
    for name in ["blocks.0.resid_pre", "blocks.0.resid_mid", "blocks.1.resid_pre", "blocks.1.resid_post"]:
        put = trained.run_with_hooks(TEXT, [(name, lambda value, name: cache[name])])
        assert (put == other).all(), name
    # One after the other at the same place, and of all that comes behind.
    seen = []
    put, look = (lambda value, name: cache[name]), (lambda value, name: seen.append(value))
    hooks = [("blocks.1.resid_pre", put), ("blocks.1.resid_pre", look), ("blocks.1.z", look)]
    trained.run_with_hooks(TEXT, hooks)
    assert (seen[0] == cache["blocks.1.resid_pre"]).all() and (seen[1] == cache["blocks.1.z"]).all()


def test_hooks_that_are_refused(trained):
    same = lambda value, name: value
    for name in ["blocks.2.z", "blocks.0.hook_z", "z", "blocks.00.z", ""]:
        why = f"there is no '{name}': names are blocks.0 to blocks.1, with .resid_pre, .z, "
        with pytest.raises(ValueError, match=why):
            trained.run_with_hooks(TEXT, [(name, same)])
    with pytest.raises(ValueError, match="pattern' can be read, by run_with_cache.*, and not replaced"):
        trained.run_with_hooks(TEXT, [("blocks.1.pattern", same)])
    no_lists = [("blocks.0.z", same), {"blocks.0.z": same}, 5, same]
    for hooks in [*no_lists, [("blocks.0.z", 1)], [("blocks.0.z",)]]:
        with pytest.raises(TypeError, match="fwd_hooks: expected a list of pairs"):
            trained.run_with_hooks(TEXT, hooks)
    t, c = len(TEXT), 32
    for shape in [(t - 1, c), (c, t), (t, c, 1), (1, t, c), (t * c,), ()]:
        why = rf"in the place of 'blocks.1.mlp_out' has the shape .*, not \[{t}, {c}\]"
        with pytest.raises(ValueError, match=why):
            trained.run_with_hooks(TEXT, [("blocks.1.mlp_out", lambda value, name: np.zeros(shape))])
    for wrong in ["text", [[None]], np.zeros((t, c), bool), object()]:
        with pytest.raises(TypeError, match="'blocks.1.mlp_out': expected an array of numbers"):
            trained.run_with_hooks(TEXT, [("blocks.1.mlp_out", lambda value, name: wrong)])
    with pytest.raises(ValueError, match="nothing to read"):
        trained.run_with_hooks("", [])
    assert trained.logits(TEXT).shape == (t, trained.vocab_size)


def test_what_a_hook_raises_comes_out(trained):
    class Own(Exception):
        pass

    def fail(value, name):
        called.append(name)
        raise Own("mine")

    logits = trained.logits(TEXT)
    for _ in range(20):
        called = []
        with pytest.raises(Own, match="mine"):
            trained.run_with_hooks(TEXT, at_all(fail))
        with pytest.raises(Own, match="mine"):
            trained.generate(TEXT, 50, fwd_hooks=at_all(fail))
        assert called == ["blocks.0.resid_pre"] * 2
        assert (trained.logits(TEXT) == logits).all()
    with pytest.raises(SystemExit):
        trained.run_with_hooks(TEXT, [("blocks.0.z", lambda value, name: sys.exit(3))])
    with pytest.raises(TypeError, match="positional argument"):
        trained.run_with_hooks(TEXT, [("blocks.0.z", lambda value: value)])


def test_a_hook_uses_the_trainer(trained):
    def inside(value, name):
        nested = trained.run_with_hooks(TEXT, [("blocks.1.z", lambda value, name: None)])
        assert (nested == trained.logits(TEXT)).all()
        return trained.run_with_cache(OTHER)[1][name]

    put = trained.run_with_hooks(TEXT, [("blocks.0.resid_pre", inside)])
    assert (put == trained.logits(OTHER)).all()


def test_writing_with_hooks(trained):
    plain = trained.generate(TEXT, 30, temperature=0)
    rows = []

    def look(value, name):
        rows.append(len(value))

    hooks = [("blocks.1.resid_post", look)]
    assert (trained.generate(TEXT, 30, temperature=0, fwd_hooks=hooks) == plain).all()
    # As long as the context is not full each token adds a row; then the window moves.
    assert rows == [min(len(TEXT) + i, 32) for i in range(30)]
    hooks = at_all(lambda value, name: None)
    assert trained.sample(TEXT, 30, seed=5, fwd_hooks=hooks) == trained.sample(TEXT, 30, seed=5)
    # With another text's stream all that is written follows that text.
    put = lambda value, name: np.concatenate([start, value[len(start):]])
    start = trained.run_with_cache(OTHER)[1]["blocks.0.resid_pre"]
    put_in = trained.generate(TEXT, 10, temperature=0, fwd_hooks=[("blocks.0.resid_pre", put)])
    assert (put_in == trained.generate(OTHER, 10, temperature=0)).all()


def test_what_would_be_said_after_each_block(trained):
    said = trained.logit_lens(TEXT)
    logits = trained.logits(TEXT).astype(np.float64)
    p = np.exp(logits - logits.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    assert all(of.shape == (3, len(TEXT)) for of in said.values())
    assert said["first"].dtype == np.int64 and (said["first"][2] == logits.argmax(-1)).all()
    assert np.allclose(said["p"][2], p.max(-1), atol=1e-6) and np.isnan(said["p_next"][:, -1]).all()
    ids = trained.encode(TEXT)
    assert np.allclose(said["p_next"][2, :-1], p[np.arange(len(ids) - 1), ids[1:]], atol=1e-6)
    assert (said["p"] >= said["p_next"])[:, :-1].all() and not np.allclose(said["p"][0], said["p"][2])


def test_two_texts_are_explained(trained):
    heads, t = trained.settings["heads"], len(TEXT)
    answers = trained.encode("L")[0], "Tom"
    found = trained.patch(TEXT, OTHER, answers)
    a, b = found["answers"]
    assert (a, b) == (answers[0], trained.encode("T")[0]) and found["answer_texts"] == ("L", "T")
    assert "".join(found["clean"]) == TEXT and "".join(found["other"]) == OTHER
    caches = [trained.run_with_cache(text) for text in (TEXT, OTHER)]
    d = lambda logits: float(logits[-1, a]) - float(logits[-1, b])
    clean, other = (d(logits) for logits, _ in caches)
    assert found["differences"] == pytest.approx((clean, other), abs=1e-6)
    first = tuple(logits[-1].argmax() for logits, _ in caches)
    assert found["right"] == (first == (a, b))

    def share(name, rows, columns=slice(None)):
        """By hooks, one part at a time."""
        shares = []
        for text, (_, cache) in zip((TEXT, OTHER), caches[::-1]):

            def put(value, name):
                value[rows, columns] = cache[name][rows, columns]
                return value

            shares.append((clean - d(trained.run_with_hooks(text, [(name, put)]))) / (clean - other))
        return shares[0], 1 - shares[1]

    def same(of, at, by_hooks):
        # The scores of two short texts are close to each other: the last digits count.
        assert np.allclose((of["put_in"][at], of["taken_out"][at]), by_hooks, atol=3e-3)

    for where, rows in [("end", slice(t - 1, t)), ("everywhere", slice(None))]:
        of = found[where]
        assert of["heads"]["put_in"].shape == of["heads"]["turned"].shape == (2, heads)
        assert of["all_heads"]["taken_out"].shape == of["mlps"]["put_in"].shape == (2,)
        for layer in range(2):
            same(of["mlps"], layer, share(f"blocks.{layer}.mlp_out", rows))
            same(of["all_heads"], layer, share(f"blocks.{layer}.z", rows))
            wide = caches[0][1]["blocks.0.z"].shape[1] // heads
            for head in range(heads):
                of_head = slice(head * wide, head * wide + wide)
                same(of["heads"], (layer, head), share(f"blocks.{layer}.z", rows, of_head))
    assert found["stream"]["put_in"].shape == (2, t)
    for i in range(t):
        same(found["stream"], (1, i), share("blocks.1.resid_pre", slice(i, i + 1)))
    # Before block 0 the positions that are the same in both texts carry nothing.
    equal = np.array([x == y for x, y in zip(TEXT, OTHER)])
    assert (found["stream"]["put_in"][0][equal] == 0).all()
    for of in found["paths"].values():
        assert set(of) <= set(found["receivers"])


def test_texts_that_cannot_be_explained(trained):
    for clean, other, answers, why in [
        (TEXT, OTHER + "x", ("L", "T"), "not equally many"),
        (TEXT, TEXT, ("L", "T"), "the same"),
        (TEXT, OTHER, ("L", "Lu"), "begin with the same token"),
        ("", OTHER, None, "nothing to read"),
        (TEXT, OTHER, (0, 100_000), "no token of the model"),
        (TEXT, OTHER, (0, -1), "-1"),
        ("L" * 40, "T" * 40, ("L", "T"), "1 to 32 tokens"),
    ]:
        with pytest.raises(ValueError, match=why):
            trained.patch(clean, other, answers)
    with pytest.raises(ValueError, match=r"would say .*: answers=\(.., ..\) names"):
        traingpt.Trainer(TEXT * 20, **SMALL).patch(TEXT, OTHER)  # an output head of zeros
    for answers in ["L", ("L",), ("L", "T", "x"), 5]:
        with pytest.raises(TypeError, match="answers: expected a pair"):
            trained.patch(TEXT, OTHER, answers)
    with pytest.raises(TypeError):
        trained.patch(TEXT, OTHER, ("L", True))
    with pytest.raises(ValueError, match="has not learned the built-in stories"):
        trained.explain_facts()


def test_facts_are_explained():
    run = traingpt.Trainer(heads=2, n_layers=2, d_model=32, steps=400)  # enough for some pronouns
    run.train()
    found = run.explain_facts("he-she", pairs=24)
    assert found["kind"] == "he-she" and found["tried"] == 24 and 0 < found["right"] <= 24
    for where in ["end", "everywhere"]:
        of = found[where]
        assert all(x.shape == (2, 2) for x in of["heads"].values())
        assert all(x.shape == (2,) for what in ["all_heads", "mlps"] for x in of[what].values())
    assert list(found["stream"]) == ["changed", "between", "end"]
    # Before block 0 only the letters that were changed carry anything, and those carry all of it.
    before = [found["stream"][at]["put_in"][0] for at in ["changed", "between", "end"]]
    assert before == pytest.approx([1, 0, 0], abs=1e-4)
    assert found["end"]["heads"]["carries"].dtype == bool
    assert set(found["paths"]) <= {(0, 0), (0, 1)}
    with pytest.raises(ValueError, match="kind 'name': valid values: 'thing'"):
        run.explain_facts("name")
    with pytest.raises(ValueError, match="pairs 0"):
        run.explain_facts(pairs=0)


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
