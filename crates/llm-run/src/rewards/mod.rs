//! Learning from rewards: the model writes several answers to a question, each is judged, and those that are
//! better than their mean become likelier.
//!
//! ```text
//! A = r − mean of the group's r                (over their standard deviation too, where rewards are scaled)
//! L = −(1/N)·Σ over answers a, their tokens t: Aₐ·ln p(t)        N = answers · most tokens of one
//! ```
//!
//! An answer is a function of seed, step and row, as a batch is: whoever writes it, it is the same, and so is the
//! step. Of several updates of one batch of answers, and of the distance to the weights of the start, `objective.rs`
//! has the loss; all that it changes is the weight of each ln p. A step is a batch of answers with all of its updates,
//! so a run always goes on with answers of its own.
//!
//! Pairs of answers, of which one is better, are learned in the same way (DPO): nothing is written, and both are
//! compared with what they were at the start.
//!
//! | file | holds |
//! |---|---|
//! | `own.rs` | built-in questions and their answers |
//! | `questions.rs` | questions as rows of a batch, and where an answer ends |
//! | `program.rs` | a program that judges |
//! | `writing.rs` | answers to the questions of a batch, and the batch that is learned from them |
//! | `asking.rs` | [`Asking`]: questions that stay the same, and how far a model is from its start |
//! | `objective.rs` | losses of answers, as weights of ln p |
//! | `pairs.rs` | pairs of answers: what is learned from them, and how unseen ones are judged |
//! | `judging.rs` | [`Judging`]: who works on a step, with answers in place of data |
//!
//! Reference: Shao et al., "DeepSeekMath" (GRPO); Liu et al., "Understanding R1-Zero-Like Training" (no scale, and
//! one N for all answers).

mod asking;
mod judging;
mod objective;
mod own;
mod pairs;
mod program;
mod questions;
#[cfg(test)]
mod tests;
mod writing;

pub use asking::Asking;
pub use judging::{Found, Ground, Judging, Latest};
pub use objective::{Preferred, Taught, clipped, compared, preferred, weighed};
pub use own::own_questions;
pub use pairs::{Pairs, pairs};
pub use questions::{Questions, questions};
pub use writing::{Attempt, advantages, learned};

/// The settings of rewards, the judge first, and last what pairs of answers have, too: only a loaded model learns with
/// them.
pub const SETTINGS: [&str; 7] =
    ["reward", "group", "answer_length", "scaled", "updates", "clip_ratio", "beta"];

/// What judges the answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judge {
    /// 1 for exactly the answer that is known, 0 for any other.
    Exact,
    /// A command that is told questions and answers and says numbers.
    Program(String),
    /// The data: of two answers in them one is better.
    Pairs,
}

impl Judge {
    /// The name of the judge that compares with the known answers of the data.
    pub const EXACT: &str = "exact";
    /// The name of the setting for pairs of answers.
    pub const PAIRS: &str = "dpo";

    /// The judge that a setting names; a command, if it is no name.
    pub fn of(reward: &str) -> Judge {
        match reward {
            Judge::PAIRS => Judge::Pairs,
            Judge::EXACT => Judge::Exact,
            _ if own_questions(reward).is_some() => Judge::Exact,
            _ => Judge::Program(reward.into()),
        }
    }
}
