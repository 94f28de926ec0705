//! A description is carried whole or refused by key: every setting of a model and of its attention at
//! every border that a model passes. A border is a row of [`BORDERS`].

use llm_core::checkpoint::{Checkpoint, TokenizerSpec, to_bytes};
use llm_core::listing::{Fact, Listed, listing};
use llm_core::model::{Batch, Context, Decode, Footprint, Mode, Parameters, Positions};
use llm_core::settings::{MODEL, Value};
use llm_core::train::Trainer;
use llm_core::{
    AdamW, Attention, AttentionSpec, Config, Error, Hyperparameters, Recipe, Result, Tensor,
    TinyGPT,
};
use llm_gpu::Planned;
use llm_lens::trace::{Place, trace_model};
use llm_lens::{ModelReport, attention_maps, with_head_mask};
use llm_run::settings::ATTENTION;
use llm_variant_modern::Modern;
use std::sync::Arc;

/// Lets a model through: `Ok` when it was looked at behind the border and is whole, else the refusal. The
/// second model is the same one without the setting.
type Border = fn(&TinyGPT, &TinyGPT) -> Result<(), String>;

/// What a border does with a setting that only the attention itself knows.
#[derive(PartialEq)]
enum Unknown {
    Refused,
    Carried,
}

const BORDERS: [(&str, Border, Unknown); 6] = [
    ("a checkpoint", checkpoint, Unknown::Carried),
    ("inspect model", inspect, Unknown::Carried),
    // The attention shows its weights itself, held against its outputs.
    ("inspect attention", maps, Unknown::Carried),
    ("trace", trace, Unknown::Refused),
    ("prune", prune, Unknown::Refused),
    ("a GPU", gpu, Unknown::Refused),
];

const TOKENS: [u32; 8] = [3, 1, 4, 1, 5, 9, 2, 6];

fn words(error: Error) -> String {
    error.to_string()
}

/// `Err` with these words, which name no key, unless it is whole.
fn whole(is_whole: bool) -> Result<(), String> {
    if is_whole { Ok(()) } else { Err("something else came out, unseen".into()) }
}

fn checkpoint(model: &TinyGPT, _: &TinyGPT) -> Result<(), String> {
    let run = Trainer::new(model.clone(), Recipe::new([1, 8], 2, 1e-3)).map_err(words)?;
    let file = to_bytes(&run, &TokenizerSpec::bytes(), true).unwrap();
    let again = Checkpoint::from_bytes("memory", &file).unwrap();
    let model =
        (&again.meta.config, &again.meta.attention) == (model.config(), &model.attention().spec());
    whole(model)
}

fn inspect(model: &TinyGPT, usual: &TinyGPT) -> Result<(), String> {
    let spec = model.attention().spec();
    let footprint = Footprint::new(model.config(), model.attention().as_ref());
    let report = ModelReport::new(footprint, &spec, [1, 8], 4).map_err(words)?;
    let named = |key: &str| report.beyond.iter().any(|more| more.setting.ends_with(key));
    let shapes = |model: &TinyGPT| -> Vec<_> {
        model.parameters().map(|(name, p)| (name, p.shape().to_vec())).collect()
    };
    // Sizes, and what has tensors of its own, are seen in the table of tensors.
    let seen = report.sizes[1] != usual.config().seq_len || shapes(model) != shapes(usual);
    let of_training = ["init", "dropout"];
    let [config, before] = [model, usual].map(TinyGPT::config);
    let changed = MODEL.iter().filter(|row| (row.get)(config) != (row.get)(before));
    let all = changed.map(|row| row.field).filter(|field| !of_training.contains(field));
    let whole_model = all.clone().all(|field| seen || named(field));
    whole(whole_model && spec.settings().unwrap().iter().all(|(key, _)| named(key)))
}

fn maps(model: &TinyGPT, _: &TinyGPT) -> Result<(), String> {
    attention_maps(model, &TOKENS, 8).map(drop).map_err(words)
}

fn trace(model: &TinyGPT, _: &TinyGPT) -> Result<(), String> {
    let place = Place { batch_index: 0, head: 3, query: 7, key: 6 };
    let walk = trace_model(model, 1, &TOKENS, 1, place).map_err(words)?;
    whole(walk.kernel.agrees && walk.attention == model.attention().spec())
}

fn prune(model: &TinyGPT, _: &TinyGPT) -> Result<(), String> {
    let from_spec = |spec: &AttentionSpec| -> Result<Arc<dyn Attention>> {
        Ok(Arc::new(Modern::from_spec(spec)?))
    };
    let mut mask = vec![true; model.config().n_layers * model.attention().spec().n_heads];
    let all = with_head_mask(model, &mask, &from_spec).map_err(words)?;
    let same = all.logits(&TOKENS, [1, 8]).unwrap().data()
        == model.logits(&TOKENS, [1, 8]).unwrap().data();
    mask[2] = false;
    let one_less = with_head_mask(model, &mask, &from_spec).map_err(words)?.attention().spec();
    let want = AttentionSpec { head_mask: mask, ..model.attention().spec() };
    whole(same && one_less.settings().unwrap() == want.settings().unwrap())
}

/// The calls of a step, of which each setting has to change something.
fn calls(model: &TinyGPT, change: impl Fn(&mut Listed)) -> Result<Vec<llm_gpu::Call>, String> {
    let batch = Batch::new(TOKENS.to_vec(), TOKENS.to_vec(), [1, 8]);
    let (_, mut list) = listing(|| model.loss(&batch, Mode::Training).unwrap());
    list.iter_mut().for_each(change);
    let optimizer = AdamW::new(Hyperparameters::default()).unwrap();
    let parameters: Vec<_> = model.parameters().collect();
    let planned = Planned::new(&list, &parameters, &optimizer, 1).map_err(|e| e.to_string())?;
    Ok(planned.plan.calls.clone())
}

