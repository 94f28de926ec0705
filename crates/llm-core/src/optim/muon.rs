//! Muon: a hidden matrix moves along its momentum, made orthogonal; everything else as with AdamW.

use super::state::Turn;
use super::{Hyperparameters, Optimizer, OptimizerParts, OptimizerRow, Slot};
use crate::autograd::Gradients;
use crate::base::{Error, Result, Settings, Value};
use crate::kernels::adamw::{AdamWUpdate, step as adamw};
use crate::kernels::muon::{MuonUpdate, step as muon};
use crate::message;
use crate::profile::span;
use crate::tensor::Tensor;
use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

/// Muon and its state: for each parameter m, the running mean of its gradient, and v, that
/// of the gradient's square, which stays 0 for a hidden matrix.
///
/// A gradient is mostly a few directions. Muon changes a matrix by as much in every direction in
/// which its gradient points at all, so the rare ones are learned as fast as the frequent ones. What
/// is a hidden matrix, and where several lie side by side, a parameter says: see [`Role`](crate::tensor::Role). Tables,
/// the output head and vectors move as in [`AdamW`](super::AdamW); one rate serves both, since the
/// steps are of one size.
///
/// Muon looks at whole matrices, so several processes cannot divide its memory.
///
/// Reference: Jordan et al., "Muon: An optimizer for hidden layers in neural networks".
#[derive(Clone, Debug)]
pub struct Muon {
    parts: OptimizerParts,
    momentum: f32,
}

impl Muon {
    /// The name in checkpoints and settings.
    pub const NAME: &'static str = "muon";
    /// m and v, the second a mean of squares.
    pub const SLOTS: &'static [Slot] = super::AdamW::SLOTS;

    /// The row by which a run can name it. Its own number is the momentum of the hidden matrices.
    pub const ROW: OptimizerRow = OptimizerRow {
        name: Muon::NAME,
        doc: "Momentum made orthogonal for the matrices of blocks, AdamW for the rest",
        slots: Muon::SLOTS,
        settings: &[("momentum", Value::Float(0.95))],
        elementwise: false,
        make: |config, own| Ok(Box::new(Muon::new(config, own.typed("momentum")?)?)),
    };

    /// A fresh optimizer; momentum and moments start at 0.
    ///
    /// # Errors
    /// [`Error::Config`] when a setting is outside its range.
    pub fn new(config: Hyperparameters, momentum: f32) -> Result<Muon> {
        let within = (0.0..1.0).contains(&momentum);
        Error::unless(within, "momentum", message!("{} is outside 0..1", momentum))?;
        let mut settings = Settings::default();
        settings.insert("momentum", Value::Float(momentum))?;
        Ok(Muon { parts: OptimizerParts::new(&Muon::ROW, config, settings)?, momentum })
    }
}

impl Optimizer for Muon {
    fn parts(&self) -> &OptimizerParts {
        &self.parts
    }

    fn parts_mut(&mut self) -> &mut OptimizerParts {
        &mut self.parts
    }

    /// For hidden matrices, with μ the momentum:
    /// m ← μm + (1−μ)g,  θ ← θ − lr·(0.2·√max(rows, columns)·orthogonal(μm + (1−μ)g) + λθ)
    fn step(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()> {
        let _span = span("muon");
        let Muon { parts: OptimizerParts { config, state, .. }, momentum } = self;
        let (config, momentum) = (*config, *momentum);
        let Hyperparameters { beta1, beta2, eps, .. } = config;
        let (t, turns) = state.turns(parameters, grads)?;
        let mut matrices = Vec::new();
        for Turn { parameter, slots: [m, v], gradient } in turns {
            let weight_decay = config.decay_of(parameter);
            let columns = parameter.role().matrices(parameter.shape());
            if columns.is_empty() {
                let update = AdamWUpdate { lr, beta1, beta2, eps, weight_decay, t, grad_scale };
                adamw(parameter.data_mut(), m, v, gradient, update);
                continue;
            }
            let update = MuonUpdate { lr, momentum, weight_decay, grad_scale };
            let dim = (parameter.shape()[0], columns.iter().sum());
            let of = |x| ArrayViewMut2::from_shape(dim, x).expect("a matrix");
            let (mut theta, mut m) = (of(parameter.data_mut()), of(m));
            let mut g = ArrayView2::from_shape(dim, gradient).expect("a matrix");
            for columns in columns {
                let (first, rest) = theta.split_at(Axis(1), columns);
                let (of_first, of_rest) = m.split_at(Axis(1), columns);
                let (g_first, g_rest) = g.split_at(Axis(1), columns);
                matrices.push((first, of_first, g_first, update));
                (theta, m, g) = (rest, of_rest, g_rest);
            }
        }
        let each = matrices.into_par_iter().with_max_len(1);
        each.for_each(|(theta, m, g, update)| muon(theta, m, g, update));
        Ok(())
    }

    fn boxed(&self) -> Box<dyn Optimizer> {
        Box::new(self.clone())
    }
}
