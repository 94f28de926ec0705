//! A run as a library: what it is asked for, what it learns from, where it is kept. It prints nothing,
//! knows no language and no spelling of a flag: what happens is data, and a front end shows it.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | [`numbers`] | numbers as a person types them |
//! | [`error`] | what ends a run, or keeps one from beginning |
//! | [`log`] | what a run leaves in its folder besides checkpoints |
//! | [`clock`] | the time that a run may take |
//! | [`defaults`] | the values of options that are not given |
//! | [`note`] | what is worth saying before it begins |
//! | [`arch`] | sets of options that have a name |
//! | [`models`] | what models a front end makes |
//! | [`settings`] | the settings of a model and a run, each in one row |
//! | [`folder`] | where a run is kept, and found again |
//! | [`data`] | training and validation data |
//! | [`talk`] | a conversation with a model |
//! | [`tasks`] | question sets, and how often a model's answer is right |
//! | [`rewards`] | answers that a model writes, is judged by and learns from |
//! | [`tokenizers`] | how a new run's text is cut |
//! | [`device`] | who computes the steps: the CPU, or a GPU |
//! | [`options`] | what a run is asked for |
//! | [`plan`] | options, checkpoint and data made into a run; everything is checked here |
//! | [`ladder`] | sizes by name, with all that goes with a size |
//! | [`config`] | the settings of a run as TOML |
//! | [`machine`] | what a run runs on |
//! | `timing` | how long a training step takes |
//! | [`budget`] | a run that is to take a given time: what is not asked for is chosen |
//! | [`training`] | a run from its options to its end |

pub mod numbers;

pub mod error;

pub mod log;

pub mod clock;

pub mod defaults;

pub mod note;

pub mod arch;

pub mod models;

pub mod settings;

pub mod folder;

pub mod data;

pub mod talk;

pub mod tasks;

pub mod rewards;

pub mod tokenizers;

pub mod device;

pub mod options;

pub mod plan;

pub mod ladder;

pub mod config;

pub mod machine;

mod timing;

pub mod budget;

pub mod training;

pub use error::{Result, RunError};
