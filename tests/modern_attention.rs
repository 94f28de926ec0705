//! The attention of today's models: with nothing on it is multi-head attention, and each of its parts
//! is what it is said to be, in a batch and from a cache.

use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save};
use llm_core::generate::Decoder;
use llm_core::kernels::rotary::{Angles, Turned, turn};
use llm_core::kernels::small::SmallKind;
use llm_core::model::{Context, Mlp, Mode, Norm, Parameters, Positions, Rotary};
use llm_core::ndarray::ArrayD;
use llm_core::train::Trainer;
use llm_core::{Attention, Batch, Config, Error, Recipe, Tensor, TinyGPT, TokenDataset, ops};
use llm_variant_mha::{MultiHead, self_attention_mha};
use llm_variant_modern::{HeadShape, Modern, causal_attention_grouped};
use std::sync::Arc;

const T: usize = 12;

/// A model of two blocks whose biases and gains are not at their starts.
fn model(attention: impl Attention + 'static, config: Config) -> TinyGPT {
    let positions = match attention.spec().rotary.is_some() {
        true => Positions::Rotary,
        false => config.positions,
    };
    let config = Config { positions, ..config };
    let mut model = TinyGPT::with_attention(config, Arc::new(attention), 3).unwrap();
    for (salt, (_, p)) in model.parameters_mut().enumerate() {
        let noise =
            |(i, x): (usize, &mut f32)| *x += ((i * 31 + salt * 7) % 13) as f32 / 60.0 - 0.1;
        p.data_mut().iter_mut().enumerate().for_each(noise);
    }
    model
}

fn baseline() -> Config {
    Config::new(17, T, 12, 2)
}

/// Norms, MLP and head as Llama has them.
fn llama() -> Config {
    let gpt2 = Config::gpt2(17, T, 12, 2);
    Config { norm: Norm::Rms, mlp: Mlp::SwiGlu, mlp_bias: false, ..gpt2 }
}

fn text(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| (i * i * 7 + i) % 17).collect()
}

fn batch() -> Batch {
    let tokens = text(2 * T + 1);
    Batch::new(tokens[..2 * T].to_vec(), tokens[1..].to_vec(), [2, T])
}

/// Everything that a model computes: the loss, all gradients, what it writes.
fn everything(model: &TinyGPT) -> Vec<Vec<f32>> {
    let loss = model.loss(&batch(), Mode::Training).unwrap();
    let mut all = vec![loss.data().to_vec()];
    let grads = loss.backward().unwrap();
    all.extend(model.parameters().map(|(_, p)| grads.get(p).unwrap().to_vec()));
    let mut decoder = Decoder::new(model).unwrap();
    for part in text(T).chunks(5) {
        all.push(decoder.feed(part).unwrap().to_vec());
    }
    all
}

/// Attentions with each part alone and with all parts.
fn variants() -> Vec<Modern> {
    let all = Modern::grouped(4, 2).with_head_dim(6).with_rotary(Rotary::partial(100.0, 4));
    vec![
        Modern::new(4),
        Modern::grouped(4, 2),
        Modern::multi_query(3),
        Modern::new(3).with_head_dim(5),
        Modern::new(3).with_rotary(10_000.0),
        Modern::new(2).with_rotary(Rotary::partial(50.0, 2)),
        Modern::new(4).with_window(1),
        Modern::grouped(4, 2).with_window(5),
        Modern::new(4).with_soft_cap(0.1),
        Modern::grouped(4, 2).with_window(5).with_soft_cap(50.0),
        Modern::new(3).with_qk_norm(),
        Modern::new(4).without_biases(),
        Modern::grouped(4, 2)
            .with_head_mask(vec![true, false, false, false, true, true, false, true]),
        all.clone().with_window(3).with_qk_norm().without_biases(),
        all.with_window(5).with_soft_cap(0.3).with_qk_norm().with_biases(true, false),
    ]
}

