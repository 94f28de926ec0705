//! The cache against the whole pass.

use super::*;
use crate::Config;
use crate::model::{Activation, Mlp, Norm, Positions, Site};
use ndarray::{Array3, ArrayView3, Axis};

fn model(config: Config) -> TinyGPT {
    let mut model = TinyGPT::new(config, 3).unwrap();
    // Biases and gains start at 0 and 1, which would hide that they are forgotten.
    for (salt, (_, p)) in model.parameters_mut().enumerate() {
        let mut value = p.data().to_vec();
        for (i, x) in value.iter_mut().enumerate() {
            *x += ((i * 31 + salt * 7) % 13) as f32 / 130.0 - 0.05;
        }
        *p = crate::Tensor::from_vec(p.shape(), value).unwrap();
    }
    model
}

fn configs() -> Vec<Config> {
    let baseline = Config::new(11, 6, 8, 2);
    let rms = Config { norm: Norm::Rms, positions: Positions::None, ..Config::gpt2(11, 6, 8, 2) };
    let every = Mlp::ALL.iter().flat_map(|&mlp| {
        let affine = Config { mlp, norm_affine: true, ..baseline.clone() };
        Norm::ALL.iter().map(move |&norm| Config { norm, ..affine.clone() })
    });
    let some = [
        Config { mlp: Mlp::SwiGlu, ..rms.clone() },
        Config { mlp: Mlp::SwiGlu, mlp_bias: false, n_inner: 7, ..rms },
        Config { norm: Norm::Rms, mlp: Mlp::Relu2, ..baseline.clone() },
        baseline.clone(),
        Config::gpt2(11, 6, 8, 2),
        Config { activation: Activation::Gelu, n_inner: 19, ..baseline.clone() },
        Config { tied_head: true, head_bias: true, norm_affine: false, ..baseline.clone() },
        Config { ngrams: vec![2, 4], ngram_rows: 200, ..baseline.clone() },
        Config { ngrams: vec![3], ngram_rows: 9, ..Config::gpt2(11, 6, 8, 2) },
    ];
    every.chain(some).collect()
}

fn close(a: &[f32], b: &[f32]) -> bool {
    within(1e-5, a, b)
}

fn within(most: f32, a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= most)
}

fn text(n: usize) -> Vec<TokenId> {
    (0..n).map(|i| (i * i * 7 + i) as TokenId % 11).collect()
}

/// Takes the MLP of the first block away, at one position.
struct Without(usize);

impl Probe for Without {
    fn value(&self, layer: usize, site: Site, x: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
        let is_there = (layer, site) == (0, Site::Mlp) && self.0 < x.dim().1;
        is_there.then(|| {
            let mut x = x.to_owned();
            x.index_axis_mut(Axis(1), self.0).fill(0.0);
            x
        })
    }
}

/// Before a probe that changes nothing the same text is written; one that changes something changes it as in
/// a pass over all.
#[test]
fn a_probe_may_change_what_is_written() {
    let model = model(Config::new(11, 6, 8, 2));
    let write = |probe: Option<&(dyn Probe + Sync)>| {
        let generator = Generator::new(&model, &text(2), Sampling::greedy(), 1).unwrap();
        let mut generator = match probe {
            Some(probe) => generator.with_probe(probe),
            None => generator,
        };
        let each = (0..9).map(|_| {
            let scores = generator.logits().unwrap().to_vec();
            generator.next_token().unwrap();
            scores
        });
        let scores: Vec<_> = each.collect();
        (generator.written().to_vec(), scores)
    };
    let ((plain, before), (same, beside)) = (write(None), write(Some(&Without(99))));
    assert_eq!(plain, same);
    assert!(before.iter().zip(&beside).all(|(a, b)| close(a, b)));
    let without = Without(1);
    let (written, scores) = write(Some(&without));
    let read = [&text(2)[..], &written].concat();
    for (i, scores) in scores.iter().enumerate() {
        let window = &read[(2 + i).saturating_sub(6)..2 + i];
        let all = model.forward(window, [1, window.len()], Some(&without)).unwrap();
        assert_eq!(scores[..], all.data()[(window.len() - 1) * 11..]);
    }
    assert!(!close(&scores[0], &before[0]));
}

