//! The header: everything of a checkpoint that is no tensor, as postcard writes it.
//!
//! Model and run are settings by key, so a later one changes nothing here. The order of the fields
//! and their types are fixed: they are the format.

use super::adapter::SavedAdapter;
use super::contents::{ARCHITECTURE, Contents, SavedOptimizer, TokenizerHash};
use super::limits::{Checked, unless};
use super::table::Entry;
use crate::base::{CheckpointError, Settings, Value};
use crate::message;
use crate::model::{AttentionSpec, Param, Start};
use crate::optim::OptimizerRow;
use crate::settings;
use crate::tensor::Role;
use serde::{Deserialize, Serialize};

/// Keys and values in rising order of the keys.
type Pairs = Vec<(String, Value)>;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Header {
    /// `architecture`, `model.*`, `train.*`, `optimizer.*`, `data.*`, `val_data.*`.
    pub(super) settings: Pairs,
    pub(super) attention: StoredAttention,
    pub(super) step: u64,
    pub(super) optimizer: Option<SavedOptimizer>,
    pub(super) tokenizer: TokenizerHash,
    pub(super) precision: String,
    pub(super) accumulation: String,
    pub(super) table: Vec<Entry>,
}

/// [`AttentionSpec`], and [`Contents::own`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredAttention {
    pub(super) name: String,
    pub(super) n_heads: u64,
    pub(super) head_mask: Vec<bool>,
    pub(super) settings: Pairs,
    /// The parameters of one block: names and lengths of axes.
    pub(super) parameters: Vec<(String, Vec<u64>)>,
}

/// The header's bytes.
pub(super) fn encode(contents: &Contents) -> Checked<Vec<u8>> {
    postcard::to_stdvec(&Header::new(contents)?).map_err(CheckpointError::HeaderEncoding)
}

/// What the bytes of a header say, where these optimizers are known.
pub(super) fn decode(bytes: &[u8], optimizers: &'static [OptimizerRow]) -> Checked<Contents> {
    let read = postcard::take_from_bytes::<Header>(bytes);
    let (header, rest) = read.map_err(CheckpointError::HeaderEncoding)?;
    unless(rest.is_empty(), CheckpointError::HeaderRest { extra: rest.len() })?;
    header.contents(optimizers)
}

impl Header {
    pub(super) fn new(contents: &Contents) -> Checked<Header> {
        #[rustfmt::skip]
        let Contents { architecture, config, attention, own, adapter, tokenizer, recipe, step, optimizer, precision, accumulation, table, optimizers: _ } = contents;
        let mut settings = settings::collect(config, recipe)?;
        settings.insert("architecture", Value::Text(architecture.clone()))?;
        if let Some(adapter) = adapter {
            adapter.write(&mut settings)?;
        }
        Ok(Header {
            settings: pairs(&settings),
            attention: StoredAttention {
                name: attention.name.clone(),
                n_heads: attention.n_heads as u64,
                head_mask: attention.head_mask.clone(),
                settings: pairs(&attention.settings()?),
                parameters: own.iter().map(|(name, p)| (name.clone(), lengths(p))).collect(),
            },
            step: *step,
            optimizer: optimizer.clone(),
            tokenizer: tokenizer.clone(),
            precision: precision.clone(),
            accumulation: accumulation.clone(),
            table: table.clone(),
        })
    }

    fn contents(self, optimizers: &'static [OptimizerRow]) -> Checked<Contents> {
        #[rustfmt::skip]
        let Header { settings, attention, step, optimizer, tokenizer, precision, accumulation, table } = self;
        let mut settings = Settings::from_sorted(settings)?;
        let architecture = match settings.take("architecture") {
            Some(Value::Text(name)) => name,
            Some(other) => {
                let reason = message!("'architecture' is {}, expected a text", other.kind());
                return Err(CheckpointError::Setting { field: "settings", reason });
            }
            None => ARCHITECTURE.into(),
        };
        let adapter = SavedAdapter::read(&mut settings)?;
        let (config, recipe) = settings::read(settings)?;
        let StoredAttention { name, n_heads, head_mask, settings, parameters } = attention;
        let settings = Settings::from_sorted(settings)?;
        let n_heads = usize::try_from(n_heads).unwrap_or(usize::MAX); // refused as too many
        Ok(Contents {
            architecture,
            config,
            attention: AttentionSpec { head_mask, ..AttentionSpec::new(name, n_heads) }
                .with_settings(settings)?,
            own: parameters.into_iter().map(|(name, dims)| (name, param(&dims))).collect(),
            adapter,
            tokenizer,
            recipe,
            step,
            optimizer,
            precision,
            accumulation,
            table,
            optimizers,
        })
    }
}

fn lengths(param: &Param) -> Vec<u64> {
    param.shape.iter().map(|&n| n as u64).collect()
}

/// How it starts is of no interest any more.
fn param(dims: &[u64]) -> Param {
    let small = |&n: &u64| usize::try_from(n).unwrap_or(usize::MAX); // refused as too large
    Param::new(dims.iter().map(small).collect(), Start::Zero, Role::Vector)
}

fn pairs(settings: &Settings) -> Pairs {
    settings.iter().map(|(key, value)| (key.into(), value.clone())).collect()
}
