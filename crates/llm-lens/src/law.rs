//! How a loss falls with the size of a model: a power law, its interval, and what follows beyond the sizes that
//! were measured.
//!
//! L(N) = E + A·N^-α, by least squares over all runs, E never below the least loss that there can be. With α
//! known E and A are a straight line through (N^-α, L); so α alone is searched for. The interval of α holds
//! those whose squares exceed the fewest by no more than t²·s², and that of L(N) all losses that lines with such an α
//! bear: both hold the true value with a chance of 95 % where the law is one and runs scatter alike, normally
//! distributed. s² is the scatter of runs around the curve; where the sizes lie further from it than the
//! seeds explain (an F test for lack of fit), it is that of the sizes alone. With three sizes E is the least loss.
//!
//! Reference: Hoffmann et al., "Training compute-optimal large language models", 2022, for the form; Bates and
//! Watts, "Nonlinear regression analysis and its applications", 1988, for the intervals.

use crate::statistics::{Mean, RISK};
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// Sizes below which there is no law.
pub const FEWEST_SIZES: usize = 3;
/// Exponents that are searched: the least is as good as 0, the largest as a step.
const EXPONENTS: [f64; 2] = [2e-3, 5.0];
/// Exponents that are tried between them before the best is narrowed down.
const TRIED: usize = 200;
/// Halvings of an interval: beyond what an f64 can tell.
const HALVINGS: usize = 60;
/// Curves whose union is the interval of L(N).
const CURVES: usize = 64;

/// A size of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeLosses {
    /// N, a number of parameters.
    pub n: f64,
    /// The loss of each seed.
    pub losses: Vec<f64>,
}

/// Why there is no law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoLaw {
    /// There are fewer sizes than [`FEWEST_SIZES`].
    FewSizes,
    /// A mean loss is not below that of the next smaller size.
    Rises {
        /// Position of the larger one among the sizes, the smallest at 0.
        at: usize,
    },
    /// The interval of α includes 0: the loss need not fall at all, or not as a power.
    Flat,
    /// The interval of α has no upper end.
    Steep,
}

/// L(N) = E + A·N^-α.
#[derive(Clone, Debug)]
pub struct Law {
    /// E.
    pub floor: f64,
    /// A.
    pub scale: f64,
    /// α.
    pub exponent: f64,
    /// The interval of α.
    pub interval: [f64; 2],
    /// Whether the sizes lie further from the curve than their seeds explain.
    pub by_sizes: bool,
    means: Means,
    /// The squares that a curve may have.
    most: f64,
}

/// A loss of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// L(N).
    pub loss: f64,
    /// The interval of the mean loss of such models.
    pub interval: [f64; 2],
}

impl Law {
    /// The law of these sizes, in any order; no loss can be below `least`, 0 where nothing else is known.
    ///
    /// # Errors
    /// [`NoLaw`] where the points do not bear one.
    pub fn fit(sizes: &[SizeLosses], least: f64) -> Result<Law, NoLaw> {
        if sizes.len() < FEWEST_SIZES {
            return Err(NoLaw::FewSizes);
        }
        let means = Means::of(sizes, least);
        let rises = |at: &usize| means.sizes[*at].mean >= means.sizes[at - 1].mean;
        if let Some(at) = (1..means.sizes.len()).find(rises) {
            return Err(NoLaw::Rises { at });
        }
        let best = means.best();
        let (most, by_sizes) = means.scatter(sizes, best.squares);
        let is_in = |exponent| means.line(exponent).squares <= most;
        let [lowest, highest] = EXPONENTS;
        match (is_in(lowest), is_in(highest)) {
            (true, _) => return Err(NoLaw::Flat),
            (_, true) => return Err(NoLaw::Steep),
            _ => {}
        }
        let end = |mut out: f64| {
            let mut within = best.exponent;
            for _ in 0..HALVINGS {
                let middle = 0.5 * (within + out);
                if is_in(middle) { within = middle } else { out = middle }
            }
            within
        };
        Ok(Law {
            floor: least + best.floor,
            scale: best.slope * means.n(0.0).powf(best.exponent),
            exponent: best.exponent,
            interval: [end(lowest), end(highest)],
            by_sizes,
            most,
            means,
        })
    }

