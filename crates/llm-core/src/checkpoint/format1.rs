//! The header of format 1, which was written until there were settings by key. It is frozen:
//! nothing here changes, and every file of it loads for ever.
//!
//! It had one optimizer, AdamW, f32 alone, and no attention with settings of its own.

use super::contents::{ACCUMULATION, Contents, PRECISION, SavedOptimizer, TokenizerHash};
use super::header::whole;
use super::table::{self, Entry};
use crate::base::CheckpointError;
use crate::model::{AttentionSpec, Config, Init, standard_parameters};
use crate::optim::ScheduleKind;
use crate::recipe::{DataSource, Recipe};
use serde::{Deserialize, Serialize};

/// The name of its only optimizer.
const ADAMW: &str = "adamw";
/// What that one kept.
const MOMENTS: [&str; 2] = ["m", "v"];

/// Fields, their types and their order never change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OldHeader {
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
    pub(super) tensors: Vec<OldEntry>,
}

/// [`Init`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum StoredInit {
    FanIn,
    Gpt2,
}

/// [`ScheduleKind`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum StoredSchedule {
    Constant,
    Cosine,
    Linear,
    Wsd,
}

/// [`DataSource`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum StoredSource {
    Stories { version: u32, seed: u64, count: u64 },
    Files { len: u64, blake3: [u8; 32] },
}

/// What a tensor is for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum OldRole {
    Weight,
    M,
    V,
    Blob,
}

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum OldType {
    F32,
    U8,
}

/// One row of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OldEntry {
    pub(super) name: String,
    pub(super) role: OldRole,
    pub(super) dtype: OldType,
    pub(super) dims: Vec<u64>,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) crc32: u32,
}

/// What the bytes of a header of format 1 say.
pub(super) fn decode(bytes: &[u8]) -> Result<Contents, CheckpointError> {
    whole::<OldHeader>(bytes)?.contents()
}

impl From<&StoredSource> for DataSource {
    fn from(source: &StoredSource) -> DataSource {
        match *source {
            StoredSource::Stories { version, seed, count } => {
                DataSource::Stories { version, seed, count }
            }
            StoredSource::Files { len, blake3 } => DataSource::text(len, blake3),
        }
    }
}

impl From<OldEntry> for Entry {
    fn from(old: OldEntry) -> Entry {
        let OldEntry { name, role, dtype, dims, offset, length, crc32 } = old;
        let role = match role {
            OldRole::Weight => table::WEIGHT,
            OldRole::M => MOMENTS[0],
            OldRole::V => MOMENTS[1],
            OldRole::Blob => table::BLOB,
        };
        let dtype = match dtype {
            OldType::F32 => table::F32,
            OldType::U8 => table::U8,
        };
        Entry { name, role: role.into(), dtype: dtype.into(), dims, offset, length, crc32 }
    }
}

impl OldHeader {
    fn contents(self) -> Result<Contents, CheckpointError> {
        if self.moments && self.adam_t.is_none() {
            let reason = "there without the number of updates".into();
            return Err(CheckpointError::Setting { field: "moments", reason });
        }
        let slots: &[&str] = if self.moments { &MOMENTS } else { &[] };
        let slots: Vec<String> = slots.iter().map(|&slot| slot.into()).collect();
        let config = self.config();
        // Of sizes that are refused nothing is computed.
        let own = config.check().map_or_else(|_| Vec::new(), |()| standard_parameters(&config));
        Ok(Contents {
            config,
            own,
            attention: self.attention(),
            recipe: self.recipe(),
            step: self.step,
            optimizer: self.adam_t.map(|t| SavedOptimizer { name: ADAMW.into(), t, slots }),
            precision: PRECISION.into(),
            accumulation: ACCUMULATION.into(),
            tokenizer: TokenizerHash {
                kind: self.tokenizer,
                length: self.tokenizer_length,
                blake3: self.tokenizer_blake3,
            },
            architecture: self.architecture,
            table: self.tensors.into_iter().map(Entry::from).collect(),
        })
    }

    /// Settings that came later keep the defaults of [`Config::new`].
    fn config(&self) -> Config {
        let [vocab_size, context, d_model, n_layers] =
            [self.vocab_size, self.context, self.d_model, self.n_layers].map(|n| n as usize);
        let mut config = Config::new(vocab_size, context, d_model, n_layers);
        config.norm_affine = self.norm_affine;
        config.tied_head = self.tied_head;
        config.head_bias = self.head_bias;
        config.init = match self.init {
            StoredInit::FanIn => Init::FanIn,
            StoredInit::Gpt2 => Init::Gpt2,
        };
        config.dropout = self.dropout;
        config
    }

    fn attention(&self) -> AttentionSpec {
        let head_mask = self.head_mask.clone();
        AttentionSpec {
            head_mask,
            ..AttentionSpec::new(self.attention.clone(), self.n_heads as usize)
        }
    }

    /// Settings that came later keep the defaults of [`Recipe::new`].
    fn recipe(&self) -> Recipe {
        let sizes = [self.batch_size, self.seq_len].map(|n| n as usize);
        let mut recipe = Recipe::new(sizes[0], sizes[1], self.total_steps, self.lr);
        recipe.accum = self.accum;
        recipe.schedule.kind = match self.schedule {
            StoredSchedule::Constant => ScheduleKind::Constant,
            StoredSchedule::Cosine => ScheduleKind::Cosine,
            StoredSchedule::Linear => ScheduleKind::Linear,
            StoredSchedule::Wsd => ScheduleKind::Wsd,
        };
        recipe.schedule.min_lr = self.min_lr;
        recipe.schedule.warmup_steps = self.warmup_steps;
        recipe.schedule.decay_steps = self.decay_steps;
        recipe.optimizer = ADAMW.into();
        recipe.hyperparameters.beta1 = self.beta1;
        recipe.hyperparameters.beta2 = self.beta2;
        recipe.hyperparameters.eps = self.eps;
        recipe.hyperparameters.weight_decay = self.weight_decay;
        recipe.hyperparameters.decay_all = self.decay_all;
        recipe.clip = self.clip;
        recipe.seed = self.seed;
        recipe.val_frac = self.val_frac;
        recipe.data = (&self.data).into();
        recipe.val_data = self.val_data.as_ref().map(DataSource::from);
        recipe
    }
}