#[test]
fn with_nothing_on_it_is_multi_head_attention_bit_for_bit() {
    for h in [1, 2, 4, 12] {
        for config in [baseline(), Config { dropout: 0.3, ..baseline() }, llama()] {
            let [a, b] =
                [model(Modern::new(h), config.clone()), model(MultiHead::new(h), config.clone())];
            assert_eq!(a.attention().spec(), b.attention().spec());
            for ((name, a), (other, b)) in a.parameters().zip(b.parameters()) {
                assert_eq!((&name, a.data()), (&other, b.data()));
            }
            assert!(everything(&a) == everything(&b), "{h} {config:?}");
        }
    }
    let mask = || vec![true, false, true, true, false, false];
    let ours = model(Modern::new(3).with_head_mask(mask()), baseline());
    let theirs = model(MultiHead::with_head_mask(3, mask()), baseline());
    assert!(everything(&ours) == everything(&theirs));
    assert_eq!(ours.attention().spec(), theirs.attention().spec());
}

#[test]
fn a_window_as_long_as_the_text_is_none_bit_for_bit() {
    for attention in [Modern::new(4), Modern::grouped(4, 2).with_rotary(Rotary::partial(100.0, 2))]
    {
        let config = Config { dropout: 0.3, ..baseline() };
        let [whole, long, short] = [None, Some(T), Some(T - 1)].map(|window| {
            let attention = attention.clone();
            let windowed = window.map(|n| attention.clone().with_window(n));
            everything(&model(windowed.unwrap_or(attention), config.clone()))
        });
        assert!(whole == long && whole != short);
    }
}

/// In a text of one token nothing is turned, and every other one is.
#[test]
fn the_first_position_is_not_turned() {
    let plain = Config { positions: Positions::None, ..baseline() };
    let turned = model(Modern::new(3).with_rotary(100.0), baseline());
    let straight = model(Modern::new(3), plain);
    let same = |n: usize| {
        let tokens = text(n);
        turned.logits(&tokens, [1, n]).unwrap().data()
            == straight.logits(&tokens, [1, n]).unwrap().data()
    };
    assert_eq!([1, 2, 5].map(same), [true, false, false]);
    assert!(turned.wpe.is_none());
}

/// What a head computes does not change when all of its positions move.
#[test]
fn scores_depend_on_distances_alone() {
    let (d, angles) = (8, Angles::new(10_000.0, 8, 64));
    let numbers = |salt: usize| -> Vec<f32> {
        (0..d).map(|i| ((i * 37 + salt * 11) % 19) as f32 / 9.0 - 1.0).collect()
    };
    let at = |x: &[f32], start: usize| {
        let mut x = x.to_vec();
        let angles = &angles;
        turn(&mut x, &Turned { angles, width: d, n_heads: 1, head_dim: d, seq_len: 1, start });
        x
    };
    let score = |i: usize, j: usize| -> f32 {
        at(&numbers(1), i).iter().zip(at(&numbers(2), j)).map(|(a, b)| a * b).sum()
    };
    for distance in [0, 1, 5] {
        for start in [1, 7, 50] {
            let moved = (score(start + distance, start) - score(distance, 0)).abs();
            assert!(moved < 1e-5, "{distance} from {start}: {moved}");
        }
    }
    assert!((score(3, 0) - score(4, 0)).abs() > 1e-3);
}

/// The columns of a group, once for each of its heads.
fn repeated(w: &Tensor, [h, g, d]: [usize; 3]) -> Tensor {
    let columns = (h + 2 * g) * d;
    let row = |row: &[f32]| -> Vec<f32> {
        let part = |n: usize| row[n * d..(n + 1) * d].to_vec();
        let heads = (0..h).map(part);
        let shared = |first: usize| (0..h).map(move |head| part(first + head / (h / g)));
        heads.chain(shared(h)).chain(shared(h + g)).flatten().collect()
    };
    let data: Vec<f32> = w.data().chunks(columns).flat_map(row).collect();
    let shape = [&w.shape()[..w.rank() - 1], &[3 * h * d]].concat();
    Tensor::parameter_from_vec(&shape, data).unwrap()
}

