//! The header: everything of a checkpoint that is no tensor, as postcard writes it.
//!
//! These structs are the format. They mirror the settings of the model and the run and are
//! converted field by field with full patterns: a setting that is added elsewhere does not compile
//! here until somebody decides how it is stored.

use super::table::Entry;
use super::{CheckpointError, Meta};
use crate::error::Error;
use crate::model::{AttentionSpec, Config, Init};
use crate::optim::{AdamW, AdamWConfig, Schedule, ScheduleKind};
use crate::recipe::{DataSource, Recipe};
use serde::{Deserialize, Serialize};

/// The kind of model that this format stores.
pub(super) const ARCHITECTURE: &str = "tiny-gpt";

/// Wrapper types and order of the fields are fixed: they are format 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) architecture: String,
    pub(super) vocab_size: u32,
    pub(super) context: u32,
    pub(super) d_model: u32,
    pub(super) n_layers: u32,
    pub(super) norm_affine: bool,
    pub(super) tied_head: bool,
    pub(super) head_bias: bool,
    pub(super) init: StoredInit,
    pub(super) dropout: f32,
    pub(super) attention: String,
    pub(super) n_heads: u32,
    pub(super) head_mask: Vec<bool>,
    pub(super) tokenizer: String,
    pub(super) tokenizer_length: u64,
    pub(super) tokenizer_blake3: [u8; 32],
    pub(super) batch_size: u32,
    pub(super) seq_len: u32,
    pub(super) accum: u32,
    pub(super) total_steps: u64,
    pub(super) schedule: StoredSchedule,
    pub(super) lr: f32,
    pub(super) min_lr: f32,
    pub(super) warmup_steps: u64,
    pub(super) decay_steps: u64,
    pub(super) beta1: f32,
    pub(super) beta2: f32,
    pub(super) eps: f32,
    pub(super) weight_decay: f32,
    pub(super) decay_all: bool,
    pub(super) clip: f32,
    pub(super) seed: u64,
    pub(super) val_frac: f64,
    pub(super) data: StoredSource,
    pub(super) val_data: Option<StoredSource>,
    pub(super) step: u64,
    /// Updates done, when the optimizer was saved.
    pub(super) adam_t: Option<u64>,
    /// The table has moments. An optimizer before its first update has none.
    pub(super) moments: bool,
    pub(super) tensors: Vec<Entry>,
}

/// [`Init`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum StoredInit {
    FanIn,
    Gpt2,
}

/// [`ScheduleKind`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum StoredSchedule {
    Constant,
    Cosine,
    Linear,
    Wsd,
}

/// [`DataSource`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum StoredSource {
    Stories { version: u32, seed: u64, count: u64 },
    Files { len: u64, blake3: [u8; 32] },
}

impl From<&DataSource> for StoredSource {
    fn from(source: &DataSource) -> StoredSource {
        match *source {
            DataSource::Stories { version, seed, count } => {
                StoredSource::Stories { version, seed, count }
            }
            DataSource::Files { len, blake3 } => StoredSource::Files { len, blake3 },
        }
    }
}

impl From<&StoredSource> for DataSource {
    fn from(source: &StoredSource) -> DataSource {
        match *source {
            StoredSource::Stories { version, seed, count } => {
                DataSource::Stories { version, seed, count }
            }
            StoredSource::Files { len, blake3 } => DataSource::Files { len, blake3 },
        }
    }
}