/// Read one by one, in pieces, and again after going back: the scores of one pass over all.
#[test]
fn the_cache_agrees_with_the_whole_pass() {
    for config in configs() {
        let model = model(config);
        let tokens = text(6);
        for cut in 1..=5 {
            let mut decoder = Decoder::new(&model).unwrap();
            decoder.feed(&tokens[..cut]).unwrap();
            for n in cut..6 {
                let logits = decoder.feed(&tokens[n..n + 1]).unwrap();
                assert!(close(logits, &next_logits(&model, &tokens[..n + 1]).unwrap()), "{n}");
            }
            assert_eq!(decoder.len(), 6);
            decoder.rewind(cut);
            let logits = decoder.feed(&[10]).unwrap();
            let again = [&tokens[..cut], &[10]].concat();
            assert!(close(logits, &next_logits(&model, &again).unwrap()));
        }
    }
}

#[test]
fn long_texts_are_read_in_chunks() {
    let model = model(Config { ngrams: vec![2, 3], ..Config::new(11, 300, 8, 1) });
    let tokens = text(300);
    let mut decoder = Decoder::new(&model).unwrap();
    let logits = decoder.feed(&tokens[..299]).unwrap();
    assert!(close(logits, &next_logits(&model, &tokens[..299]).unwrap()));
    let logits = decoder.feed(&tokens[299..]).unwrap();
    assert!(close(logits, &next_logits(&model, &tokens).unwrap()));
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_lost() {
    let model = model(Config::new(11, 6, 8, 1));
    let mut decoder = Decoder::new(&model).unwrap();
    assert!(decoder.is_empty());
    assert!(matches!(decoder.feed(&[]), Err(Error::Shape { .. })));
    assert!(matches!(decoder.feed(&[1; 7]), Err(Error::Shape { .. })));
    decoder.feed(&[1, 2]).unwrap();
    assert!(matches!(decoder.feed(&[3, 11]), Err(Error::TokenOutOfRange { .. })));
    assert!(matches!(decoder.feed(&[3; 5]), Err(Error::Shape { .. })));
    let logits = decoder.feed(&[3]).unwrap();
    assert!(close(logits, &next_logits(&model, &[1, 2, 3]).unwrap()));

    let new = |prompt: &[TokenId], slide| {
        Generator::new(&model, prompt, Sampling::greedy(), slide).map(drop).unwrap_err()
    };
    assert!(matches!(new(&[], 1), Error::Shape { .. }));
    assert!(matches!(new(&[1, 11], 1), Error::TokenOutOfRange { position: 1, .. }));
    assert!(matches!(new(&[1], 0), Error::Config { .. }));
    assert!(matches!(new(&[1], 7), Error::Config { .. }));
}

/// At every position, also long after the window began to slide.
#[test]
fn the_window_slides_as_defined() {
    for config in configs() {
        let model = model(config);
        for slide in 1..=6 {
            for prompt in [1, 5, 6, 7, 20] {
                let mut generator =
                    Generator::new(&model, &text(prompt), Sampling::greedy(), slide).unwrap();
                for _ in 0..20 {
                    let n = generator.tokens().len();
                    let seen = generator.tokens()[window_start(n, 6, slide)..].to_vec();
                    assert!(seen.len() <= 6 && seen.len() > 6usize.min(n).saturating_sub(slide));
                    let want = next_logits(&model, &seen).unwrap();
                    assert!(close(generator.logits().unwrap(), &want), "slide {slide} at {n}");
                    let choice = generator.next_token().unwrap();
                    let best = (0..11).max_by(|&a, &b| want[a].total_cmp(&want[b])).unwrap();
                    assert_eq!(choice.token as usize, best);
                    let lse = want.iter().map(|&x| f64::from(x).exp()).sum::<f64>().ln();
                    let logprob = f64::from(want[best]) - lse;
                    assert!((f64::from(choice.logprob) - logprob).abs() < 1e-4);
                }
            }
        }
    }
}

#[test]
fn samples_of_one_seed_differ_and_come_back() {
    let model = model(Config::new(11, 6, 8, 1));
    let sampling = Sampling { seed: 5, ..Sampling::default() };
    for n in [3, 10] {
        let mut generator = Generator::new(&model, &text(4), sampling.clone(), 1).unwrap();
        let mut write = |sample| {
            generator.restart(sample);
            (0..n).for_each(|_| assert!(generator.next_token().is_ok()));
            generator.written().to_vec()
        };
        let (first, second) = (write(0), write(1));
        assert_ne!(first, second);
        assert_eq!(first, write(0));
        assert_eq!(first, generate(&model, &text(4), n, sampling.clone()).unwrap());
    }
}

/// Where scores nearly tie, their last digit decides: it is the same for every text of a prompt.
#[test]
fn every_text_begins_with_the_same_scores() {
    let model = model(Config::gpt2(11, 6, 32, 2));
    for kind in [None, Some(SmallKind::Bf16), Some(SmallKind::Q8), Some(SmallKind::Q4)] {
        for n in [1, 4, 9] {
            let (text, greedy) = (text(n), Sampling::greedy());
            let mut generator = Generator::with_weights(&model, &text, greedy, 1, kind).unwrap();
            let first = generator.logits().unwrap().to_vec();
            for written in [0, 1, 7] {
                (0..written).for_each(|_| assert!(generator.next_token().is_ok()));
                generator.restart(1);
                assert_eq!(generator.logits().unwrap(), first, "{kind:?}, {n}, {written}");
            }
        }
    }
}

/// A model that is certain what comes: token 256, which ends a text.
#[test]
fn writing_stops_at_the_end_of_a_text() {
    use crate::tokenizer::{ByteTokenizer, Tokenizer, WithEndOfText};
    let mut model = TinyGPT::new(Config::new(257, 6, 8, 1), 3).unwrap();
    let mut sure = vec![0.0; 257];
    sure[256] = 1e3;
    model.b_lm = Some(crate::Tensor::from_vec(&[257], sure).unwrap());
    let bytes = WithEndOfText::extend(std::sync::Arc::new(ByteTokenizer)).unwrap();
    let written = |tokenizer: &dyn Tokenizer| {
        write_text(&model, tokenizer, "a", 5, Sampling::greedy()).unwrap()
    };
    assert_eq!(written(&*bytes), "");
    let stops = generate(&model, &[97], 3, Sampling::greedy()).unwrap();
    assert_eq!(stops, [256; 3]);
}

/// A model that writes the letter b for ever.
#[test]
fn a_text_has_its_length_or_a_reason_to_be_shorter() {
    use crate::tokenizer::ByteTokenizer;
    let mut model = TinyGPT::new(Config::new(256, 6, 8, 1), 3).unwrap();
    let mut sure = vec![0.0; 256];
    sure[usize::from(b'b')] = 1e3;
    model.b_lm = Some(crate::Tensor::from_vec(&[256], sure).unwrap());
    let written = |stop: &str, most: usize| {
        let stops = Stops::new([stop.as_bytes().to_vec()]);
        let mut generator = Generator::new(&model, &[97], Sampling::greedy(), 1).unwrap();
        let mut heard = 0;
        let go_on = |_: &mut Generator<'_>, so_far: &Written| {
            heard += 1;
            assert_eq!(so_far.choices.len(), heard);
            Ok::<_, Error>(heard < most)
        };
        let written = generator.write(&ByteTokenizer, 5, &stops, go_on).unwrap();
        (String::from_utf8(written.text).unwrap(), written.choices.len(), written.finish, heard)
    };
    assert_eq!(written("", 9), ("bbbbb".into(), 5, Finish::Length, 5));
    assert_eq!(written("bc", 5), ("bbbbb".into(), 5, Finish::Length, 5));
    assert_eq!(written("bc", 2), ("bb".into(), 2, Finish::Interrupted, 2));
    assert_eq!(written("bbb", 9), (String::new(), 3, Finish::Stop, 2));
}

