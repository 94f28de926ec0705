//! The losses of a log as a few hundred points, however many steps it has.

use crate::log::compared::Paired;
use crate::log::rewarded::Rewarded;
use crate::log::row::{Format, Row};
use crate::log::step_lines::StepLine;
use llm_core::{Error, IoAction, Result, message};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// A step and a loss, always finite.
pub type Point = (f64, f64);

/// Most buckets that a curve is made of; when they are full, two neighbours become one.
const MOST_BUCKETS: usize = 512;
/// Most buckets of a curve that is shown smaller than the losses.
const MOST_BESIDE: usize = 160;

/// The losses, and the curves logged with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Loss of the batches. Of many steps, the smallest and the largest.
    pub train: Vec<Point>,
    /// Loss of the batches, as a mean over neighbouring steps.
    pub smooth: Vec<Point>,
    /// Loss on unseen data.
    pub val: Vec<Point>,
    /// Learning rate. Of many steps, the smallest and the largest, as of all that follow.
    pub lr: Vec<Point>,
    /// Norm of the gradient before clipping.
    pub grad_norm: Vec<Point>,
    /// Speed of training.
    pub tokens_per_s: Vec<Point>,
    /// V: a model that knows nothing has a loss of ln V. 0: the loss is that of answers, which has no such limit, and
    /// may be negative.
    pub vocab_size: usize,
    /// What no model's expected loss is below, where that is known.
    pub entropy_floor: Option<f64>,
}

impl Curves {
    /// Reads the log of a run's folder, all of it: also the steps before it was resumed. Nothing is
    /// held but the points. A missing log has no steps.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn read(dir: &Path, vocab_size: usize, entropy_floor: Option<f64>) -> Result<Curves> {
        let [mut train, mut val] = [(); 2].map(|()| Buckets::at_most(MOST_BUCKETS));
        let [mut lr, mut grad_norm, mut speed] = [(); 3].map(|()| Buckets::at_most(MOST_BESIDE));
        for row in rows(dir)? {
            let row = row?;
            train.add(row.step, f64::from(row.loss));
            row.val_loss.into_iter().for_each(|loss| val.add(row.step, loss));
            lr.add(row.step, f64::from(row.lr));
            grad_norm.add(row.step, f64::from(row.grad_norm));
            speed.add(row.step, f64::from(row.tokens_per_s));
        }
        let of_answers = [Rewarded::NAME, Paired::NAME].iter().any(|name| dir.join(name).exists());
        let vocab_size = if of_answers { 0 } else { vocab_size };
        let entropy_floor = entropy_floor.filter(|floor| floor.is_finite() && !of_answers);
        let (smooth, train, val) = (train.smooth(), train.extremes(), val.extremes());
        let [lr, grad_norm, tokens_per_s] = [lr, grad_norm, speed].map(|of| of.extremes());
        Ok(Curves { train, smooth, val, lr, grad_norm, tokens_per_s, vocab_size, entropy_floor })
    }

    /// The losses of steps that are in no folder.
    pub fn of_steps(steps: impl IntoIterator<Item = (u64, f32)>, vocab_size: usize) -> Curves {
        let mut train = Buckets::at_most(MOST_BUCKETS);
        steps.into_iter().for_each(|(step, loss)| train.add(step, f64::from(loss)));
        let (smooth, train) = (train.smooth(), train.extremes());
        Curves { train, smooth, vocab_size, ..Curves::default() }
    }
}

/// The rows of the log in a run's folder, in order, up to one that is just being written; none
/// where there is no log.
///
/// # Errors
/// [`Error::Io`] with the path.
pub fn rows(dir: &Path) -> Result<impl Iterator<Item = Result<Row>>> {
    let path = dir.join(Format::Csv.file_name());
    let rows = match File::open(&path) {
        Ok(file) => {
            Some(csv::Reader::from_reader(Short { from: file, line: 0 }).into_deserialize::<Row>())
        }
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(Error::io(IoAction::Read, path, e)),
    };
    Ok(rows.into_iter().flatten().map_while(move |row| match row {
        Ok(row) => Some(Ok(row)),
        Err(e) if e.is_io_error() => Some(Err(unreadable(&path, e))),
        Err(_) => None,
    }))
}

fn unreadable(path: &Path, e: csv::Error) -> Error {
    match e.into_kind() {
        csv::ErrorKind::Io(source) => Error::io(IoAction::Read, path, source),
        other => Error::io(IoAction::Write, path, io::Error::other(format!("{other:?}"))),
    }
}

/// A file whose lines are no longer than rows are: one of zeros, which takes no room on the disk, would
/// be a line as long as the memory.
struct Short<R> {
    from: R,
    /// Bytes since a line ended.
    line: usize,
}

