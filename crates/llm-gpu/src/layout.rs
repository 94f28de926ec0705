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

    /// Numbers of all parameters in the order of θ, from those of each; `None` if these are others.
    pub(crate) fn gather<'a, N: AsRef<str>>(
        &self,
        each: impl IntoIterator<Item = (N, &'a [f32])>,
    ) -> Option<Vec<f32>> {
        let mut theta = vec![0.0; self.numbers];
        let mut each = each.into_iter();
        for (name, at, n) in &self.all {
            let (_, numbers) = each.next().filter(|(of, _)| of.as_ref() == name)?;
            if numbers.len() != *n {
                return None;
            }
            theta[*at..at + n].copy_from_slice(numbers);
        }
        each.next().is_none().then_some(theta)
    }

    /// Each parameter's part of such an array, by name.
    pub(crate) fn scatter<'a>(&self, theta: &'a [f32]) -> impl Iterator<Item = (&str, &'a [f32])> {
        self.all.iter().map(|(name, at, n)| (&**name, &theta[*at..at + n]))
    }

    /// A parameter whose number is not among these.
    pub(crate) fn without(&self, ids: &HashSet<u64>) -> Option<&str> {
        let gone = self.by_id.iter().filter(|(id, _)| !ids.contains(id)).map(|(_, &i)| i);
        gone.min().map(|i| &*self.all[i].0)
    }
}
