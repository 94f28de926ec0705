//! Headers of format 1 for tests and fuzz targets: that files of it are read is tested on more than
//! the golden one.

use super::contents::Contents;
use super::format1::{
    OldEntry, OldHeader, OldRole, OldType, StoredInit, StoredSchedule, StoredSource,
};
use super::table::{self, Entry};
use crate::model::{AttentionSpec, Config, Init};
use crate::optim::{Hyperparameters, Schedule, ScheduleKind};
use crate::recipe::{DataSource, Recipe};

/// The header's bytes. Roles and types that format 1 does not have become some that it has.
pub(super) fn encode(contents: &Contents) -> Vec<u8> {
    postcard::to_stdvec(&OldHeader::new(contents)).expect("a header is encoded into memory")
}

impl From<&DataSource> for StoredSource {
    fn from(source: &DataSource) -> StoredSource {
        match *source {
            DataSource::Stories { version, seed, count } => {
                StoredSource::Stories { version, seed, count }
            }
            DataSource::Files { len, blake3, .. } => StoredSource::Files { len, blake3 },
        }
    }
}

fn entry(entry: &Entry) -> OldEntry {
    let Entry { name, role, dtype, dims, offset, length, crc32 } = entry.clone();
    let role = match role.as_str() {
        table::WEIGHT => OldRole::Weight,
        table::BLOB => OldRole::Blob,
        "v" => OldRole::V,
        _ => OldRole::M,
    };
    let dtype = if dtype == table::U8 { OldType::U8 } else { OldType::F32 };
    OldEntry { name, role, dtype, dims, offset, length, crc32 }
}

impl OldHeader {
    pub(super) fn new(contents: &Contents) -> OldHeader {
        #[rustfmt::skip]
        let Contents { architecture, config, attention, tokenizer, recipe, step, optimizer, table, .. } = contents;
        #[rustfmt::skip]
        let Config { vocab_size, seq_len: context, d_model, n_layers, norm_affine, tied_head, head_bias, init, dropout, .. } = config;
        let AttentionSpec { name, n_heads, head_mask, .. } = attention;
        #[rustfmt::skip]
        let Recipe { batch_size, accum, seq_len, total_steps, schedule, hyperparameters, clip, seed, val_frac, data, val_data, .. } = recipe;
        let Schedule { kind, lr, min_lr, warmup_steps, decay_steps, .. } = *schedule;
        let Hyperparameters { beta1, beta2, eps, weight_decay, decay_all, .. } = *hyperparameters;
        OldHeader {
            architecture: architecture.clone(),
            vocab_size: *vocab_size as u32,
            context: *context as u32,
            d_model: *d_model as u32,
            n_layers: *n_layers as u32,
            norm_affine: *norm_affine,
            tied_head: *tied_head,
            head_bias: *head_bias,
            init: match init {
                Init::FanIn => StoredInit::FanIn,
                Init::Gpt2 => StoredInit::Gpt2,
            },
            dropout: *dropout,
            attention: name.clone(),
            n_heads: *n_heads as u32,
            head_mask: head_mask.clone(),
            tokenizer: tokenizer.kind.clone(),
            tokenizer_length: tokenizer.length,
            tokenizer_blake3: tokenizer.blake3,
            batch_size: *batch_size as u32,
            seq_len: *seq_len as u32,
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
            adam_t: optimizer.as_ref().map(|o| o.t),
            moments: optimizer.as_ref().is_some_and(|o| !o.slots.is_empty()),
            tensors: table.iter().map(entry).collect(),
        }
    }
}
