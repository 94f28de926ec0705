"""To other programs and back; against transformers and PyTorch where they are installed."""

import pickle

import numpy as np
import pytest
import traingpt
from conftest import SMALL

KINDS = [dict(arch="gpt2"), dict(arch="llama", kv_heads=1), dict(arch="qwen3"), dict(head_bias=False, heads=1)]


@pytest.fixture(params=KINDS, ids=lambda k: str(k))
def run(request, text):
    made = traingpt.Trainer(text, **{**SMALL, **request.param})
    made.train(4)
    return made


def test_hugging_face_and_back(run, text, tmp_path):
    run.to_hf(tmp_path / "hf")
    again = traingpt.Trainer.from_hf(tmp_path / "hf")
    assert np.allclose(again.logits("Lucy met"), run.logits("Lucy met"), atol=1e-5)
    with pytest.raises(ValueError, match=r"set_data\(\)"):
        again.train(1)
    tuned = traingpt.Trainer.from_hf(tmp_path / "hf", text, steps=3)
    assert len(tuned.train()["loss"]) == 3
    with pytest.raises(OSError, match="not empty"):
        run.to_hf(tmp_path / "hf")


def test_gguf_and_back(run, tmp_path):
    path = tmp_path / "model.gguf"
    run.to_gguf(path)
    again = traingpt.Trainer.from_gguf(path)
    assert np.allclose(again.logits("Lucy met"), run.logits("Lucy met"), atol=1e-5)
    run.to_gguf(path, stored="bf16")
    with pytest.raises(ValueError, match="'f32', 'bf16', 'q8_0'"):
        run.to_gguf(path, stored="q2")


def test_what_others_do_not_have_is_refused(small, tmp_path):
    small.train(1)
    with pytest.raises(ValueError, match="bias"):
        small.to_hf(tmp_path / "hf")
    with pytest.raises(ValueError, match="bias"):
        small.to_gguf(tmp_path / "a.gguf")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match="no such folder"):
        traingpt.Trainer.from_hf(tmp_path / "nowhere")
    with pytest.raises(TypeError, match=r"from_hf\(\) has no setting 'stesp'; did you mean steps"):
        traingpt.Trainer.from_hf(tmp_path / "nowhere", stesp=3)


def test_transformers_gives_the_same_logits(run, tmp_path):
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    run.to_hf(tmp_path / "hf")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf", dtype=torch.float32)
    tokens = run.encode("Lucy met Tom in the park")
    with torch.no_grad():
        logits = theirs(torch.from_numpy(tokens)[None]).logits[0].numpy()
    assert np.abs(logits - run.logits(tokens)).max() < 1e-5


def test_pytorch_finds_the_same_gradients(text, tmp_path):
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    run = traingpt.Trainer(text, **SMALL, arch="gpt2")
    run.train(4)
    run.to_hf(tmp_path / "hf")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf", dtype=torch.float64)
    inputs, targets = map(torch.from_numpy, run.batch())
    logits = model.eval()(inputs).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    ours, found = run.loss_and_gradients(inputs.numpy(), targets.numpy())
    assert abs(ours - loss.item()) < 1e-5
    theirs = dict(model.transformer.named_parameters())
    names = {"wte": "wte.weight", "wpe": "wpe.weight", "lnf_g": "ln_f.weight", "lnf_b": "ln_f.bias"}
    parts = {"w_qkv": "attn.c_attn.weight", "b_qkv": "attn.c_attn.bias", "w_proj": "attn.c_proj.weight",
             "b_proj": "attn.c_proj.bias", "w_fc": "mlp.c_fc.weight", "b_fc": "mlp.c_fc.bias",
             "w_out": "mlp.c_proj.weight", "b_out": "mlp.c_proj.bias", "ln1_g": "ln_1.weight",
             "ln1_b": "ln_1.bias", "ln2_g": "ln_2.weight", "ln2_b": "ln_2.bias"}
    for i in range(2):
        names |= {f"blocks.{i}.{a}": f"h.{i}.{b}" for a, b in parts.items()}
    assert set(names) == set(found)
    for name, other in names.items():
        assert np.abs(found[name] - theirs[other].grad.numpy()).max() < 1e-5, name


def test_an_adapter_learns_beside_a_model_of_hugging_faces(run, text, tmp_path):
    run.to_hf(tmp_path / "hf")
    whole = traingpt.Trainer.from_hf(tmp_path / "hf")
    with pytest.raises(ValueError, match="data"):
        traingpt.Trainer.from_hf(tmp_path / "hf", lora=2)
    tuned = traingpt.Trainer.from_hf(tmp_path / "hf", text, lora=2, steps=6, lr=0.02)
    assert np.array_equal(tuned.logits("Lucy met"), whole.logits("Lucy met"))  # B is 0
    learning = tuned.state_dict()
    assert all(name.endswith((".lora_a", ".lora_b")) for name in learning)
    tuned.train()
    after = tuned.logits("Lucy met")
    assert not np.allclose(after, whole.logits("Lucy met"), atol=1e-3)
    tuned.load_state_dict(learning)
    assert np.array_equal(tuned.logits("Lucy met"), whole.logits("Lucy met"))


def test_an_adapter_goes_out_by_itself_and_as_a_part(run, text, tmp_path):
    run.save(tmp_path / "base")
    tuned = traingpt.Trainer.load(tmp_path / "base", text, lora=2, steps=6, lr=0.02)
    tuned.train()
    after = tuned.logits("Lucy met")
    pickled = pickle.loads(pickle.dumps(tuned))  # finds the weights in their file
    assert np.array_equal(pickled.logits("Lucy met"), after)
    tuned.save(tmp_path / "adapter")
    (tmp_path / "base").rename(tmp_path / "moved")
    with pytest.raises(ValueError, match="base"):
        traingpt.Trainer.load(tmp_path / "adapter")
    again = traingpt.Trainer.load(tmp_path / "adapter", base=tmp_path / "moved")
    assert np.array_equal(again.logits("Lucy met"), after)
    tuned.to_hf(tmp_path / "hf")
    assert np.allclose(traingpt.Trainer.from_hf(tmp_path / "hf").logits("Lucy met"), after, atol=1e-5)
    tuned.to_peft(tmp_path / "peft")
    assert {path.name for path in (tmp_path / "peft").iterdir()} == {"adapter_config.json", "adapter_model.safetensors"}
    with pytest.raises(ValueError, match=r"to_hf\(\)"):
        run.to_peft(tmp_path / "none")
