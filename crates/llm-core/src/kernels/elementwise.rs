//! Sums, products and sums over rows, element by element.

use super::parallel::{self, LIGHT};
use super::simd::simd_kernel;

/// Defines a kernel that writes, for the elements of its one or two inputs at each place, the value of
/// its body to the same place of the output: `pub fn name(x) by GRAIN { value }`, cut for several
/// threads at `GRAIN` elements. As in a `simd_kernel!`, the constant `FMA` says whether fused
/// multiply-add is cheap.
macro_rules! map_kernel {
    ($(#[$meta:meta])* pub fn $name:ident($x:ident) by $grain:ident $value:block) => {
        $(#[$meta])*
        pub fn $name(y: &mut [f32], $x: &[f32]) {
            $crate::kernels::simd::simd_kernel! {
                fn chunk(y: &mut [f32], x: &[f32]) {
                    for (y, &$x) in y.iter_mut().zip(x) {
                        *y = $value;
                    }
                }
            }
            $crate::kernels::parallel::with_one(y, $x, $crate::kernels::parallel::$grain, chunk);
        }
    };
    ($(#[$meta:meta])* pub fn $name:ident($a:ident, $b:ident) by $grain:ident $value:block) => {
        $(#[$meta])*
        pub fn $name(y: &mut [f32], $a: &[f32], $b: &[f32]) {
            $crate::kernels::simd::simd_kernel! {
                fn chunk(y: &mut [f32], a: &[f32], b: &[f32]) {
                    for ((y, &$a), &$b) in y.iter_mut().zip(a).zip(b) {
                        *y = $value;
                    }
                }
            }
            $crate::kernels::parallel::chunks(y, $crate::kernels::parallel::$grain, |start, y| {
                let place = start..start + y.len();
                chunk(y, &$a[place.clone()], &$b[place]);
            });
        }
    };
}
pub(crate) use map_kernel;

map_kernel! {
    /// y ← a + b.
    pub fn add(a, b) by LIGHT { a + b }
}

map_kernel! {
    /// y ← a − b.
    pub fn sub(a, b) by LIGHT { a - b }
}

map_kernel! {
    /// y ← a·b, element by element.
    pub fn mul(a, b) by LIGHT { a * b }
}

/// y ← y + x.
pub fn add_assign(y: &mut [f32], x: &[f32]) {
    parallel::with_one(y, x, LIGHT, add_assign_chunk);
}

simd_kernel! {
    fn add_assign_chunk(y: &mut [f32], x: &[f32]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y += x;
        }
    }
}

/// y ← scale·x + shift.
pub fn scale_shift(y: &mut [f32], x: &[f32], scale: f32, shift: f32) {
    parallel::with_one(y, x, LIGHT, |y, x| scale_shift_chunk(y, x, scale, shift));
}

simd_kernel! {
    fn scale_shift_chunk(y: &mut [f32], x: &[f32], scale: f32, shift: f32) {
        for (y, x) in y.iter_mut().zip(x) {
            *y = x * scale + shift;
        }
    }
}

/// `sums[c]` ← `sums[c] + Σ_r x[r, c]` for `x [rows, cols]`, the rows in order: the gradient of a
/// bias. Cut by columns, so the order of each sum is fixed.
pub fn add_column_sums(sums: &mut [f32], x: &[f32]) {
    let cols = sums.len();
    if cols == 0 || x.is_empty() {
        return;
    }
    let rows = x.len() / cols;
    parallel::rows(sums, 1, LIGHT.div_ceil(rows).max(64), |first, sums| {
        add_some_columns(sums, x, cols, first);
    });
}

simd_kernel! {
    /// The columns `first..first + sums.len()`.
    fn add_some_columns(sums: &mut [f32], x: &[f32], cols: usize, first: usize) {
        for row in x.chunks_exact(cols) {
            for (s, v) in sums.iter_mut().zip(&row[first..]) {
                *s += v;
            }
        }
    }
}

/// Σ x in f64, in order.
pub fn sum(x: &[f32]) -> f64 {
    x.iter().map(|&v| f64::from(v)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_sums_equal_their_naive_twin() {
        for (rows, cols) in [(1, 1), (3, 5), (70, 130), (513, 700)] {
            let x: Vec<f32> = (0..rows * cols).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
            let mut got = vec![1.0; cols];
            add_column_sums(&mut got, &x);
            for c in 0..cols {
                let want: f32 = 1.0 + (0..rows).map(|r| x[r * cols + c]).sum::<f32>();
                assert_eq!(got[c], want); // small integers: exact
            }
        }
    }

    #[test]
    fn maps_cover_every_element() {
        for n in [0, 1, 15, 70_001, 200_003] {
            let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let mut y = vec![f32::NAN; n];
            add(&mut y, &a, &a);
            assert!(y.iter().zip(&a).all(|(y, a)| *y == 2.0 * a));
            let b: Vec<f32> = (0..n).map(|i| (i % 7) as f32).collect();
            sub(&mut y, &a, &b);
            assert!(y.iter().enumerate().all(|(i, y)| *y == (i - i % 7) as f32));
            mul(&mut y, &a, &b);
            assert!(y.iter().enumerate().all(|(i, y)| *y == i as f32 * (i % 7) as f32));
            scale_shift(&mut y, &a, 1.0, -1.0);
            add_assign(&mut y, &a);
            assert!(y.iter().zip(&a).all(|(y, a)| *y == a - 1.0 + a));
        }
    }
}