impl Header {
    /// The header of `meta` with this optimizer and table.
    pub(super) fn new(
        meta: &Meta,
        optimizer: Option<&AdamW>,
        tensors: Vec<Entry>,
    ) -> Result<Header, CheckpointError> {
        let Meta { config, attention, tokenizer, recipe, step } = meta;
        #[rustfmt::skip]
        let Config { vocab_size, seq_len: context, d_model, n_layers, norm_affine, tied_head, head_bias, init, dropout } = config;
        let AttentionSpec { name, n_heads, head_mask } = attention;
        #[rustfmt::skip]
        let Recipe { batch_size, accum, seq_len, total_steps, schedule, adamw, clip, seed, val_frac, data, val_data } = recipe;
        let Schedule { kind, lr, min_lr, warmup_steps, decay_steps } = *schedule;
        let AdamWConfig { beta1, beta2, eps, weight_decay, decay_all } = *adamw;
        Ok(Header {
            architecture: ARCHITECTURE.into(),
            vocab_size: small("vocab_size", *vocab_size)?,
            context: small("context", *context)?,
            d_model: small("d_model", *d_model)?,
            n_layers: small("n_layers", *n_layers)?,
            norm_affine: *norm_affine,
            tied_head: *tied_head,
            head_bias: *head_bias,
            init: match init {
                Init::FanIn => StoredInit::FanIn,
                Init::Gpt2 => StoredInit::Gpt2,
            },
            dropout: *dropout,
            attention: name.clone(),
            n_heads: small("n_heads", *n_heads)?,
            head_mask: head_mask.clone(),
            tokenizer: tokenizer.kind.clone(),
            tokenizer_length: tokenizer.blob.len() as u64,
            tokenizer_blake3: blake3::hash(&tokenizer.blob).into(),
            batch_size: small("batch", *batch_size)?,
            seq_len: small("seq", *seq_len)?,
            accum: *accum,
            total_steps: *total_steps,
            schedule: match kind {
                ScheduleKind::Constant => StoredSchedule::Constant,
                ScheduleKind::Cosine => StoredSchedule::Cosine,
                ScheduleKind::Linear => StoredSchedule::Linear,
                ScheduleKind::Wsd => StoredSchedule::Wsd,
            },
            lr,
            min_lr,
            warmup_steps,
            decay_steps,
            beta1,
            beta2,
            eps,
            weight_decay,
            decay_all,
            clip: *clip,
            seed: *seed,
            val_frac: *val_frac,
            data: data.into(),
            val_data: val_data.as_ref().map(StoredSource::from),
            step: *step,
            adam_t: optimizer.map(AdamW::t),
            moments: optimizer.is_some_and(|o| !o.moments().is_empty()),
            tensors,
        })
    }

    /// Sizes and options of the model, not yet checked.
    pub(super) fn config(&self) -> Config {
        Config {
            vocab_size: self.vocab_size as usize,
            seq_len: self.context as usize,
            d_model: self.d_model as usize,
            n_layers: self.n_layers as usize,
            norm_affine: self.norm_affine,
            tied_head: self.tied_head,
            head_bias: self.head_bias,
            init: match self.init {
                StoredInit::FanIn => Init::FanIn,
                StoredInit::Gpt2 => Init::Gpt2,
            },
            dropout: self.dropout,
        }
    }

    /// The attention, not yet checked.
    pub(super) fn attention(&self) -> AttentionSpec {
        AttentionSpec {
            name: self.attention.clone(),
            n_heads: self.n_heads as usize,
            head_mask: self.head_mask.clone(),
        }
    }

    /// The settings of the run, not yet checked.
    pub(super) fn recipe(&self) -> Recipe {
        Recipe {
            batch_size: self.batch_size as usize,
            accum: self.accum,
            seq_len: self.seq_len as usize,
            total_steps: self.total_steps,
            schedule: Schedule {
                kind: match self.schedule {
                    StoredSchedule::Constant => ScheduleKind::Constant,
                    StoredSchedule::Cosine => ScheduleKind::Cosine,
                    StoredSchedule::Linear => ScheduleKind::Linear,
                    StoredSchedule::Wsd => ScheduleKind::Wsd,
                },
                lr: self.lr,
                min_lr: self.min_lr,
                warmup_steps: self.warmup_steps,
                decay_steps: self.decay_steps,
            },
            adamw: AdamWConfig {
                beta1: self.beta1,
                beta2: self.beta2,
                eps: self.eps,
                weight_decay: self.weight_decay,
                decay_all: self.decay_all,
            },
            clip: self.clip,
            seed: self.seed,
            val_frac: self.val_frac,
            data: (&self.data).into(),
            val_data: self.val_data.as_ref().map(DataSource::from),
        }
    }
}

/// A size as the format stores it.
fn small(what: &'static str, value: usize) -> Result<u32, CheckpointError> {
    let limit = u32::MAX.into();
    u32::try_from(value).map_err(|_| CheckpointError::Limit { what, value: value as u64, limit })
}

/// A range check of another module, as a statement about the file.
impl From<Error> for CheckpointError {
    fn from(error: Error) -> CheckpointError {
        match error {
            Error::Config { field, reason } => CheckpointError::Setting { field, reason },
            other => CheckpointError::Setting { field: "settings", reason: other.to_string() },
        }
    }
}
