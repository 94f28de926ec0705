//! Whether a state is worth keeping.

use crate::autograd::no_grad;
use crate::base::{Error, Message, Result, TokenId};
use crate::checkpoint::Snapshot;
use crate::kernels::finite::all_finite;
use crate::message;
use crate::model::TinyGPT;

/// The largest weight of a usable state. No model has learned a larger one; far below it products of
/// several weights, which each token and each place in a text has others of, leave f32.
const LARGEST: f32 = 1e6;

/// Refuses a useless state: a weight or a number of the optimizer that is not finite,
/// or weights so large that the scores computed from them are not, or need not be.
///
/// What saves a run asks this first: a state that says nothing must not replace one that does. It
/// costs a forward pass over one row of a batch.
///
/// # Errors
/// [`Error::Unusable`] naming what was found; what the forward pass says.
pub fn check_usable(run: Snapshot<'_>) -> Result<()> {
    check_weights(run.model, run.step)?;
    for (name, p) in run.model.trained() {
        if let Some(&value) = p.data().iter().find(|x| x.abs() > LARGEST) {
            return Err(Error::Unusable { what: name.into(), value, step: run.step });
        }
    }
    for of in &run.optimizer.state().parameters {
        for (slot, kept) in run.optimizer.slots().iter().zip(&of.slots) {
            refuse(run.step, || message!("{} of {}", slot.name, &of.name), kept)?;
        }
    }
    let config = run.model.config();
    let t = run.recipe.seq_len.min(config.seq_len);
    let token = |i: usize| (i * config.vocab_size / t) as TokenId;
    let tokens: Vec<TokenId> = (0..t).map(token).collect();
    let scores = no_grad(|| run.model.logits(&tokens, [1, t]))?;
    refuse(run.step, || message!("a score of the next token"), scores.data())
}

/// The part about the weights, cheap enough for every step.
pub(super) fn check_weights(model: &TinyGPT, step: u64) -> Result<()> {
    model.trained().try_for_each(|(name, p)| refuse(step, || name.into(), p.data()))
}

