//! Attentions drawn at random, those of all three programs: what is accepted can be trained, saved,
//! loaded, counted, looked into, written with and exported; everything else is refused by name
//! before the first step.

use llm_core::checkpoint::{Checkpoint, TokenizerSpec, check_savable, to_bytes};
use llm_core::generate::{Decoder, Sampling, generate};
use llm_core::model::{
    Activation, Footprint, Mlp, Norm, Positions, Rotary, RotaryScaling, SingleHead,
};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::{ByteTokenizer, IdsTokenizer, Tokenizer};
use llm_core::train::Trainer;
use llm_core::{Attention, AttentionSpec, Config, Error, Result, TinyGPT, TokenDataset, no_grad};
use llm_formats::gguf::{self, Stored};
use llm_formats::{FormatError, hugging_face, own_names};
use llm_lens::{ModelReport, Piece, attention_maps, head_mask, measure_heads, with_head_mask};
use llm_variant_mha::MultiHead;
use llm_variant_modern::Modern;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// How many are drawn, unless `LLM_CONFIGURATIONS` says otherwise.
const CONFIGURATIONS: u64 = 1_000;
/// One in this many goes out to files, which take longest.
const EXPORTED: u64 = 4;

type FromSpec = fn(&AttentionSpec) -> Result<Arc<dyn Attention>>;

/// How the program with this number makes an attention from a file.
fn from_spec(program: usize) -> FromSpec {
    match program {
        0 => |spec| Ok(Arc::new(SingleHead::from_spec(spec)?)),
        1 => |spec| Ok(Arc::new(MultiHead::from_spec(spec)?)),
        _ => |spec| Ok(Arc::new(Modern::from_spec(spec)?)),
    }
}

fn attention(program: usize, config: &mut Config, rng: &mut ChaCha8Rng) -> Arc<dyn Attention> {
    let n_heads = *[1, 1, 2, 2, 3, 4, 4, 6, 6, 0].choose(rng).unwrap();
    let mask: Vec<bool> = match rng.random_range(0..6) {
        0 => (0..config.n_layers * n_heads).map(|_| rng.random()).collect(),
        1 => vec![true; rng.random_range(0..3)], // mostly of another model
        _ => Vec::new(),
    };
    match program {
        0 => return Arc::new(SingleHead),
        1 => return Arc::new(MultiHead::with_head_mask(n_heads, mask)),
        _ => {}
    }
    let mut made =
        Modern::grouped(n_heads, *[1, 1, 2, 3, n_heads, n_heads, n_heads].choose(rng).unwrap());
    made = made.with_biases(rng.random(), rng.random()).with_head_mask(mask);
    if rng.random() {
        made = made.with_head_dim(*[1, 2, 2, 3, 4, 4, 6, 8, 16, 0].choose(rng).unwrap());
    }
    if rng.random() {
        config.positions = Positions::Rotary;
        let theta = *[10_000.0, 500.0, 500.0, 1.5, 1.5, 1.0].choose(rng).unwrap();
        let mut rotary = match rng.random_range(0..3) {
            0 => Rotary::partial(theta, *[2, 2, 2, 4, 3].choose(rng).unwrap()),
            _ => Rotary::new(theta),
        };
        if rng.random_range(0..4) == 0 {
            rotary.scaling = Some(RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 16 });
        }
        made = made.with_rotary(rotary);
    }
    if rng.random_range(0..3) == 0 {
        made = made.with_window(*[1, 2, 3, 3, 100, 100, 0].choose(rng).unwrap());
    }
    if rng.random_range(0..3) == 0 {
        made = made.with_soft_cap(*[50.0, 1.0, 0.1, 0.0].choose(rng).unwrap());
    }
    Arc::new(if rng.random() { made.with_qk_norm() } else { made })
}

