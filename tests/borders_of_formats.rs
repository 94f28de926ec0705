//! Every setting of a model and of an attention against every format that is written: the model comes
//! back as it was, or the export is refused by the setting's name. Nothing is dropped in silence.
//!
//! The C++ original's checkpoints and nanoGPT's tables are only read: nothing of a model can be lost
//! there.

use llm_core::base::Value;
use llm_core::model::{
    Context, Mlp, Norm, Param, ParamList, Parameters, Positions, Rotary, RotaryScaling,
};
use llm_core::settings::MODEL;
use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, PaddedTokenizer, Tokenizer};
use llm_core::{Attention, AttentionSpec, Config, Result, Tensor, TinyGPT, no_grad};
use llm_formats::gguf::Stored;
use llm_formats::{FormatError, Imported, gguf, hugging_face, own_names};
use llm_run::settings::ATTENTION;
use llm_variant_modern::Modern;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A description that only its own program understands, and a tensor that no description has.
#[derive(Debug)]
struct Odd {
    inner: Modern,
    other: AttentionSpec,
    has_tensor: bool,
}

impl Odd {
    fn new(has_tensor: bool) -> Odd {
        let inner = Modern::new(4);
        let mut other = inner.spec();
        if !has_tensor {
            other.other.insert("odd.key", Value::Bool(true)).unwrap();
        }
        Odd { inner, other, has_tensor }
    }
}

impl Attention for Odd {
    fn spec(&self) -> AttentionSpec {
        self.other.clone()
    }

    fn parameters(&self, config: &Config) -> ParamList {
        let more = self.has_tensor.then(|| ("odd_tensor".to_string(), Param::gain(3)));
        self.inner.parameters(config).into_iter().chain(more).collect()
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        self.inner.forward(x, p, ctx)
    }
}

fn from_spec(spec: &AttentionSpec) -> Result<Arc<dyn Attention>> {
    match spec.other.is_empty() {
        true => Ok(Arc::new(Modern::from_spec(spec)?)),
        false => Ok(Arc::new(Odd::new(false))),
    }
}

/// A format: a model out to a path and in again, and what may then be said otherwise without another
/// function, by key.
struct Border {
    there_and_back: fn(&Path, &TinyGPT, &dyn Tokenizer) -> Result<Imported, FormatError>,
    otherwise: &'static [(&'static str, Value)],
}

const NO: Value = Value::Bool(false);
const YES: Value = Value::Bool(true);
/// What is not there is written as gains of 1 and biases of 0. How weights started no file says.
const OTHERWISE: [(&str, Value); 5] = [
    ("model.norm_affine", YES),
    ("model.head_bias", NO),
    ("model.mlp_bias", YES),
    ("qkv_bias", YES),
    ("proj_bias", YES),
];

const OWN: Border = Border {
    there_and_back: |path, model, tokenizer| {
        own_names::export(path, model, tokenizer)?;
        own_names::import(path, None, &from_spec)
    },
    otherwise: &[],
};

const HUGGING_FACE: Border = Border {
    there_and_back: |path, model, tokenizer| {
        hugging_face::prepare_folder(path)?;
        hugging_face::export(path, model, tokenizer)?;
        hugging_face::import(path, &from_spec)
    },
    otherwise: &OTHERWISE,
};

const GGUF: Border = Border {
    there_and_back: |path, model, tokenizer| {
        gguf::export(path, model, tokenizer, Stored::F32, "model")?;
        gguf::import(path, &from_spec)
    },
    otherwise: &OTHERWISE,
};

/// A GPT-2 and a Llama.
fn bases() -> [(Config, AttentionSpec); 2] {
    let gpt2 = Config::gpt2(256, 6, 24, 2);
    let (norm, mlp, positions) = (Norm::Rms, Mlp::SwiGlu, Positions::Rotary);
    let llama = Config { norm, mlp, positions, mlp_bias: false, ..gpt2.clone() };
    let heads = Modern::new(4);
    let rotary = heads.clone().with_rotary(10_000.0).without_biases();
    let plain = AttentionSpec { name: "multi-head".into(), ..heads.spec() };
    [(gpt2, plain), (llama, rotary.spec())]
}

/// A model none of whose gains and biases is as at its start; `None` for settings that are none.
fn model(config: &Config, attention: Arc<dyn Attention>) -> Option<TinyGPT> {
    let mut model = TinyGPT::with_attention(config.clone(), attention, 3).ok()?;
    for (k, (_, p)) in model.parameters_mut().enumerate() {
        let moved = |i: usize| ((i * 7 + k) % 11) as f32 / 16.0;
        p.data_mut().iter_mut().enumerate().for_each(|(i, x)| *x += moved(i));
    }
    Some(model)
}

