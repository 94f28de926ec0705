//! Lion: steps of one size, along the sign of a running mean.

use super::{Hyperparameters, Optimizer, OptimizerParts, OptimizerRow, Slot};
use crate::autograd::Gradients;
use crate::base::{Result, Settings};
use crate::kernels::lion::{LionUpdate, step};
use crate::profile::span;
use crate::tensor::Tensor;

/// Lion and its state: for each parameter m, a running mean of its gradient.
///
/// Lion keeps one number per weight where [`AdamW`](super::AdamW) keeps two. Every weight moves by
/// the whole learning rate in every step, so the rate is chosen 3 to 10 times smaller than AdamW's
/// and the decay as many times larger; β₂ is usually 0.99. ε is not used.
///
/// Reference: Chen et al., "Symbolic Discovery of Optimization Algorithms".
#[derive(Clone, Debug)]
pub struct Lion(OptimizerParts);

impl Lion {
    /// The name in checkpoints and settings.
    pub const NAME: &'static str = "lion";
    /// m, the running mean of the gradient.
    pub const SLOTS: &'static [Slot] = &[Slot { name: "m", mean_of_squares: false }];

    /// The row by which a run can name it.
    pub const ROW: OptimizerRow = OptimizerRow {
        name: Lion::NAME,
        doc: "The sign of a running mean; one number per weight less than AdamW",
        slots: Lion::SLOTS,
        settings: &[],
        elementwise: true,
        make: |config, _| Ok(Box::new(Lion::new(config)?)),
    };

    /// A fresh optimizer; m starts at 0.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) when a setting is outside its range.
    pub fn new(config: Hyperparameters) -> Result<Lion> {
        OptimizerParts::new(&Lion::ROW, config, Settings::default()).map(Lion)
    }
}

impl Optimizer for Lion {
    fn parts(&self) -> &OptimizerParts {
        &self.0
    }

    fn parts_mut(&mut self) -> &mut OptimizerParts {
        &mut self.0
    }

    /// θ ← θ − lr·(sign(β₁m + (1−β₁)g) + λθ),  m ← β₂m + (1−β₂)g
    fn step(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()> {
        let _span = span("lion");
        let OptimizerParts { config, state, .. } = &mut self.0;
        let Hyperparameters { beta1, beta2, .. } = *config;
        state.update(parameters, grads, |_t, p, [m], g| {
            let weight_decay = config.decay_of(p);
            step(p.data_mut(), m, g, LionUpdate { lr, beta1, beta2, weight_decay, grad_scale });
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
            let mut lion = Lion::new(config).unwrap();
            lion.step(&mut [("b".to_string(), &mut b)].into_iter(), &grads, 0.1, 1.0).unwrap();
            // The sign of 0 is 0: a weight without a gradient only decays.
            assert_eq!(b.data()[0], if decay_all { 0.95 } else { 1.0 });
            assert_eq!(lion.state().parameters[0].slots.len(), 1);
            let other = [("c".to_string(), &mut b)];
            assert!(lion.step(&mut other.into_iter(), &grads, 0.1, 1.0).is_err());
        }
        assert!(Lion::new(Hyperparameters { beta1: 1.0, ..Hyperparameters::default() }).is_err());
    }
}