fn config(program: usize, rng: &mut ChaCha8Rng) -> Config {
    let width = *[1, 4, 6, 8, 8, 12, 16].choose(rng).unwrap();
    let vocab_size = *[2, 5, 11, 256].choose(rng).unwrap();
    let plain = Config::new(vocab_size, rng.random_range(1..7), width, rng.random_range(1..3));
    let base = Config {
        norm_affine: rng.random(),
        tied_head: rng.random(),
        head_bias: rng.random(),
        dropout: *[0.0, 0.0, 0.25].choose(rng).unwrap(),
        activation: *[Activation::GeluTanh, Activation::Gelu].choose(rng).unwrap(),
        ..plain
    };
    if program < 2 {
        return base;
    }
    Config {
        n_inner: *[0, 0, 5, 16].choose(rng).unwrap(),
        norm: *Norm::ALL.choose(rng).unwrap(),
        mlp: *Mlp::ALL.choose(rng).unwrap(),
        mlp_bias: rng.random(),
        positions: *[Positions::Learned, Positions::None].choose(rng).unwrap(),
        ngrams: [&[][..], &[], &[2], &[2, 3, 4]].choose(rng).unwrap().to_vec(),
        ngram_rows: *[7, 100, 1 << 14].choose(rng).unwrap(),
        ..base
    }
}

/// The run before its first step, as the programs make it, or why it is refused.
fn begun(config: &Config, attention: Arc<dyn Attention>) -> Result<Trainer> {
    let seq_len = config.seq_len;
    let model = TinyGPT::with_attention(config.clone(), attention, 3)?;
    let trainer = Trainer::new(model, Recipe::new([2, seq_len], 4, 1e-3))?;
    check_savable(&trainer, &TokenizerSpec::bytes())?;
    Ok(trainer)
}

fn tokens(config: &Config) -> Vec<u32> {
    (0..64).map(|i| (i * i % 7 + i) % config.vocab_size as u32).collect()
}

/// Bytes where there is one token for each, else numbers that stand for no text.
fn tokenizer(config: &Config) -> Arc<dyn Tokenizer> {
    match config.vocab_size {
        256 => Arc::new(ByteTokenizer),
        n => Arc::new(IdsTokenizer::new(n).unwrap()),
    }
}

fn numbers(model: &TinyGPT) -> Vec<u32> {
    let (t, config) = (model.config().seq_len, model.config());
    let logits = no_grad(|| model.logits(&tokens(config)[..t], [1, t])).unwrap();
    logits.data().iter().map(|x| x.to_bits()).collect()
}

/// The run after a step, saved and loaded: the same numbers, and the same next step.
fn saved_and_loaded(mut run: Trainer, program: usize) -> Trainer {
    let data = TokenDataset::from_tokens(tokens(run.model.config()));
    run.step(&data).unwrap();
    let file = to_bytes(&run, &TokenizerSpec::bytes(), true).expect("what was trained is saved");
    let checkpoint = Checkpoint::from_bytes("memory", &file).expect("what was saved is loaded");
    assert_eq!(checkpoint.parameter_count(), run.model.parameter_count());
    let attention = from_spec(program)(&checkpoint.meta.attention).unwrap();
    let mut again = checkpoint.into_trainer(attention).unwrap();
    assert_eq!(numbers(&again.model), numbers(&run.model));
    assert_eq!(again.step(&data).unwrap(), run.step(&data).unwrap());
    again
}

/// Every count is the one of the tensors that are there.
fn counted(model: &TinyGPT) {
    let (config, spec) = (model.config(), model.attention().spec());
    let footprint = Footprint::new(config, model.attention().as_ref());
    let report = ModelReport::new(footprint.clone(), &spec, [1, 1], spec.n_heads).unwrap();
    let there: u64 = model.parameters().map(|(_, p)| p.numel() as u64).sum();
    assert_eq!([footprint.parameter_count(), report.parameters], [there; 2]);
    let head_dim = spec.head_dim(config.d_model);
    assert_eq!(report.head_dim, head_dim);
    let w_proj = model.blocks[0].attention.get("w_proj").unwrap();
    assert_eq!(w_proj.shape(), [spec.n_heads * head_dim, config.d_model]);
}

