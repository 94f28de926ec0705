//! One head is the baseline, bit for bit; heads that do not fit are refused; each head is its own.

use llm_core::generate::Decoder;
use llm_core::model::{Decode, Growing, Mode, Parameters, Scratch, SingleHead};
use llm_core::ndarray::ArrayD;
use llm_core::settings::Value;
use llm_core::{Attention, AttentionSpec, Batch, Config, Error, Tensor, TinyGPT, no_grad, ops};
use llm_variant_mha::{MultiHead, causal_attention_heads, self_attention_mha};
use std::sync::Arc;

fn input(shape: &[usize], salt: usize) -> Tensor {
    let strides: Vec<usize> = (0..shape.len()).map(|i| shape[i + 1..].iter().product()).collect();
    Tensor::parameter(ArrayD::from_shape_fn(shape, |ix| {
        let flat: usize = (0..shape.len()).map(|i| ix[i] * strides[i]).sum();
        ((flat * 37 + salt * 101) % 61) as f32 / 40.0 - 0.75
    }))
}

/// The original's test: forward, and all five gradients through a cross-entropy loss.
#[test]
fn one_head_equals_single_head_bit_for_bit() {
    for (b, t, c) in [(2, 4, 8), (3, 65, 16), (1, 1, 3)] {
        let p = [
            input(&[b, t, c], 1),
            input(&[c, 3 * c], 2),
            input(&[3 * c], 3),
            input(&[c, c], 4),
            input(&[c], 5),
        ];
        let single =
            ops::self_attention_1h(&p[0], &p[1], &p[2], &p[3], &p[4], &ops::Context::new(0))
                .unwrap();
        let multi = self_attention_mha(&p[0], &p[1], &p[2], &p[3], &p[4], 1, &ops::Context::new(0))
            .unwrap();
        assert_eq!(single.shape(), [b, t, c]);
        assert_eq!(single.data(), multi.data());
        let targets: Vec<u32> = (0..b * t).map(|i| (i % c) as u32).collect();
        let loss = |y: &Tensor| {
            ops::cross_entropy(&ops::reshape(y, &[b * t, c]).unwrap(), &targets).unwrap()
        };
        let (single, multi) = (loss(&single), loss(&multi));
        assert_eq!(single.item(), multi.item());
        let (single, multi) = (single.backward().unwrap(), multi.backward().unwrap());
        for x in &p {
            assert_eq!(single.get(x).unwrap(), multi.get(x).unwrap());
        }
    }
}

#[test]
fn models_with_one_head_are_the_same_model() {
    let config = Config::new(17, 8, 12, 2);
    let single = TinyGPT::new(config.clone(), 5).unwrap();
    let multi = TinyGPT::with_attention(config, Arc::new(MultiHead::new(1)), 5).unwrap();
    let batch = Batch::new(Vec::from_iter(0..16), Vec::from_iter(1..17), [2, 8]);
    assert_eq!(
        single.loss(&batch, Mode::Evaluation).unwrap().item(),
        multi.loss(&batch, Mode::Evaluation).unwrap().item()
    );
    assert_eq!(single.attention().spec(), multi.attention().spec());
}

/// Head h reads channels h·D..(h+1)·D of q, k, v and nothing else: disturbing head 1 leaves the
/// other heads' outputs as they were.
#[test]
fn heads_do_not_see_each_other() {
    let (b, t, c, h) = (2, 5, 12, 3);
    let d = c / h;
    let qkv = input(&[b, t, 3 * c], 7);
    let before = causal_attention_heads(&qkv, h, &[], None).unwrap();
    let mut other = qkv.clone();
    for row in other.data_mut().chunks_exact_mut(3 * c) {
        for part in 0..3 {
            row[part * c + d..part * c + 2 * d].iter_mut().for_each(|x| *x = -2.0 * *x + 0.1);
        }
    }
    let after = causal_attention_heads(&other, h, &[], None).unwrap();
    for (before, after) in before.data().chunks_exact(c).zip(after.data().chunks_exact(c)) {
        assert_eq!(before[..d], after[..d]);
        assert_ne!(before[d..2 * d], after[d..2 * d]);
        assert_eq!(before[2 * d..], after[2 * d..]);
    }
}

