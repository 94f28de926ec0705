//! All parameters one behind the other, as one array θ: gradients and moments lie in the same order.

use crate::error::{GpuError, Result};
use crate::rule::Rule;
use llm_core::{Tensor, message};
use std::collections::{HashMap, HashSet};

/// A matrix in θ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Matrix {
    /// Offset of the first number.
    pub at: usize,
    pub rows: usize,
    pub columns: usize,
    /// Numbers from a row to the next.
    pub row: usize,
}

/// Where each parameter lies in θ. The hidden matrices of an optimizer that knows any come first, then
/// those that decay, so that an update needs two numbers to know them.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Place in `all` by a parameter's number in a listing.
    by_id: HashMap<u64, usize>,
    /// Name, first number, how many; in the model's order.
    pub all: Vec<(String, usize, usize)>,
    pub numbers: usize,
    /// Numbers of hidden matrices, the first ones.
    pub hidden: usize,
    pub matrices: Vec<Matrix>,
    /// Numbers that decay, hidden matrices included.
    pub decayed: usize,
}

/// The place of each parameter by its number in a listing.
fn numbered(parameters: &[(String, &Tensor)]) -> Result<HashMap<u64, usize>> {
    let wants_none = |name: &str| GpuError::List(message!("'{}' wants no gradient", name));
    let ids = parameters.iter().enumerate();
    ids.map(|(i, (name, p))| Ok((p.id().ok_or_else(|| wants_none(name))?, i))).collect()
}

impl Layout {
    pub(crate) fn new(parameters: &[(String, &Tensor)], rule: &Rule) -> Result<Layout> {
        #[derive(PartialEq)]
        enum Kind {
            Hidden,
            Decayed,
            Other,
        }
        let kind = |p: &Tensor| match (rule.matrices(p).is_empty(), rule.decays(p)) {
            (false, _) => Kind::Hidden,
            (true, true) => Kind::Decayed,
            (true, false) => Kind::Other,
        };
        let mut all: Vec<_> =
            parameters.iter().map(|(name, p)| (name.clone(), 0, p.numel())).collect();
        let mut matrices = Vec::new();
        let mut numbers = 0;
        let ends = [Kind::Hidden, Kind::Decayed, Kind::Other].map(|wanted| {
            for (entry, (_, p)) in all.iter_mut().zip(parameters) {
                if kind(p) != wanted {
                    continue;
                }
                entry.1 = numbers;
                let mut at = numbers;
                for columns in rule.matrices(p) {
                    let [rows, row] = [p.shape()[0], p.numel() / p.shape()[0].max(1)];
                    matrices.push(Matrix { at, rows, columns, row });
                    at += columns;
                }
                numbers += entry.2;
            }
            numbers
        });
        let [hidden, decayed, _] = ends;
        if u32::try_from(numbers).is_err() {
            let why = message!("{} parameters are more than a kernel can count", numbers);
            return Err(GpuError::List(why));
        }
        let by_id = numbered(parameters)?;
        Ok(Layout { by_id, all, numbers, hidden, matrices, decayed })
    }

    /// This layout for the same parameters under other numbers in a listing, such as a clone's.
    pub(crate) fn of(&self, parameters: &[(String, &Tensor)]) -> Result<Layout> {
        let same = parameters.len() == self.all.len()
            && (parameters.iter().zip(&self.all))
                .all(|((name, p), (of, _, n))| name == of && p.numel() == *n);
        if !same {
            return Err(GpuError::List(message!("other parameters than those of the step")));
        }
        Ok(Layout { by_id: numbered(parameters)?, ..self.clone() })
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