fn tokenizer(vocab_size: usize) -> Arc<dyn Tokenizer> {
    match vocab_size {
        n @ ..256 => {
            Arc::new(CharTokenizer::from_text(&(b'a'..).take(n).collect::<Vec<_>>()).unwrap())
        }
        n => PaddedTokenizer::pad(Arc::new(ByteTokenizer), n),
    }
}

fn logits(model: &TinyGPT) -> Vec<f32> {
    let n = model.config().seq_len.min(4);
    no_grad(|| model.logits(&[1, 0, 0, 1][..n], [1, n])).unwrap().data().to_vec()
}

/// What of the description is another one after the way back, by key.
fn changed(model: &TinyGPT, back: &TinyGPT) -> Vec<(&'static str, Value)> {
    let mut changed = Vec::new();
    for row in MODEL {
        let (was, is) = ((row.get)(model.config()), (row.get)(back.config()));
        changed.extend((was != is).then_some((row.key, is)));
    }
    let specs = [model, back].map(|model| model.attention().spec());
    let [was, is] = specs.clone().map(|spec| spec.settings().unwrap());
    let keys: BTreeSet<&str> = was.iter().chain(is.iter()).map(|(key, _)| key).collect();
    for key in keys.into_iter().filter(|key| was.get(key) != is.get(key)) {
        let usual = if key.ends_with("_bias") { YES } else { Value::Text("nothing".into()) };
        changed.push((Box::leak(key.into()), is.get(key).cloned().unwrap_or(usual)));
    }
    let [was, is] = specs.map(|spec| (spec.n_heads, spec.kv_heads(), spec.head_mask));
    assert_eq!((was.0, was.1), (is.0, is.1));
    changed.extend((was.2 != is.2).then_some(("head_mask", Value::Bits(is.2))));
    changed
}

/// Sends the model over a border; whether it was carried. `names` are words of which a refusal has one.
fn crossed(border: &Border, model: &TinyGPT, names: &[&str], also: &[&str]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let tokenizer = tokenizer(model.config().vocab_size);
    let back = (border.there_and_back)(&folder.path().join("out"), model, &*tokenizer);
    let said = format!("{names:?} of {:?} in {:?}", model.attention().spec(), model.config());
    match back.and_then(Imported::into_model) {
        Ok((back, _)) => {
            for (key, value) in changed(model, &back) {
                let is_said = border.otherwise.contains(&(key, value.clone()));
                assert!(is_said || also.contains(&key), "{said}: {key} came back as {value:?}");
            }
            for (a, b) in logits(model).iter().zip(logits(&back)) {
                assert!((a - b).abs() < 1e-4 * a.abs().max(1.0), "{said}: {a} came back as {b}");
            }
            true
        }
        Err(refused) => {
            let line = refused.to_string();
            assert!(names.iter().any(|name| line.contains(name)), "{said}: {line}");
            false
        }
    }
}

/// Values of every type; each setting takes those of its own.
fn values() -> Vec<Value> {
    let choices =
        "fan-in gpt2 zero-out gelu_tanh gelu layer rms swiglu relu2 learned none rotary 2,3";
    let words = choices.split(' ').map(|word| Value::Text(word.into()));
    let numbers = [2, 32, 260].map(Value::Whole);
    let others = [YES, NO, Value::Float(0.25), Value::Double(2.0)];
    numbers.into_iter().chain(others).chain(words).collect()
}

/// What a refusal calls a setting, where it is not the setting's own name.
const CALLED: [(&str, &str); 2] = [("head_bias", "b_lm"), ("ngram_rows", "ngrams")];