/// Each head alone, cut out and given to the single-head op, gives its part of the result: the
/// scale is 1/√D, not 1/√C.
#[test]
fn a_head_is_single_head_attention_over_its_channels() {
    let (b, t, c, h) = (2, 70, 12, 3);
    let d = c / h;
    let qkv = input(&[b, t, 3 * c], 7);
    let all = causal_attention_heads(&qkv, h, &[], None).unwrap();
    for head in 0..h {
        let mut part = Vec::new();
        for row in qkv.data().chunks_exact(3 * c) {
            (0..3).for_each(|p| part.extend_from_slice(&row[p * c + head * d..][..d]));
        }
        let part = Tensor::from_vec(&[b, t, 3 * d], part).unwrap();
        let alone = ops::causal_attention_1h(&part, None).unwrap();
        for (all, alone) in all.data().chunks_exact(c).zip(alone.data().chunks_exact(d)) {
            for (x, y) in all[head * d..(head + 1) * d].iter().zip(alone) {
                assert!((x - y).abs() < 1e-6);
            }
        }
    }
}

/// No position sees a later one.
#[test]
fn the_future_is_hidden() {
    let qkv = input(&[1, 70, 24], 3);
    for h in [1, 2] {
        let before = causal_attention_heads(&qkv, h, &[], None).unwrap();
        for changed in [1, 33, 64, 69] {
            let mut other = qkv.clone();
            other.data_mut()[changed * 24..].iter_mut().for_each(|x| *x += 1.0);
            let after = causal_attention_heads(&other, h, &[], None).unwrap();
            assert_eq!(before.data()[..changed * 8], after.data()[..changed * 8]);
            assert_ne!(before.data()[changed * 8..], after.data()[changed * 8..]);
        }
    }
}

/// The same four shapes for one head and for several: what the one refuses, the other does too.
#[test]
fn parameters_of_other_shapes_are_refused_alike() {
    let (c, fit) = (8, [vec![2, 3, 8], vec![8, 24], vec![24], vec![8, 8], vec![8]]);
    let names = ["x of", "w_qkv", "b_qkv", "w_proj", "b_proj"];
    for (which, name) in names.into_iter().enumerate() {
        for wrong in
            [vec![c], vec![c, 2 * c], vec![2 * c], vec![c, c, 3 * c + 1], vec![3 * c, c], vec![]]
        {
            let mut shapes = fit.clone();
            let is_wrong = wrong != shapes[which];
            shapes[which] = wrong;
            let [x, w_qkv, b_qkv, w_proj, b_proj] = shapes.map(|shape| input(&shape, 1));
            let ctx = ops::Context::new(0);
            let one = ops::self_attention_1h(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, &ctx);
            let four = self_attention_mha(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, 4, &ctx);
            // Another x of three axes is another C, for which w_qkv is wrong.
            let named = |error: &Error| {
                let text = error.to_string();
                text.contains(name) || which == 0 && text.contains("w_qkv")
            };
            for result in [one, four] {
                match result {
                    Ok(_) => assert!(!is_wrong, "{name}"),
                    Err(error) => assert!(is_wrong && named(&error), "{name}: {error}"),
                }
            }
        }
    }
}

#[test]
fn heads_that_do_not_fit_are_refused_with_what_does() {
    for h in [0, 3, 5, 13] {
        let config = Config::new(17, 8, 64, 1);
        let error = TinyGPT::with_attention(config, Arc::new(MultiHead::new(h)), 1).err().unwrap();
        let text = error.to_string();
        assert!(matches!(error, Error::Config { field: "heads", .. }), "{text}");
        assert!(text.contains("1, 2, 4, 8, 16, 32, 64"), "{text}");
        let qkv = input(&[1, 2, 192], 1);
        assert!(matches!(causal_attention_heads(&qkv, h, &[], None), Err(Error::Config { .. })));
    }
    assert!(causal_attention_heads(&input(&[1, 2, 192], 1), 2, &[true], None).is_err());
    assert!(causal_attention_heads(&input(&[1, 2, 191], 1), 1, &[], None).is_err());
    assert!(causal_attention_heads(&input(&[2, 192], 1), 1, &[], None).is_err());
}

