//! Tokens whose rows are alike.

use llm_core::{Result, TinyGPT, TokenId, no_grad, ops};

/// Rounds of the power iteration; it ends sooner where nothing moves any more.
const ROUNDS: usize = 500;

/// The rows of some tokens in the table `wte`: what the model knows of a token before it has read
/// where it stands.
#[derive(Clone, Debug)]
pub struct Embeddings {
    tokens: Vec<TokenId>,
    /// C numbers for each.
    rows: Vec<Vec<f64>>,
}

/// Rows on paper: of C numbers the two directions in which they differ most.
#[derive(Clone, Debug)]
pub struct FlatMap {
    /// A point for each token; the first token's numbers are not negative.
    pub points: Vec<[f64; 2]>,
    /// How much of the rows' differences each direction shows, 0 to 1.
    pub shares: [f64; 2],
}

impl Embeddings {
    /// The rows of these tokens.
    ///
    /// # Errors
    /// [`Error::TokenOutOfRange`](llm_core::Error::TokenOutOfRange).
    pub fn new(model: &TinyGPT, tokens: Vec<TokenId>) -> Result<Embeddings> {
        let rows = no_grad(|| ops::embedding(&model.wte, &tokens, &[tokens.len()]))?;
        let width = model.config().d_model;
        let rows = rows.data().chunks_exact(width);
        let rows = rows.map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect();
        Ok(Embeddings { tokens, rows })
    }

    /// The tokens, in their order.
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// The `n` others whose rows point most nearly where that of token number `i` does, with the cosine of the angle
    /// between, the nearest first. Empty where there is no such token.
    pub fn nearest(&self, i: usize, n: usize) -> Vec<(TokenId, f64)> {
        let Some(row) = self.rows.get(i) else { return Vec::new() };
        let others = self.tokens.iter().zip(&self.rows).enumerate().filter(|&(j, _)| j != i);
        let mut found: Vec<_> =
            others.map(|(_, (&token, other))| (token, cosine(row, other))).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.truncate(n);
        found
    }

    /// The rows' first two principal components.
    pub fn flat_map(&self) -> FlatMap {
        let mut left = centred(&self.rows);
        let whole: f64 = left.iter().map(|row| dot(row, row)).sum();
        let mut map = FlatMap { points: vec![[0.0; 2]; left.len()], shares: [0.0; 2] };
        for axis in 0..2 {
            let direction = longest_direction(&left);
            let along: Vec<f64> = left.iter().map(|row| dot(row, &direction)).collect();
            let sign = if along.first().is_some_and(|&x| x < 0.0) { -1.0 } else { 1.0 };
            map.points.iter_mut().zip(&along).for_each(|(point, x)| point[axis] = sign * x);
            // The second direction is that of what the first leaves.
            left.iter_mut().zip(&along).for_each(|(row, x)| add(row, -x, &direction));
            if whole > 0.0 {
                map.shares[axis] = dot(&along, &along) / whole;
            }
        }
        map
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// a ← a + x·b.
fn add(a: &mut [f64], x: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += x * b);
}

/// The vector scaled to length 1; 0 stays 0.
fn unit(mut v: Vec<f64>) -> Vec<f64> {
    let length = dot(&v, &v).sqrt();
    if length > 0.0 {
        v.iter_mut().for_each(|x| *x /= length);
    }
    v
}

/// 0 where a row is 0: it points nowhere.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}

/// Rows without their mean.
fn centred(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut rows = rows.to_vec();
    let mut mean = vec![0.0; rows.first().map_or(0, Vec::len)];
    let share = 1.0 / rows.len().max(1) as f64;
    rows.iter().for_each(|row| add(&mut mean, share, row));
    rows.iter_mut().for_each(|row| add(row, -1.0, &mean));
    rows
}

/// The direction v of length 1 along which rows are longest in all: what v ← XᵀX·v / |XᵀX·v| comes
/// to, from the longest row on.
fn longest_direction(rows: &[Vec<f64>]) -> Vec<f64> {
    let longest = rows.iter().max_by(|a, b| dot(a, a).total_cmp(&dot(b, b)));
    let mut v = unit(longest.cloned().unwrap_or_default());
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; v.len()];
        rows.iter().for_each(|row| add(&mut next, dot(row, &v), row));
        let next = unit(next);
        let moved = 1.0 - dot(&next, &v);
        v = next;
        if moved < 1e-14 {
            break;
        }
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::Config;

