//! Muon's hidden matrices: momentum of all at once, then of each group of equal ones the nearest
//! orthogonal matrices, by the processor's polynomial.

use crate::layout::{Array, Matrix};
use crate::maker::Maker;
use crate::ops::matmul::{Product, View};
use crate::plan::{Kernel, Room, elements};
use llm_core::kernels::muon::{SCALE, STEPS};

const TEXT: &[&str] = &[include_str!("muon.wgsl")];
const LOOK_AHEAD: Kernel = Kernel::new("look_ahead", TEXT);
const UNIT: Kernel = Kernel::new("unit", TEXT);
const FOLLOW: Kernel = Kernel::new("follow", TEXT);

/// Matrices of one shape in θ's order, those of a parameter and of the blocks in even steps, so that
/// one product is of all.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Group {
    first: Matrix,
    /// How many outer and inner ones.
    count: [usize; 2],
    /// From an outer one to the next, from an inner one to the next.
    steps: [usize; 2],
}

impl Group {
    /// All of one shape in one group, if they lie in even steps; else each alone.
    fn of(matrices: &[Matrix]) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut left = matrices.to_vec();
        while let Some(&first) = left.first() {
            let equal = |m: &Matrix| Matrix { at: 0, ..*m } == Matrix { at: 0, ..first };
            let (these, others): (Vec<_>, Vec<_>) = left.into_iter().partition(equal);
            left = others;
            let at: Vec<usize> = these.iter().map(|m| m.at).collect();
            let whole = (1..=at.len()).filter(|inner| at.len().is_multiple_of(*inner));
            let even = whole.filter_map(|inner| {
                let step = |i: usize| at.get(i).map_or(0, |x| x - at[0]);
                let steps = [step(inner), if inner > 1 { step(1) } else { 0 }];
                let place = |i: usize| at[0] + i / inner * steps[0] + i % inner * steps[1];
                let count = [at.len() / inner, inner];
                (0..at.len()).all(|i| at[i] == place(i)).then_some(Group { first, count, steps })
            });
            let alone = |first| Group { first, count: [1, 1], steps: [0, 0] };
            match even.min_by_key(|group| group.count[1]) {
                Some(group) => groups.push(group),
                None => groups.extend(these.into_iter().map(alone)),
            }
        }
        groups
    }

    fn view(&self, room: Room) -> View {
        View::of(room, self.first.at, self.first.row).stepping(self.steps)
    }

    /// Divides each by its norm, and draws its singular values to about 1; x and next change places.
    /// The last step also scales, so that the numbers are as large as those of AdamW's steps.
    fn orthogonalize(&self, maker: &mut Maker<'_>, [mut x, mut next]: [Room; 2]) -> Room {
        let Group { first: Matrix { at, rows, columns, row }, count, steps } = *self;
        let [_, inner] = count;
        let sizes = [0, at, rows, columns, row, inner, steps[0], steps[1]].map(|n| n as u32);
        maker.call(UNIT, &sizes, &[x], [(count[0] * inner) as u32, 1, 1]);
        let (n, long, tall) = (rows.min(columns), rows.max(columns), rows > columns);
        let [square, sum] = [(); 2].map(|()| maker.room(count[0] * inner * n * n));
        let [of_square, of_sum] =
            [square, sum].map(|room| View::of(room, 0, n).stepping([inner * n * n, n * n]));
        for (i, [a, b, c]) in STEPS.into_iter().enumerate() {
            let last = i + 1 == STEPS.len();
            let scale = if last { SCALE * (long as f32).sqrt() } else { 1.0 };
            let of_x = self.view(x);
            let wide = if tall { of_x.t() } else { of_x };
            let all = |product: Product| Product { batch: count, ..product };
            all(Product::new(of_square, wide, wide.t(), [n, n, long])).call(maker);
            let twice = Product::new(of_sum, of_square, of_square, [n, n, n]);
            all(Product { alpha: c, plus: Some((square, b)), ..twice }).call(maker);
            let product = match tall {
                false => Product::new(self.view(next), of_sum, of_x, [rows, columns, n]),
                true => Product::new(self.view(next), of_x, of_sum.t(), [rows, columns, n]),
            };
            let plus = Some((x, a * scale));
            all(Product { alpha: scale, plus, ..product }).call(maker);
            (x, next) = (next, x);
        }
        x
    }
}

/// The calls that move all hidden matrices of an array, the i-th.
pub(super) fn plan(maker: &mut Maker<'_>, i: usize, array: &Array) {
    let n = array.hidden;
    let sizes = [n as u32, 0, 0, 0, 0, 0, 0, 0];
    let fixed = maker.fixed.clone();
    let rooms = [maker.room(n), maker.room(n)];
    let ahead = [fixed.numbers, fixed.report, fixed.total[i], fixed.slots[0][i], rooms[0]];
    maker.call(LOOK_AHEAD, &sizes, &ahead, elements(n));
    let mut made = rooms[0];
    for group in Group::of(&array.matrices) {
        made = group.orthogonalize(maker, rooms);
    }
    let follow = [fixed.numbers, fixed.report, made, fixed.theta[i]];
    maker.call(FOLLOW, &sizes, &follow, elements(n));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_matrices_in_even_steps_are_one_group() {
        let of = |at| Matrix { at, rows: 4, columns: 4, row: 12 };
        // Keys, queries and values of two blocks.
        let [a, b] = [of(0), of(100)];
        let six: Vec<_> = [0, 4, 8, 100, 104, 108].map(of).into();
        assert_eq!(Group::of(&six), [Group { first: a, count: [2, 3], steps: [100, 4] }]);
        let three = [of(0), of(100), of(200)];
        assert_eq!(Group::of(&three), [Group { first: a, count: [3, 1], steps: [100, 0] }]);
        // Another shape in between does not matter, uneven steps do.
        let other = Matrix { rows: 8, ..of(50) };
        assert_eq!(Group::of(&[a, other, b]).len(), 2);
        assert_eq!(Group::of(&[of(0), of(100), of(201)]).len(), 3);
    }
}
