//! Rotary positions: every pair of channels of a query or key is turned by an angle that grows with
//! the position, so that a score depends on the distance of two positions alone.
//!
//! ```text
//! angle(t, i) = t·f_i,  f_i = θ^(−2i/R)         i = 0..R/2, R ≤ D channels are turned
//! y[i]        = x[i]·cos − x[i + R/2]·sin
//! y[i + R/2]  = x[i]·sin + x[i + R/2]·cos
//! ```
//!
//! A pair is two channels R/2 apart, as the files of Llama have it; the paper pairs neighbours,
//! which is the same with the channels in another order. The backward pass rotates the other way.
//!
//! Reference: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding".

use super::parallel::{self, LIGHT};
use super::simd::{fma, simd_kernel};

/// Cosine and sine of every angle: computed in f64, once for a model and not once for a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Angles {
    /// R/2.
    pairs: usize,
    /// `[positions, 2, R/2]`: of a position the cosines, then the sines.
    table: Vec<f32>,
}

impl Angles {
    /// The angles of positions 0 up to `positions` for R = `width` channels, with f_i = θ^(−2i/R).
    pub fn new(theta: f64, width: usize, positions: usize) -> Angles {
        let frequency = |i: usize| libm::pow(theta, -2.0 * i as f64 / width as f64);
        Angles::of_frequencies(&(0..width / 2).map(frequency).collect::<Vec<_>>(), positions)
    }

    /// The angles of given frequencies f, `[R/2]`.
    pub fn of_frequencies(frequencies: &[f64], positions: usize) -> Angles {
        let pairs = frequencies.len();
        let mut table = Vec::with_capacity(2 * pairs * positions);
        for t in 0..positions {
            table.extend(frequencies.iter().map(|f| libm::cos(t as f64 * f) as f32));
            table.extend(frequencies.iter().map(|f| libm::sin(t as f64 * f) as f32));
        }
        Angles { pairs, table }
    }

    /// R: channels of a head that are turned.
    pub fn width(&self) -> usize {
        2 * self.pairs
    }

    /// How many positions have their angles.
    pub fn positions(&self) -> usize {
        self.table.len().checked_div(2 * self.pairs).unwrap_or(usize::MAX)
    }

    /// Cosines and sines of a position.
    #[inline(always)]
    fn at(&self, position: usize) -> (&[f32], &[f32]) {
        self.table[2 * self.pairs * position..][..2 * self.pairs].split_at(self.pairs)
    }
}

/// Which channels of which rows are turned: of every row the first H heads of D channels, and of
/// every head the first R.
#[derive(Clone, Copy, Debug)]
pub struct Turned<'a> {
    /// By how much.
    pub angles: &'a Angles,
    /// W: channels of a row.
    pub width: usize,
    /// H: heads that are turned, the first ones of the row.
    pub n_heads: usize,
    /// D.
    pub head_dim: usize,
    /// T: rows of a sequence.
    pub seq_len: usize,
    /// The position of each sequence's first row.
    pub start: usize,
}

/// y ← x with its heads turned, all other channels as they are.
///
/// # Shapes
/// `x, y [B, T, W]`.
pub fn forward(y: &mut [f32], x: &[f32], turned: &Turned<'_>) {
    parallel::rows(y, turned.width, LIGHT, |first, y| {
        let x = &x[first * turned.width..first * turned.width + y.len()];
        copy_and_turn(y, x, first, turned);
    });
}

/// x ← x with its heads turned: [`forward`] in place.
pub fn turn(x: &mut [f32], turned: &Turned<'_>) {
    parallel::rows(x, turned.width, LIGHT, |first, x| turn_rows(x, first, turned, 1.0));
}

/// dx ← dy, in place: the same angles, the other way.
pub fn turn_back(dx: &mut [f32], turned: &Turned<'_>) {
    parallel::rows(dx, turned.width, LIGHT, |first, dx| turn_rows(dx, first, turned, -1.0));
}