/// Every setting at other values than its own, on both models. Whether each was carried once, by key.
fn every_setting(border: &Border) -> Vec<(&'static str, bool)> {
    let mut carried = Vec::new();
    for row in MODEL {
        let mut found = Vec::new();
        for ((base, spec), value) in
            bases().iter().flat_map(|base| values().into_iter().map(move |v| (base, v)))
        {
            let mut config = base.clone();
            if row.field == "ngram_rows" {
                config.ngrams = vec![2];
            }
            let usual = (row.get)(&config);
            if (row.put)(&mut config, value.clone()).is_err() || (row.get)(&config) == usual {
                continue;
            }
            let Some(model) = model(&config, from_spec(spec).unwrap()) else { continue };
            let called = CALLED.iter().find(|(field, _)| *field == row.field);
            let word = value.to_string();
            let names = [called.map_or(row.field, |(_, called)| *called), &word];
            // Only training knows them, and it is another program's.
            let also: &[&str] = match (border.otherwise.is_empty(), row.field) {
                (false, "init" | "dropout") => &["model.init", "model.dropout"],
                _ => &[],
            };
            found.push(crossed(border, &model, &names, also));
        }
        assert!(!found.is_empty(), "{} has no other value here", row.key);
        carried.push((row.field, found.contains(&true)));
    }
    for row in &ATTENTION {
        let mut found = Vec::new();
        for ((config, base), value) in
            bases().iter().flat_map(|base| values().into_iter().map(move |v| (base, v)))
        {
            let mut spec = AttentionSpec { name: Modern::NAME.into(), ..base.clone() };
            (row.put)(&mut spec, &value);
            let (was, is) = (base.settings().unwrap(), spec.settings().unwrap());
            let differs = |key: &str| was.get(key) != is.get(key);
            let heads = (spec.n_heads != base.n_heads).then_some("heads");
            let all = was.iter().chain(is.iter()).map(|(key, _)| key);
            let keys: Vec<&str> = all.filter(|key| differs(key)).chain(heads).collect();
            let made = from_spec(&spec).ok().filter(|_| !keys.is_empty());
            let Some(model) = made.and_then(|made| model(config, made)) else { continue };
            found.push(crossed(border, &model, &keys, &[]));
        }
        assert!(!found.is_empty(), "{} has no other value here", row.setting.key);
        carried.push((row.setting.name, found.contains(&true)));
    }
    carried
}

/// What no single row says: scalings, a mask, keys and tensors of another program.
fn further(border: &Border) -> Vec<(&'static str, bool)> {
    let [(gpt2, plain), (llama, rotary)] = bases();
    let scaling = RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };
    let slowed = Rotary { scaling: Some(scaling), ..Rotary::new(100.0) };
    let head_mask = vec![true, false, true, true, true, true, true, false];
    let one_bias = AttentionSpec { biases: [false, true], ..rotary.clone() };
    let slowed = AttentionSpec { rotary: Some(slowed), ..rotary.clone() };
    let masked = AttentionSpec { head_mask: head_mask.clone(), ..rotary };
    let masked_plain = AttentionSpec { head_mask, ..plain };
    let of = |spec: &AttentionSpec| from_spec(spec).unwrap();
    let cases: [(&str, &Config, Arc<dyn Attention>); 6] = [
        ("rotary.scaling.factor", &llama, of(&slowed)),
        ("proj_bias", &llama, of(&one_bias)),
        ("head_mask", &llama, of(&masked)),
        ("head_mask", &gpt2, of(&masked_plain)),
        ("odd.key", &gpt2, Arc::new(Odd::new(false))),
        ("odd_tensor", &gpt2, Arc::new(Odd::new(true))),
    ];
    // What reads a masked head is written as 0.
    let also: &[&str] = if border.otherwise.is_empty() { &[] } else { &["head_mask"] };
    let crossed = |(key, config, attention): (&'static str, &Config, _)| {
        (key, crossed(border, &model(config, attention).unwrap(), &[key], also))
    };
    cases.into_iter().map(crossed).collect()
}

fn carried(all: Vec<(&'static str, bool)>) -> String {
    let carried = all.into_iter().filter(|(_, carried)| *carried).map(|(key, _)| key);
    carried.collect::<Vec<_>>().join(" ")
}

/// What the formats of other programs carry of a model's settings; those of training are dropped, where
/// they are none of the other program's.
const SIZES: &str = "vocab_size seq_len d_model n_layers norm_affine tied_head init dropout";

#[test]
fn our_own_file_carries_everything() {
    assert!(every_setting(&OWN).iter().all(|(_, carried)| *carried));
    // A tensor of its own needs a program that makes it.
    let expected = "rotary.scaling.factor proj_bias head_mask head_mask odd.key";
    assert_eq!(carried(further(&OWN)), expected);
}

#[test]
fn hugging_face_carries_a_setting_or_refuses_it_by_name() {
    let attention = "heads kv_heads head_dim rope_theta window qk_norm attention_bias";
    let expected = format!("{SIZES} activation n_inner norm_eps mlp_bias {attention}");
    assert_eq!(carried(every_setting(&HUGGING_FACE)), expected);
    let expected = "rotary.scaling.factor proj_bias head_mask head_mask";
    assert_eq!(carried(further(&HUGGING_FACE)), expected);
}

#[test]
fn llama_cpp_carries_a_setting_or_refuses_it_by_name() {
    let attention = "heads kv_heads head_dim rope_theta qk_norm attention_bias";
    let expected = format!("{SIZES} n_inner norm_eps mlp_bias {attention}");
    assert_eq!(carried(every_setting(&GGUF)), expected);
    assert_eq!(carried(further(&GGUF)), "proj_bias head_mask head_mask");
}
