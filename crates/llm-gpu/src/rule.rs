//! The optimizer that moves the weights, and the numbers that it is told.

use crate::error::{GpuError, Result};
use llm_core::optim::{AdamW, Lion, Muon, Optimizer};
use llm_core::{Hyperparameters, Tensor};

/// Numbers of 32 bits that an update is told.
pub(crate) const NUMBERS: usize = 9;
/// The place among them of what the gradient is multiplied by.
pub(crate) const SCALE: usize = 3;

/// The optimizer that moves the weights, and its settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub kind: Kind,
    hyper: Hyperparameters,
    /// Settings of Muon's hidden matrices.
    momentum: f32,
    /// Numbers that it keeps for each weight.
    pub slots: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    AdamW,
    Lion,
    Muon,
}

impl Rule {
    pub(crate) fn of(optimizer: &dyn Optimizer) -> Result<Rule> {
        let kind = match optimizer.name() {
            AdamW::NAME => Kind::AdamW,
            Lion::NAME => Kind::Lion,
            Muon::NAME => Kind::Muon,
            name => return Err(GpuError::NoOptimizer { name }),
        };
        let momentum = match kind {
            Kind::Muon => {
                optimizer.settings().typed("momentum").map_err(|e| GpuError::List(e.message()))?
            }
            Kind::AdamW | Kind::Lion => 0.0,
        };
        let (hyper, slots) = (*optimizer.config(), optimizer.slots().len());
        Ok(Rule { kind, hyper, momentum, slots })
    }

    pub(crate) fn decays(&self, parameter: &Tensor) -> bool {
        self.hyper.decay_all || parameter.rank() >= 2
    }

    /// The numbers of columns of the hidden matrices in a parameter, none where it moves as a vector does.
    pub(crate) fn matrices(&self, parameter: &Tensor) -> Vec<usize> {
        if self.kind == Kind::Muon {
            parameter.role().matrices(parameter.shape())
        } else {
            Vec::new()
        }
    }

    /// What the kernels want to know of update `t`, from 1.
    pub(crate) fn numbers(&self, t: u64, lr: f32, scale: f32) -> [f32; NUMBERS] {
        let Hyperparameters { beta1, beta2, eps, weight_decay, decay_all: _ } = self.hyper;
        // In f64: 1 − β₂ᵗ cancels for β₂ near 1.
        let correction = |beta: f32| (1.0 - f64::from(beta).powf(t as f64)) as f32;
        let (rate, root) = (lr / correction(beta1), 1.0 / correction(beta2).sqrt());
        [rate, root, lr * weight_decay, scale, beta1, beta2, eps, lr, self.momentum]
    }
}
