//! Whether all numbers are finite: asked after every update, so it must cost next to nothing.

/// Elements that one thread looks at.
const CHUNK: usize = 1 << 15;

/// The exponent of a single-precision number: all ones for infinities and for what is no number.
const EXPONENT: u32 = 0x7f80_0000;

/// Whether every xᵢ is finite.
pub fn all_finite(x: &[f32]) -> bool {
    if x.len() <= CHUNK {
        return chunk_is_finite(x);
    }
    let (left, right) = x.split_at(x.len() / 2);
    let (left, right) = rayon::join(|| all_finite(left), || all_finite(right));
    left && right
}

fn chunk_is_finite(x: &[f32]) -> bool {
    let found = |x: f32| u32::from(x.to_bits() & EXPONENT == EXPONENT);
    let (chunks, rest) = x.as_chunks::<16>();
    // No branch in the loop: it becomes one of whole vectors.
    let mut any = [0u32; 16];
    for c in chunks {
        for l in 0..16 {
            any[l] |= found(c[l]);
        }
    }
    any.iter().sum::<u32>() == 0 && rest.iter().all(|&x| found(x) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_number_is_found_wherever_it_is() {
        for n in [1, 15, 16, 17, CHUNK, 2 * CHUNK + 3] {
            let mut x: Vec<f32> = (0..n).map(|i| i as f32 * 1e30 - f32::MAX / 2.0).collect();
            x[n / 2] = f32::MAX;
            assert!(x.iter().all(|x| x.is_finite()) && all_finite(&x));
            for at in [0, n / 3, n - 1] {
                for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    let good = std::mem::replace(&mut x[at], bad);
                    assert!(!all_finite(&x), "{bad} at {at} of {n}");
                    x[at] = good;
                }
            }
        }
        assert!(all_finite(&[]));
    }
}