impl<R: Read> Read for Short<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let most = buf.len().min(Format::MAX_LINE);
        let n = self.from.read(&mut buf[..most])?;
        let end = buf[..n].iter().rposition(|&b| b == b'\n');
        self.line = end.map_or(self.line + n, |end| n - end - 1);
        if self.line > 2 * Format::MAX_LINE {
            let why = message!("a line of it is no row of a log");
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
        Ok(n)
    }
}

/// Neighbouring steps, taken together.
#[derive(Clone, Copy)]
struct Bucket {
    /// Number of its first step, in widths.
    at: u64,
    low: Point,
    high: Point,
    /// For the mean.
    steps: f64,
    sums: Point,
}

/// A curve of any length in bounded memory: buckets of equal width, which doubles when there are
/// too many.
struct Buckets {
    most: usize,
    width: u64,
    all: Vec<Bucket>,
}

impl Buckets {
    fn at_most(most: usize) -> Buckets {
        Buckets { most, width: 1, all: Vec::new() }
    }

    fn add(&mut self, step: u64, loss: f64) {
        if !loss.is_finite() {
            return;
        }
        let point = (step as f64, loss);
        let at = step / self.width;
        self.push(Bucket { at, low: point, high: point, steps: 1.0, sums: point });
        while self.all.len() > self.most {
            self.width *= 2;
            for bucket in std::mem::take(&mut self.all) {
                self.push(Bucket { at: bucket.at / 2, ..bucket });
            }
        }
    }

    fn push(&mut self, new: Bucket) {
        let Some(last) = self.all.last_mut().filter(|last| last.at == new.at) else {
            self.all.push(new);
            return;
        };
        last.low = if new.low.1 < last.low.1 { new.low } else { last.low };
        last.high = if new.high.1 > last.high.1 { new.high } else { last.high };
        last.steps += new.steps;
        last.sums = (last.sums.0 + new.sums.0, last.sums.1 + new.sums.1);
    }

    /// The smallest and the largest loss of each bucket, so that no spike is lost.
    fn extremes(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for bucket in &self.all {
            let (low, high) = (bucket.low, bucket.high);
            let (first, second) = if low.0 <= high.0 { (low, high) } else { (high, low) };
            points.push(first);
            points.extend((second != first).then_some(second));
        }
        points
    }

    /// The mean of each bucket and its neighbours within a 25th of the curve, the nearer the more.
    /// At the beginning, where losses fall fast, only of as many to the right as there are to the
    /// left; at the end of all that there are, so that the last batch is not taken for the curve.
    fn smooth(&self) -> Vec<Point> {
        let (n, reach) = (self.all.len(), self.all.len() / 25);
        let mean = |i: usize| {
            let left = reach.min(i);
            let (first, last) = (i - left, (i + left).min(n - 1));
            let (mut steps, mut sums) = (0.0, (0.0, 0.0));
            for (j, bucket) in (first..=last).zip(&self.all[first..=last]) {
                let weight = (left + 1 - i.abs_diff(j)) as f64;
                steps += weight * bucket.steps;
                sums.0 += weight * bucket.sums.0;
                sums.1 += weight * bucket.sums.1;
            }
            (sums.0 / steps, sums.1 / steps)
        };
        (0..n).map(mean).filter(|(_, loss)| loss.is_finite()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_curve_of_any_length_keeps_its_spikes(
            first in 0..u64::MAX / 2,
            losses in proptest::collection::vec(prop_oneof![0.5f64..6.0, Just(f64::NAN)], 0..3000),
            spike in 0usize..3000,
        ) {
            let mut losses = losses;
            if let Some(loss) = losses.get_mut(spike) {
                *loss = 1e9;
            }
            let mut buckets = Buckets::at_most(MOST_BUCKETS);
            for (i, &loss) in losses.iter().enumerate() {
                buckets.add(first + i as u64, loss);
            }
            let (points, smooth) = (buckets.extremes(), buckets.smooth());
            prop_assert!(points.len() <= 2 * MOST_BUCKETS && smooth.len() <= MOST_BUCKETS);
            prop_assert!(points.iter().chain(&smooth).all(|p| p.0.is_finite() && p.1.is_finite()));
            prop_assert!(points.windows(2).all(|w| w[0].0 <= w[1].0));
            let finite = || losses.iter().copied().filter(|l| l.is_finite());
            let highest = |of: &mut dyn Iterator<Item = f64>| of.fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(highest(&mut finite()), highest(&mut points.iter().map(|p| p.1)));
            prop_assert_eq!(points.is_empty(), finite().next().is_none());
        }
    }

    #[test]
    fn a_straight_line_stays_one_when_smoothed() {
        let mut buckets = Buckets::at_most(MOST_BUCKETS);
        (1..=5000u32).for_each(|i| buckets.add(u64::from(i), 0.25 * f64::from(i)));
        for (step, loss) in buckets.smooth() {
            assert!((loss - 0.25 * step).abs() < 1e-9);
        }
    }
}
