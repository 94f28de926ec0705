//! The attention of the example `grouped_queries`, with tensors, settings and a cache of its own:
//! its equation against multi-head attention with repeated heads, and what follows by itself.

use crate::docs::lessons::grouped_queries::attention::Grouped;
use crate::docs::lessons::grouped_queries::rotary;
use crate::docs::lessons::own_attention::Average;
use llm_core::gradcheck::check;
use llm_core::model::{Context, Parameters, Positions, Rotary};
use llm_core::ndarray::{ArrayD, Axis, Slice, concatenate};
use llm_core::tokenizer::ByteTokenizer;
use llm_core::{Attention, AttentionSpec, Config, Error, Result, Tensor, TinyGPT, ops};
use llm_formats::{FormatError, hugging_face, own_names};
use llm_lens::{Piece, attention_maps, measure_heads, trace};
use llm_variant_mha::self_attention_mha;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

const C: usize = 12;
/// H and G.
const SIZES: [[usize; 2]; 5] = [[4, 4], [4, 2], [4, 1], [6, 3], [1, 1]];

fn input(shape: &[usize], seed: u64) -> Tensor {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    Tensor::parameter(ArrayD::from_shape_fn(shape, |_| rng.random_range(-1.0f32..1.0)))
}

/// x and the six parameters, random.
fn inputs(attention: &Grouped) -> Vec<Tensor> {
    let own = attention.parameters(&Config::new(256, 5, C, 1));
    let shapes = own.into_iter().map(|(_, p)| p.shape);
    let shapes = std::iter::once(vec![2, 5, C]).chain(shapes);
    shapes.enumerate().map(|(i, shape)| input(&shape, i as u64)).collect()
}

fn forward(attention: &Grouped, all: &[Tensor]) -> Result<Tensor> {
    let names = attention.parameters(&Config::new(256, 5, C, 1)).into_iter().map(|(name, _)| name);
    let p = Parameters::new(names.zip(all[1..].iter().cloned()).collect());
    attention.forward(&all[0], &p, &Context::new(0))
}

/// The columns that belong to head h of the keys (0) or values (1).
fn columns(kv: &Tensor, part: usize, g: usize, d: usize) -> ArrayD<f32> {
    let first = part * kv.shape()[kv.rank() - 1] / 2 + g * d;
    kv.view().slice_axis(Axis(kv.rank() - 1), Slice::from(first..first + d)).to_owned()
}

/// `w_qkv` or `b_qkv` of multi-head attention: each group's columns once for each of its heads.
fn repeated(q: &Tensor, kv: &Tensor, [h, g]: [usize; 2]) -> Tensor {
    let mut parts = vec![q.view().to_owned()];
    for part in [0, 1] {
        parts.extend((0..h).map(|head| columns(kv, part, head * g / h, C / h)));
    }
    let views: Vec<_> = parts.iter().map(|p| p.view()).collect();
    Tensor::parameter(concatenate(Axis(q.rank() - 1), &views).unwrap())
}

