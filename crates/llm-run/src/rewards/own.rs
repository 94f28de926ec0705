//! Built-in questions, with their answers.

use llm_stories::{FactKind, story};
use serde_json::json;
use std::collections::HashSet;

/// Questions of a task.
const QUESTIONS: usize = 10_000;
/// Digits of a number that is sorted or reversed.
const DIGITS: usize = 5;

/// Seed of the stories that are asked about: no run's, unless it is asked for.
const STORIES: u64 = 0x5eed_0fa5;
/// Most bytes of a story up to its answer: the answer fits behind it into the window of stories.
const LONGEST: usize = 220;

/// The numbers below `end` once each, in an order that looks random: powers of a primitive root of a prime above it.
fn shuffled(end: usize, [root, prime]: [usize; 2]) -> impl Iterator<Item = usize> {
    let powers = std::iter::successors(Some(1), move |x| Some(x * root % prime));
    powers.take(prime - 1).filter(move |x| *x <= end).map(|x| x - 1)
}

/// The questions of a task by its name, a line of JSON each with prompt and completion; `None`: no task.
pub fn own_questions(name: &str) -> Option<Vec<u8>> {
    let lines: Vec<(String, String)> = match name {
        "arithmetic" => shuffled(QUESTIONS, [4_321, 10_007]).map(sum).collect(),
        "sort" => numbers(|digits| digits.sort_unstable()).collect(),
        "reverse" => numbers(|digits| digits.reverse()).collect(),
        "who-has" => stories(&[FactKind::Holder]).collect(),
        "stories" => stories(&[FactKind::Holder, FactKind::Spot]).collect(),
        _ => return None,
    };
    let line = |(prompt, completion): (String, String)| {
        format!("{}\n", json!({ "prompt": prompt, "completion": completion }))
    };
    Some(lines.into_iter().map(line).collect::<String>().into_bytes())
}

fn sum(k: usize) -> (String, String) {
    let (a, b) = (k / 100, k % 100);
    (format!("{a:02}+{b:02}="), format!("{:03}", a + b))
}

fn numbers(change: fn(&mut [u8])) -> impl Iterator<Item = (String, String)> {
    let all = shuffled(10usize.pow(DIGITS as u32), [54_321, 100_003]);
    all.take(QUESTIONS).map(move |k| {
        let number = format!("{k:0DIGITS$}");
        let mut digits = number.clone().into_bytes();
        change(&mut digits);
        (format!("{number}="), String::from_utf8_lossy(&digits).into_owned())
    })
}

/// Stories up to their last question, which is of one of these kinds.
fn stories(kinds: &[FactKind]) -> impl Iterator<Item = (String, String)> {
    let asked = move |i| {
        let told = story(STORIES, i);
        let (asked, answer) = told.text.trim_end().split_once('?')?;
        let is_meant = told.facts.last().is_some_and(|fact| kinds.contains(&fact.kind));
        (is_meant && asked.len() < LONGEST).then(|| (format!("{asked}?"), answer.into()))
    };
    let mut known = HashSet::new();
    (0..).filter_map(asked).filter(move |(asked, _)| known.insert(asked.clone())).take(QUESTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_question_comes_twice_and_answers_are_right() {
        for name in ["arithmetic", "sort", "reverse", "who-has", "stories"] {
            let text = String::from_utf8(own_questions(name).unwrap()).unwrap();
            let all: BTreeSet<&str> = text.lines().collect();
            assert_eq!(all.len(), 10_000, "{name}");
            assert!(all.iter().all(|line| line.len() < 256 + 32), "{name}");
        }
        let has = |name: &str, line: &str| {
            let text = String::from_utf8(own_questions(name).unwrap()).unwrap();
            assert!(text.lines().any(|of| of == line), "{line}");
        };
        has("arithmetic", r#"{"completion":"046","prompt":"12+34="}"#);
        has("arithmetic", r#"{"completion":"198","prompt":"99+99="}"#);
        has("sort", r#"{"completion":"02345","prompt":"54320="}"#);
        has("reverse", r#"{"completion":"02345","prompt":"54320="}"#);
        assert_eq!(own_questions("exact"), None);
    }
}
