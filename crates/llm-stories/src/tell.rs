//! Telling one story: walk the machine, drawing one branch at a time.

use crate::branches::branches;
use crate::fact::{Fact, Story};
use crate::line::Branch;
use crate::state::State;
use crate::words::{FULL, Grammar};
use llm_core::base::rng;
use rand::RngCore;

/// Story number `index` of the sequence that belongs to `seed`: the same bytes on every machine.
pub fn story(seed: u64, index: u64) -> Story {
    let mut rng = rng::stream(seed, b"stories1", index, 0);
    tell(&FULL, &mut rng)
}

/// Tells one story of `grammar`.
fn tell(grammar: &Grammar, rng: &mut impl RngCore) -> Story {
    let mut story = Story { text: String::with_capacity(grammar.room), facts: Vec::new() };
    let mut state = State::start();
    while let Some(branch) = draw(branches(grammar, &state), rng) {
        for piece in branch.pieces {
            let start = story.text.len();
            story.text.push_str(piece.text);
            let end = story.text.len();
            story.facts.extend(piece.kind.map(|kind| Fact { kind, start, end }));
        }
        state = branch.next;
    }
    story
}

/// One branch with probability weight / total; `None` when there is nothing to choose from.
///
/// The arithmetic is spelled out (floor(u·total / 2⁶⁴), u a 64-bit draw) so that a story depends
/// on the generator's bits alone and not on the sampling methods of a library version.
fn draw(mut choices: Vec<Branch>, rng: &mut impl RngCore) -> Option<Branch> {
    let total: u32 = choices.iter().map(|branch| branch.weight).sum();
    if total == 0 {
        return None;
    }
    let mut left = ((u128::from(rng.next_u64()) * u128::from(total)) >> 64) as u32;
    let chosen = choices.iter().position(|branch| match left.checked_sub(branch.weight) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    })?;
    Some(choices.swap_remove(chosen))
}
