//! What can happen in a story: giving, hiding, finding, and the ending.
//!
//! The weights are set so that giving, hiding and finding are about equally common and no kind of
//! fact is rare.

use crate::fact::FactKind::{Found, Holder, OtherItem, OtherPerson, Pronoun, Receiver, Spot};
use crate::line::{Branch, Line, Teller};
use crate::state::{Phase, Place, State, Which, Who};

/// Every event that is possible now and fits, and the endings when enough has happened.
pub(crate) fn events(t: &Teller) -> Vec<Branch> {
    let Teller { grammar, state } = t;
    let mut out = Vec::new();
    if state.events < grammar.max_events {
        match state.items.map(|item| item.place) {
            [Place::With(a), Place::With(b)] if a == b => one_has_both(t, a, &mut out),
            [Place::With(a), Place::With(_)] => each_has_one(t, a, &mut out),
            [Place::Hidden(spot), _] => one_hidden(t, 0, spot, &mut out),
            [_, Place::Hidden(spot)] => one_hidden(t, 1, spot, &mut out),
        }
        let limit = grammar.room.saturating_sub(grammar.longest_ending());
        out.retain(|branch| branch.next.used <= limit);
        for branch in &mut out {
            branch.next.events += 1;
        }
    }
    if state.events >= grammar.min_events || out.is_empty() {
        endings(t, &mut out);
    }
    out
}

/// `who`, named last, gives away one of two items or hides it, and keeps the other.
fn one_has_both(t: &Teller, who: Who, out: &mut Vec<Branch>) {
    let you = 1 - who;
    for item in 0..2 {
        let start = Line::new().say(" ").know(Pronoun, t.pronoun(who));
        let give = start.clone().say(" gave ").know(OtherPerson, t.name(you)).say(" the ");
        let give = t.any_item(give, item).say(". ").know(OtherPerson, t.name(who));
        let give = t.known_item(give.say(" kept the "), OtherItem, 1 - item).say(".");
        out.push(give.then(18, t.moved(item, Place::With(you), Phase::Event)));

        for (spot, spot_word) in t.grammar.spots.iter().enumerate() {
            let hide = t.any_item(start.clone().say(" hid the "), item);
            let hide = hide.say(" in the ").say(spot_word).say(" and kept the ");
            let hide = t.known_item(hide, OtherItem, 1 - item).say(". ");
            let hide = hide.know(OtherPerson, t.name(you)).say(" saw it.");
            out.push(hide.then(2, t.moved(item, Place::Hidden(spot), Phase::Event)));
        }
    }
}

/// Either person gives what they have to the other, or together they hide one of the items.
fn each_has_one(t: &Teller, first: Who, out: &mut Vec<Branch>) {
    for item in 0..2 {
        let who = if item == 0 { first } else { 1 - first };
        let you = 1 - who;
        let give = Line::new().say(" ").say(t.name(who)).say(" gave ");
        let give = give.know(OtherPerson, t.name(you)).say(" a gift. So ");
        let give = give.know(Receiver, t.name(you)).say(" had the ");
        for named in 0..2 {
            let give = t.any_item(give.clone(), named).say(" and the ");
            let give = t.known_item(give, OtherItem, 1 - named).say(".");
            out.push(give.then(6, t.moved(item, Place::With(you), Phase::Event)));
        }
        for (spot, spot_word) in t.grammar.spots.iter().enumerate() {
            let hide = t.any_item(Line::new().say(" They hid the "), item);
            let hide = hide.say(" in the ").say(spot_word).say(" and kept the ");
            let hide = t.known_item(hide, OtherItem, 1 - item).say(".");
            out.push(hide.then(1, t.moved(item, Place::Hidden(spot), Phase::Event)));
        }
    }
}

/// Either person finds the hidden item.
fn one_hidden(t: &Teller, hidden: Which, spot: usize, out: &mut Vec<Branch>) {
    for finder in 0..2 {
        let find = Line::new().say(" ").say(t.name(finder)).say(" opened the ");
        let find = find.know(Spot, t.grammar.spots[spot]).say(". ");
        let find = find.know(Pronoun, t.pronoun(finder)).say(" found the ");
        let find = t.known_item(find, Found, hidden).say(". ");
        let find = find.know(OtherPerson, t.name(1 - finder)).say(" cheered.");
        out.push(find.then(12, t.moved(hidden, Place::With(finder), Phase::Event)));
    }
}

/// A question about one of the items and its answer, or a plain farewell.
fn endings(t: &Teller, out: &mut Vec<Branch>) {
    let next = State { phase: Phase::Done, ..*t.state };
    for item in 0..2 {
        let answer = match t.state.items[item].place {
            Place::With(who) => {
                let ask = t.any_item(Line::new().say(" Who has the "), item);
                ask.say("? ").know(Holder, t.name(who))
            }
            Place::Hidden(spot) => {
                let ask = t.any_item(Line::new().say(" Where is the "), item);
                ask.say("? In the ").know(Spot, t.grammar.spots[spot])
            }
        };
        out.push(answer.say(".\n").then(8, next));
    }
    for who in 0..2 {
        let leave = Line::new().say(" ").say(t.name(who)).say(" and ");
        let leave = leave.know(OtherPerson, t.name(1 - who)).say(" went home.\n");
        out.push(leave.then(4, next));
    }
}