#[test]
fn specs_come_back_and_foreign_ones_are_refused() {
    let spec = |name: &str, n_heads, head_mask: &[bool]| AttentionSpec {
        head_mask: head_mask.to_vec(),
        ..AttentionSpec::new(name, n_heads)
    };
    let four = MultiHead::new(4).spec();
    assert_eq!(four, spec("multi-head", 4, &[]));
    assert_eq!(MultiHead::from_spec(&four).unwrap().spec(), four);
    assert!(SingleHead::from_spec(&four).is_err());
    assert!(SingleHead::from_spec(&MultiHead::new(1).spec()).is_ok());
    assert_eq!(MultiHead::from_spec(&SingleHead.spec()).unwrap().spec(), SingleHead.spec());
    assert!(MultiHead::from_spec(&spec("sliding", 4, &[])).is_err());
    let mut further = four.clone();
    further.other.insert("sinks", Value::Whole(8)).unwrap();
    assert!(MultiHead::from_spec(&further).is_err());
    assert!(SingleHead::from_spec(&further).is_err());
    let pruned = spec("multi-head", 1, &[true, false]);
    assert_eq!(MultiHead::from_spec(&pruned).unwrap().spec(), pruned);
    assert!(SingleHead::from_spec(&pruned).is_err());
    let wrong = Arc::new(MultiHead::with_head_mask(2, vec![true; 3]));
    assert!(TinyGPT::with_attention(Config::new(5, 4, 4, 2), wrong, 1).is_err());
}

/// Forward alone: what the core decodes with when an attention says nothing of its own.
struct Plain(MultiHead);

impl Attention for Plain {
    fn spec(&self) -> AttentionSpec {
        self.0.spec()
    }
    fn check(&self, config: &Config) -> llm_core::Result<()> {
        self.0.check(config)
    }
    fn forward(
        &self,
        x: &Tensor,
        p: &Parameters,
        ctx: &ops::Context<'_>,
    ) -> llm_core::Result<Tensor> {
        self.0.forward(x, p, ctx)
    }
}

/// Positions that are read after others, one or several at a time, get the rows of the whole.
#[test]
fn decoding_positions_equals_the_rows_of_the_whole() {
    let (t, c) = (9, 12);
    let config = Config::new(5, t, c, 1);
    let x = input(&[1, t, c], 7);
    let mask = vec![true, false, true, true];
    let all: [Arc<dyn Attention>; 4] = [
        Arc::new(SingleHead),
        Arc::new(MultiHead::new(3)),
        Arc::new(MultiHead::with_head_mask(4, mask)),
        Arc::new(Plain(MultiHead::new(2))),
    ];
    for attention in all {
        let mut model = TinyGPT::with_attention(config.clone(), attention.clone(), 3).unwrap();
        for (_, p) in model.parameters_mut() {
            let n = p.numel();
            let add = |(i, x): (usize, &mut f32)| *x += (i % 7) as f32 / n as f32; // biases too
            p.data_mut().iter_mut().enumerate().for_each(add);
        }
        let p = &model.blocks[0].attention;
        let whole = attention.forward(&x, p, &ops::Context::new(0)).unwrap();
        for together in [1, 2, t] {
            let mut cache = vec![f32::NAN; t * attention.cache_row(&config)];
            let mut scratch = Scratch::default();
            let mut stream = vec![1.0; t * c];
            let rows = stream.chunks_mut(together * c).zip(x.data().chunks(together * c));
            for (i, (stream, x)) in rows.enumerate() {
                let (cache, scratch) = (&mut cache[..], &mut scratch);
                let (before, new, d_model, layer) = (i * together, x.len() / c, c, 0);
                let (norm_eps, texts) = (1e-5, vec![Growing { before, new, cache }]);
                let step = Decode { layer, texts, x, p, scratch, stream, d_model, norm_eps };
                attention.decode(step).unwrap();
            }
            for (want, got) in whole.data().iter().zip(&stream) {
                assert!((want + 1.0 - got).abs() < 2e-6, "{want} {got}");
            }
        }
    }
}

