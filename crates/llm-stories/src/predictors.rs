//! Two predictors that do not read: what a model must beat before its share of right facts says
//! anything.

use std::collections::BTreeMap;

use crate::fact::{Fact, FactKind, Story, WordClass};
use crate::words::{FULL, Grammar};

/// How many facts there are, and how many of them each cheap predictor gets right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of facts.
    pub facts: u64,
    /// Right by always saying the most frequent word of the kind.
    pub most_frequent: u64,
    /// Right by saying the candidate word that was mentioned last.
    pub last_mentioned: u64,
}

impl Tally {
    /// Share of facts right by the most frequent word of the kind, 0 to 1; 0 without facts.
    pub fn most_frequent_share(&self) -> f64 {
        share(self.most_frequent, self.facts)
    }

    /// Share of facts right by the last-mentioned candidate, 0 to 1; 0 without facts.
    pub fn last_mentioned_share(&self) -> f64 {
        share(self.last_mentioned, self.facts)
    }

    /// The sum of two tallies.
    pub fn plus(self, other: Tally) -> Tally {
        Tally {
            facts: self.facts + other.facts,
            most_frequent: self.most_frequent + other.most_frequent,
            last_mentioned: self.last_mentioned + other.last_mentioned,
        }
    }
}

fn share(right: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { right as f64 / of as f64 }
}

/// The cheap predictors, after learning the most frequent word of every kind.
#[derive(Clone, Debug, Default)]
pub struct Predictors {
    most_frequent: BTreeMap<FactKind, String>,
}

impl Predictors {
    /// Counts the words of every kind in the training stories. Of equally frequent words the
    /// alphabetically first wins.
    pub fn learn<'a>(stories: impl IntoIterator<Item = &'a Story>) -> Predictors {
        let mut counts: BTreeMap<FactKind, BTreeMap<&str, u64>> = BTreeMap::new();
        for story in stories {
            for fact in &story.facts {
                let words = counts.entry(fact.kind).or_default();
                *words.entry(word(story, fact)).or_default() += 1;
            }
        }
        // Walking backwards, `max_by_key` keeps the last maximum: the alphabetically first word.
        let most_frequent = counts.into_iter().filter_map(|(kind, words)| {
            let (word, _) = words.into_iter().rev().max_by_key(|(_, count)| *count)?;
            Some((kind, word.to_owned()))
        });
        Predictors { most_frequent: most_frequent.collect() }
    }

    /// The most frequent word of a kind, if the training stories had any.
    pub fn most_frequent(&self, kind: FactKind) -> Option<&str> {
        self.most_frequent.get(&kind).map(String::as_str)
    }

    /// The tally of every kind that occurs in `stories`.
    pub fn score<'a>(
        &self,
        stories: impl IntoIterator<Item = &'a Story>,
    ) -> BTreeMap<FactKind, Tally> {
        let mut tallies: BTreeMap<FactKind, Tally> = BTreeMap::new();
        for story in stories {
            for fact in &story.facts {
                let truth = word(story, fact);
                let before = story.text.get(..fact.start).unwrap_or_default();
                let last = last_mentioned(&FULL, before, fact.kind.class());
                let tally = tallies.entry(fact.kind).or_default();
                tally.facts += 1;
                tally.most_frequent += u64::from(self.most_frequent(fact.kind) == Some(truth));
                tally.last_mentioned += u64::from(last == Some(truth));
            }
        }
        tallies
    }
}

fn word<'a>(story: &'a Story, fact: &Fact) -> &'a str {
    story.text.get(fact.start..fact.end).unwrap_or_default()
}

/// The word of a class that stands closest before the end of `text`.
fn last_mentioned<'a>(grammar: &Grammar, text: &'a str, class: WordClass) -> Option<&'a str> {
    let words = text.rsplit(|c: char| !c.is_ascii_alphabetic());
    words.filter(|word| !word.is_empty()).find(|word| match class {
        WordClass::Name => grammar.people.iter().any(|person| person.name == *word),
        WordClass::Pronoun => grammar.people.iter().any(|person| person.pronoun == *word),
        WordClass::Colour => grammar.colours.contains(word),
        WordClass::Thing => grammar.things.contains(word),
        WordClass::Spot => grammar.spots.contains(word),
    })
}
