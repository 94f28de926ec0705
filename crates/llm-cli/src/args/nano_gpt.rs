//! Flags of nanoGPT's `train.py` and `sample.py` that set nothing here. Those that mean what one of
//! ours means are its aliases; each of these is answered, so that a command that somebody has typed
//! for years works, or says what to type instead.

use crate::error::{Result, RunError};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use llm_core::message;

/// What one of them says, by its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It is so here anyway.
    Nothing,
    /// Nothing needs to be done, for this reason.
    Note(&'static str),
    /// It is not so here: what to do.
    Instead(&'static str),
}

use Answer::{Instead, Note, Nothing};

/// A flag, and what is said about its value.
struct Row {
    name: &'static str,
    answer: fn(&str) -> Answer,
}

/// Python's words for yes; a flag alone is one too.
fn yes(value: &str) -> bool {
    matches!(value.to_lowercase().as_str(), "" | "true" | "1" | "yes")
}

/// Nothing where it `is_so` here.
fn unless(is_so: bool, answer: Answer) -> Answer {
    if is_so { Nothing } else { answer }
}

const GPT2: Answer =
    Instead("import hf FOLDER --save FILE makes a checkpoint of GPT-2 that --load takes");

const ALWAYS_SAVE: Row = Row {
    name: "always-save-checkpoint",
    answer: |value| {
        unless(
            yes(value),
            Note("ckpt/last is always saved, and the best state beside it, as ckpt/best"),
        )
    },
};
const BACKEND: Row = Row {
    name: "backend",
    answer: |_| Note("one process trains, on as many threads as --threads says"),
};
const BIAS: Row = Row {
    name: "bias",
    answer: |value| match yes(value) {
        true => Note("linear maps always have one; --arch gpt2 gives the norms one too"),
        false => Instead("linear maps always have a bias here, which starts at 0; leave it out"),
    },
};
const COMPILE: Row = Row {
    name: "compile",
    answer: |value| {
        unless(
            !yes(value),
            Note("nothing needs it: the fastest kernels for this processor are chosen anyway"),
        )
    },
};
const DECAY_LR: Row = Row {
    name: "decay-lr",
    answer: |value| unless(yes(value), Instead("use --schedule constant")),
};
const DEVICE: Row = Row {
    name: "device",
    answer: |value| unless(value == "cpu", Instead("this program trains on the CPU; leave it out")),
};
const DTYPE: Row = Row {
    name: "dtype",
    answer: |value| match value {
        "float32" => Nothing,
        "bfloat16" => {
            Instead("use --matmul bf16, with which products take bf16; all else is float32")
        }
        _ => Instead("numbers are float32 here; leave it out"),
    },
};
const SAMPLE_DTYPE: Row = Row {
    name: "dtype",
    answer: |value| match value {
        "float32" => Nothing,
        "bfloat16" => Instead("use --weights bf16"),
        _ => Instead("numbers are float32 here; leave it out"),
    },
};
const EVAL_ITERS: Row = Row {
    name: "eval-iters",
    answer: |_| Note("every measurement takes the same windows, at most 65,536 tokens of them"),
};
const EVAL_ONLY: Row = Row {
    name: "eval-only",
    answer: |value| unless(!yes(value), Instead("use eval --load RUN --data FILE")),
};
const INIT_FROM: Row = Row {
    name: "init-from",
    answer: |value| match value {
        "scratch" => Nothing,
        "resume" => Instead("use --load RUN, the run's folder"),
        _ => GPT2,
    },
};
const SAMPLE_FROM: Row = Row { name: "init-from", answer: |value| unless(value == "resume", GPT2) };
const WANDB_LOG: Row = Row {
    name: "wandb-log",
    answer: |value| {
        unless(
            !yes(value),
            Instead("leave it out; the run's folder has metrics.csv and report.html"),
        )
    },
};
const WANDB_PROJECT: Row =
    Row { name: "wandb-project", answer: |_| Note("nothing is sent anywhere") };
const WANDB_RUN_NAME: Row =
    Row { name: "wandb-run-name", answer: |_| Note("nothing is sent anywhere; --out names a run") };

/// Those of `train.py`, and those of `sample.py`.
const ROWS: [&[Row]; 2] = [
    &[
        ALWAYS_SAVE,
        BACKEND,
        BIAS,
        COMPILE,
        DECAY_LR,
        DEVICE,
        DTYPE,
        EVAL_ITERS,
        EVAL_ONLY,
        INIT_FROM,
        WANDB_LOG,
        WANDB_PROJECT,
        WANDB_RUN_NAME,
    ],
    &[COMPILE, DEVICE, SAMPLE_DTYPE, SAMPLE_FROM],
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
    /// [`RunError::Usage`] with what to do, for what is not so here.
    pub fn notes(&self) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for (name, value) in &self.0 {
            let row = ROWS[SCRIPT].iter().find(|row| row.name == *name);
            let typed = format!("--{name} {value}");
            match row.map_or(Nothing, |row| (row.answer)(value)) {
                Nothing => {}
                Note(why) => notes.push(format!("{}: {why}", typed.trim_end())),
                Instead(what) => {
                    return Err(RunError::Usage(message!("{}: {}", typed.trim_end(), what)));
                }
            }
        }
        Ok(notes)
    }
}

impl<const SCRIPT: usize> Args for NanoGptFlags<SCRIPT> {
    fn augment_args(command: Command) -> Command {
        let arg = |row: &Row| Arg::new(row.name).long(row.name).num_args(0..=1).hide(true);
        command.args(ROWS[SCRIPT].iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const SCRIPT: usize> FromArgMatches for NanoGptFlags<SCRIPT> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, Error> {
        let mut typed = Self::default();
        typed.update_from_arg_matches(matches)?;
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), Error> {
        let given = |row: &&Row| matches.contains_id(row.name);
        for row in ROWS[SCRIPT].iter().filter(given) {
            let value = matches.get_one::<String>(row.name).cloned();
            self.0.push((row.name, value.unwrap_or_default()));
        }
        Ok(())
    }
}