#[test]
fn groups_are_heads_that_are_repeated() {
    let input = |shape: &[usize], salt: usize| {
        let n = shape.iter().product::<usize>();
        let numbers = (0..n).map(|i| ((i * 37 + salt * 101) % 61) as f32 / 40.0 - 0.75);
        Tensor::parameter_from_vec(shape, numbers.collect()).unwrap()
    };
    for [h, g, d] in [[4, 4, 3], [4, 2, 3], [4, 1, 3], [6, 3, 2], [1, 1, 12]] {
        let (c, wide) = (h * d, (h + 2 * g) * d);
        let x = input(&[2, 70, c], 1);
        let (w_qkv, b_qkv) = (input(&[c, wide], 2), input(&[wide], 3));
        let (w_proj, b_proj) = (input(&[c, c], 4), input(&[c], 5));
        let (w, b) = (repeated(&w_qkv, [h, g, d]), repeated(&b_qkv, [h, g, d]));
        let twin = self_attention_mha(&x, &w, &b, &w_proj, &b_proj, h, &Context::new(0)).unwrap();
        let named =
            [("w_qkv", &w_qkv), ("b_qkv", &b_qkv), ("w_proj", &w_proj), ("b_proj", &b_proj)];
        let p = Parameters::new(named.map(|(n, p)| (n.to_string(), p.clone())).into());
        let ours = Modern::grouped(h, g).forward(&x, &p, &Context::new(0)).unwrap();
        let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        workspace_tests::assert_close("y", ours.data(), &wide(twin.data()), 1e-5);

        let cotangent = input(&[2, 70, c], 99).detach();
        let [ours, twin] = [ours, twin]
            .map(|y| ops::sum(&ops::mul(&y, &cotangent).unwrap()).unwrap().backward().unwrap());
        workspace_tests::assert_close(
            "dx",
            ours.get(&x).unwrap(),
            &wide(twin.get(&x).unwrap()),
            1e-4,
        );
        // The gradient of a group is the sum of those of the heads that read it.
        let (got, want) = (ours.get(&b_qkv).unwrap(), twin.get(&b).unwrap());
        for (part, group) in [1, 2].into_iter().flat_map(|p| (0..g).map(move |n| (p, n))) {
            for i in 0..d {
                let heads = (0..h).filter(|head| head / (h / g) == group);
                let sum: f32 = heads.map(|head| want[(part * h + head) * d + i]).sum();
                let ours = got[(h + (part - 1) * g + group) * d + i];
                assert!((ours - sum).abs() < 1e-3, "{h} {g} {part} {group}: {ours}, not {sum}");
            }
        }
    }
}

#[test]
fn text_is_written_from_the_cache_as_it_was_learned() {
    for (attention, config) in
        variants().into_iter().flat_map(|a| [baseline(), llama()].map(|c| (a.clone(), c)))
    {
        let row = attention.cache_row(&config);
        let heads =
            attention.parameters(&config).iter().find(|(n, _)| n == "w_qkv").unwrap().1.shape[1];
        assert!(row < heads);
        let (shown, model) = (format!("{attention:?}"), model(attention, config));
        let tokens = text(T);
        let whole = model.logits(&tokens, [1, T]).unwrap();
        // At once, and in parts of one, two and more.
        for parts in [vec![12], vec![1; 12], vec![3, 1, 2, 6], vec![7, 5]] {
            let mut decoder = Decoder::new(&model).unwrap();
            let mut read = 0;
            for part in parts {
                read += part;
                let got = decoder.feed(&tokens[read - part..read]).unwrap();
                let want = &whole.data()[(read - 1) * 17..read * 17];
                let far = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(far < 1e-5, "{shown} at {read}: {far}");
            }
        }
    }
}

/// No position sees a later one, and in a block none sees one before its window.
/// With small weights too: no variant's way of decoding knows of them.
#[test]
fn text_is_written_with_small_weights_as_the_rounded_model_scores_it() {
    for (attention, kind) in variants().into_iter().zip(SmallKind::ALL.into_iter().cycle()) {
        let rounded = model(attention, llama()).rounded(kind).unwrap();
        let mut decoder = Decoder::with_weights(&rounded, Some(kind)).unwrap();
        let whole = rounded.logits(&text(T), [1, T]).unwrap();
        for (token, want) in text(T).into_iter().zip(whole.data().chunks_exact(17)) {
            let logits = decoder.feed(&[token]).unwrap();
            assert!(logits.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-4), "{rounded:?}");
        }
    }
}

