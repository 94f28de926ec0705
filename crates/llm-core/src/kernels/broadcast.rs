//! An array repeated to fill a larger shape, and the sums that lead back.
//!
//! NumPy's rule: the two shapes are lined up at their last axes. An axis that the smaller one lacks,
//! or where its length is 1, is repeated.

use super::parallel::{self, LIGHT};

/// Which axes of a shape are repeated. Neighbours of one kind count as one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat(Vec<Axis>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    len: usize,
    repeated: bool,
}

impl Repeat {
    /// How an array of shape `from` fills `to`; `None` when it does not.
    pub fn new(from: &[usize], to: &[usize]) -> Option<Repeat> {
        let missing = to.len().checked_sub(from.len())?;
        let mut axes: Vec<Axis> = Vec::new();
        for (i, &len) in to.iter().enumerate() {
            let own = if i < missing { 1 } else { from[i - missing] };
            let repeated = match own {
                _ if own == len && len == 1 => continue,
                _ if own == len => false,
                1 => true,
                _ => return None,
            };
            match axes.last_mut() {
                Some(last) if last.repeated == repeated => last.len *= len,
                _ => axes.push(Axis { len, repeated }),
            }
        }
        Some(Repeat(axes))
    }
}

/// Elements below the first axis: of the large array, of the small one.
fn below(axes: &[Axis]) -> [usize; 2] {
    let inner = axes.get(1..).unwrap_or(&[]);
    let kept = inner.iter().filter(|axis| !axis.repeated);
    [inner.iter().map(|axis| axis.len).product(), kept.map(|axis| axis.len).product()]
}

/// y ← x, repeated.
pub fn expand(y: &mut [f32], x: &[f32], repeat: &Repeat) {
    if y.is_empty() {
        return;
    }
    let axes = &repeat.0;
    let [large, small] = below(axes);
    let kept = axes.first().is_some_and(|axis| !axis.repeated);
    parallel::rows(y, large, LIGHT, |first, y| {
        fill(y, if kept { &x[first * small..] } else { x }, axes);
    });
}

/// [`expand`] for some entries of the first axis, x beginning with the first of them.
fn fill(y: &mut [f32], x: &[f32], axes: &[Axis]) {
    let [large, small] = below(axes);
    match axes {
        [] => y[0] = x[0],
        [Axis { repeated: true, .. }] => y.fill(x[0]),
        [_] => y.copy_from_slice(&x[..y.len()]),
        [first, inner @ ..] => {
            for (i, y) in y.chunks_exact_mut(large).enumerate() {
                fill(y, if first.repeated { x } else { &x[i * small..] }, inner);
            }
        }
    }
}

/// dx ← dx + the sum, for every element, over all places where [`expand`] put it; in f64, the
/// places in order.
pub fn add_sums(dx: &mut [f32], dy: &[f32], repeat: &Repeat) {
    if dy.is_empty() {
        return;
    }
    let axes = &repeat.0;
    let [large, small] = below(axes);
    // Where the first axis is repeated, every element needs all of dy: one piece.
    let kept = axes.first().is_some_and(|axis| !axis.repeated);
    let width = if kept { small } else { dx.len() };
    let grain = LIGHT.div_ceil(dy.len() / dx.len());
    parallel::rows(dx, width, grain, |first, dx| {
        let mut sums = vec![0.0; dx.len()];
        let dy = if kept { &dy[first * large..][..dx.len() / small * large] } else { dy };
        gather(&mut sums, dy, axes);
        dx.iter_mut().zip(sums).for_each(|(dx, sum)| *dx += sum as f32);
    });
}

fn gather(sums: &mut [f64], dy: &[f32], axes: &[Axis]) {
    let [large, small] = below(axes);
    match axes {
        [Axis { repeated: true, .. }] => {
            sums[0] = dy.iter().fold(sums[0], |sum, &d| sum + f64::from(d));
        }
        [] | [_] => sums.iter_mut().zip(dy).for_each(|(sum, &d)| *sum += f64::from(d)),
        [first, inner @ ..] => {
            for (i, dy) in dy.chunks_exact(large).enumerate() {
                let start = if first.repeated { 0 } else { i * small };
                gather(&mut sums[start..][..small], dy, inner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every element of an array of shape `to`, in order: which one of `from` it is.
    fn sources(from: &[usize], to: &[usize]) -> Vec<usize> {
        let missing = to.len() - from.len();
        let source = |mut place: usize| {
            let (mut source, mut stride) = (0, 1);
            for (i, len) in to.iter().enumerate().rev() {
                let own = if i < missing { 1 } else { from[i - missing] };
                source += (place % len).min(own - 1) * stride;
                stride *= own;
                place /= len;
            }
            source
        };
        (0..to.iter().product()).map(source).collect()
    }

    const CASES: [(&[usize], &[usize]); 12] = [
        (&[], &[]),
        (&[], &[2, 3]),
        (&[3], &[3]),
        (&[1], &[5]),
        (&[4], &[3, 4]),
        (&[3, 1], &[3, 4]),
        (&[2, 1, 3], &[2, 5, 3]),
        (&[1, 4, 1], &[3, 4, 2]),
        (&[1, 4, 1, 2], &[3, 4, 5, 2]),
        (&[2, 1, 3, 1, 2], &[2, 3, 3, 4, 2]),
        (&[700], &[300, 700]),    // cut for threads: the first axis repeated,
        (&[900, 1], &[900, 300]), // and kept
    ];

    #[test]
    fn both_ways_equal_their_naive_twins() {
        for (from, to) in CASES {
            let repeat = Repeat::new(from, to).unwrap();
            let sources = sources(from, to);
            let n: usize = from.iter().product();
            let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let mut y = vec![f32::NAN; sources.len()];
            expand(&mut y, &x, &repeat);
            assert!(y.iter().zip(&sources).all(|(y, &i)| *y == x[i]), "{from:?} to {to:?}");

            let dy: Vec<f32> = (0..y.len()).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
            let (mut dx, mut want) = (vec![1.0; n], vec![1.0; n]);
            add_sums(&mut dx, &dy, &repeat);
            sources.iter().zip(&dy).for_each(|(&i, d)| want[i] += d); // small integers: exact
            assert_eq!(dx, want, "{from:?} from {to:?}");
        }
    }

    #[test]
    fn shapes_that_do_not_fit() {
        for (from, to) in [
            (&[2][..], &[3][..]),
            (&[3], &[3, 1]),
            (&[1, 3], &[3]),
            (&[3, 2], &[2, 2]),
            (&[2], &[]),
        ] {
            assert_eq!(Repeat::new(from, to), None, "{from:?} to {to:?}");
        }
        assert_eq!(Repeat::new(&[0], &[1]), None);
    }

    #[test]
    fn nothing_is_repeated_and_summed() {
        let repeat = Repeat::new(&[2, 1], &[2, 0]).unwrap();
        expand(&mut [], &[1.0, 2.0], &repeat);
        let mut dx = [1.0, 2.0];
        add_sums(&mut dx, &[], &repeat);
        assert_eq!(dx, [1.0, 2.0]);
    }
}
