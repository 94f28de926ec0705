//! How a story opens: two people meet, and have two different items between them.
//!
//! One word is chosen at a time, which keeps the number of branches small.

use crate::fact::FactKind::OtherPerson;
use crate::line::{Branch, Line, Teller};
use crate::state::{Phase, Place, State};

/// "Jane met".
pub(crate) fn first_person(t: &Teller) -> Vec<Branch> {
    let people = t.grammar.people.iter().enumerate();
    let branches = people.map(|(index, person)| {
        let next = State { phase: Phase::SecondPerson, people: [index, index], ..*t.state };
        Line::new().say(person.name).say(" met ").then(1, next)
    });
    branches.collect()
}

/// "Kurt.": anybody but the first person.
pub(crate) fn second_person(t: &Teller) -> Vec<Branch> {
    let [first, _] = t.state.people;
    let others = t.grammar.people.iter().enumerate().filter(|(index, _)| *index != first);
    let branches = others.map(|(index, person)| {
        let next = State { phase: Phase::FirstColour, people: [first, index], ..*t.state };
        Line::new().say(person.name).say(".").then(1, next)
    });
    branches.collect()
}

/// " Jane had a pink".
pub(crate) fn first_colour(t: &Teller) -> Vec<Branch> {
    let mut out = Vec::new();
    for who in 0..2 {
        for (colour, word) in t.grammar.colours.iter().enumerate() {
            let mut next = t.moved(0, Place::With(who), Phase::FirstThing);
            next.items[0].colour = colour;
            let line = Line::new().say(" ").say(t.name(who)).say(" had a ").say(word);
            out.push(line.then(1, next));
        }
    }
    out
}

/// " cup." if the other person has the second item, " cup and" if the same person has both.
pub(crate) fn first_thing(t: &Teller) -> Vec<Branch> {
    let mut out = Vec::new();
    for (thing, word) in t.grammar.things.iter().enumerate() {
        for owner in 0..2 {
            let mut next = t.moved(1, Place::With(owner), Phase::SecondColour);
            next.items[0].thing = thing;
            let same = next.items[0].place == next.items[1].place;
            let line = Line::new().say(" ").say(word).say(if same { " and" } else { "." });
            out.push(line.then(1, next));
        }
    }
    out
}

/// " Kurt had a grey" after a full stop, " a grey" after "and": no colour twice.
pub(crate) fn second_colour(t: &Teller) -> Vec<Branch> {
    let [first, second] = t.state.items;
    let start = match second.place {
        Place::With(who) if second.place != first.place => {
            Line::new().say(" ").know(OtherPerson, t.name(who)).say(" had a ")
        }
        _ => Line::new().say(" a "),
    };
    let colours = t.grammar.colours.iter().enumerate();
    let branches = colours.filter(|(colour, _)| *colour != first.colour).map(|(colour, word)| {
        let mut next = State { phase: Phase::SecondThing, ..*t.state };
        next.items[1].colour = colour;
        start.clone().say(word).then(1, next)
    });
    branches.collect()
}

/// " hat.": no thing twice.
pub(crate) fn second_thing(t: &Teller) -> Vec<Branch> {
    let [first, _] = t.state.items;
    let things = t.grammar.things.iter().enumerate();
    let branches = things.filter(|(thing, _)| *thing != first.thing).map(|(thing, word)| {
        let mut next = State { phase: Phase::Event, ..*t.state };
        next.items[1].thing = thing;
        Line::new().say(" ").say(word).say(".").then(1, next)
    });
    branches.collect()
}
