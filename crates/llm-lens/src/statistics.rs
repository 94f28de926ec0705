//! What differences between pairs say beyond chance, and what a share of right answers does.
//!
//! The test is Student's for one sample, over the differences of pairs: it takes them to be independent of each
//! other and, where they are few, normally distributed. Several tests at once are judged by Holm's method, by
//! which the chance of any false one is at most the risk, however they depend on each other.
//!
//! Reference: Student, "The probable error of a mean", 1908; Holm, "A simple sequentially rejective multiple
//! test procedure", 1979; Clopper and Pearson, "The use of confidence or fiducial limits", 1934, for shares.

use statrs::distribution::{Beta, ContinuousCDF, StudentsT};

/// The chance of any false conclusion that is accepted.
pub const RISK: f64 = 0.05;
/// Differences below which nothing is concluded.
pub const FEWEST: usize = 3;
/// Most pairs that are thought of where more would tell.
const MOST: usize = 1000;

/// Numbers, such as the differences of pairs, as a mean with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// How many there are.
    pub n: usize,
    /// The mean; 0 where there are none.
    pub mean: f64,
    /// Sample standard deviation; 0 for fewer than two.
    pub sd: f64,
}

impl Mean {
    /// The mean of these numbers.
    pub fn of(x: &[f64]) -> Mean {
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n.max(1.0);
        let squares: f64 = x.iter().map(|x| (x - mean).powi(2)).sum();
        Mean { n: x.len(), mean, sd: (squares / (n - 1.0).max(1.0)).sqrt() }
    }

    /// The standard error of the mean, s/√n. Never 0: numbers that are all the same have no spread to be judged
    /// by, and rounding has made them so.
    fn error(self) -> f64 {
        (self.sd / (self.n as f64).sqrt())
            .max(f64::EPSILON * self.mean.abs())
            .max(f64::MIN_POSITIVE)
    }

    fn t(self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, self.n as f64 - 1.0).ok().filter(|_| self.n > 1)
    }

    /// The chance of such a mean or a larger one where the true one is `least`; 1 for fewer than two numbers.
    pub fn chance_above(self, least: f64) -> f64 {
        self.t().map_or(1.0, |t| t.sf((self.mean - least) / self.error()))
    }

    /// The chance of a mean so far from 0, on either side, where the true one is 0: the p of the paired t test.
    /// 1 for fewer than two numbers, or where all are 0.
    pub fn chance_apart(self) -> f64 {
        if self.mean == 0.0 && self.sd == 0.0 {
            return 1.0;
        }
        self.t().map_or(1.0, |t| 2.0 * t.sf((self.mean / self.error()).abs())).min(1.0)
    }

    /// Half the width of the interval around the mean that holds the true one with this risk of missing it;
    /// infinite for fewer than two numbers.
    pub fn half_width(self, risk: f64) -> f64 {
        self.t().map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - risk / 2.0) * self.error())
    }

    /// How many numbers in all would tell this mean from 0 at this risk, if more had the same mean and spread;
    /// `None` where a thousand would not.
    pub fn enough(self, risk: f64) -> Option<usize> {
        (self.n.max(FEWEST)..=MOST).find(|&n| Mean { n, ..self }.chance_apart() <= risk)
    }
}

/// Chances of several tests, each as large as the risk would have to be for it to count among all of them: by
/// Holm's method the smallest times their number, the next times one less, none below the one before.
///
/// ```
/// use llm_lens::statistics::holm;
/// assert_eq!(holm(&[0.04, 0.01, 0.5]), [0.08, 0.03, 0.5]);
/// ```
pub fn holm(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let (mut adjusted, mut least) = (vec![1.0; chances.len()], 0.0f64);
    for (passed, i) in order.into_iter().enumerate() {
        least = least.max(chances[i] * (chances.len() - passed) as f64).min(1.0);
        adjusted[i] = least;
    }
    adjusted
}

/// The interval that holds the true share where `right` of `of` are right, with at most this risk of missing it: the
/// exact one, of all shares for which neither as many right ones or more nor as many or fewer are rarer than risk/2. It holds the mean of
/// the chances too where they differ from one to the next.
pub fn share_interval(right: usize, of: usize, risk: f64) -> [f64; 2] {
    let bound = |a: usize, b: usize, p: f64| {
        Beta::new(a as f64, b as f64).ok().map(|beta| beta.inverse_cdf(p))
    };
    let wrong = of - right.min(of);
    let low = bound(right, wrong + 1, risk / 2.0).unwrap_or(0.0);
    [low, bound(right + 1, wrong, 1.0 - risk / 2.0).unwrap_or(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.ttest_1samp and t.ppf.
    #[test]
    fn chances_are_those_of_the_t_test() {
        let of = Mean::of(&[0.3, 0.1, 0.5, 0.2, 0.4]);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a}, not {b}");
        near(of.mean, 0.3);
        near(of.sd, 0.158_113_883_008_418_97);
        near(of.chance_apart(), 0.013_235_599_563_682_69);
        near(of.chance_above(0.1), 0.023_710_327_792_159_806);
        near(of.half_width(0.05), 0.196_324_316_147_755_7);
        assert_eq!(of.enough(0.05), Some(5));
        assert_eq!(Mean::of(&[1.0, -1.0, 1.2]).enough(0.05), Some(38));
    }

    /// scipy.stats.binomtest(k, n).proportion_ci().
    #[test]
    fn shares_have_exact_intervals() {
        for (right, of, low, high) in [
            (0, 1, 0.0, 0.975),
            (1, 1, 0.025_000_000_000_000_022, 1.0),
            (7, 10, 0.347_547_149_939_992_1, 0.933_260_488_822_265_5),
            (102, 120, 0.773_332_856_587_371_3, 0.908_610_427_471_78),
            (5000, 10042, 0.488_081_572_509_204_75, 0.507_737_207_123_516),
            (10042, 10042, 0.999_632_722_366_955_8, 1.0),
            (1, 100_000, 2.531_784_274_393_282_6e-7, 5.571_516_034_432_556e-5),
        ] {
            let [a, b] = share_interval(right, of, 0.05);
            assert!((a - low).abs() < 1e-9 && (b - high).abs() < 1e-9, "{right}/{of}: {a} {b}");
        }
    }

    #[test]
    fn too_few_and_equal_numbers_say_nothing_or_all() {
        for few in [&[][..], &[0.5]] {
            let of = Mean::of(few);
            assert!(of.chance_apart() == 1.0 && of.chance_above(-1.0) == 1.0);
            assert!(of.half_width(0.05).is_infinite());
        }
        assert_eq!(Mean::of(&[0.0; 9]).chance_apart(), 1.0);
        assert!(Mean::of(&[0.2; 9]).chance_apart() < 1e-9);
        assert_eq!(Mean::of(&[0.0; 3]).enough(0.05), None);
    }

    #[test]
    fn holm_never_falls_and_never_passes_one() {
        assert_eq!(holm(&[]), [0.0; 0]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[0.01, 0.011]), [0.02, 0.02]);
    }
}
