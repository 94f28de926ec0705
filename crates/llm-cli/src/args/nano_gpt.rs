//! Flags of nanoGPT's `train.py` and `sample.py` that set nothing here. Those that mean what one of
//! ours means are its aliases; each of these is answered, so that a command that has been typed
//! for years works, or says what to type instead.

use crate::error::{Result, RunError};
use crate::flags::arguments;
use clap::{Arg, ArgMatches};
use llm_core::base::Message;
use llm_core::message;
use llm_run::models::Models;

/// The values that are answered.
#[derive(Clone, Copy, Debug)]
enum When {
    /// The value is one of these.
    Is(&'static [&'static str]),
    /// The value is not among these.
    IsNot(&'static [&'static str]),
}

/// Python's words for yes; a flag alone is one too.
const YES: &[&str] = &["", "true", "True", "TRUE", "1", "yes", "Yes", "YES"];

/// What is said.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// Nothing needs to be done, for this reason.
    Note(&'static str),
    /// Refused: what to do instead.
    Instead(&'static str),
    /// Refused: the flags that say it here, and those of them that not every program has.
    Ours(&'static [&'static str], &'static [&'static str]),
}

use Answer::{Instead, Note, Ours};
use When::{Is, IsNot};

/// A flag, and what is said about some of its values; about others nothing, as it is so here
/// anyway.
type Row = (&'static str, When, Answer);

/// A flag, and the values of it that are answered.
struct If(&'static str, When);

impl If {
    const fn says(self, answer: Answer) -> Row {
        (self.0, self.1, answer)
    }
}

const GPT2: Answer =
    Instead("import hf FOLDER --save FILE makes a checkpoint of GPT-2 that --load takes");
const COMPILE: Row = If("compile", Is(YES))
    .says(Note("nothing needs it: the fastest kernels for this processor are chosen anyway"));

/// Rows of `train.py`, and of `sample.py`: of several for a flag the first that holds.
const ROWS: [&[Row]; 2] = [
    &[
        If("always-save-checkpoint", IsNot(YES))
            .says(Note("ckpt/last is always saved, and the best state beside it, as ckpt/best")),
        If("backend", IsNot(&[]))
            .says(Note("mpirun and srun start several processes; --crew says which of them train")),
        If("bias", Is(YES)).says(Note("linear maps have one; --arch gpt2 gives the norms one too")),
        If("bias", IsNot(YES)).says(Ours(&["head-bias"], &["mlp-bias", "attention-bias"])),
        COMPILE,
        If("decay-lr", IsNot(YES)).says(Instead("use --schedule constant")),
        If("dtype", Is(&["bfloat16"]))
            .says(Instead("use --matmul bf16, with which products take bf16; all else is float32")),
        If("dtype", Is(&["float16"]))
            .says(Instead("use --matmul f16, with which products take f16; all else is float32")),
        If("dtype", IsNot(&["float32"])).says(Instead("numbers are float32 here; leave it out")),
        If("eval-iters", IsNot(&[]))
            .says(Note("every measurement takes the same windows, at most 65,536 tokens of them")),
        If("eval-only", Is(YES)).says(Instead("use eval --load RUN --data FILE")),
        If("init-from", Is(&["resume"])).says(Instead("use --load RUN, the run's folder")),
        If("init-from", IsNot(&["scratch"])).says(GPT2),
        If("wandb-log", Is(YES))
            .says(Instead("leave it out; the run's folder has metrics.csv and report.html")),
        If("wandb-project", IsNot(&[])).says(Note("nothing is sent anywhere")),
        If("wandb-run-name", IsNot(&[])).says(Note("nothing is sent anywhere; --out names a run")),
    ],
    &[
        COMPILE,
        If("dtype", Is(&["bfloat16"])).says(Instead("use --weights bf16")),
        If("dtype", IsNot(&["float32"])).says(Instead("numbers are float32 here; leave it out")),
        If("init-from", IsNot(&["resume"])).says(GPT2),
    ],
];
/// Flags of nanoGPT's `train.py`.
pub const TRAIN_PY: usize = 0;
/// Flags of nanoGPT's `sample.py`.
pub const SAMPLE_PY: usize = 1;

/// What was typed of nanoGPT's flags that set nothing here.
#[derive(Clone, Debug, Default)]
pub struct NanoGptFlags<const SCRIPT: usize>(Vec<(&'static str, String)>);

impl<const SCRIPT: usize> NanoGptFlags<SCRIPT> {
    /// What there is to say about them.
    ///
    /// # Errors
    /// [`RunError::Usage`] with what to do, for all that is not so here.
    pub fn notes(&self, models: &Models) -> Result<Vec<Message>> {
        let (mut notes, mut refused) = (Vec::new(), Vec::new());
        for (name, value) in &self.0 {
            let mut rows = ROWS[SCRIPT].iter().filter(|(of, ..)| of == name);
            let holds = |when: &When| match when {
                Is(words) => words.contains(&value.as_str()),
                IsNot(words) => !words.contains(&value.as_str()),
            };
            let Some((.., answer)) = rows.find(|(_, when, _)| holds(when)) else { continue };
            let typed = format!("--{name} {value}");
            let typed = typed.trim_end();
            match answer {
                Note(why) => notes.push(message!("{}: {}", typed, Message::from(*why))),
                Instead(what) => refused.push(message!("{}: {}", typed, Message::from(*what))),
                Ours(of_all, further) => {
                    let further =
                        further.iter().filter(|flag| models.offers(&flag.replace('-', "_")));
                    let flags: Vec<_> = of_all.iter().chain(further).copied().collect();
                    refused.push(message!("{}: here it is --{}", typed, flags.join(", --")));
                }
            }
        }
        Message::joined("{}; {}", refused).map_or(Ok(notes), |all| Err(RunError::Usage(all)))
    }
}

fn names(script: usize) -> impl Iterator<Item = &'static str> {
    let mut names: Vec<_> = ROWS[script].iter().map(|(name, ..)| *name).collect();
    names.dedup();
    names.into_iter()
}

arguments!(
    [const SCRIPT: usize] NanoGptFlags<SCRIPT>,
    names(SCRIPT).map(|name| Arg::new(name).long(name).num_args(0..=1).hide(true)),
    |typed: &mut Self, matches: &ArgMatches| {
        let value = |name| matches.get_one::<String>(name).cloned().unwrap_or_default();
        let given = names(SCRIPT).filter(|name| matches.contains_id(name));
        typed.0.extend(given.map(|name| (name, value(name))));
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;
    use crate::program::EVERYTHING;

    #[test]
    fn flags_that_are_named_are_there() {
        let command = command(&EVERYTHING);
        let is_there = |name: &str| command.get_arguments().any(|arg| arg.get_long() == Some(name));
        for (name, _, answer) in ROWS.into_iter().flatten() {
            let Ours(of_all, further) = answer else { continue };
            assert!(of_all.iter().chain(*further).all(|flag| is_there(flag)), "{name}");
        }
    }
}