/// Maps, heads, switched-off heads and written text.
fn looked_into(model: &TinyGPT, program: usize) {
    let (config, spec) = (model.config(), model.attention().spec());
    let text = tokens(config)[..config.seq_len].to_vec();
    let maps = attention_maps(model, &text, text.len()).unwrap();
    assert_eq!([maps.layers.len(), maps.layers[0].len()], [config.n_layers, spec.n_heads]);
    if text.len() > 1 {
        let piece = Piece { tokens: text.clone(), known: None };
        let pieces = std::iter::once(Ok::<_, Error>(piece));
        let heads = measure_heads(model, &*tokenizer(config), pieces, || false).unwrap();
        assert_eq!(heads.rows.len(), config.n_layers * spec.n_heads);
    }
    let mut mask = head_mask(model);
    if program > 0 {
        mask[0] = false;
        let without = with_head_mask(model, &mask, &from_spec(program)).unwrap();
        assert_eq!(numbers(&without).len(), numbers(model).len());
    }
    let t = text.len();
    let whole = no_grad(|| model.logits(&text, [1, t])).unwrap();
    let mut decoder = Decoder::new(model).unwrap();
    for (i, token) in text.iter().enumerate() {
        let scores = decoder.feed(&[*token]).unwrap();
        let want = &whole.data()[i * scores.len()..][..scores.len()];
        let far = scores.iter().zip(want).map(|(a, b)| (a - b).abs() / b.abs().max(1.0));
        assert!(
            far.fold(0.0, f32::max) < 1e-3,
            "a growing text is read otherwise than a whole one"
        );
    }
    assert_eq!(generate(model, &text[..1], 3, Sampling::greedy()).unwrap().len(), 3);
}

/// Out to files and in again: the same numbers, or a refusal by name. Nothing else is an answer.
fn exported(model: &TinyGPT) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let ids = tokenizer(model.config());
    let ids = ids.as_ref();
    let own = folder.join("own.safetensors");
    let in_again = from_spec(2);
    own_names::export(&own, model, ids).unwrap();
    let back = own_names::import(&own, None, &in_again).unwrap().into_model().unwrap().0;
    assert_eq!(numbers(&back), numbers(model));
    assert_eq!(back.attention().spec(), model.attention().spec());

    let near = |back: &TinyGPT| {
        let wide = |model| numbers(model).into_iter().map(f32::from_bits).collect::<Vec<_>>();
        let far = wide(back).into_iter().zip(wide(model)).map(|(a, b)| (a - b).abs());
        assert!(far.fold(0.0, f32::max) < 1e-5, "what came in again is another model");
    };
    let hf = folder.join("hf");
    match hugging_face::check_model(model) {
        Ok(_) => {
            hugging_face::prepare_folder(&hf).unwrap();
            hugging_face::export(&hf, model, ids).unwrap();
            near(&hugging_face::import(&hf, &in_again).unwrap().into_model().unwrap().0);
        }
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
    let file = folder.join("model.gguf");
    if gguf::check_model(model).is_ok() {
        match gguf::export(&file, model, ids, Stored::F32, "model") {
            Ok(_) => near(&gguf::import(&file, &in_again).unwrap().into_model().unwrap().0),
            Err(refused) => {
                let is_meant = matches!(refused, FormatError::NoGgufTokens { .. });
                assert!(is_meant && model.config().vocab_size != 256, "{refused}");
            }
        }
    }
}

#[test]
fn what_is_accepted_can_be_trained_saved_looked_into_and_exported() {
    let asked = std::env::var("LLM_CONFIGURATIONS").ok().and_then(|n| n.parse().ok());
    let (mut accepted, mut own_width) = ([0; 3], 0);
    for seed in 0..asked.unwrap_or(CONFIGURATIONS) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let program = rng.random_range(0..5).min(2);
        let mut config = config(program, rng);
        let attention = attention(program, &mut config, rng);
        let said = format!("seed {seed}: {:?} in {config:?}", attention.spec());
        let run = match begun(&config, attention) {
            Ok(run) => run,
            Err(Error::Config { field, reason }) => {
                assert!(!field.is_empty() && !reason.to_string().is_empty(), "{said}");
                continue;
            }
            Err(other) => panic!("{said}: refused without a name: {other}"),
        };
        accepted[program] += 1;
        let d = run.model.attention().spec().head_dim(config.d_model);
        own_width += usize::from(d * run.model.attention().spec().n_heads != config.d_model);
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let run = saved_and_loaded(run, program);
            counted(&run.model);
            looked_into(&run.model, program);
            if seed % EXPORTED == 0 {
                exported(&run.model);
            }
        }));
        assert!(tried.is_ok(), "{said}");
    }
    // Most of what is drawn is a model, and many have heads of a width of their own.
    let all: usize = accepted.iter().sum();
    assert!(accepted.iter().all(|n| *n > 50) && own_width > all / 10, "{accepted:?} {own_width}");
}