    /// L(n).
    pub fn at(&self, n: f64) -> Expected {
        let (means, ln_n) = (&self.means, n.ln() - self.means.middle);
        let mut interval = [f64::INFINITY, f64::NEG_INFINITY];
        let [low, high] = self.interval;
        let between = |i| low + (high - low) * i as f64 / (CURVES - 1) as f64;
        for exponent in (0..CURVES).map(between).chain([self.exponent]) {
            let line = means.line(exponent);
            let (loss, spread) = line.at(ln_n, means.runs);
            let half_width = (spread * (self.most - line.squares).max(0.0)).sqrt();
            interval[0] = interval[0].min((loss - half_width).max(0.0));
            interval[1] = interval[1].max(loss + half_width);
        }
        let loss = means.line(self.exponent).at(ln_n, means.runs).0;
        Expected { loss: means.least + loss, interval: interval.map(|loss| means.least + loss) }
    }
}

/// A size by the mean of its runs.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// ln N less the middle of all.
    ln_n: f64,
    /// Above the least loss.
    mean: f64,
    /// Runs.
    runs: f64,
}

/// All sizes, the smallest first.
#[derive(Clone, Debug)]
struct Means {
    /// The mean of ln N.
    middle: f64,
    least: f64,
    sizes: Vec<Size>,
    /// Runs of all sizes.
    runs: f64,
}

/// The best line where α is known.
#[derive(Clone, Copy, Debug)]
struct Line {
    exponent: f64,
    /// E above the least loss.
    floor: f64,
    slope: f64,
    /// Σ of the squares that it misses the means by.
    squares: f64,
    /// Whether the floor is free, and not the least loss.
    is_free: bool,
    /// Mean of N^-α, 0 where the floor is not free.
    x: f64,
    /// Σ of squares around it.
    xx: f64,
}

impl Line {
    /// The loss above the least, and its variance for a scatter of 1.
    fn at(&self, ln_n: f64, runs: f64) -> (f64, f64) {
        let x = (-self.exponent * ln_n).exp();
        let of_mean = if self.is_free { 1.0 / runs } else { 0.0 };
        (self.floor + self.slope * x, of_mean + (x - self.x).powi(2) / self.xx)
    }
}

impl Means {
    fn of(sizes: &[SizeLosses], least: f64) -> Means {
        let middle = Mean::of(&sizes.iter().map(|of| of.n.ln()).collect::<Vec<_>>()).mean;
        let size = |of: &SizeLosses| Size {
            ln_n: of.n.ln() - middle,
            mean: Mean::of(&of.losses).mean - least,
            runs: of.losses.len() as f64,
        };
        let mut sizes: Vec<_> = sizes.iter().map(size).collect();
        sizes.sort_by(|a, b| a.ln_n.total_cmp(&b.ln_n));
        let runs = sizes.iter().map(|of| of.runs).sum();
        Means { middle, least, sizes, runs }
    }

    fn n(&self, ln_n: f64) -> f64 {
        (ln_n + self.middle).exp()
    }

    /// Parameters of the law.
    fn parameters(&self) -> usize {
        if self.sizes.len() > FEWEST_SIZES { 3 } else { 2 }
    }

    fn line(&self, exponent: f64) -> Line {
        let free = (self.parameters() > 2).then(|| self.line_with(exponent, true));
        free.filter(|line| line.floor >= 0.0).unwrap_or_else(|| self.line_with(exponent, false))
    }