fn gpu(model: &TinyGPT, usual: &TinyGPT) -> Result<(), String> {
    let spec = model.attention().spec();
    let others = spec.other.clone();
    // What an attention has beyond the fields its op says as a fact.
    let planned = calls(model, |made| {
        for (key, _) in others.iter().filter(|_| made.op == "attention") {
            assert_eq!(key, "sinks");
            made.facts.push(("sinks", Fact::Number(4.0)));
        }
    })?;
    // How weights start is not the step's.
    let same = model.config().init != usual.config().init;
    whole(same || planned != calls(usual, |_| {})?)
}

/// A model of two layers with this attention.
fn with(spec: AttentionSpec) -> TinyGPT {
    model(Arc::new(Modern::from_spec(&spec).unwrap()))
}

fn model(attention: Arc<dyn Attention>) -> TinyGPT {
    let positions = match attention.spec().rotary {
        Some(_) => Positions::Rotary,
        None => Positions::None,
    };
    let config = Config { positions, ..Config::new(256, 8, 16, 2) };
    TinyGPT::with_attention(config, attention, 3).unwrap()
}

/// A value that is not the default of the setting.
fn other_than_usual(setting: &str) -> Value {
    match setting {
        "kv_heads" | "rotary_dim" => Value::Whole(2),
        "head_dim" => Value::Whole(6),
        "rope_theta" => Value::Double(500.0),
        "window" => Value::Whole(3),
        "soft_cap" => Value::Double(0.02),
        "qk_norm" => Value::Bool(true),
        "attention_bias" => Value::Bool(false),
        other => {
            panic!("'{other}' is new: give it a value here, and see what each border makes of it")
        }
    }
}

#[test]
fn every_setting_is_carried_whole_or_refused_by_its_key() {
    // Every border has the number of heads as a size.
    for row in ATTENTION.iter().filter(|row| row.setting.name != "heads") {
        let mut spec = AttentionSpec::new(Modern::NAME, 4);
        (row.put)(&mut spec, &other_than_usual(row.setting.name));
        let settings = spec.settings().unwrap();
        assert!(!settings.is_empty(), "{}", row.setting.name);
        let (model, usual) = (with(spec), with(AttentionSpec::new("multi-head", 4)));
        for (border, pass, _) in &BORDERS {
            let Err(said) = pass(&model, &usual) else { continue };
            let by_key = settings.iter().any(|(key, _)| said.contains(key));
            assert!(by_key, "{} at {border}: {said}", row.setting.name);
        }
    }
}

/// A value of a model's setting that is neither the default nor that of [`base`].
fn another(field: &str) -> Value {
    let text = |word: &str| Value::Text(word.into());
    match field {
        "vocab_size" => Value::Whole(260),
        "seq_len" => Value::Whole(16),
        "d_model" | "n_inner" | "ngram_rows" => Value::Whole(32),
        "n_layers" => Value::Whole(3),
        "norm_affine" | "tied_head" => Value::Bool(true),
        "head_bias" | "mlp_bias" => Value::Bool(false),
        "init" => text("gpt2"),
        "dropout" | "norm_eps" => Value::Float(0.25),
        "activation" => text("gelu"),
        "norm" => text("rms"),
        "mlp" => text("swiglu"),
        "positions" => text("none"),
        "ngrams" => text("2"),
        other => {
            panic!("'{other}' is new: give it a value here, and see what each border makes of it")
        }
    }
}

#[test]
fn every_setting_of_a_model_is_carried_whole_or_refused_by_its_name() {
    for row in MODEL {
        let mut base = Config::new(256, 8, 16, 2);
        if row.field == "ngram_rows" {
            base.ngrams = vec![2];
        }
        let mut config = base.clone();
        (row.put)(&mut config, another(row.field)).unwrap();
        assert_ne!((row.get)(&config), (row.get)(&base), "{}", row.field);
        let [model, usual] = [config, base]
            .map(|config| TinyGPT::with_attention(config, Arc::new(Modern::new(4)), 3).unwrap());
        for (border, pass, _) in &BORDERS {
            let Err(said) = pass(&model, &usual) else { continue };
            let name = if row.field == "ngram_rows" { "ngrams" } else { row.field };
            assert!(said.contains(name), "{name} at {border}: {said}");
        }
    }
}

/// A setting that only the attention itself knows.
#[test]
fn an_unknown_setting_is_not_lost() {
    let model = model(Arc::new(WithSinks(Modern::new(4).with_window(5))));
    let usual = with(AttentionSpec::new("multi-head", 4));
    for (border, pass, unknown) in &BORDERS {
        match pass(&model, &usual) {
            Ok(()) => assert!(*unknown == Unknown::Carried, "{border} lets it through"),
            Err(said) => {
                assert!(*unknown == Unknown::Refused && said.contains("sinks"), "{border}: {said}");
            }
        }
    }
}

/// An attention with a setting of its own.
struct WithSinks(Modern);

impl Attention for WithSinks {
    fn spec(&self) -> AttentionSpec {
        let mut spec = AttentionSpec { name: "sinks".into(), ..self.0.spec() };
        spec.other.insert("sinks", Value::Whole(4)).unwrap();
        spec
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        self.0.forward(x, p, ctx)
    }

    fn cache_row(&self, config: &Config) -> usize {
        self.0.cache_row(config)
    }

    fn decode(&self, step: Decode<'_>) -> Result<()> {
        self.0.decode(step)
    }
}
