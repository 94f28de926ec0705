//! AdamW: Adam with decoupled weight decay.

use super::{Hyperparameters, Optimizer, OptimizerParts, OptimizerRow, Slot};
use crate::autograd::Gradients;
use crate::base::{Result, Settings};
use crate::kernels::adamw::{AdamWUpdate, step};
use crate::profile::span;
use crate::tensor::Tensor;

/// AdamW and its state: for each parameter m, the running mean of its gradient, and v, that of the
/// gradient's square.
#[derive(Clone, Debug)]
pub struct AdamW(OptimizerParts);

impl AdamW {
    /// The name in checkpoints and settings.
    pub const NAME: &'static str = "adamw";
    /// m and v, the second a mean of squares.
    pub const SLOTS: &'static [Slot] =
        &[Slot { name: "m", mean_of_squares: false }, Slot { name: "v", mean_of_squares: true }];

    /// The row by which a run can name it.
    pub const ROW: OptimizerRow = OptimizerRow {
        name: AdamW::NAME,
        doc: "Adam with decoupled weight decay",
        slots: AdamW::SLOTS,
        settings: &[],
        elementwise: true,
        make: |config, _| Ok(Box::new(AdamW::new(config)?)),
    };

    /// A fresh optimizer; moments start at 0.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) when a setting is outside its range.
    pub fn new(config: Hyperparameters) -> Result<AdamW> {
        OptimizerParts::new(&AdamW::ROW, config, Settings::default()).map(AdamW)
    }
}

impl Optimizer for AdamW {
    fn parts(&self) -> &OptimizerParts {
        &self.0
    }

    fn parts_mut(&mut self) -> &mut OptimizerParts {
        &mut self.0
    }

    /// m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,
    /// θ ← θ − lr·(m̂/(√v̂ + ε) + λθ)
    ///
    /// with m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ).
    fn step(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()> {
        let _span = span("adamw");
        let OptimizerParts { config, state, .. } = &mut self.0;
        let Hyperparameters { beta1, beta2, eps, .. } = *config;
        state.update(parameters, grads, |t, p, [m, v], g| {
            let weight_decay = config.decay_of(p);
            let update = AdamWUpdate { lr, beta1, beta2, eps, weight_decay, t, grad_scale };
            step(p.data_mut(), m, v, g, update);
        })
    }

    fn boxed(&self) -> Box<dyn Optimizer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;
    use ndarray::arr1;

    #[test]
    fn only_matrices_decay_unless_told() {
        for decay_all in [false, true] {
            let mut b = Tensor::parameter(arr1(&[1.0, 1.0]).into_dyn());
            let loss = ops::sum(&ops::mul_scalar(&b, 0.0).unwrap()).unwrap();
            let grads = loss.backward().unwrap();
            let config =
                Hyperparameters { weight_decay: 0.5, decay_all, ..Hyperparameters::default() };
            let mut adamw = AdamW::new(config).unwrap();
            adamw.step(&mut [("b".to_string(), &mut b)].into_iter(), &grads, 0.1, 1.0).unwrap();
            assert_eq!(b.data()[0], if decay_all { 0.95 } else { 1.0 });
            let other = [("c".to_string(), &mut b)];
            assert!(adamw.step(&mut other.into_iter(), &grads, 0.1, 1.0).is_err());
        }
    }

    #[test]
    fn settings_are_checked() {
        let bad = [
            Hyperparameters { beta1: 1.0, ..Hyperparameters::default() },
            Hyperparameters { beta2: -0.1, ..Hyperparameters::default() },
            Hyperparameters { eps: 0.0, ..Hyperparameters::default() },
            Hyperparameters { weight_decay: f32::NAN, ..Hyperparameters::default() },
        ];
        assert!(bad.iter().all(|c| AdamW::new(*c).is_err()));
    }
}
