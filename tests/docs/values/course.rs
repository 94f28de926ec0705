//! Values of the pages that follow the equations and a training step, and of the one on sizes.

use super::{Values, list};
use llm_core::generate::Decoder;
use llm_core::kernels::muon;
use llm_core::model::NORM_EPS;
use llm_core::optim::Muon;
use llm_core::settings::Value;
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use llm_core::{Config, Tensor, TinyGPT, TokenDataset, ops};
use llm_run::defaults::Start;
use llm_run::settings::{Given, new_model, new_recipe, rate_for};

pub fn add(values: &mut Values) {
    equations(values);
    tokens(values);
    sizes(values);
}

fn equations(values: &mut Values) {
    values.insert("math.eps", list![NORM_EPS]);
    let Value::Float(momentum) = Muon::ROW.settings[0].1 else { panic!("a momentum") };
    values.insert("muon.momentum", list![momentum]);
    values.insert("muon.scale", list![1, 1, 1, muon::SCALE]);
    let rates = [u64::MAX, 1].map(|steps| f64::from(rate_for(steps)));
    values.insert("math.rate", [&[(rate_for(1000) * 1000.0).into()], &rates[..]].concat());
    let (root, cubic) = ((2.0 / std::f64::consts::PI).sqrt(), 0.044_715);
    let x: Vec<f32> = (-30..30).map(|i| i as f32 / 10.0).collect();
    let y = ops::gelu(&Tensor::from_vec(&[x.len()], x.clone()).unwrap()).unwrap();
    for (x, y) in x.iter().map(|x| f64::from(*x)).zip(y.data()) {
        let u = root * (x + cubic * x.powi(3));
        assert!((x / 2.0 * (1.0 + u.tanh()) - f64::from(*y)).abs() < 1e-6);
    }
    let forward = list![root, cubic, 3, 2, 1];
    let backward = list![1, 1, 2, root, 1, 3, cubic, 2];
    values.insert("math.gelu", [forward, backward].concat());
}

fn tokens(values: &mut Values) {
    let text = b"to be ";
    let tokens = ByteTokenizer.encode(text).unwrap();
    values.insert("train.bytes", tokens.iter().map(|&t| t.into()).collect());
    let t = tokens.len() - 1;
    values.insert("train.t", vec![t as f64]);
    let batch = TokenDataset::from_bytes(text.to_vec()).batch(1, 0, [1, t]).unwrap();
    let rows = [&batch.inputs[..], &batch.targets[..]].concat();
    let positions = (0..t).map(|p| p as f64);
    values.insert("train.shift", positions.chain(rows.iter().map(|&t| t.into())).collect());
    let v = ByteTokenizer.vocab_size();
    let first = Config::new(v, 1, 64, 1).first_loss();
    values.insert("train.first_loss", vec![(v as f64).ln(), first]);
}

/// Sizes as the page has them: B, T, C, H, L.
fn sizes(values: &mut Values) {
    const F32: usize = size_of::<f32>();
    values.insert("states.f32", vec![F32 as f64]);
    let (start, given) = (Start::Stories, Given::default());
    let model = new_model(Config::new(256, 1, 1, 1), start, &given).unwrap();
    let recipe = new_recipe(start, &given).unwrap();
    let all = [
        [recipe.batch_size, model.seq_len, model.d_model, 4, model.n_layers],
        [1, 1024, 768, 12, 12],
    ];
    let row = |of: &dyn Fn([usize; 5]) -> usize| all.map(|sizes| of(sizes) as f64);
    let table =
        |rows: &[&dyn Fn([usize; 5]) -> usize]| rows.iter().flat_map(|of| row(of)).collect();
    values.insert("states.sizes", table(&[&|s| s[0], &|s| s[1], &|s| s[2], &|s| s[3], &|s| s[4]]));
    values.insert(
        "states.bytes",
        table(&[
            &|[b, t, c, _, _]| F32 * b * t * c,
            &|[b, t, c, _, _]| F32 * b * t * 3 * c,
            &|[b, t, c, _, _]| F32 * b * t * 4 * c,
            &|[b, t, _, h, _]| F32 * b * h * t * t,
            &|[b, t, _, h, _]| F32 * b * h * t,
            &|[b, t, _, h, l]| F32 * l * b * h * t * t,
        ]),
    );
    let cache = |[_, t, c, _, l]: [usize; 5]| 2 * l * t * c;
    let shown: Vec<f64> = table(&[&cache, &|s| F32 * cache(s)]);
    values.insert("states.cache", [list![2], shown].concat());
    assert_eq!(cached(6, 2, 8), 2 * 2 * 6 * 8);
}

/// Numbers in the cache of a small model, found by what the decoder tells an attention.
fn cached(t: usize, l: usize, c: usize) -> usize {
    use llm_core::model::{Context, Decode, Parameters, Position};
    use llm_core::{Attention, AttentionSpec, Result};
    use std::sync::{Arc, Mutex};

    struct Counting(Mutex<usize>);
    impl Attention for Counting {
        fn spec(&self) -> AttentionSpec {
            AttentionSpec::new("counting", 1)
        }
        fn check(&self, _: &Config) -> Result<()> {
            Ok(())
        }
        fn forward(&self, x: &Tensor, _: &Parameters, _: &Context<'_>) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn cache_row(&self, config: &Config) -> usize {
            2 * config.d_model
        }
        fn decode(&self, step: Decode<'_>) -> Result<()> {
            step.with_keys_and_values(1, |Position { keys, values, y, .. }| {
                y.fill(0.0);
                *self.0.lock().unwrap() += keys.len() + values.len();
            })
        }
    }
    let counting = Arc::new(Counting(Mutex::new(0)));
    let config = Config::new(5, t, c, l);
    let model = TinyGPT::with_attention(config, counting.clone(), 1).unwrap();
    let mut decoder = Decoder::new(&model).unwrap();
    (0..t).for_each(|_| {
        *counting.0.lock().unwrap() = 0;
        decoder.feed(&[1]).unwrap();
    });
    *counting.0.lock().unwrap()
}