#[test]
fn groups_are_heads_that_are_repeated() {
    for [h, g] in SIZES {
        let all = inputs(&Grouped::new(h, g));
        let [x, w_q, b_q, w_kv, b_kv, w_proj, b_proj] = &all[..] else { panic!("seven") };
        let (w_qkv, b_qkv) = (repeated(w_q, w_kv, [h, g]), repeated(b_q, b_kv, [h, g]));
        let twin = self_attention_mha(x, &w_qkv, &b_qkv, w_proj, b_proj, h, &Context::new(0));
        let [ours, twin] = [forward(&Grouped::new(h, g), &all).unwrap(), twin.unwrap()];
        let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        workspace_tests::assert_close("y", ours.data(), &wide(twin.data()), 1e-5);

        let cotangent = input(&[2, 5, C], 99).detach();
        let [ours, twin] = [ours, twin]
            .map(|y| ops::sum(&ops::mul(&y, &cotangent).unwrap()).unwrap().backward().unwrap());
        for p in [x, w_proj, b_proj] {
            let want = wide(twin.get(p).unwrap());
            workspace_tests::assert_close("gradient", ours.get(p).unwrap(), &want, 1e-4);
        }
        // The gradient of a group is the sum of those of the heads that read it.
        let d_qkv = Tensor::from_vec(w_qkv.shape(), twin.get(&w_qkv).unwrap().to_vec()).unwrap();
        let d_kv = Tensor::from_vec(w_kv.shape(), ours.get(w_kv).unwrap().to_vec()).unwrap();
        for (part, group) in [0, 1].into_iter().flat_map(|p| (0..g).map(move |g| (p, g))) {
            let heads = (0..h).filter(|head| head * g / h == group);
            let of = |head: usize| {
                let first = (1 + part) * C + head * (C / h);
                let columns = Slice::from(first..first + C / h);
                d_qkv.view().slice_axis(Axis(1), columns).to_owned()
            };
            let want = heads.map(of).reduce(|a, b| a + b).unwrap();
            let got = columns(&d_kv, part, group, C / h);
            assert!((got - want).iter().all(|x| x.abs() < 1e-4), "{h} {g} {part} {group}");
        }
    }
}

#[test]
fn gradients_are_those_of_the_values() {
    for attention in [Grouped::new(4, 2), Grouped::new(6, 2).with_rotary()] {
        check(&inputs(&attention), 1, |all| forward(&attention, all)).unwrap();
    }
    check(&[input(&[2, 5, 6], 3)], 1, |x| rotary::rotate(&x[0])).unwrap();
}

#[test]
fn rotary_scores_depend_on_the_distance_alone() {
    let [q, k] = [1, 2].map(|seed| input(&[8], seed).data().to_vec());
    let score = |i: usize, j: usize| -> f32 {
        let mut turned = [q.clone(), k.clone()];
        rotary::rotate_row(&mut turned[0], i);
        rotary::rotate_row(&mut turned[1], j);
        turned[0].iter().zip(&turned[1]).map(|(a, b)| a * b).sum()
    };
    for distance in [0, 1, 5] {
        let near = (score(7 + distance, 7) - score(distance, 0)).abs();
        assert!(near < 1e-5, "{distance}: {near}");
    }
    assert!((score(3, 0) - score(4, 0)).abs() > 1e-3);
    // One row at a time and a whole text.
    let x = input(&[2, 6, 8], 3);
    let whole = rotary::rotate(&x).unwrap();
    for (n, (row, want)) in x.data().chunks(8).zip(whole.data().chunks(8)).enumerate() {
        let mut row = row.to_vec();
        rotary::rotate_row(&mut row, n % 6);
        assert!(row.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6), "row {n}");
    }
}

fn model(attention: impl Attention + 'static) -> TinyGPT {
    let positions = match attention.spec().rotary {
        Some(_) => Positions::Rotary,
        None => Positions::Learned,
    };
    let config = Config { head_bias: false, positions, ..Config::new(256, 16, C, 2) };
    TinyGPT::with_attention(config, Arc::new(attention), 1).unwrap()
}

#[test]
fn text_is_written_from_the_cache_as_it_was_learned() {
    let tokens = b"Lucy met Tom".map(u32::from);
    let all = SIZES.map(|[h, g]| Grouped::new(h, g)).into_iter();
    for attention in all.chain([Grouped::new(6, 2).with_rotary()]) {
        let (mut model, row) =
            (model(attention.clone()), attention.cache_row(&Config::new(256, 16, C, 2)));
        for (name, p) in model.parameters_mut() {
            if name.contains(".b_") {
                p.data_mut().iter_mut().enumerate().for_each(|(i, b)| *b = i as f32 / 10.0);
            }
        }
        assert!(row <= 2 * C);
        let whole = model.logits(&tokens, [1, tokens.len()]).unwrap();
        // At once, and in parts of one, two and more.
        for parts in [vec![12], vec![1; 12], vec![3, 1, 2, 6]] {
            let mut decoder = llm_core::generate::Decoder::new(&model).unwrap();
            let mut read = 0;
            for part in parts {
                read += part;
                let got = decoder.feed(&tokens[read - part..read]).unwrap();
                let want = &whole.data()[(read - 1) * 256..read * 256];
                assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5), "{attention:?}");
            }
        }
    }
}

