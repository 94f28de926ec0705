//! Twins: two stories that differ in the answer of one fact and in as little else as can be.
//!
//! What a model computes at a position of one can be put in at the same position of the other, to
//! find where the answer comes from.

use crate::exact::surprise;
use crate::fact::{Fact, Story, WordClass};
use crate::words::{FULL, Person};

/// A story with the answer of one fact changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twin {
    /// The story, with facts of the same kinds in the same order.
    pub story: Story,
    /// The bytes before the fact at which the two texts differ, in order.
    pub places: Vec<usize>,
}

/// The twin of a story at `story.facts[fact]`: the same length up to that fact, and there another
/// word, with another first byte.
///
/// The word is replaced everywhere by one of its class that has the same length, another first
/// letter and no place in the story yet; a name by one with the same pronoun. All facts keep their
/// bytes. At a pronoun it is the person who is replaced, by one with the other pronoun; as "he" and
/// "she" differ in length, what comes after it shifts.
///
/// `None` where the grammar has no such story:
/// - no other word is as long ("brown", "tan", "flute", "jar", "shed", "trunk"), or the only other
///   one is in the story ("pink" and "grey", "silver" and "violet");
/// - a pronoun stands for the same person earlier too, and would differ in length there;
/// - with the longer pronoun the story has no room for all that happens, which is rare.
///
/// ```
/// use llm_stories::{story, twin};
///
/// let fifth = story(1, 5); // "Carl met Ella. Carl had … He gave Ella the violet cup. …"
/// let other = twin(&fifth, 1).expect("there are more names than hers");
/// assert!(other.story.text.starts_with("Carl met Jane. Carl had a violet cup and a brown key."));
/// assert!(other.story.text.contains("He gave Jane the violet cup."));
/// assert_eq!(other.story.facts, fifth.facts);
/// assert_eq!(other.places, [9, 10, 11, 12]); // "Ella" in the first sentence
/// ```
pub fn twin(story: &Story, fact: usize) -> Option<Twin> {
    let Fact { kind, start, end } = *story.facts.get(fact)?;
    let is_pronoun = kind.class() == WordClass::Pronoun;
    let word = story.text.get(start..end)?;
    let old = if is_pronoun { meant(&story.text, start)?.name } else { word };
    let mut rivals = rivals(kind.class(), old);
    rivals.retain(|new| {
        let is_apart = new.len() == old.len() && new.bytes().next() != old.bytes().next();
        is_apart && words(&story.text).all(|word| word != *new)
    });
    // Where the fact stands is as good as a draw, and the same every time.
    let new = *rivals.get(start % rivals.len().max(1))?;
    let called = person(new).map_or("", |person| person.pronoun);
    let retold = retell(story, |at, word| match meant(&story.text, at) {
        _ if word == old => new,
        Some(who) if is_pronoun && who.name == old && who.pronoun == word => called,
        _ => word,
    });
    if retold.facts.get(fact)?.start != start || surprise(&retold.text).is_none() {
        return None;
    }
    let pairs = story.text.bytes().zip(retold.text.bytes()).take(start).enumerate();
    let places = pairs.filter(|(_, (one, other))| one != other).map(|(at, _)| at).collect();
    Some(Twin { story: retold, places })
}

/// The words that may replace `old`; at a pronoun, the names with the other one.
fn rivals(class: WordClass, old: &str) -> Vec<&'static str> {
    match class {
        WordClass::Name | WordClass::Pronoun => {
            let Some(Person { pronoun, .. }) = person(old) else { return Vec::new() };
            let same = class == WordClass::Name;
            let people = FULL.people.iter().filter(|person| (person.pronoun == *pronoun) == same);
            people.map(|person| person.name).collect()
        }
        WordClass::Colour => FULL.colours.to_vec(),
        WordClass::Thing => FULL.things.to_vec(),
        WordClass::Spot => FULL.spots.to_vec(),
    }
}

fn person(name: &str) -> Option<&'static Person> {
    FULL.people.iter().find(|person| person.name == name)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphabetic())
}

/// The person that a pronoun at byte `at` stands for: the one named last.
fn meant(text: &str, at: usize) -> Option<&'static Person> {
    words(text.get(..at)?).filter_map(person).last()
}