/// With several heads the cache agrees too, in the same bits on any number of threads.
#[test]
fn the_cache_agrees_with_the_whole_pass_for_every_head_count() {
    let config = Config::gpt2(29, 200, 48, 2);
    let text: Vec<u32> = (0..200).map(|i| (i * i * 7 + i) % 29).collect();
    for heads in [1, 2, 4, 48] {
        let attention = Arc::new(MultiHead::new(heads));
        let model = TinyGPT::with_attention(config.clone(), attention, 5).unwrap();
        let whole = no_grad(|| model.logits(&text, [1, 200])).unwrap();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut decoder = Decoder::new(&model).unwrap();
                let mut all = decoder.feed(&text[..150]).unwrap().to_vec();
                for token in &text[150..] {
                    all.extend_from_slice(decoder.feed(&[*token]).unwrap());
                }
                all
            })
        };
        let cached = run(1);
        assert!(cached == run(2) && cached == run(3), "{heads} heads");
        for (x, y) in whole.data()[149 * 29..].iter().zip(&cached) {
            assert!((x - y).abs() < 1e-5, "{heads} heads: {x} {y}");
        }
    }
}

/// All of P as data: of two sequences in three blocks, each head what the kernel makes of its
/// columns.
#[test]
fn weights_of_all_heads_are_what_the_kernel_computes() {
    use llm_core::kernels::attention::probs;
    use llm_core::ndarray::{Axis, Ix3, Slice};

    let (b, t, c, h) = (2, 5, 12, 3);
    let config = Config::new(17, 8, c, 3);
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(h)), 5).unwrap();
    let tokens: Vec<u32> = (0..10).map(|i| i * 3 % 17).collect();
    let all = model.attention_weights(&tokens, [b, t]).unwrap();
    assert_eq!(all.shape(), [3, b, h, t, t]);
    let sums = all.sum_axis(Axis(4));
    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-5));

    let rows = |w: &Tensor, ids: &[u32]| ops::embedding(w, ids, &[b, t]).unwrap();
    let positions: Vec<u32> = (0..10).map(|i| i % 5).collect();
    let x = ops::add(&rows(&model.wte, &tokens), &rows(model.wpe.as_ref().unwrap(), &positions))
        .unwrap();
    let norm = ops::layernorm_lastdim(&x, 1e-5).unwrap();
    let p = model.blocks[0].attention.standard().unwrap();
    let qkv = ops::linear_lastdim(&norm, p.w_qkv, Some(p.b_qkv)).unwrap();
    let qkv = qkv.view().into_dimensionality::<Ix3>().unwrap();
    let d = c / h;
    for (sequence, head) in (0..b).flat_map(|b| (0..h).map(move |h| (b, h))) {
        let rows = qkv.index_axis(Axis(0), sequence); // [T, 3C]
        let columns = |start: usize| rows.slice_axis(Axis(1), Slice::from(start..start + d));
        let [q, k] = [head * d, c + head * d].map(columns);
        let want = probs(q, k, 1.0 / (d as f32).sqrt());
        let got = all.index_axis(Axis(0), 0);
        let got = got.index_axis(Axis(0), sequence);
        let got = got.index_axis(Axis(0), head);
        assert!(got.iter().eq(want.iter()), "sequence {sequence}, head {head}");
    }
}

/// An attention that shows nothing, or not every block, is told from one that does.
#[test]
fn weights_that_are_not_shown_are_an_error() {
    struct Shy {
        shows: bool,
    }
    impl Attention for Shy {
        fn spec(&self) -> AttentionSpec {
            AttentionSpec::new("shy", 1)
        }
        fn check(&self, _: &Config) -> llm_core::Result<()> {
            Ok(())
        }
        fn forward(
            &self,
            x: &Tensor,
            _: &Parameters,
            ctx: &ops::Context<'_>,
        ) -> llm_core::Result<Tensor> {
            let t = x.shape()[1];
            if let Some(probe) = ctx.probe.filter(|_| self.shows && ctx.layer == 1) {
                probe.head(
                    1,
                    0,
                    0,
                    ArrayD::zeros(vec![t, t]).view().into_dimensionality().unwrap(),
                );
            }
            Ok(x.clone())
        }
    }
    for shows in [false, true] {
        let config = Config::new(17, 8, 12, 2);
        let model = TinyGPT::with_attention(config, Arc::new(Shy { shows }), 5).unwrap();
        let error = model.attention_weights(&[1, 2], [1, 2]).unwrap_err();
        assert!(matches!(error, Error::Config { field: "attention", .. }));
        assert_eq!(error.to_string(), "attention: 'shy' does not show all of its weights");
    }
}