#[test]
fn files_and_views_follow_its_own_tensors() {
    let model = model(Grouped::new(6, 2).with_rotary());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    own_names::export(&path, &model, &ByteTokenizer).unwrap();
    let from_spec = |spec: &_| Ok(Arc::new(Grouped::from_spec(spec)?) as Arc<dyn Attention>);
    let (again, _) = own_names::import(&path, None, &from_spec).unwrap().into_model().unwrap();
    for ((name, a), (_, b)) in model.parameters().zip(again.parameters()) {
        assert_eq!(a.data(), b.data(), "{name}");
    }
    assert_eq!(again.attention().spec(), model.attention().spec());

    // GPT-2 would compute something else with these weights.
    let refused = hugging_face::export(&folder.path().join("hf"), &model, &ByteTokenizer);
    let Err(e @ FormatError::AttentionKind { .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(
        e.to_string(),
        "it has 'grouped-query' attention, which Hugging Face's models cannot hold"
    );
    assert!(!folder.path().join("hf").exists());

    let tokens = b"Lucy met".map(u32::from);
    let maps = attention_maps(&model, &tokens, 8).unwrap();
    assert_eq!((maps.layers.len(), maps.layers[1].len(), maps.layers[1][5].len()), (2, 6, 8));
    let piece = || std::iter::once(Ok::<_, Error>(Piece { tokens: tokens.to_vec(), known: None }));
    let heads = measure_heads(&model, &ByteTokenizer, piece(), || false).unwrap();
    assert_eq!((heads.rows.len(), heads.spreads.len()), (12, 2));
    let place = trace::Place { batch_index: 0, head: 0, query: 1, key: 0 };
    let walk = trace::trace_model(&model, 0, &tokens, 1, place).unwrap_err().to_string();
    assert_eq!(walk, "attention: 'grouped-query' has tensors of its own, no walk is known");
}

/// An attention that hides the probe from the one in it.
struct Silent(Average);

impl Attention for Silent {
    fn spec(&self) -> AttentionSpec {
        self.0.spec()
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        self.0.forward(x, p, &ctx.with_probe(None))
    }
}

#[test]
fn an_attention_that_shows_nothing_is_named() {
    let (model, tokens) = (model(Silent(Average)), b"Lucy met".map(u32::from));
    let want = "attention: 'average' does not show its weights";
    assert_eq!(attention_maps(&model, &tokens, 8).unwrap_err().to_string(), want);
    let piece = std::iter::once(Ok::<_, Error>(Piece { tokens: tokens.to_vec(), known: None }));
    let heads = measure_heads(&model, &ByteTokenizer, piece, || false);
    assert_eq!(heads.unwrap_err().to_string(), want);
}

#[test]
fn what_it_cannot_be_is_refused() {
    let config = Config::new(256, 16, C, 1);
    for (wrong, field) in [
        (Grouped::new(5, 1), "heads"),
        (Grouped::new(0, 0), "heads"),
        (Grouped::new(4, 3), "kv_heads"),
        (Grouped::new(4, 0), "kv_heads"),
        (Grouped::new(4, 2).with_rotary(), "head_dim"),
    ] {
        let error = TinyGPT::with_attention(config.clone(), Arc::new(wrong), 1).unwrap_err();
        assert!(matches!(error, Error::Config { field: f, .. } if f == field), "{error}");
    }
    let spec = Grouped::new(4, 2).spec();
    assert_eq!(Grouped::from_spec(&spec).unwrap().spec(), spec);
    let more = AttentionSpec { window: Some(8), ..spec.clone() };
    let theta = AttentionSpec { rotary: Some(Rotary::new(7.0)), ..spec.clone() };
    let other = AttentionSpec { name: "another".into(), ..spec };
    assert!([more, theta, other].iter().all(|spec| Grouped::from_spec(spec).is_err()));
}
