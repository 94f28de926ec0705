//! What a run leaves in its folder besides checkpoints: a row per step, samples, the
//! settings.
//!
//! | file | holds |
//! |---|---|
//! | `metrics.csv`, `metrics.jsonl` | every step in numbers ([`Row`]) |
//! | `samples.jsonl` | what the model wrote on the way ([`Sample`]) |
//! | `heads.jsonl` | what heads look at and what they carry, of the stories ([`HeadMoment`]) |
//! | `rewards.jsonl` | the rewards of each step ([`Rewarded`]), and what a program said of answers |
//! | `pairs.jsonl` | what was made of pairs of answers ([`Paired`]), of a run with these |
//! | `answers.jsonl` | answers to a few questions on the way ([`AnswerMoment`]), of a run with rewards |
//! | `config.toml` | the settings |
//! | `run.json` | what the run is and what came of it ([`RunInfo`]) |
//!
//! A log never lies about its run. [`RunLog::open`] takes away the rows of steps that the loaded
//! checkpoint does not know, and [`RunLog::flush`] before each save makes sure that no checkpoint
//! knows a step that the log does not.
//!
//! ```
//! use llm_run::log::{Curves, Row, RunLog};
//!
//! let dir = tempfile::tempdir()?;
//! let mut log = RunLog::open(dir.path(), 0)?; // a new run: no step is done
//! for step in 1..=3 {
//!     let loss = 5.5 / step as f32;
//!     log.row(Row { step, tokens: 32 * step, loss, lr: 1e-3, ..Row::default() })?;
//! }
//! log.val_loss(3, 2.0); // lands in the row of step 3
//! log.flush(true)?; // and now the checkpoint of step 3 may be saved
//! assert_eq!(Curves::read(dir.path(), 256, None)?.val, [(3.0, 2.0)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `row` | one step's row, and the two ways it is written |
//! | `sink` | one file that rows are appended to |
//! | `info` | what the run is and what came of it |
//! | `aside` | foreign files in a run's folder |
//! | `reopen` | what may stay of a log when its run goes on |
//! | `run_log` | the log of a run, open at its end |
//! | `step_lines` | files with a line of JSON for a step |
//! | `samples` | what the model wrote on the way |
//! | `head_moments` | what heads look at and what they carry |
//! | `rewarded` | what the rewards of steps were |
//! | `compared` | what was made of pairs of answers |
//! | `answer_moments` | what is answered to a few questions on the way |
//! | `curves` | the losses of a log as a few hundred points |

mod row;

mod sink;

mod info;

mod aside;

mod reopen;

mod run_log;

mod step_lines;

mod samples;

mod head_moments;

mod rewarded;

mod compared;

mod answer_moments;

mod curves;

#[cfg(test)]
mod tests;

/// The losses as a picture, see [`Face::picture`](crate::training::Face::picture).
pub const PICTURE: &str = "loss.svg";

/// The settings.
pub(crate) const CONFIG: &str = "config.toml";

/// The names of the files that this crate writes into a run's folder.
pub const FILES: [&str; 10] = [
    CONFIG,
    PICTURE,
    "metrics.csv",
    "metrics.jsonl",
    info::FILE,
    Sample::NAME,
    HeadMoment::NAME,
    Rewarded::NAME,
    Paired::NAME,
    AnswerMoment::NAME,
];

pub use answer_moments::{AnswerMoment, FirstAnswer, ShownAnswer};
pub use aside::others_aside;
pub(crate) use aside::suffixed;
pub use compared::{Compared, Paired};
pub use curves::{Curves, Point, rows};
pub use head_moments::HeadMoment;
pub(crate) use info::put;
pub use info::{Forgotten, RunInfo, RunResult, RunState};
pub use rewarded::{Rewarded, Said};
pub use row::{Format, Row};
pub use run_log::RunLog;
pub use samples::Sample;
pub use step_lines::{StepLine, StepLines};