/// The story with every word replaced by what `change` says for its first byte and itself.
fn retell<'a>(story: &'a Story, change: impl Fn(usize, &'a str) -> &'a str) -> Story {
    let mut retold = Story { text: String::new(), facts: Vec::with_capacity(story.facts.len()) };
    let mut facts = story.facts.iter().peekable();
    let mut at = 0;
    for piece in story.text.split_inclusive(|c: char| !c.is_ascii_alphabetic()) {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
        let start = retold.text.len();
        retold.text.push_str(change(at, word));
        if let Some(fact) = facts.next_if(|fact| fact.start == at) {
            retold.facts.push(Fact { kind: fact.kind, start, end: retold.text.len() });
        }
        retold.text.push_str(&piece[word.len()..]);
        at += piece.len();
    }
    retold
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fact::FactKind, tell::story};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// 10,000 stories, each with one of its facts, taken in turn.
    fn drawn() -> impl Iterator<Item = (Story, usize)> {
        let stories = (0..10_000).map(|index| story(3, index)).enumerate();
        stories.map(|(index, story)| (story.clone(), index % story.facts.len()))
    }

    /// The twins, each with its story and the fact.
    fn pairs() -> impl Iterator<Item = (Story, usize, Twin)> {
        drawn().filter_map(|(story, index)| twin(&story, index).map(|twin| (story, index, twin)))
    }

    #[test]
    fn twins_differ_before_the_fact_at_their_places_only() {
        for (story, index, twin) in pairs() {
            let (one, other) = (story.text.as_bytes(), twin.story.text.as_bytes());
            let start = story.facts[index].start;
            assert_eq!(twin.story.facts[index].start, start);
            assert!(one[start] != other[start], "one answer: {}{}", story.text, twin.story.text);
            let differ: Vec<usize> = (0..start).filter(|&at| one[at] != other[at]).collect();
            assert!(!differ.is_empty() && differ == twin.places, "{}{twin:?}", story.text);
        }
    }

    #[test]
    fn twins_are_stories_whose_facts_follow_from_the_text() {
        for (story, _, twin) in pairs() {
            let kinds = story.facts.iter().map(|fact| fact.kind);
            assert!(kinds.eq(twin.story.facts.iter().map(|fact| fact.kind)), "{twin:?}");
            let nats = surprise(&twin.story.text).unwrap();
            for fact in &twin.story.facts {
                let sum: f64 = nats[fact.start..fact.end].iter().sum();
                assert!(sum < 1e-9, "{fact:?} is open in {}", twin.story.text);
            }
        }
    }

    #[test]
    fn one_word_is_replaced_and_at_a_pronoun_one_person() {
        for (story, index, twin) in pairs() {
            let both = words(&story.text).zip(words(&twin.story.text));
            let replaced: BTreeSet<_> = both.filter(|(old, new)| old != new).collect();
            let is_pronoun = story.facts[index].kind == FactKind::Pronoun;
            assert_eq!(replaced.len(), 1 + usize::from(is_pronoun), "{replaced:?}");
            assert!(is_pronoun || twin.story.facts == story.facts);
        }
    }

    #[test]
    fn the_twin_of_a_twin_has_the_facts_of_the_first() {
        for (story, index, first) in pairs() {
            let second = twin(&first.story, index).expect("the word of the first is free");
            assert_ne!(second.story, first.story);
            assert_eq!(second.story.facts, story.facts, "{}", second.story.text);
        }
    }

    #[test]
    fn every_kind_has_twins_and_a_name_always_has_one() {
        let mut found: BTreeMap<FactKind, [u32; 2]> = BTreeMap::new();
        for (story, index) in drawn() {
            let kind = story.facts[index].kind;
            found.entry(kind).or_default()[usize::from(twin(&story, index).is_some())] += 1;
        }
        for kind in &FactKind::ALL {
            let [without, with] = found[kind];
            assert!(with > 100 && 2 * with > without, "{kind:?}: {with}, {without} without");
            assert!(without == 0 || kind.class() != WordClass::Name, "{kind:?}");
        }
    }

    proptest! {
        #[test]
        fn facts_anywhere_do_no_harm(
            text in "(Carl|met|Zoë|He|ß|[ .])*", start in 0usize..20, end in 0usize..20,
        ) {
            let facts = FactKind::ALL.iter().map(|&kind| Fact { kind, start, end }).collect();
            let story = Story { text, facts };
            (0..=story.facts.len()).for_each(|index| drop(twin(&story, index)));
        }
    }
}
