//! Learning from rewards: the model writes several answers to a question, each is judged, and those that are
//! better than their mean become likelier.
//!
//! ```text
//! A = r − mean of the group's r                (over their standard deviation too, where rewards are scaled)
//! L = −(1/N)·Σ over answers a, their tokens t: Aₐ·ln p(t)        N = answers · most tokens of one
//! ```
//!
//! An answer is a function of seed, step and row, as a batch is: whoever writes it, it is the same, and so is the
//! step. There is one update for each batch of answers, so no ratio to older weights and nothing to clip.
//!
//! | file | holds |
//! |---|---|
//! | `own.rs` | built-in questions and their answers |
//! | `questions.rs` | questions as rows of a batch, and where an answer ends |
//! | `program.rs` | a program that judges |
//! | `writing.rs` | answers to the questions of a batch, and the batch that is learned from them |
//! | `asking.rs` | [`Asking`]: questions that stay the same, and how far a model is from its start |
//! | `judging.rs` | [`Judging`]: who works on a step, with answers in place of data |
//!
//! Reference: Shao et al., "DeepSeekMath" (GRPO); Liu et al., "Understanding R1-Zero-Like Training" (no scale, and
//! one N for all answers).

mod asking;
mod judging;
mod own;
mod program;
mod questions;
#[cfg(test)]
mod tests;
mod writing;

pub use asking::Asking;
pub use judging::{Judging, Latest};
pub use own::own_questions;
pub use questions::{Questions, questions};
pub use writing::{Attempt, advantages, learned};

/// The settings of rewards, the judge first: only a loaded model learns with them.
pub const SETTINGS: [&str; 4] = ["reward", "group", "answer_length", "scaled"];

/// What judges the answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judge {
    /// 1 for exactly the answer that is known, 0 for any other.
    Exact,
    /// A command that is told questions and answers and says numbers.
    Program(String),
}

impl Judge {
    /// The name of the judge that compares with the known answers of the data.
    pub const EXACT: &str = "exact";

    /// The judge that a setting names; a command, if it is no name.
    pub fn of(reward: &str) -> Judge {
        match reward == Judge::EXACT || own_questions(reward).is_some() {
            true => Judge::Exact,
            false => Judge::Program(reward.into()),
        }
    }
}
