//! What goes in comes out; nothing else comes in. The helpers that the other test files share.

mod adapters;
mod damage;
mod edges;
mod faults;
mod files;
mod folder;
mod golden;
mod hostile;
mod keys;
mod messages;
mod optimizers;
mod own_tensors;
mod round_trip;
mod simulated;
mod table_and_values;

use super::check::check;
use super::contents::Contents;
use super::load::parse;
use super::reader::Failure;
use super::save::Prepared;
use super::*;
use crate::base::{Error, IoAction, Result, Settings, Value};
use crate::data::TokenDataset;
use crate::model::{Attention, AttentionSpec, Config, Parameters, SingleHead};
use crate::model::{TinyGPT, parameter_shapes};
use crate::optim::{Hyperparameters, OPTIMIZERS, ParameterState, Schedule, ScheduleKind};
use crate::recipe::{DataSource, Recipe};
use crate::tensor::Tensor;
use crate::train::Trainer;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Settings of which no two are equal, so that no two can be confused.
fn recipe() -> Recipe {
    let matrices = Hyperparameters { decay_all: false, ..Hyperparameters::default() };
    Recipe {
        schedule: Schedule {
            kind: ScheduleKind::Wsd,
            lr: 0.01,
            min_lr: 0.001,
            warmup_steps: 1,
            decay_steps: 12,
        },
        hyperparameters: Hyperparameters {
            beta1: 0.8,
            beta2: 0.95,
            eps: 1e-7,
            weight_decay: 0.125,
            ..matrices
        },
        clip: 0.5,
        seed: 99,
        val_frac: 0.25,
        data: DataSource::text(1234, [7; 32]),
        ..Recipe::new([2, 3], 11, 0.01)
    }
}

/// Another attention: single-head under another name, with some heads and a mask.
#[derive(Clone)]
struct Named(AttentionSpec);

impl Attention for Named {
    fn spec(&self) -> AttentionSpec {
        self.0.clone()
    }
    fn check(&self, _config: &Config) -> Result<()> {
        Ok(())
    }
    fn forward(
        &self,
        x: &Tensor,
        p: &Parameters,
        ctx: &crate::model::Context<'_>,
    ) -> Result<Tensor> {
        SingleHead.forward(x, p, ctx)
    }
    fn cache_row(&self, config: &Config) -> usize {
        SingleHead.cache_row(config)
    }
    fn decode(&self, step: crate::model::Decode<'_>) -> Result<()> {
        SingleHead.decode(step)
    }
}

fn two_heads() -> Arc<dyn Attention> {
    let head_mask = vec![true, false];
    Arc::new(Named(AttentionSpec { head_mask, ..AttentionSpec::new("two", 2) }))
}

fn tokenizer() -> TokenizerSpec {
    TokenizerSpec { kind: "letters".into(), blob: b"a table of letters".to_vec() }
}

fn data() -> TokenDataset {
    TokenDataset::from_tokens((0..40).map(|i| i * i % 5).collect())
}

fn trained(config: Config, attention: Arc<dyn Attention>) -> Trainer {
    let model = TinyGPT::with_attention(config, attention, 3).unwrap();
    let mut trainer = Trainer::new(model, recipe()).unwrap();
    for _ in 0..2 {
        trainer.step(&data()).unwrap();
    }
    trainer
}

fn small() -> Trainer {
    trained(Config::new(5, 4, 2, 1), two_heads())
}

fn bytes_of(trainer: &Trainer, tokenizer: &TokenizerSpec, with_optimizer: bool) -> Vec<u8> {
    let mut out = Vec::new();
    Prepared::new(Path::new(""), trainer.into(), tokenizer, with_optimizer)
        .unwrap()
        .write(&mut out)
        .unwrap();
    out
}

fn read(bytes: &[u8]) -> Result<Checkpoint, CheckpointError> {
    parse(bytes, bytes.len() as u64, OPTIMIZERS).map_err(|failure| match failure {
        Failure::Content(error) => error,
        other => panic!("not about the content: {other:?}"),
    })
}

/// What a file's header says and its tensors, without the final hash.
fn apart(file: &[u8]) -> (Contents, Vec<u8>) {
    let (_, header, body) = fuzzing::apart(file).unwrap();
    (fuzzing::decode(header).unwrap(), body.to_vec())
}

/// A header's bytes.
fn encoded(contents: &Contents) -> Vec<u8> {
    header::encode(contents).unwrap()
}

/// A file with correct lengths and checksums around any header and body.
fn signed(header: &[u8], body: &[u8]) -> Vec<u8> {
    fuzzing::signed(FORMAT_VERSION, header, body)
}

/// The file of a small run.
fn good() -> Vec<u8> {
    bytes_of(&small(), &tokenizer(), true)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

fn assert_equal(a: &Trainer, b: &Trainer, with_optimizer: bool) {
    assert_eq!(a.model.config(), b.model.config());
    assert_eq!(a.model.attention().spec(), b.model.attention().spec());
    assert_eq!(a.recipe, b.recipe);
    assert_eq!(a.step, b.step);
    assert_eq!(a.optimizer.config(), b.optimizer.config());
    for ((name, p), (other, q)) in a.model.parameters().zip(b.model.parameters()) {
        assert_eq!((name, p.shape(), bits(p.data())), (other, q.shape(), bits(q.data())));
        assert!(p.wants_grad() && q.wants_grad());
    }
    if !with_optimizer {
        assert_eq!((b.optimizer.state().t, b.optimizer.state().parameters.len()), (0, 0));
        return;
    }
    let (a, b) = (a.optimizer.state(), b.optimizer.state());
    assert_eq!((a.t, a.parameters.len()), (b.t, b.parameters.len()));
    for (m, n) in a.parameters.iter().zip(&b.parameters) {
        let all = |of: &ParameterState| of.slots.iter().map(|s| bits(s)).collect::<Vec<_>>();
        assert_eq!((&m.name, all(m)), (&n.name, all(n)));
    }
}