/// Small weights of a rounded model are its weights: token by token as in one pass, for all shapes of
/// blocks, heads and tables, also where 32 divides no width. With whole numbers inputs are rounded as well,
/// to 16 bits.
#[test]
fn small_weights_agree_with_the_whole_pass_of_a_rounded_model() {
    for kind in SmallKind::ALL {
        let most = if kind == SmallKind::Bf16 { 1e-5 } else { 3e-4 };
        for config in configs() {
            let plain = model(config);
            let rounded = plain.clone().rounded(kind).unwrap();
            let tokens = text(6);
            let mut decoder = Decoder::with_weights(&rounded, Some(kind)).unwrap();
            decoder.feed(&tokens[..2]).unwrap();
            for n in 2..6 {
                let logits = decoder.feed(&tokens[n..n + 1]).unwrap().to_vec();
                let whole = |model| next_logits(model, &tokens[..n + 1]).unwrap();
                assert!(within(most, &logits, &whole(&rounded)), "{kind}");
                assert!(!within(most, &logits, &whole(&plain)), "{kind}");
            }
            let again = rounded.clone().rounded(kind).unwrap();
            let pairs = rounded.parameters().zip(again.parameters());
            assert!(pairs.into_iter().all(|((_, a), (_, b))| a.data() == b.data()), "{kind}");
        }
    }
}

