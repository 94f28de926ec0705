//! An optimizer of your own: stochastic gradient descent with momentum.

use llm_core::base::{Error, Result};
use llm_core::optim::{Optimizer, OptimizerParts, OptimizerRow, Slot};
use llm_core::settings::Value;
use llm_core::{Gradients, Tensor, message};

/// Stochastic gradient descent with momentum μ.
#[derive(Clone, Debug)]
pub struct Sgd {
    parts: OptimizerParts,
    momentum: f32,
}

impl Sgd {
    /// Name, memory and own numbers, each with its default.
    pub const ROW: OptimizerRow = OptimizerRow {
        name: "sgd",
        doc: "The gradient and its momentum",
        slots: &[Slot { name: "m", mean_of_squares: false }],
        settings: &[("momentum", Value::Float(0.9))],
        elementwise: true,
        make: |config, own| {
            let momentum = own.typed("momentum")?;
            if !(0.0..1.0).contains(&momentum) {
                let reason = message!("momentum {} is outside 0..1", momentum);
                return Err(Error::config("optimizer", reason));
            }
            let parts = OptimizerParts::new(&Sgd::ROW, config, own.clone())?;
            Ok(Box::new(Sgd { parts, momentum }))
        },
    };
}

impl Optimizer for Sgd {
    fn parts(&self) -> &OptimizerParts {
        &self.parts
    }

    fn parts_mut(&mut self) -> &mut OptimizerParts {
        &mut self.parts
    }

    /// m ← μm + g,  θ ← θ − lr·(m + λθ)
    fn step(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()> {
        let Sgd { parts: OptimizerParts { config, state, .. }, momentum } = self;
        let momentum = *momentum;
        state.update(parameters, grads, |_t, p, [m], g| {
            let decay = lr * config.decay_of(p);
            for ((x, m), g) in p.data_mut().iter_mut().zip(m).zip(g) {
                *m = momentum * *m + g * grad_scale;
                *x -= lr * *m + decay * *x;
            }
        })
    }

    fn boxed(&self) -> Box<dyn Optimizer> {
        Box::new(self.clone())
    }
}
