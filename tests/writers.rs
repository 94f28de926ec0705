//! Several writers at once: each writes what it writes alone, bit for bit.

use llm_core::generate::{Generator, Sampling, Writers};
use llm_core::kernels::small::SmallKind;
use llm_core::model::{Context, Parameters, Positions, SingleHead};
use llm_core::{Attention, AttentionSpec, Config, Result, Tensor, TinyGPT, TokenId};
use llm_variant_mha::MultiHead;
use llm_variant_modern::Modern;
use std::collections::HashMap;
use std::sync::Arc;

/// A token and the bits of its log-probability.
type Written = Vec<(TokenId, u32)>;

const KINDS: [Option<SmallKind>; 4] =
    [None, Some(SmallKind::Bf16), Some(SmallKind::Q8), Some(SmallKind::Q4)];

/// An attention that keeps the inputs of all positions, and runs over them again.
struct WithoutCache;

impl Attention for WithoutCache {
    fn spec(&self) -> AttentionSpec {
        AttentionSpec::new("again", 1)
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        SingleHead.forward(x, p, ctx)
    }
}

/// Each attention, in models whose matrices have edges and are cut between threads.
fn models() -> Vec<TinyGPT> {
    let plain = Config::gpt2(61, 200, 48, 2);
    let rotary = Config { positions: Positions::Rotary, ..plain.clone() };
    let tied = Config { tied_head: true, ngrams: vec![2, 3], ..Config::new(61, 200, 40, 2) };
    let large = Config { positions: Positions::Rotary, ..Config::new(300, 200, 400, 1) };
    let modern = || Modern::grouped(4, 2).with_rotary(500.0);
    let all: [(Config, Arc<dyn Attention>); 7] = [
        (plain.clone(), Arc::new(WithoutCache)),
        (plain.clone(), Arc::new(SingleHead)),
        (tied, Arc::new(SingleHead)),
        (plain, Arc::new(MultiHead::new(4))),
        (rotary.clone(), Arc::new(modern().with_window(9).with_qk_norm())),
        (rotary, Arc::new(modern().with_soft_cap(5.0))),
        (large, Arc::new(modern())),
    ];
    all.into_iter()
        .map(|(config, attention)| TinyGPT::with_attention(config, attention, 5).unwrap())
        .collect()
}

/// Prompts within a piece, of whole pieces, of one token behind them; some begin alike, two are equal.
fn prompt(i: usize) -> Vec<TokenId> {
    let len = [1, 7, 64, 65, 100, 128, 130, 130, 150, 100][i % 10];
    let salt = if i.is_multiple_of(2) { 3 } else { 5 };
    let mut prompt: Vec<TokenId> = (0..len).map(|n| ((n * n + salt * n) % 61) as TokenId).collect();
    if i == 8 {
        prompt[140] = 60;
    }
    prompt
}

fn sampling(i: usize) -> Sampling {
    match i % 3 {
        0 => Sampling::greedy(),
        _ => Sampling { seed: i as u64, top_k: 20, top_p: 0.95, ..Sampling::default() },
    }
}

const LENGTH: usize = 6;

fn alone(model: &TinyGPT, kind: Option<SmallKind>, i: usize) -> Written {
    let mut generator = Generator::with_weights(model, &prompt(i), sampling(i), 1, kind).unwrap();
    let choices = (0..LENGTH).map(|_| generator.next_token().unwrap());
    choices.map(|choice| (choice.token, choice.logprob.to_bits())).collect()
}

