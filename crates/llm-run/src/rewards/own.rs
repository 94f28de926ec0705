//! Built-in questions, with their answers.

use serde_json::json;

/// Questions of a task.
const QUESTIONS: usize = 10_000;
/// Digits of a number that is sorted or reversed.
const DIGITS: usize = 5;

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_question_comes_twice_and_answers_are_right() {
        for name in ["arithmetic", "sort", "reverse"] {
            let text = String::from_utf8(own_questions(name).unwrap()).unwrap();
            let all: BTreeSet<&str> = text.lines().collect();
            assert_eq!(all.len(), 10_000, "{name}");
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