    fn line_with(&self, exponent: f64, is_free: bool) -> Line {
        let x = |of: &Size| (-exponent * of.ln_n).exp();
        let sum =
            |of: &dyn Fn(&Size) -> f64| self.sizes.iter().map(|s| s.runs * of(s)).sum::<f64>();
        let mean = |of: &dyn Fn(&Size) -> f64| if is_free { sum(of) / self.runs } else { 0.0 };
        let (x_mean, y_mean) = (mean(&x), mean(&|of| of.mean));
        let xx = sum(&|of| (x(of) - x_mean).powi(2));
        let slope = sum(&|of| (x(of) - x_mean) * (of.mean - y_mean)) / xx;
        let squares = sum(&|of| (of.mean - y_mean - slope * (x(of) - x_mean)).powi(2));
        let floor = y_mean - slope * x_mean;
        Line { exponent, floor, slope, squares, is_free, x: x_mean, xx }
    }

    /// The line of the exponent with the fewest squares.
    fn best(&self) -> Line {
        let [low, high] = EXPONENTS.map(f64::ln);
        let width = (high - low) / (TRIED - 1) as f64;
        let tried = (0..TRIED).map(|i| low + i as f64 * width);
        let squares = |ln: f64| self.line(ln.exp()).squares;
        let best = tried.min_by(|a, b| squares(*a).total_cmp(&squares(*b))).unwrap_or(low);
        let [mut a, mut b] = [(best - width).max(low), (best + width).min(high)];
        for _ in 0..HALVINGS {
            let third = (b - a) / 3.0;
            if squares(a + third) < squares(b - third) { b -= third } else { a += third }
        }
        self.line((0.5 * (a + b)).exp())
    }

    /// The squares that a curve of the interval may have, and whether sizes decide them alone.
    fn scatter(&self, sizes: &[SizeLosses], squares: f64) -> (f64, bool) {
        let of_sizes = (self.sizes.len() - self.parameters()) as f64;
        let of_seeds = self.runs - self.sizes.len() as f64;
        let seeds: f64 = sizes.iter().map(|of| squares_of(&of.losses)).sum();
        let ratio = (squares / of_sizes) / (seeds / of_seeds);
        let test = FisherSnedecor::new(of_sizes, of_seeds);
        let by_sizes = test.is_ok_and(|test| !ratio.is_nan() && test.sf(ratio) <= RISK);
        let (sum, free) = match by_sizes {
            true => (squares, of_sizes),
            false => (squares + seeds, of_sizes + of_seeds),
        };
        let t = StudentsT::new(0.0, 1.0, free)
            .map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - RISK / 2.0));
        (squares + t * t * sum / free, by_sizes)
    }
}

