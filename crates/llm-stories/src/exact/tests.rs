//! The exact predictor against a list of all stories of a grammar small enough to write it down.
//!
//! P(byte b | prefix) = Σ P(stories that begin with prefix·b) / Σ P(stories that begin with prefix)

use std::collections::BTreeMap;

use super::Belief;
use crate::branches::branches;
use crate::state::State;
use crate::words::{FULL, Grammar};

fn reduced(colours: &'static [&'static str], things: &'static [&'static str]) -> Grammar {
    let people = &FULL.people[3..5];
    let spots = &FULL.spots[..2];
    Grammar { people, colours, things, spots, room: 200, min_events: 1, max_events: 2 }
}

/// The probability of every complete text; ways that give the same text are added up.
fn all_stories(grammar: &Grammar) -> BTreeMap<Vec<u8>, f64> {
    let mut out = BTreeMap::new();
    let mut open = vec![(State::start(), Vec::new(), 1.0)];
    while let Some((state, text, p)) = open.pop() {
        let ways = branches(grammar, &state);
        if ways.is_empty() {
            *out.entry(text).or_insert(0.0) += p;
            continue;
        }
        let total: u32 = ways.iter().map(|way| way.weight).sum();
        for way in ways {
            let told = way.pieces.iter().flat_map(|piece| piece.text.bytes());
            let text = text.iter().copied().chain(told).collect();
            open.push((way.next, text, p * f64::from(way.weight) / f64::from(total)));
        }
    }
    out
}

/// Compares at every prefix of every story, and returns the number of stories.
fn compare(grammar: &Grammar) -> usize {
    let stories = all_stories(grammar);
    let mut prefixes: BTreeMap<&[u8], f64> = BTreeMap::new();
    for (text, p) in &stories {
        for end in 0..=text.len() {
            *prefixes.entry(&text[..end]).or_insert(0.0) += p;
        }
    }
    assert!((prefixes[&[][..]] - 1.0).abs() < 1e-12);
    walk(Belief::new(grammar), &mut Vec::new(), &prefixes, &stories);
    stories.len()
}

fn walk(
    belief: Belief,
    prefix: &mut Vec<u8>,
    prefixes: &BTreeMap<&[u8], f64>,
    stories: &BTreeMap<Vec<u8>, f64>,
) {
    let next = belief.next();
    let sum: f64 = next.iter().sum();
    let expected_sum = if stories.contains_key(prefix) { 0.0 } else { 1.0 };
    assert!((sum - expected_sum).abs() < 1e-12, "{}: {sum}", prefix.escape_ascii());
    let here = prefixes[prefix.as_slice()];
    for byte in 0..=255 {
        prefix.push(byte);
        let exact = prefixes.get(prefix.as_slice()).map_or(0.0, |p| p / here);
        let p = next[usize::from(byte)];
        assert!((p - exact).abs() < 1e-12, "{}: {p} {exact}", prefix.escape_ascii());
        let mut after = belief.clone();
        match after.advance(byte) {
            Some(advanced) => {
                assert!((advanced - exact).abs() < 1e-12, "{}", prefix.escape_ascii());
                walk(after, prefix, prefixes, stories);
            }
            None => assert_eq!(exact, 0.0, "{}", prefix.escape_ascii()),
        }
        prefix.pop();
    }
}

#[test]
fn equals_the_list_of_all_stories() {
    assert!(compare(&reduced(&["pink", "grey"], &["cup", "hat"])) > 1000);
}

#[test]
fn a_tight_window_cuts_events_and_stays_exact() {
    let wide = reduced(&["pink", "grey"], &["cup", "hat"]);
    let tight = Grammar { room: 150, ..wide };
    assert!(all_stories(&tight).keys().all(|text| text.len() <= 150));
    assert!(compare(&tight) < all_stories(&wide).len());
}

/// With a word listed twice, different choices give the same text, in different states and (the
/// question about either of two equal items) in the same state.
#[test]
fn choices_with_the_same_text_are_added_up() {
    let same = Grammar { max_events: 1, ..reduced(&["pink", "pink"], &["cup", "cup"]) };
    assert!(compare(&same) > 10);
}

/// Words that begin alike keep several hypotheses alive in the middle of a word.
#[test]
fn words_that_begin_alike_stay_exact() {
    let alike = Grammar { max_events: 1, ..reduced(&["tan", "teal"], &["cup", "cupboard"]) };
    assert!(compare(&alike) > 100);
}
