//! The order in which the micro-batches of a step are added.

use crate::autograd::{Gradients, TensorId};
use crate::buffer::Buffer;

/// A sum by a binary tree over the numbers of what is added: ((0 + 1) + (2 + 3)) + ((4 + 5) + ..).
///
/// What a step means must not depend on who computes which part of it, but sums of f32 depend on
/// their order. A fold from the left has no parts; in a tree every aligned group of 2ᵏ neighbours
/// is a sum of its own, so that several machines can each take one and get the same bits as one
/// alone. Each micro-batch's gradient is made from zero and neighbours of equal height are merged
/// as soon as both are there, so at most ⌊log₂ M⌋ + 1 gradients exist at once for M micro-batches.
/// Where M is no power of two, the last groups are added from the right.
///
/// Reference: pairwise summation, as in Higham, "The Accuracy of Floating Point Summation".
#[derive(Debug, Default)]
pub struct Tree {
    /// Finished groups, the largest first; heights fall.
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    /// The subtree holds 2^height micro-batches.
    height: u32,
    grads: Gradients,
    loss: f64,
    tokens: u64,
}

impl Group {
    fn plus(mut self, right: Group) -> Group {
        self.grads.add(right.grads);
        let (loss, tokens) = (self.loss + right.loss, self.tokens + right.tokens);
        Group { height: self.height + 1, loss, tokens, ..self }
    }
}

impl Tree {
    /// Adds the next micro-batch: its gradient, its loss and its number of tokens.
    pub fn push(&mut self, grads: Gradients, loss: f64, tokens: u64) {
        let mut new = Group { height: 0, grads, loss, tokens };
        while let Some(left) = self.groups.pop_if(|left| left.height == new.height) {
            new = left.plus(new);
        }
        self.groups.push(new);
    }

    /// The sums of loss and tokens with those of a last micro-batch, of which the gradient is still
    /// being computed: [`Tree::finish`].
    pub(super) fn with_last(&self, loss: f64, tokens: u64) -> (f64, u64) {
        let groups = self.groups.iter().rev();
        groups.fold((loss, tokens), |right, left| (left.loss + right.0, left.tokens + right.1))
    }

    /// The sum of a parameter's gradient, of which the last micro-batch's part is given. What
    /// [`Tree::push`] and [`Tree::total`] do with whole gradients, for one parameter at a time.
    pub(super) fn finish(&mut self, parameter: TensorId, last: Buffer) -> Buffer {
        let groups = self.groups.iter_mut().rev();
        groups.fold(last, |right, left| left.grads.take_with(parameter, right))
    }

    /// The sums: gradient, loss, tokens.
    pub fn total(self) -> (Gradients, f64, u64) {
        let sum = self.groups.into_iter().rev().reduce(|right, left| left.plus(right));
        sum.map_or_else(Default::default, |all| (all.grads, all.loss, all.tokens))
    }
}