/// Row by row, so that a row is turned while it is at hand.
fn copy_and_turn(y: &mut [f32], x: &[f32], first: usize, turned: &Turned<'_>) {
    let rows = y.chunks_exact_mut(turned.width).zip(x.chunks_exact(turned.width));
    for (r, (y, x)) in rows.enumerate() {
        y.copy_from_slice(x);
        turn_rows(y, first + r, turned, 1.0);
    }
}

simd_kernel! {
    /// Rows from number `first` on; `way` is 1, or −1 for the backward pass.
    fn turn_rows(x: &mut [f32], first: usize, turned: &Turned<'_>, way: f32) {
        let Turned { angles, width, n_heads, head_dim, seq_len, start } = *turned;
        for (r, row) in x.chunks_exact_mut(width).enumerate() {
            let (cos, sin) = angles.at(start + (first + r) % seq_len);
            for head in row[..n_heads * head_dim].chunks_exact_mut(head_dim) {
                let (a, b) = head[..2 * cos.len()].split_at_mut(cos.len());
                for (((a, b), &cos), &sin) in a.iter_mut().zip(b).zip(cos).zip(sin) {
                    let sin = way * sin;
                    (*a, *b) = (fma::<FMA>(*a, cos, -(*b * sin)), fma::<FMA>(*a, sin, *b * cos));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 37) % 61) as f32 / 20.0 - 1.5).collect()
    }

    /// The equation, channel by channel, in f64.
    fn naive(x: &[f32], theta: f64, turned: &Turned<'_>) -> Vec<f64> {
        let width = turned.angles.width();
        let mut y: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        for row in 0..x.len() / turned.width {
            let position = turned.start + row % turned.seq_len;
            for (head, i) in (0..turned.n_heads).flat_map(|h| (0..width / 2).map(move |i| (h, i))) {
                let angle = position as f64 / theta.powf(2.0 * i as f64 / width as f64);
                let first = row * turned.width + head * turned.head_dim + i;
                let [a, b] = [first, first + width / 2].map(|at| f64::from(x[at]));
                y[first] = a * angle.cos() - b * angle.sin();
                y[first + width / 2] = a * angle.sin() + b * angle.cos();
            }
        }
        y
    }

    #[test]
    fn heads_equal_their_naive_twin_and_come_back() {
        const THETA: f64 = 100.0;
        for (rotated, head_dim) in [(2, 2), (4, 6), (6, 6), (2, 7), (32, 33), (64, 64), (0, 3)] {
            let angles = Angles::new(THETA, rotated, 9);
            for (n_heads, width, start) in [(1, head_dim, 0), (2, 3 * head_dim + 1, 4), (0, 5, 2)] {
                let width = width.max(n_heads * head_dim);
                let turned =
                    Turned { angles: &angles, width, n_heads, head_dim, seq_len: 5, start };
                let x = numbers(3 * 5 * width);
                let mut y = vec![f32::NAN; x.len()];
                forward(&mut y, &x, &turned);
                for (i, (y, want)) in y.iter().zip(naive(&x, THETA, &turned)).enumerate() {
                    assert!(
                        (f64::from(*y) - want).abs() < 1e-6,
                        "{rotated} {head_dim} {i}: {y}, not {want}"
                    );
                }
                let mut again = x.clone();
                turn(&mut again, &turned);
                assert_eq!(again, y);
                turn_back(&mut again, &turned);
                assert!(again.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-6));
            }
        }
    }

    #[test]
    fn the_first_position_is_not_turned() {
        let angles = Angles::new(10_000.0, 8, 1);
        let turned =
            Turned { angles: &angles, width: 24, n_heads: 3, head_dim: 8, seq_len: 1, start: 0 };
        let mut x = numbers(2 * 24);
        turn(&mut x, &turned);
        assert_eq!(x, numbers(2 * 24)); // bit for bit
    }

    #[test]
    fn bits_do_not_depend_on_the_threads() {
        let angles = Angles::new(10_000.0, 16, 600);
        let turned = Turned {
            angles: &angles,
            width: 96,
            n_heads: 4,
            head_dim: 16,
            seq_len: 500,
            start: 99,
        };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut y = vec![0.0; 4 * 500 * 96];
            pool.install(|| forward(&mut y, &numbers(4 * 500 * 96), &turned));
            y
        };
        assert!(run(1) == run(3));
    }
}