#[test]
fn the_future_and_what_lies_before_the_window_are_hidden() {
    let n = 140;
    let heads = HeadShape::of([4, 2, 3]);
    let qkv = Tensor::new(ArrayD::from_shape_fn(vec![1, n, 24], |i| {
        ((i[1] * 37 + i[2] * 11) % 61) as f32 / 20.0 - 1.5
    }));
    for window in [usize::MAX, 1, 5, 64, 100] {
        let heads = heads.within(window);
        let run = |qkv: &Tensor| causal_attention_grouped(qkv, heads, &[], None).unwrap();
        let before = run(&qkv);
        for changed in [0, 3, 63, 64, 100, 139] {
            let mut other = qkv.clone();
            other.data_mut()[changed * 24..(changed + 1) * 24].iter_mut().for_each(|x| *x += 1.0);
            let after = run(&other);
            for (i, (a, b)) in before.data().chunks(12).zip(after.data().chunks(12)).enumerate() {
                let sees = i >= changed && i - changed < window;
                assert_eq!(a != b, sees, "window {window}: {i} of {changed}");
            }
        }
    }
}

/// A query ten times as long is the same query, unless the norm is left out.
#[test]
fn normed_queries_have_no_length() {
    let queries = |attention: Modern, factor: f32| {
        let mut model = model(attention, baseline());
        for block in &mut model.blocks {
            for name in ["w_qkv", "b_qkv"] {
                let data = block.attention.get_mut(name).unwrap().data_mut();
                data.chunks_mut(36).for_each(|row| row[..12].iter_mut().for_each(|x| *x *= factor));
            }
        }
        model.logits(&text(T), [1, T]).unwrap()
    };
    for (attention, same) in [(Modern::new(3).with_qk_norm(), true), (Modern::new(3), false)] {
        let [a, b] = [1.0, 10.0].map(|factor| queries(attention.clone(), factor));
        let far = a.data().iter().zip(b.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert_eq!(far < 1e-3, same, "{far}");
    }
}

/// However long queries and keys are, no weight is beyond what scores of ±c can give; a cap far above
/// all scores changes next to nothing, and a lower one more.
#[test]
fn a_soft_cap_bounds_the_weights() {
    let weights = |cap: Option<f64>, factor: f32| {
        let attention = Modern::new(3);
        let attention = cap.map_or(attention.clone(), |cap| attention.with_soft_cap(cap));
        let mut model = model(attention, baseline());
        for block in &mut model.blocks {
            let data = block.attention.get_mut("w_qkv").unwrap().data_mut();
            data.iter_mut().for_each(|x| *x *= factor);
        }
        llm_lens::attention_maps(&model, &text(T), T).unwrap().layers.concat().concat().concat()
    };
    let bound = 1.0f32.exp() / (1.0f32.exp() + (-1.0f32).exp()); // of two scores, +1 and -1
    // The second row of the first head: two positions are seen.
    let most = |p: Vec<f32>| p[T..2 * T].iter().fold(0.0, |most: f32, p| most.max(*p));
    assert!(most(weights(None, 100.0)) > 0.99);
    assert!(most(weights(Some(1.0), 100.0)) <= bound + 1e-6);
    let far = |cap| {
        let pairs = weights(None, 1.0).into_iter().zip(weights(cap, 1.0));
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    let [high, low] = [far(Some(100.0)), far(Some(0.01))];
    assert!(high < 1e-3 && low > 1e-2, "{high} {low}");
}

#[test]
fn bits_do_not_depend_on_the_threads() {
    let run = |attention: &Modern, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let config = Config { seq_len: 300, d_model: 24, ..llama() };
            let model = model(attention.clone(), config);
            let tokens = text(2 * 300);
            let batch = Batch::new(tokens.clone(), tokens, [2, 300]);
            let loss = model.loss(&batch, Mode::Training).unwrap();
            let grads = loss.backward().unwrap();
            model.parameters().flat_map(|(_, p)| grads.get(p).unwrap().to_vec()).collect::<Vec<_>>()
        })
    };
    for attention in [
        Modern::grouped(4, 2).with_rotary(100.0).with_window(70).with_soft_cap(2.0).with_qk_norm(),
        Modern::multi_query(4)
            .with_head_mask(vec![true, true, false, true, true, true, true, true]),
    ] {
        let one = run(&attention, 1);
        assert!(one == run(&attention, 2) && one == run(&attention, 3));
    }
}

