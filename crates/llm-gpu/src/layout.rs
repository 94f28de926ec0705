//! All parameters one behind the other, as one array θ: gradients and moments lie in the same order.

use crate::error::{GpuError, Result};
use llm_core::{Hyperparameters, Tensor};
use std::collections::{HashMap, HashSet};

/// Where each parameter lies in θ. Those that decay come first, so that an update needs one number
/// to know them.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// By the number that a listing has for it: its place in `all`.
    by_id: HashMap<u64, usize>,
    /// Name, first number, how many; in the model's order.
    pub all: Vec<(String, usize, usize)>,
    pub numbers: usize,
    /// How many decay, the first ones.
    pub decayed: usize,
}

impl Layout {
    pub(crate) fn new(parameters: &[(String, &Tensor)], hyper: &Hyperparameters) -> Result<Layout> {
        let decays = |p: &Tensor| hyper.decay_all || p.rank() >= 2;
        let mut all: Vec<_> =
            parameters.iter().map(|(name, p)| (name.clone(), 0, p.numel())).collect();
        let (mut numbers, mut decayed) = (0, 0);
        for wanted in [true, false] {
            for (entry, (_, p)) in all.iter_mut().zip(parameters) {
                if decays(p) == wanted {
                    entry.1 = numbers;
                    numbers += entry.2;
                }
            }
            if wanted {
                decayed = numbers;
            }
        }
        if u32::try_from(numbers).is_err() {
            return Err(GpuError::List(format!(
                "{numbers} parameters are more than a kernel can count"
            )));
        }
        let ids = parameters.iter().enumerate().map(|(i, (name, p))| {
            let id = p.id().ok_or_else(|| GpuError::List(format!("'{name}' wants no gradient")))?;
            Ok((id, i))
        });
        Ok(Layout { by_id: ids.collect::<Result<_>>()?, all, numbers, decayed })
    }

    /// Where a parameter begins, by its number in a listing.
    pub(crate) fn at(&self, id: u64) -> Option<u32> {
        self.by_id.get(&id).map(|&i| self.all[i].1 as u32)
    }

    /// Numbers of all parameters in the order of θ, from those of each.
    pub(crate) fn gather<'a>(&self, each: impl Iterator<Item = &'a [f32]>) -> Vec<f32> {
        let mut theta = vec![0.0; self.numbers];
        for ((_, at, n), numbers) in self.all.iter().zip(each) {
            theta[*at..at + n].copy_from_slice(numbers);
        }
        theta
    }

    /// Each parameter's part of such an array, by name.
    pub(crate) fn scatter(&self, theta: &[f32]) -> Vec<(String, Vec<f32>)> {
        let part =
            |(name, at, n): &(String, usize, usize)| (name.clone(), theta[*at..at + n].to_vec());
        self.all.iter().map(part).collect()
    }

    /// A parameter whose number is not among these.
    pub(crate) fn without(&self, ids: &HashSet<u64>) -> Option<&str> {
        let gone = self.by_id.iter().filter(|(id, _)| !ids.contains(id)).map(|(_, &i)| i);
        gone.min().map(|i| &*self.all[i].0)
    }
}
