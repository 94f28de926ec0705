//! AdamW: Adam with decoupled weight decay.

use crate::autograd::Gradients;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::kernels::adamw::{Update, step};
use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// The optimizer's settings, apart from the learning rate, which a schedule may change.
///
/// The defaults are those of the original trainer; both command-line trainers use others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdamWConfig {
    /// β₁.
    pub beta1: f32,
    /// β₂.
    pub beta2: f32,
    /// ε.
    pub eps: f32,
    /// λ.
    pub weight_decay: f32,
    /// Decay every tensor (default), or only those with two axes and more.
    pub decay_all: bool,
}

impl Default for AdamWConfig {
    fn default() -> AdamWConfig {
        AdamWConfig { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01, decay_all: true }
    }
}

impl AdamWConfig {
    /// The original trainer's learning rate.
    pub const DEFAULT_LR: f32 = 3e-4;

    /// Are all settings within their ranges?
    ///
    /// # Errors
    /// [`Error::Config`] naming the setting.
    pub fn check(&self) -> Result<()> {
        for (field, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return Err(Error::config(field, format!("{beta} is outside 0..1")));
            }
        }
        if !(self.eps > 0.0 && self.eps.is_finite()) {
            return Err(Error::config("eps", format!("{} is not above 0", self.eps)));
        }
        if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) {
            let reason = format!("{} is not 0 or more", self.weight_decay);
            return Err(Error::config("weight_decay", reason));
        }
        Ok(())
    }
}

/// First and second moments of one parameter.
#[derive(Clone, Debug)]
pub struct Moments {
    /// The parameter's name.
    pub name: String,
    /// Running mean of the gradient.
    pub m: Buffer,
    /// Running mean of its square.
    pub v: Buffer,
}

/// The optimizer and its state. Moments belong to parameters by name and order.
#[derive(Clone, Debug)]
pub struct AdamW {
    config: AdamWConfig,
    t: u64,
    moments: Vec<Moments>,
}

impl AdamW {
    /// A fresh optimizer; moments start at 0.
    ///
    /// # Errors
    /// [`Error::Config`] when a setting is outside its range.
    pub fn new(config: AdamWConfig) -> Result<AdamW> {
        AdamW::with_state(config, 0, Vec::new())
    }

    /// An optimizer that goes on from saved moments after `t` updates.
    ///
    /// # Errors
    /// [`Error::Config`] when a setting is outside its range.
    pub fn with_state(config: AdamWConfig, t: u64, moments: Vec<Moments>) -> Result<AdamW> {
        config.check()?;
        Ok(AdamW { config, t, moments })
    }

    /// The settings.
    pub fn config(&self) -> &AdamWConfig {
        &self.config
    }

    /// Goes on with other settings.
    ///
    /// # Errors
    /// [`Error::Config`] when a setting is outside its range; the old ones then stay.
    pub fn set_config(&mut self, config: AdamWConfig) -> Result<()> {
        config.check()?;
        self.config = config;
        Ok(())
    }

    /// Number of updates so far.
    pub fn t(&self) -> u64 {
        self.t
    }

    /// The moments, in the parameters' order; empty before the first update.
    pub fn moments(&self) -> &[Moments] {
        &self.moments
    }

    /// One update of all parameters that have a gradient:
    ///
    /// m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,
    /// θ ← θ − lr·(m̂/(√v̂ + ε) + λθ)
    ///
    /// with m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ), and g the gradient times `grad_scale` (see
    /// [`clip_scale`](super::clip_scale)).
    ///
    /// # Errors
    /// [`Error::Config`] when the parameters are not those of the earlier updates; the ones before
    /// the first that differs are then updated already.
    pub fn step<'a, P>(
        &mut self,
        parameters: P,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()>
    where
        P: IntoIterator<Item = (String, &'a mut Tensor)>,
    {
        self.t += 1;
        let first = self.moments.is_empty();
        let other = || Error::config("optimizer", "its state belongs to other parameters");
        let AdamWConfig { beta1, beta2, eps, weight_decay, decay_all } = self.config;
        let mut seen = 0;
        for (name, p) in parameters {
            if first {
                let [m, v] = [(); 2].map(|()| Buffer::zeros(p.numel()));
                self.moments.push(Moments { name: name.clone(), m, v });
            }
            let moments = self.moments.get_mut(seen);
            let Moments { m, v, .. } = moments
                .filter(|of| of.name == name && [of.m.len(), of.v.len()] == [p.numel(); 2])
                .ok_or_else(other)?;
            seen += 1;
            let weight_decay = if decay_all || p.rank() >= 2 { weight_decay } else { 0.0 };
            let update = Update { lr, beta1, beta2, eps, weight_decay, t: self.t, grad_scale };
            if let Some(g) = grads.get(p) {
                step(p.data_mut(), m, v, g, update);
            }
        }
        if seen == self.moments.len() { Ok(()) } else { Err(other()) }
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
            let config = AdamWConfig { weight_decay: 0.5, decay_all, ..AdamWConfig::default() };
            let mut adamw = AdamW::new(config).unwrap();
            adamw.step(vec![("b".into(), &mut b)], &grads, 0.1, 1.0).unwrap();
            assert_eq!(b.data()[0], if decay_all { 0.95 } else { 1.0 });
            let other = vec![("c".to_string(), &mut b)];
            assert!(adamw.step(other, &grads, 0.1, 1.0).is_err());
        }
    }

    #[test]
    fn settings_are_checked() {
        let bad = [
            AdamWConfig { beta1: 1.0, ..AdamWConfig::default() },
            AdamWConfig { beta2: -0.1, ..AdamWConfig::default() },
            AdamWConfig { eps: 0.0, ..AdamWConfig::default() },
            AdamWConfig { weight_decay: f32::NAN, ..AdamWConfig::default() },
        ];
        assert!(bad.iter().all(|c| AdamW::new(*c).is_err()));
    }
}