#[test]
fn a_number_that_does_not_fit_is_named() {
    for (kind, x) in
        [(SmallKind::Q8, 1e8), (SmallKind::Q4, f32::NAN), (SmallKind::Bf16, f32::INFINITY)]
    {
        let mut model = model(Config::new(11, 6, 8, 2));
        model.blocks[1].w_out.data_mut()[5] = x;
        let want = format!("weights: 'blocks.1.w_out' has a number that {kind} cannot hold");
        for error in [
            Decoder::with_weights(&model, Some(kind)).map(drop).unwrap_err(),
            model.rounded(kind).map(drop).unwrap_err(),
        ] {
            assert!(error.to_string().contains(&want), "{error}");
        }
    }
}

/// When a longer prompt goes on, only its new tokens are read; the text is as if all had been.
#[test]
fn a_prompt_that_goes_on_is_read_on() {
    let model = TinyGPT::new(Config::new(50, 16, 16, 2), 1).unwrap();
    let mut talk = Generator::new(&model, &[1, 2, 3], Sampling::greedy(), 1).unwrap();
    for _ in 0..3 {
        talk.next_token().unwrap();
    }
    let so_far = talk.tokens().to_vec();
    // The last token that was drawn was not read; one is read again, for what follows from it.
    let on = [&so_far[..], &[7, 8]].concat();
    for (prompt, kept) in [(on, 5), (vec![1, 2], 1), (vec![4, 2], 0), ((0..30).collect(), 0)] {
        talk.prompt(&prompt, 0).unwrap();
        assert_eq!(talk.decoder.len(), kept, "{prompt:?}");
        let mut afresh = Generator::new(&model, &prompt, Sampling::greedy(), 1).unwrap();
        for _ in 0..3 {
            let (a, b) = (talk.next_token().unwrap(), afresh.next_token().unwrap());
            assert!(a.token == b.token && (a.logprob - b.logprob).abs() < 1e-5, "{prompt:?}");
        }
    }
    assert!(talk.prompt(&[], 0).is_err() && talk.prompt(&[50], 0).is_err());
}