/// Names the first number that is not finite, if there is one.
fn refuse(step: u64, what: impl FnOnce() -> Message, values: &[f32]) -> Result<()> {
    if all_finite(values) {
        return Ok(());
    }
    let value = values.iter().copied().find(|x| !x.is_finite()).unwrap_or(f32::NAN);
    Err(Error::Unusable { what: what(), value, step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::TokenizerSpec;
    use crate::optim::OPTIMIZERS;
    use crate::train::{Evaluation, Hooks, Keeper, OneProcess, RunPlan, Trainer, Work};
    use crate::{Config, Hyperparameters, Recipe, TokenDataset};

    fn trainer() -> Trainer {
        let recipe = Recipe::new([2, 8], 4, 1e-3);
        Trainer::fresh(Config { seq_len: 8, ..Config::new(256, 8, 8, 1) }, recipe).unwrap()
    }

    fn data() -> TokenDataset {
        TokenDataset::from_bytes(b"to be or not to be, that is the question ".repeat(4))
    }

    fn found(trainer: &Trainer) -> String {
        match check_usable(trainer.into()).unwrap_err() {
            Error::Unusable { what, value, .. } if !value.is_finite() => what.to_string(),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_trained_state_is_usable() {
        let mut trainer = trainer();
        trainer.step(&data()).unwrap();
        check_usable((&trainer).into()).unwrap();
    }

    #[test]
    fn what_is_not_finite_is_named() {
        let mut ill = trainer();
        ill.model.blocks[0].w_fc.data_mut()[3] = f32::INFINITY;
        assert_eq!(found(&ill), "blocks.0.w_fc");

        let mut ill = trainer();
        ill.step(&data()).unwrap();
        let mut state = ill.optimizer.state().clone();
        state.parameters[1].slots[1][0] = f32::NAN;
        ill.optimizer.restore(state);
        assert!(found(&ill).starts_with("v of "), "{}", found(&ill));
    }

    /// Every weight is finite, and nothing can be computed from them, or not from those of one token.
    #[test]
    fn weights_that_are_too_large_to_compute_with_are_refused() {
        let mut ill = trainer();
        ill.recipe.schedule.lr = 1e20;
        ill.step(&data()).unwrap();
        let mut letter = trainer();
        letter.model.wte.data_mut()[8 * usize::from(b'a')] = -2.0 * LARGEST;
        for ill in [ill, letter] {
            match check_usable((&ill).into()).unwrap_err() {
                Error::Unusable { what, value, .. } if value.abs() > LARGEST => {
                    assert_eq!(what.to_string(), "wte");
                }
                other => panic!("{other}"),
            }
        }
    }

    /// Whatever the rate, a state that is kept writes from any token.
    #[test]
    fn what_is_usable_writes_from_every_token() {
        use crate::generate::{Generator, Sampling};
        use crate::optim::Schedule;
        let mut kept = [0; 2];
        for seed in 1..=3 {
            for power in [0, 2, 4, 5, 6, 7, 8, 10, 12, 15] {
                let mut trainer = trainer();
                trainer.recipe.seed = seed;
                for _ in 0..5 {
                    trainer.step(&data()).unwrap();
                }
                trainer.recipe.schedule = Schedule::constant(10f32.powi(power));
                for _ in 0..20 {
                    let usable =
                        trainer.step(&data()).is_ok() && check_usable((&trainer).into()).is_ok();
                    kept[usize::from(usable)] += 1;
                    if !usable {
                        break;
                    }
                    for token in b" abehnqz~".map(u32::from) {
                        let sampling = Sampling { seed, ..Sampling::default() };
                        let mut writer =
                            Generator::new(&trainer.model, &[token], sampling, 1).unwrap();
                        for _ in 0..16 {
                            writer.next_token().unwrap();
                        }
                    }
                }
            }
        }
        assert!(kept[0] > 10 && kept[1] > 10, "{kept:?}");
    }

    /// An update may leave the range of f32 at once.
    #[test]
    fn weights_are_looked_at_after_each_update() {
        let mut ill = trainer();
        ill.recipe.hyperparameters =
            Hyperparameters { weight_decay: 1e10, ..ill.recipe.hyperparameters };
        ill.optimizer = ill.recipe.make_optimizer(OPTIMIZERS).unwrap();
        ill.recipe.schedule.lr = 1e30;
        match ill.step(&data()).unwrap_err() {
            Error::Unusable { what, step: 1, .. } => assert_eq!(what.to_string(), "wte"),
            other => panic!("{other}"),
        }
    }

    /// A loss that is no number ends a run, before anybody may save it.
    #[test]
    fn a_measurement_that_is_no_number_ends_the_run() {
        struct Measures(bool);
        impl Hooks for Measures {
            fn evaluate(
                &mut self,
                _: Snapshot<'_>,
                _: &mut dyn Work,
            ) -> Result<Option<Evaluation>> {
                Ok(Some(Evaluation { loss: f64::NAN, ..Evaluation::default() }))
            }
            fn save(&mut self, _: Snapshot<'_>) -> Result<()> {
                self.0 = true;
                Ok(())
            }
        }
        let mut hooks = Measures(false);
        let plan = RunPlan { eval_every: 1, save_every: 1, ..RunPlan::new(4) };
        let error = trainer().run(&data(), &plan, &mut OneProcess, &mut hooks).unwrap_err();
        assert!(error.to_string().contains("the validation loss"), "{error}");
        assert!(!hooks.0);
    }

    /// The good state stays when a useless one is to be saved over it.
    #[test]
    fn a_keeper_saves_nothing_over_a_good_state() {
        let folder = tempfile::tempdir().unwrap();
        let mut keeper = Keeper::new(folder.path(), TokenizerSpec::bytes());
        let mut trainer = trainer();
        keeper.save_last((&trainer).into()).unwrap();
        assert!(keeper.measured((&trainer).into(), 5.0).unwrap());
        let read = |name| std::fs::read(folder.path().join(name)).unwrap();
        let good = [read("last"), read("best")];
        trainer.recipe.schedule.lr = 1e20;
        trainer.step(&data()).unwrap();
        assert!(keeper.save_last((&trainer).into()).is_err());
        assert!(keeper.measured((&trainer).into(), 4.0).is_err());
        assert!(!keeper.measured((&trainer).into(), f64::NAN).unwrap());
        assert!(good == [read("last"), read("best")]);
    }
}