/// The tree over numbers: halves at the largest power of two below their count.
pub(super) fn pairwise(values: &[f64]) -> f64 {
    match values {
        [] => 0.0,
        [one] => *one,
        _ => {
            let (left, right) = values.split_at(values.len().next_power_of_two() / 2);
            pairwise(left) + pairwise(right)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Config, Footprint, SingleHead};
    use crate::{Tensor, ops};
    use ndarray::arr1;

    /// The definition: halves at the largest power of two below n.
    fn by_definition(values: &[f32]) -> f32 {
        match values.len() {
            1 => values[0],
            n => {
                let (left, right) = values.split_at(n.next_power_of_two() / 2);
                by_definition(left) + by_definition(right)
            }
        }
    }

    /// What the estimate of memory reckons with.
    fn kept(micro_batches: u32) -> u32 {
        let config = Config::new(1, 1, 1, 1);
        Footprint { micro_batches, ..Footprint::new(&config, &SingleHead) }.kept_gradients()
    }

    #[test]
    fn groups_are_added_as_a_tree_for_every_number_of_them() {
        let x = Tensor::parameter(arr1(&[1.0]).into_dyn());
        // Values of which every order of additions gives another sum.
        let value = |i: usize| (1.0 + 0.37 * i as f32) * 10f32.powi((i * 7 % 9) as i32 - 4);
        for n in 1..=33 {
            let values: Vec<f32> = (0..n).map(value).collect();
            let mut tree = Tree::default();
            let mut most = 0;
            for &v in &values {
                most = most.max(tree.groups.len() as u32);
                let loss = ops::sum(&ops::mul_scalar(&x, v).unwrap()).unwrap();
                tree.push(loss.backward().unwrap(), f64::from(v) / 3.0, 3);
            }
            assert!(most <= kept(n as u32), "{n}: {most}");
            let (grads, loss, tokens) = tree.total();
            assert_eq!(
                grads.get(&x).unwrap()[0].to_bits(),
                by_definition(&values).to_bits(),
                "{n}"
            );
            let losses: Vec<f64> = values.iter().map(|&v| f64::from(v) / 3.0).collect();
            assert_eq!(loss.to_bits(), pairwise(&losses).to_bits(), "{n}");
            let plain: f64 = losses.iter().sum();
            assert!((loss - plain).abs() < 1e-9 * plain.abs() && tokens == 3 * n as u64);
        }
    }

    /// Parameter by parameter, the last micro-batch comes to the same bits.
    #[test]
    fn the_last_may_come_in_parts() {
        let both = [1.0, 2.0].map(|x| Tensor::parameter(arr1(&[x]).into_dyn()));
        let value = |i: usize| (1.0 + 0.37 * i as f32) * 10f32.powi((i * 7 % 9) as i32 - 4);
        for n in 1..=33 {
            let loss = |i: usize| {
                let scaled = both.iter().map(|x| ops::mul_scalar(x, value(i)).unwrap());
                let product = scaled.reduce(|a, b| ops::mul(&a, &b).unwrap()).unwrap();
                ops::sum(&product).unwrap()
            };
            let (mut whole, mut parts) = (Tree::default(), Tree::default());
            for i in 0..n - 1 {
                parts.push(loss(i).backward().unwrap(), f64::from(value(i)) / 3.0, 3);
            }
            for i in 0..n {
                whole.push(loss(i).backward().unwrap(), f64::from(value(i)) / 3.0, 3);
            }
            let sums = parts.with_last(f64::from(value(n - 1)) / 3.0, 3);
            let mut given = Vec::new();
            let mut give = |x, gradient| given.push((x, parts.finish(x, gradient)));
            loss(n - 1).backward_giving(1.0, &mut give).unwrap();
            let (gradients, loss, tokens) = whole.total();
            assert_eq!((loss.to_bits(), tokens), (sums.0.to_bits(), sums.1), "{n}");
            let given = Gradients::of_leaves(given);
            let bits = |of: &Gradients, x| of.get(x).unwrap()[0].to_bits();
            assert!(both.iter().all(|x| bits(&given, x) == bits(&gradients, x)), "{n}");
        }
    }

    #[test]
    fn an_aligned_group_is_a_sum_of_its_own() {
        let x = Tensor::parameter(arr1(&[1.0]).into_dyn());
        let grads = |values: &[f32]| {
            let mut tree = Tree::default();
            for &v in values {
                let loss = ops::sum(&ops::mul_scalar(&x, v).unwrap()).unwrap();
                tree.push(loss.backward().unwrap(), 0.0, 1);
            }
            tree.total().0.get(&x).unwrap()[0]
        };
        let values = [1.0, 1e8, -1e8, 1.0, 0.5, 0.25, 0.125, 0.0625];
        let halves = grads(&values[..4]) + grads(&values[4..]);
        assert_eq!(grads(&values).to_bits(), halves.to_bits());
        assert_ne!(values.iter().sum::<f32>(), halves);
    }
}