/// Σ of squares around the mean.
fn squares_of(x: &[f64]) -> f64 {
    Mean::of(x).sd.powi(2) * (x.len() as f64 - 1.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// The blocks of a ladder's first sizes.
    fn depths(sizes: usize) -> impl Iterator<Item = f64> {
        (1..=sizes).map(|depth| 12_288.0 * (depth as f64).powi(3))
    }

    /// E, A and α of a planted law.
    type Planted = [f64; 3];

    fn planted([floor, scale, exponent]: Planted, n: f64) -> f64 {
        floor + scale * n.powf(-exponent)
    }

    fn exact(law: Planted, sizes: usize) -> Vec<SizeLosses> {
        let of = |n| SizeLosses { n, losses: vec![planted(law, n); 2] };
        depths(sizes).map(of).collect()
    }

    #[test]
    fn a_law_without_noise_is_found() {
        for (law, sizes, least) in [
            ([1.1, 14.0, 0.27], 4, 0.0),
            ([0.0, 8.0, 0.13], 3, 0.0),
            ([0.0, 8.0, 0.13], 5, 0.0),
            ([0.075, 30.0, 0.5], 3, 0.075),
        ] {
            let mut points = exact(law, sizes);
            points.reverse(); // the order does not matter
            let found = Law::fit(&points, least).unwrap();
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-4 * b.max(1.0), "{a}, not {b}");
            near(found.floor, law[0]);
            near(found.exponent, law[2]);
            near(found.scale, law[1]);
            let far = 1e9;
            let Expected { loss, interval: [low, high] } = found.at(far);
            near(loss, planted(law, far));
            assert!(low <= loss + 1e-9 && loss <= high + 1e-9, "{low} {loss} {high}");
            assert!(found.interval[0] <= found.exponent + 1e-9);
            assert!(found.interval[1] >= found.exponent - 1e-9);
        }
    }

    /// The share of draws with noise that has a law, and the shares of these whose intervals hold the exponent and
    /// the loss of ten times the parameters.
    fn held(law: Planted, [sizes, seeds]: [usize; 2], sd: f64) -> [f64; 3] {
        const DRAWS: usize = 500;
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut normal = || (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
        let (mut some, mut exponents, mut losses) = (0.0, 0.0, 0.0);
        for _ in 0..DRAWS {
            let mut of = |n| SizeLosses {
                n,
                losses: (0..seeds).map(|_| planted(law, n) + sd * normal()).collect(),
            };
            let points: Vec<_> = depths(sizes).map(&mut of).collect();
            let Ok(found) = Law::fit(&points, 0.0) else { continue };
            let holds = |[low, high]: [f64; 2], x| f64::from(u8::from(low <= x && x <= high));
            let far = 10.0 * points[sizes - 1].n;
            some += 1.0;
            exponents += holds(found.interval, law[2]);
            losses += holds(found.at(far).interval, planted(law, far));
        }
        [some / DRAWS as f64, exponents / some, losses / some]
    }

    #[test]
    fn the_intervals_hold_the_truth_in_nineteen_of_twenty() {
        for (law, runs, sd) in [
            ([1.0, 14.0, 0.27], [4, 3], 0.008),
            ([1.0, 14.0, 0.27], [5, 3], 0.02),
            ([1.0, 14.0, 0.27], [5, 1], 0.008),
            ([0.0, 8.0, 0.13], [3, 3], 0.008),
            ([0.0, 8.0, 0.13], [4, 3], 0.008),
        ] {
            let [some, exponent, loss] = held(law, runs, sd);
            assert!(some > 0.97, "{law:?} {runs:?}: a law in {some}");
            for share in [exponent, loss] {
                assert!((0.93..=0.995).contains(&share), "{law:?} {runs:?}: {exponent} {loss}");
            }
        }
    }

    #[test]
    fn points_that_bear_no_law_are_refused() {
        let law = [1.0, 14.0, 0.27];
        let fit = |points: &[SizeLosses]| Law::fit(points, 0.0).map(|_| ());
        assert_eq!(fit(&exact(law, 2)), Err(NoLaw::FewSizes));
        let mut points = exact(law, 4);
        points[2].losses = points[1].losses.clone();
        assert_eq!(fit(&points), Err(NoLaw::Rises { at: 2 }));
        // They fall by less than the seeds differ.
        let flat = |(i, n): (usize, f64)| {
            let mean = 2.0 - 0.001 * i as f64;
            SizeLosses { n, losses: vec![mean - 0.1, mean, mean + 0.1] }
        };
        let flat: Vec<_> = depths(4).enumerate().map(flat).collect();
        assert_eq!(fit(&flat), Err(NoLaw::Flat));
        // All is gained in the first step.
        let step = [2.0, 1.0, 0.9999, 0.9998].into_iter().zip(depths(4));
        let step: Vec<_> = step
            .map(|(loss, n)| SizeLosses { n, losses: vec![loss - 0.01, loss + 0.01] })
            .collect();
        assert_eq!(fit(&step), Err(NoLaw::Steep));
    }

    /// Sizes that lie on no such curve are judged by how far they lie from it, not by their seeds.
    #[test]
    fn what_seeds_do_not_explain_is_no_small_error() {
        let mut points = exact([1.0, 14.0, 0.27], 5);
        let jump = [0.0, 0.03, -0.03, 0.03, -0.02];
        for (of, jump) in points.iter_mut().zip(jump) {
            of.losses = vec![of.losses[0] + jump - 1e-4, of.losses[0] + jump + 1e-4];
        }
        let width = |law: &Law| law.interval[1] - law.interval[0];
        match Law::fit(&points, 0.0) {
            Ok(law) => assert!(law.by_sizes && width(&law) > 0.1, "{law:?}"),
            Err(why) => assert!(matches!(why, NoLaw::Flat | NoLaw::Steep), "{why:?}"),
        }
    }
}
