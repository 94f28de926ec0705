//! Sums of squares in f64, for gradient norms.

/// Elements per partial sum: fixed, so the sum does not depend on the number of threads.
pub const CHUNK: usize = 1 << 15;

/// Σ xᵢ² in f64.
pub fn sum_of_squares(x: &[f32]) -> f64 {
    if x.len() <= CHUNK {
        return chunk_squares(x);
    }
    // Halved at a whole number of chunks: the tree, and so the rounding, depends on the length alone.
    let (left, right) = x.split_at(x.len().div_ceil(CHUNK) / 2 * CHUNK);
    let (left, right) = rayon::join(|| sum_of_squares(left), || sum_of_squares(right));
    left + right
}

/// [`sum_of_squares`] of numbers whose chunks of [`CHUNK`] have these sums.
pub fn sum_of_chunks(chunks: &[f64]) -> f64 {
    match chunks {
        [] => 0.0,
        [one] => *one,
        _ => {
            let (left, right) = chunks.split_at(chunks.len() / 2);
            sum_of_chunks(left) + sum_of_chunks(right)
        }
    }
}

/// Σ xᵢ² of at most [`CHUNK`] numbers.
pub fn chunk_squares(x: &[f32]) -> f64 {
    let (chunks, rest) = x.as_chunks::<16>();
    let mut acc = [0.0f64; 16];
    for c in chunks {
        for l in 0..16 {
            acc[l] += f64::from(c[l]) * f64::from(c[l]);
        }
    }
    acc.iter().sum::<f64>() + rest.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_to_the_same_bits() {
        for n in [0, 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK + 17] {
            let x: Vec<f32> = (0..n).map(|i| (i as f32).sin() * 1e3).collect();
            let chunks: Vec<f64> = x.chunks(CHUNK).map(chunk_squares).collect();
            assert_eq!(sum_of_chunks(&chunks).to_bits(), sum_of_squares(&x).to_bits(), "{n}");
        }
    }

    #[test]
    fn equals_its_naive_twin() {
        for n in [0, 1, 15, 16, 17, CHUNK, 2 * CHUNK + 3] {
            let x: Vec<f32> = (0..n).map(|i| ((i % 13) as f32) - 6.0).collect();
            let want: f64 = x.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
            assert_eq!(sum_of_squares(&x), want); // integers: exact
        }
    }
}