    fn model() -> TinyGPT {
        TinyGPT::new(Config::new(12, 4, 6, 1), 5).unwrap()
    }

    /// The greatest eigenvalues of XᵀX, by Jacobi's rotations.
    fn eigenvalues(rows: &[Vec<f64>]) -> Vec<f64> {
        let n = rows[0].len();
        let entry = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum();
        let mut a: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect();
        for _ in 0..50 {
            for p in 0..n {
                for q in p + 1..n {
                    let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
                    let (sin, cos) = angle.sin_cos();
                    for row in &mut a {
                        (row[p], row[q]) =
                            (cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]);
                    }
                    for k in 0..n {
                        let (x, y) = (a[p][k], a[q][k]);
                        (a[p][k], a[q][k]) = (cos * x - sin * y, sin * x + cos * y);
                    }
                }
            }
        }
        let mut found: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
        found.sort_by(|a, b| b.total_cmp(a));
        found
    }

    #[test]
    fn the_map_shows_what_eigenvectors_would() {
        let embeddings = Embeddings::new(&model(), (0..12).collect()).unwrap();
        let map = embeddings.flat_map();
        let values = eigenvalues(&centred(&embeddings.rows));
        let whole: f64 = values.iter().sum();
        for axis in 0..2 {
            assert!((map.shares[axis] - values[axis] / whole).abs() < 1e-9, "{:?}", map.shares);
            let sum: f64 = map.points.iter().map(|point| point[axis]).sum();
            assert!(sum.abs() < 1e-9 && map.points[0][axis] >= 0.0);
        }
        let crossed: f64 = map.points.iter().map(|[x, y]| x * y).sum();
        assert!(crossed.abs() < 1e-6, "the directions are at right angles: {crossed}");
        let line = Embeddings { tokens: vec![0, 1], rows: vec![vec![1.0, 2.0], vec![3.0, 6.0]] };
        assert!((line.flat_map().shares[0] - 1.0).abs() < 1e-12);
        let none = Embeddings { tokens: Vec::new(), rows: Vec::new() };
        assert!(none.flat_map().points.is_empty());
        let one = Embeddings { tokens: vec![0], rows: vec![vec![1.0, 2.0]] };
        assert_eq!(one.flat_map().points, [[0.0; 2]]);
    }

    #[test]
    fn the_nearest_are_those_of_all_pairs() {
        let model = model();
        let tokens: Vec<TokenId> = vec![7, 2, 9, 0, 4];
        let embeddings = Embeddings::new(&model, tokens.clone()).unwrap();
        let row = |t: TokenId| &model.wte.data()[t as usize * 6..][..6];
        let naive = |a: TokenId, b: TokenId| {
            let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
            for (&x, &y) in row(a).iter().zip(row(b)) {
                let (x, y) = (f64::from(x), f64::from(y));
                (ab, aa, bb) = (ab + x * y, aa + x * x, bb + y * y);
            }
            ab / (aa.sqrt() * bb.sqrt())
        };
        let mut wanted: Vec<_> = [7, 9, 0, 4].map(|t| (t, naive(2, t))).to_vec();
        wanted.sort_by(|a, b| b.1.total_cmp(&a.1));
        let found = embeddings.nearest(1, 3);
        assert_eq!(found.len(), 3);
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!(found.0 == wanted.0 && (found.1 - wanted.1).abs() < 1e-12);
        }
        assert!(embeddings.nearest(5, 3).is_empty());
        assert_eq!(cosine(&[0.0; 2], &[1.0, 0.0]), 0.0);
        assert!(Embeddings::new(&model, vec![12]).is_err());
    }
}
