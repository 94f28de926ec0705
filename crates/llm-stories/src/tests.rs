//! What the stories promise; `exact_tests.rs` tests that the probabilities are exact.

use proptest::prelude::*;

use super::{FactKind, Predictors, Story, Tally, WINDOW, story, surprise};

/// BLAKE3 of the first 1,000 stories of seed 1. Other bytes need another `GRAMMAR_VERSION`.
const GOLDEN: &str = "9e245e002b0b1c37c127657eb5cba6e590c028c1c4f9c511fead8d2d3c8a4636";

fn stories(from: u64, to: u64) -> Vec<Story> {
    (from..to).map(|index| story(1, index)).collect()
}

#[test]
fn same_bytes_for_the_same_seed() {
    let mut hasher = blake3::Hasher::new();
    for story in stories(0, 1000) {
        hasher.update(story.text.as_bytes());
    }
    assert_eq!(hasher.finalize().to_hex().as_str(), GOLDEN);
}

#[test]
fn the_documented_story_is_a_real_one() {
    let source = include_str!("lib.rs").replace("//!", "");
    let documented = source.split_whitespace().collect::<Vec<_>>().join(" ");
    let story = story(1, 5);
    assert!(documented.contains(story.text.trim_end()), "not in lib.rs: {}", story.text);
    let tagged: Vec<String> = story
        .facts
        .iter()
        .map(|fact| format!("\"{}\" ({})", &story.text[fact.start..fact.end], fact.kind.name()))
        .collect();
    assert!(documented.contains(&tagged.join(", ")), "not in lib.rs: {}", tagged.join(", "));
}

#[test]
fn a_story_is_one_ascii_line_that_fits_the_window() {
    for story in stories(0, 3000) {
        assert!(story.text.is_ascii() && story.text.len() <= WINDOW, "{}", story.text);
        assert_eq!(story.text.find('\n'), Some(story.text.len() - 1));
    }
}

#[test]
fn facts_are_whole_words_in_order() {
    for story in stories(0, 3000) {
        let bytes = story.text.as_bytes();
        let mut reached = 0;
        for fact in &story.facts {
            assert!(reached < fact.start && fact.start < fact.end, "{fact:?} in {}", story.text);
            assert!(bytes[fact.start..fact.end].iter().all(u8::is_ascii_alphabetic));
            assert!(!bytes[fact.start - 1].is_ascii_alphabetic());
            assert!(!bytes[fact.end].is_ascii_alphabetic());
            reached = fact.end;
        }
    }
}

#[test]
fn every_fact_follows_from_the_text_before_it() {
    for story in stories(0, 3000) {
        let nats = surprise(&story.text).unwrap();
        assert_eq!(nats.len(), story.text.len());
        for fact in &story.facts {
            let word = &story.text[fact.start..fact.end];
            let sum: f64 = nats[fact.start..fact.end].iter().sum();
            assert!(sum < 1e-9, "{:?} '{word}' is open in {}", fact.kind, story.text);
        }
    }
}

#[test]
fn cheap_predictors_stay_cheap_and_two_places_are_common() {
    let tallies = Predictors::learn(&stories(3000, 13_000)).score(&stories(0, 3000));
    for kind in &FactKind::ALL {
        assert!(tallies[kind].facts > 500, "{kind:?} is rare: {:?}", tallies[kind]);
        let Tally { facts, last_mentioned, .. } = tallies[kind];
        assert_eq!(kind.is_last_mentioned(), last_mentioned == facts, "{kind:?}");
    }
    let total = tallies.values().fold(Tally::default(), |sum, tally| sum.plus(*tally));
    let two_places: u64 =
        tallies.iter().filter(|(kind, _)| kind.places() == 2).map(|(_, tally)| tally.facts).sum();
    assert!(two_places as f64 >= 0.35 * total.facts as f64, "{two_places} of {}", total.facts);
    assert!(total.most_frequent_share() < 0.5, "{}", total.most_frequent_share());
    assert!(total.last_mentioned_share() < 0.5, "{}", total.last_mentioned_share());
}

#[test]
fn kinds_have_names_of_their_own() {
    let mut names: Vec<&str> = FactKind::ALL.iter().map(|kind| kind.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FactKind::ALL.len());
}

#[test]
fn text_that_is_no_story_has_no_surprise() {
    assert_eq!(surprise(""), Some(Vec::new()));
    let one = story(7, 7).text;
    assert!(surprise(&one[..one.len() / 2]).is_some());
    assert_eq!(surprise(&format!("{one}{one}")), None);
    assert_eq!(surprise("Finn met Finn."), None);
    assert_eq!(surprise("Zoë"), None);
}

proptest! {
    #[test]
    fn any_text_is_an_answer_or_none(text in ".{0,80}", cut in 0usize..256, index: u64) {
        let _ = surprise(&text);
        let mut mixed = story(index, index).text;
        mixed.truncate(cut);
        prop_assert!(surprise(&mixed).is_some());
        mixed.push_str(&text);
        let _ = surprise(&mixed);
    }
}