/// Half of the steps, a file, and the other half: the same as all of them.
#[test]
fn a_run_goes_on_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let data = TokenDataset::from_bytes(b"to be or not to be, that is the question: ".repeat(9));
    let attention = Modern::grouped(4, 2).with_head_dim(6).with_rotary(100.0).with_window(9);
    let attention = attention.with_soft_cap(0.5).with_qk_norm().without_biases();
    let config = Config { vocab_size: 256, positions: Positions::Rotary, ..llama() };
    let model = TinyGPT::with_attention(config, Arc::new(attention), 1).unwrap();
    let mut trainer = Trainer::new(model, Recipe::new([2, T], 8, 1e-2)).unwrap();
    for _ in 0..4 {
        trainer.step(&data).unwrap();
    }
    save(&path, &trainer, &TokenizerSpec::bytes(), true).unwrap();
    let checkpoint = Checkpoint::load(&path).unwrap();
    let again = Modern::from_spec(&checkpoint.meta.attention).unwrap();
    let mut continued = checkpoint.into_trainer(Arc::new(again)).unwrap();
    for _ in 4..8 {
        let losses =
            [&mut trainer, &mut continued].map(|trainer| trainer.step(&data).unwrap().loss);
        assert_eq!(losses[0], losses[1]);
    }
    for ((name, a), (_, b)) in trainer.model.parameters().zip(continued.model.parameters()) {
        assert_eq!(a.data(), b.data(), "{name}");
    }
}

#[test]
fn what_it_cannot_be_is_refused() {
    let rotary = Config { positions: Positions::Rotary, ..baseline() };
    for (wrong, config, field) in [
        (Modern::new(5), baseline(), "heads"),
        (Modern::new(0), baseline(), "heads"),
        (Modern::grouped(4, 3), baseline(), "kv_heads"),
        (Modern::grouped(4, 0), baseline(), "kv_heads"),
        (Modern::grouped(4, 8), baseline(), "kv_heads"),
        (Modern::new(4).with_head_dim(0), baseline(), "head_dim"),
        (Modern::new(4).with_head_dim(usize::MAX), baseline(), "head_dim"),
        (Modern::new(13).with_head_dim(1 << 13), baseline(), "head_dim"),
        (Modern::new(4).with_rotary(100.0), rotary.clone(), "head_dim"), // of three channels
        (Modern::new(2).with_rotary(Rotary::partial(100.0, 3)), rotary.clone(), "rotary_dim"),
        (Modern::new(2).with_rotary(Rotary::partial(100.0, 8)), rotary.clone(), "rotary_dim"),
        (Modern::new(2).with_rotary(Rotary::partial(100.0, 0)), rotary.clone(), "rotary_dim"),
        (Modern::new(2).with_rotary(f64::NAN), rotary.clone(), "rope_theta"),
        (Modern::new(2).with_rotary(1.0), rotary.clone(), "rope_theta"),
        (Modern::new(2).with_window(0), baseline(), "window"),
        (Modern::new(2).with_head_mask(vec![true; 3]), baseline(), "head_mask"),
        // Order is told once: by the table, or by turning.
        (Modern::new(2).with_rotary(100.0), baseline(), "positions"),
        (Modern::new(2), rotary, "positions"),
    ] {
        let shown = format!("{wrong:?}");
        let error = TinyGPT::with_attention(config, Arc::new(wrong), 1).unwrap_err();
        assert!(matches!(error, Error::Config { field: f, .. } if f == field), "{shown}: {error}");
    }
    let rotary = Config { positions: Positions::Rotary, ..baseline() };
    for other in [
        TinyGPT::new(rotary.clone(), 1),
        TinyGPT::with_attention(rotary, Arc::new(MultiHead::new(2)), 1),
    ] {
        assert!(matches!(other, Err(Error::Config { field: "positions", .. })));
    }
}

/// A probe sees the weights of every head of queries, with zeros outside of its window.
#[test]
fn weights_can_be_looked_at() {
    let model = model(Modern::grouped(4, 2).with_window(3), baseline());
    let p = model.attention_weights(&text(T), [1, T]).unwrap();
    assert_eq!(p.shape(), [2, 1, 4, T, T]);
    for ((_, _, _, i, j), &p) in p.indexed_iter() {
        assert_eq!(p > 0.0, j <= i && i - j < 3, "{i} {j}: {p}");
    }
}
