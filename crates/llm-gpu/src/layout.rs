//! All parameters one behind the other, θ: gradients and moments lie in the same order.

use crate::error::{GpuError, Result};
use crate::rule::Rule;
use llm_core::listing::{Input, Listed};
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

/// Where a parameter begins: in which of θ's arrays, and where there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spot {
    pub array: usize,
    pub at: u32,
}

/// One of the arrays that θ lies in. The hidden matrices of an optimizer that knows any come first, then
/// those that decay, so that an update needs two numbers to know them.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub numbers: usize,
    /// Numbers of hidden matrices, the first ones.
    pub hidden: usize,
    pub matrices: Vec<Matrix>,
    /// Numbers that decay, hidden matrices included.
    pub decayed: usize,
}

/// Where each parameter lies in θ, which is one array, or several where a device has none so large: they lie one
/// behind the other, and what one op reads in the same.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Place in `all` by a parameter's number in a listing.
    by_id: HashMap<u64, usize>,
    /// Name, first number, how many; in the model's order.
    pub all: Vec<(String, usize, usize)>,
    pub numbers: usize,
    pub arrays: Vec<Array>,
}

/// The place of each parameter by its number in a listing.
fn numbered(parameters: &[(String, &Tensor)]) -> Result<HashMap<u64, usize>> {
    let wants_none = |name: &str| GpuError::List(message!("'{}' wants no gradient", name));
    let ids = parameters.iter().enumerate();
    ids.map(|(i, (name, p))| Ok((p.id().ok_or_else(|| wants_none(name))?, i))).collect()
}

/// Which parameters go into which array of at most `most` numbers: those of one op into one.
fn shared_out(
    parameters: &[(String, &Tensor)],
    by_id: &HashMap<u64, usize>,
    list: &[Listed],
    most: usize,
) -> Vec<Vec<usize>> {
    let mut with: Vec<usize> = (0..parameters.len()).collect();
    if parameters.iter().map(|(_, p)| p.numel()).sum::<usize>() <= most {
        return vec![with];
    }
    for made in list {
        let of = made.inputs.iter().filter_map(Input::id).filter_map(|id| by_id.get(&id));
        let of: Vec<usize> = of.map(|&i| with[i]).collect();
        let first = of.iter().min().copied().unwrap_or_default();
        with.iter_mut().filter(|group| of.contains(group)).for_each(|group| *group = first);
    }
    let (mut arrays, mut numbers) = (vec![Vec::new()], 0);
    for group in 0..with.len() {
        let of: Vec<usize> = (0..with.len()).filter(|&i| with[i] == group).collect();
        let more: usize = of.iter().map(|&i| parameters[i].1.numel()).sum();
        if numbers > 0 && numbers + more > most {
            arrays.push(Vec::new());
            numbers = 0;
        }
        numbers += more;
        arrays.last_mut().into_iter().for_each(|last| last.extend(&of));
    }
    arrays
}

impl Layout {
    /// For parameters that a list uses, in arrays of at most `most` bytes.
    pub(crate) fn new(
        parameters: &[(String, &Tensor)],
        rule: &Rule,
        list: &[Listed],
        most: u64,
    ) -> Result<Layout> {
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
        let by_id = numbered(parameters)?;
        let mut all: Vec<_> =
            parameters.iter().map(|(name, p)| (name.clone(), 0, p.numel())).collect();
        let (mut arrays, mut before) = (Vec::new(), 0);
        for members in shared_out(parameters, &by_id, list, (most / 4) as usize) {
            let (mut matrices, mut numbers) = (Vec::new(), 0);
            let ends = [Kind::Hidden, Kind::Decayed, Kind::Other].map(|wanted| {
                for &i in members.iter().filter(|&&i| kind(parameters[i].1) == wanted) {
                    let p = parameters[i].1;
                    all[i].1 = before + numbers;
                    let mut at = numbers;
                    for columns in rule.matrices(p) {
                        let [rows, row] = [p.shape()[0], p.numel() / p.shape()[0].max(1)];
                        matrices.push(Matrix { at, rows, columns, row });
                        at += columns;
                    }
                    numbers += p.numel();
                }
                numbers
            });
            let [hidden, decayed, _] = ends;
            if u32::try_from(numbers).is_err() {
                let why = message!("{} parameters are more than a kernel can count", numbers);
                return Err(GpuError::List(why));
            }
            before += numbers;
            arrays.push(Array { numbers, hidden, matrices, decayed });
        }
        Ok(Layout { by_id, all, numbers: before, arrays })
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
    pub(crate) fn at(&self, id: u64) -> Option<Spot> {
        let mut at = self.by_id.get(&id).map(|&i| self.all[i].1)?;
        let array = self.arrays.iter().position(|of| {
            let is_here = at < of.numbers;
            at -= if is_here { 0 } else { of.numbers };
            is_here
        });
        Some(Spot { array: array?, at: at as u32 })
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

    /// [`Layout::gather`], or the refusal.
    pub(crate) fn gathered<'a, N: AsRef<str>>(
        &self,
        each: impl IntoIterator<Item = (N, &'a [f32])>,
    ) -> Result<Vec<f32>> {
        let theta = self.gather(each);
        theta.ok_or_else(|| GpuError::List(message!("other parameters than those of the step")))
    }

    /// The numbers of each of θ's arrays.
    pub(crate) fn each<'a>(&self, mut all: &'a [f32]) -> impl Iterator<Item = &'a [f32]> {
        self.arrays.iter().map(move |of| all.split_off(..of.numbers).unwrap_or_default())
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
