//! What goes in comes out; nothing else comes in. The helpers that the other test files share.

mod damage;
mod edges;
mod faults;
mod files;
mod folder;
mod golden;
mod hostile;
mod messages;
mod simulated;

use super::fuzzing::signed;
use super::header::Header;
use super::load::{Failure, parse};
use super::save::Prepared;
use super::*;
use crate::data::TokenDataset;
use crate::model::SingleHead;
use crate::ops::AttentionParams;
use crate::optim::{AdamWConfig, Schedule, ScheduleKind};
use crate::recipe::DataSource;

/// Settings of which no two are equal, so that no two can be confused.
fn recipe() -> Recipe {
    Recipe {
        batch_size: 2,
        accum: 1,
        seq_len: 3,
        total_steps: 11,
        schedule: Schedule {
            kind: ScheduleKind::Wsd,
            lr: 0.01,
            min_lr: 0.001,
            warmup_steps: 1,
            decay_steps: 12,
        },
        adamw: AdamWConfig {
            beta1: 0.8,
            beta2: 0.95,
            eps: 1e-7,
            weight_decay: 0.125,
            decay_all: false,
        },
        clip: 0.5,
        seed: 99,
        val_frac: 0.25,
        data: DataSource::Files { len: 1234, blake3: [7; 32] },
        val_data: None,
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
        p: &AttentionParams<'_>,
        ctx: &crate::model::Context<'_>,
    ) -> Result<Tensor> {
        SingleHead.forward(x, p, ctx)
    }
    fn decode(&self, step: crate::model::Decode<'_>) {
        SingleHead.decode(step);
    }
}

fn two_heads() -> Arc<dyn Attention> {
    let head_mask = vec![true, false];
    Arc::new(Named(AttentionSpec { name: "two".into(), n_heads: 2, head_mask }))
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
    Prepared::new(trainer, tokenizer, with_optimizer).unwrap().write(&mut out).unwrap();
    out
}

fn read(bytes: &[u8]) -> Result<Checkpoint, CheckpointError> {
    parse(bytes, bytes.len() as u64).map_err(|failure| match failure {
        Failure::Content(error) => error,
        other => panic!("not about the content: {other:?}"),
    })
}

/// A file's header and its tensors, without the final hash.
fn apart(file: &[u8]) -> (Header, Vec<u8>) {
    let (header, body) = fuzzing::apart(file).unwrap();
    (postcard::from_bytes(header).unwrap(), body.to_vec())
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
        assert_eq!((b.optimizer.t(), b.optimizer.moments().len()), (0, 0));
        return;
    }
    assert_eq!(a.optimizer.t(), b.optimizer.t());
    assert_eq!(a.optimizer.moments().len(), b.optimizer.moments().len());
    for (m, n) in a.optimizer.moments().iter().zip(b.optimizer.moments()) {
        assert_eq!((&m.name, bits(&m.m), bits(&m.v)), (&n.name, bits(&n.m), bits(&n.v)));
    }
}

#[test]
fn everything_comes_back_bit_by_bit() {
    for config in [Config::new(5, 4, 6, 2), Config::gpt2(5, 4, 6, 2)] {
        let single: Arc<dyn Attention> = Arc::new(SingleHead);
        let masked: Arc<dyn Attention> = Arc::new(Named(AttentionSpec {
            name: "several".into(),
            n_heads: 3,
            head_mask: vec![true, false, true, true, true, false],
        }));
        for (attention, with_optimizer, tokenizer) in
            [(single, true, TokenizerSpec::bytes()), (masked, false, tokenizer())]
        {
            let mut trainer = trained(config.clone(), attention.clone());
            // What the golden file does not have.
            trainer.model.set_dropout(0.125).unwrap();
            trainer.recipe.accum = 5;
            trainer.recipe.val_data = Some(DataSource::Files { len: 321, blake3: [8; 32] });
            let file = bytes_of(&trainer, &tokenizer, with_optimizer);
            assert_eq!(file, bytes_of(&trainer, &tokenizer, with_optimizer));
            let checkpoint = read(&file).unwrap();
            assert_eq!(checkpoint.has_optimizer(), with_optimizer);
            assert_eq!(checkpoint.parameter_count(), config.parameter_count());
            assert_eq!(checkpoint.meta.tokenizer, tokenizer);
            assert!(
                checkpoint
                    .parameters()
                    .zip(trainer.model.parameters())
                    .all(|(a, b)| { a.0 == b.0 && a.1.shape() == b.1.shape() })
            );
            let again = checkpoint.into_trainer(attention).unwrap();
            assert_equal(&trainer, &again, with_optimizer);
            if with_optimizer {
                assert_eq!(file, bytes_of(&again, &tokenizer, true));
            }
        }
    }
}

#[test]
fn the_next_steps_are_those_of_the_run_that_went_on() {
    let mut through = small();
    let mut resumed =
        read(&bytes_of(&through, &tokenizer(), true)).unwrap().into_trainer(two_heads()).unwrap();
    for _ in 0..3 {
        assert_eq!(through.step(&data()).unwrap(), resumed.step(&data()).unwrap());
    }
    let [a, b] = [&through, &resumed].map(|t| bytes_of(t, &tokenizer(), true));
    assert_eq!(a, b);
}

#[test]
fn an_optimizer_before_its_first_update_is_saved_too() {
    let model = TinyGPT::new(Config::gpt2(5, 4, 2, 1), 1).unwrap();
    let trainer = Trainer::new(model, recipe()).unwrap();
    let file = bytes_of(&trainer, &tokenizer(), true);
    let checkpoint = read(&file).unwrap();
    assert!(checkpoint.has_optimizer());
    let again = checkpoint.into_trainer(Arc::new(SingleHead)).unwrap();
    assert_equal(&trainer, &again, true);
    assert_eq!(file, bytes_of(&again, &tokenizer(), true));
}

#[test]
fn another_attention_or_a_changed_model_is_refused_and_another_recipe_is_not() {
    let checkpoint = read(&bytes_of(&small(), &tokenizer(), true)).unwrap();
    let other = checkpoint.clone().into_trainer(Arc::new(SingleHead));
    assert!(matches!(
        other,
        Err(Error::Checkpoint { source: CheckpointError::Attention { .. }, .. })
    ));
    for config in [Config::new(5, 4, 4, 1), Config::gpt2(5, 4, 2, 1)] {
        let mut changed = checkpoint.clone();
        changed.meta.config = config;
        assert!(matches!(changed.into_trainer(two_heads()), Err(Error::Checkpoint { .. })));
    }
    let mut changed = checkpoint;
    changed.meta.recipe.adamw.weight_decay = 0.5;
    changed.meta.recipe.total_steps = 50;
    let trainer = changed.into_trainer(two_heads()).unwrap();
    assert_eq!((trainer.optimizer.config().weight_decay, trainer.recipe.total_steps), (0.5, 50));
}

#[test]
fn the_optimizers_own_settings_are_the_ones_saved() {
    let mut trainer = small();
    trainer.recipe.adamw.beta1 = 0.1;
    let again = read(&bytes_of(&trainer, &tokenizer(), true)).unwrap();
    assert_eq!(again.meta.recipe, recipe());
}