/// Steps until no writer is left; `come` may let others join before each.
fn run(
    writers: &mut Writers<'_>,
    mut come: impl FnMut(usize, &mut Writers<'_>),
) -> HashMap<u64, Written> {
    let mut written: HashMap<u64, Written> = HashMap::new();
    for step in 0.. {
        come(step, writers);
        if step > 0 && writers.is_empty() {
            break;
        }
        let hear = |writer, choice: Option<llm_core::generate::Choice>, _: &[f32]| {
            let choice = choice.unwrap();
            written.entry(writer).or_default().push((choice.token, choice.logprob.to_bits()));
        };
        writers.step(hear).unwrap();
    }
    written
}

#[test]
fn a_writer_writes_what_it_writes_alone_whoever_comes_and_goes() {
    for (which, model) in models().into_iter().enumerate() {
        for kind in KINDS {
            let model = match kind {
                Some(kind) => model.clone().rounded(kind).unwrap(),
                None => model.clone(),
            };
            let alone: Vec<Written> = (0..10).map(|i| alone(&model, kind, i)).collect();
            for most in [1, 3, 8] {
                let mut writers = Writers::new(&model, kind, most).unwrap();
                // Two rounds, so that the second finds what the first left.
                let mut queue: Vec<usize> = (0..10).chain((0..10).rev()).rev().collect();
                let mut of = HashMap::new();
                let written = run(&mut writers, |step, writers| {
                    // At most two a step, so that they are at different places.
                    for _ in 0..writers.room().min(1 + step % 2) {
                        let Some(i) = queue.pop() else { return };
                        let number = writers.join(&prompt(i), LENGTH, sampling(i), false).unwrap();
                        of.insert(number, i);
                    }
                });
                assert_eq!(written.len(), 20);
                for (number, written) in written {
                    assert_eq!(
                        written, alone[of[&number]],
                        "model {which} {kind:?} {most} {}",
                        of[&number]
                    );
                }
            }
        }
    }
}

/// One that leaves in the middle changes nothing, and its place is free.
#[test]
fn who_leaves_makes_room() {
    let model = &models()[3];
    let mut writers = Writers::new(model, None, 2).unwrap();
    let [first, second] =
        [4, 6].map(|i| writers.join(&prompt(i), LENGTH, sampling(i), false).unwrap());
    assert!(writers.join(&prompt(1), LENGTH, sampling(1), false).is_err());
    let mut third = 0;
    let written = run(&mut writers, |step, writers| {
        if step == 4 {
            writers.leave(first);
            writers.leave(first);
            assert_eq!(writers.room(), 1);
            third = writers.join(&prompt(8), LENGTH, sampling(8), false).unwrap();
        }
    });
    assert!(written[&first].len() < LENGTH && alone(model, None, 4).starts_with(&written[&first]));
    assert_eq!(written[&second], alone(model, None, 6));
    assert_eq!(written[&third], alone(model, None, 8));
}

/// The scores at all positions of a prompt are those of one pass over it; the last are those that a text
/// begins with.
#[test]
fn scores_of_a_prompt_are_heard() {
    for model in models() {
        let v = model.config().vocab_size;
        let mut writers = Writers::new(&model, None, 2).unwrap();
        for i in [6, 6, 0] {
            let prompt = prompt(i);
            writers.join(&prompt, 1, Sampling::greedy(), true).unwrap();
            let (mut heard, mut drawn_from) = (Vec::new(), Vec::new());
            while !writers.is_empty() {
                let hear = |_, choice: Option<_>, scores: &[f32]| match choice {
                    None => heard.extend_from_slice(scores),
                    Some(_) => drawn_from = scores.to_vec(),
                };
                writers.step(hear).unwrap();
            }
            let whole = model.logits(&prompt, [1, prompt.len()]).unwrap();
            assert_eq!(heard.len(), whole.numel());
            assert!(heard.iter().zip(whole.data()).all(|(a, b)| (a - b).abs() < 1e-4));
            assert_eq!(heard[heard.len() - v..], drawn_from);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = &models()[0];
    let mut writers = Writers::new(model, None, 1).unwrap();
    let mut join = |prompt: &[TokenId], n| writers.join(prompt, n, Sampling::greedy(), false);
    for (prompt, n) in
        [(vec![], 1), (vec![61], 1), (vec![0; 201], 0), (vec![0; 200], 2), (vec![0; 10], 192)]
    {
        assert!(join(&prompt, n).is_err(), "{} {n}", prompt.len());
    }
    assert!(writers.is_empty());
    writers.join(&[0; 200], 1, Sampling::greedy(), false).unwrap();
    assert_eq!(run(&mut writers, |_, _| {})[&0].len(), 1);
}
