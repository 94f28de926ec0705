//! Answers are functions of seed, step and row; what is known of them is not asked again; what is seen of them.

use super::writing::answers;
use super::{Asking, Ground, Judging, Questions, questions};
use crate::data::{Data, Input, Reading};
use crate::log::{Rewarded, Said};
use llm_core::model::{Batch, Origin};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use llm_core::train::{OneProcess, Work};
use llm_core::{Config, TinyGPT};
use std::sync::Arc;

const GROUP: usize = 4;

fn recipe(reward: &str) -> Recipe {
    let recipe = Recipe::new([2, 32], 10, 1e-3);
    Recipe { reward: reward.into(), group: GROUP as u32, answer_length: 5, accum: 2, ..recipe }
}

fn asked(reward: &str) -> (Data, Questions, Arc<dyn Tokenizer>) {
    let line = |i: usize| format!("{{\"prompt\": \"q{i}\", \"completion\": \"a{i}\"}}\n");
    let lines = (10..50).map(line).collect::<String>().into_bytes();
    let (recipe, tokenizer) = (recipe(reward), Arc::new(ByteTokenizer) as Arc<dyn Tokenizer>);
    let reading = Reading::for_model(&*tokenizer, &recipe.data, None);
    let input = Input::of_bytes("questions".into(), lines, reading).unwrap();
    let (data, questions) = questions(input, &recipe, 32, &tokenizer).unwrap();
    (data, questions, tokenizer)
}

fn model(seed: u64) -> TinyGPT {
    TinyGPT::new(Config::new(256, 32, 16, 1), seed).unwrap()
}

fn rows(data: &Data, step: u64, first_row: u64, rows: usize) -> Batch {
    let origin = Origin { seed: 7, step, first_row, step_rows: 4, ..Origin::default() };
    data.train.rows(origin, [rows, 32]).unwrap()
}

/// The rows of a step may be written by anyone, and no two steps have the same draws.
#[test]
fn answers_are_functions_of_seed_step_and_row() {
    let (data, questions, tokenizer) = asked("exact");
    let of = |batch: &Batch| answers(&model(1), batch, GROUP, &questions, &*tokenizer).unwrap();
    let written = |first, n| of(&rows(&data, 3, first, n));
    let whole = written(0, 4);
    assert_eq!(whole, [written(0, 2), written(2, 2)].concat());
    let tokens = |of: &[super::Attempt]| of.iter().map(|of| of.tokens.clone()).collect::<Vec<_>>();
    assert_ne!(tokens(&whole[..1]), tokens(&whole[1..2]));
    // The same questions in another step.
    let mut batch = rows(&data, 3, 0, 4);
    batch.origin.step = 4;
    assert_ne!(tokens(&of(&batch)), tokens(&whole));
}

/// An answer without its end is not the known answer.
#[test]
fn an_answer_that_does_not_end_is_cut() {
    let (_, questions, tokenizer) = asked("exact");
    let said = |text: &str| {
        let tokens: Vec<u32> = text.bytes().map(u32::from).collect();
        questions.said(&tokens, &*tokenizer)
    };
    assert_eq!(said("a12\n"), ("a12".into(), true));
    assert_eq!(said("a12"), ("a12".into(), false));
    assert_eq!(said("a12\nb"), ("a12".into(), true));
}

/// A step of the first process, with what is known of it.
fn judged(reward: &str, known: Vec<Rewarded>) -> llm_core::Result<Rewarded> {
    let (data, questions, tokenizer) = asked(reward);
    let ground = Ground { questions: Some(Arc::new(questions)), ..Ground::default() };
    let (model, mut one) = (model(1), OneProcess);
    let mut work = Judging::new(&mut one, &recipe(reward), ground, tokenizer, known);
    let latest = work.latest();
    let mut batches = [0, 2].map(|first| Ok(rows(&data, 3, first, 2))).into_iter();
    work.gradients(&model, &mut batches, 3)?;
    Ok(latest.take().0.unwrap())
}

#[cfg(unix)]
#[test]
fn what_is_known_of_the_very_answers_is_not_asked_again() {
    let count = "sh -c 'i=0; while read line; do i=$(( (i + 1) % 5 )); echo $i; done'";
    let found = judged(count, Vec::new()).unwrap();
    assert_eq!((found.step, found.said.len(), found.said[0].rewards.len()), (4, 2, 2 * GROUP));
    // 16 answers that get 1, 2, 3, 4, 0, 1, ..
    assert_eq!((found.reward, found.differ), (31.0 / 16.0, 1.0));
    assert!((found.entropy / 256f64.ln() - 1.0).abs() < 0.1, "{}", found.entropy);
    assert_eq!(judged("false", vec![found.clone()]).unwrap(), found);
    let of_others = |of: &Said| Said { asked: of.asked + 1, rewards: of.rewards.clone() };
    let others = Rewarded { said: found.said.iter().map(of_others).collect(), ..found.clone() };
    assert!(judged("false", vec![others]).is_err());
    let other_step = Rewarded { step: 3, ..found };
    assert!(judged("false", vec![other_step]).is_err());
}

#[test]
fn the_distance_from_the_start_is_estimated_on_its_answers() {
    let (_, questions, tokenizer) = asked("exact");
    let questions = Arc::new(questions);
    let mut asking = Asking::new(questions.clone(), tokenizer.clone(), Vec::new());
    let start = asking.moment(&model(1), 0, 7).unwrap().unwrap();
    assert_eq!((start.start_kl, start.answers.len(), start.first.len()), (Some(0.0), 3, 64));
    assert!(start.first.iter().all(|of| of.tokens.len() == of.logprobs.len()));
    assert!(asking.moment(&model(1), 0, 7).unwrap().is_none(), "twice after a step");
    let same = asking.moment(&model(1), 1, 7).unwrap().unwrap();
    assert_eq!((same.start_kl, &same.answers, same.first.len()), (Some(0.0), &start.answers, 0));
    // Both near 1/V everywhere: the estimate is near KL itself, Σ p·ln(p/q) at the first token.
    let far = asking.moment(&model(2), 2, 7).unwrap().unwrap().start_kl.unwrap();
    let scores = |seed| {
        let p = model(seed).logits(&questions.fixed[0], [1, 3]).unwrap();
        let p: Vec<f64> = p.data()[2 * 256..].iter().map(|x| f64::from(*x).exp()).collect();
        let sum: f64 = p.iter().sum();
        p.into_iter().map(move |p| p / sum)
    };
    let kl: f64 = scores(1).zip(scores(2)).map(|(p, q)| p * (p / q).ln()).sum();
    assert!((far / kl - 1.0).abs() < 0.3, "{far} {kl}");
    // What lies in the folder is enough to go on.
    let mut again = Asking::new(questions.clone(), tokenizer.clone(), vec![start]);
    assert_eq!(again.moment(&model(2), 2, 7).unwrap().unwrap().start_kl, Some(far));
    let mut lost = Asking::new(questions, tokenizer, Vec::new());
    assert_eq!(lost.moment(&model(2), 2, 7).unwrap().unwrap().start_kl, None);
}
