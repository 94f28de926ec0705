//! An optimizer of one's own: stochastic gradient descent with momentum.

use llm_core::base::{Error, Result};
use llm_core::optim::{Optimizer, OptimizerRow, OptimizerState, Slot};
use llm_core::settings::{Settings, Value};
use llm_core::{Gradients, Hyperparameters, Tensor, message};

/// Stochastic gradient descent with momentum μ.
#[derive(Clone, Debug)]
pub struct Sgd {
    config: Hyperparameters,
    momentum: f32,
    state: OptimizerState,
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
            config.check()?;
            let momentum = own.typed("momentum")?;
            if !(0.0..1.0).contains(&momentum) {
                let reason = message!("momentum {} is outside 0..1", momentum);
                return Err(Error::config("optimizer", reason));
            }
            Ok(Box::new(Sgd { config, momentum, state: OptimizerState::default() }))
        },
    };
}

impl Optimizer for Sgd {
    fn row(&self) -> &'static OptimizerRow {
        &Sgd::ROW
    }

    fn config(&self) -> &Hyperparameters {
        &self.config
    }

    fn settings(&self) -> Settings {
        let mut own = Settings::default();
        let _ = own.insert("momentum", Value::Float(self.momentum)); // finite, so never refused
        own
    }

    /// m ← μm + g,  θ ← θ − lr·(m + λθ)
    fn step(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()> {
        let Sgd { config, momentum, .. } = *self;
        self.state.update(parameters, grads, |_t, p, [m], g| {
            let decay = lr * config.decay_of(p);
            for ((x, m), g) in p.data_mut().iter_mut().zip(m).zip(g) {
                *m = momentum * *m + g * grad_scale;
                *x -= lr * *m + decay * *x;
            }
        })
    }

    fn state(&self) -> &OptimizerState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut OptimizerState {
        &mut self.state
    }

    fn boxed(&self) -> Box<dyn Optimizer> {
        Box::new(self.clone())
    }
}
