//! What shares over several pairs say, by a rule whose false alarms are known.

use crate::causes::{At, Pair, Part, Reading, Sender, Share, What};
use crate::statistics::{Mean, RISK, holm};
use llm_core::{Result, TinyGPT};
use serde::Serialize;

/// Fewer pairs say nothing.
pub const FEWEST_PAIRS: usize = 8;
/// The least share that is worth a name.
pub const LEAST: f64 = 0.1;

/// What a part carries over several pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Carried {
    /// The part.
    #[serde(flatten)]
    pub part: Part,
    /// Mean share put in.
    pub put_in: f64,
    /// Standard deviation over the pairs.
    pub put_in_sd: f64,
    /// Mean share taken out.
    pub taken_out: f64,
    /// Standard deviation over the pairs.
    pub taken_out_sd: f64,
    /// Share of the answers that turn when the part is put in.
    pub turned: f64,
    /// The part carries the answer: see [`verdict`].
    pub carries: bool,
}

/// What parts of a model carry the answers of several pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Pairs that were tried.
    pub tried: usize,
    /// Numbers of the pairs that are measured: the model is right on both texts.
    pub right: Vec<usize>,
    /// The parts.
    pub rows: Vec<Carried>,
    /// For each measured pair the share of each part.
    pub shares: Vec<Vec<Share>>,
}

/// Measures `parts` over the pairs that the model is right on. `stop` is asked after each pair; what is found
/// is then of those before.
///
/// # Errors
/// As [`Reading::new`] and [`Reading::shares`].
pub fn explain(
    model: &TinyGPT,
    pairs: &[Pair],
    parts: &[Part],
    mut stop: impl FnMut() -> bool,
) -> Result<Explained> {
    let (mut shares, mut right, mut tried) = (Vec::new(), Vec::new(), 0);
    for (i, pair) in pairs.iter().enumerate() {
        let reading = Reading::new(model, pair)?;
        tried += 1;
        if reading.is_right() {
            shares.push(reading.shares(parts)?);
            right.push(i);
        }
        if stop() {
            break;
        }
    }
    Ok(Explained { tried, right, rows: verdict(parts, &shares), shares })
}

/// Mean shares over pairs of what `receivers` read from heads of earlier blocks, see [`Reading::paths`].
/// `stop` is asked after each pair.
///
/// # Errors
/// As [`Reading::paths`].
pub fn follow<'p>(
    model: &TinyGPT,
    pairs: impl IntoIterator<Item = &'p Pair>,
    receivers: &[[usize; 2]],
    mut stop: impl FnMut() -> bool,
) -> Result<Vec<Sender>> {
    let (mut all, mut n): (Vec<Sender>, f64) = (Vec::new(), 0.0);
    for pair in pairs {
        let senders = Reading::new(model, pair)?.paths(receivers)?;
        n += 1.0;
        match all.is_empty() {
            true => all = senders,
            false => {
                let both = all.iter_mut().zip(&senders);
                let each = both.flat_map(|(sum, new)| sum.shares.iter_mut().zip(&new.shares));
                // A running mean.
                each.for_each(|(mean, new)| *mean = mean.zip(*new).map(|(m, x)| m + (x - m) / n));
            }
        }
        if stop() {
            break;
        }
    }
    Ok(all)
}

/// Heads whose paths are followed.
const MOST_RECEIVERS: usize = 4;

/// The heads that carry most at the end, beyond [`LEAST`], with heads before them to read from.
pub fn receivers(rows: &[Carried]) -> Vec<[usize; 2]> {
    let head = |row: &Carried| match (row.part.what, row.part.at) {
        (What::Head(head), At::Last) if row.put_in > LEAST && row.part.layer > 0 => {
            Some((row.put_in, [row.part.layer, head]))
        }
        _ => None,
    };
    let mut heads: Vec<_> = rows.iter().filter_map(head).collect();
    heads.sort_by(|a, b| b.0.total_cmp(&a.0));
    heads.into_iter().take(MOST_RECEIVERS).map(|(_, head)| head).collect()
}

/// Means over pairs: `shares` has a list for each pair, with a share for each of `parts`.
///
/// A part *carries* the answer when both its shares are larger than [`LEAST`] beyond chance: one-sided t tests
/// over the pairs, of both sides the larger p, by Holm's method over all parts, so that any false name has a
/// chance of at most 5 %. That takes the mean of the shares to be normally distributed, and the pairs to be
/// drawn independently. With fewer than [`FEWEST_PAIRS`] nothing carries.
pub fn verdict(parts: &[Part], shares: &[Vec<Share>]) -> Vec<Carried> {
    let column = |i: usize, side: fn(&Share) -> f64| {
        let all: Vec<f64> = shares.iter().filter_map(|pair| pair.get(i)).map(side).collect();
        Mean::of(&all)
    };
    let row = |(i, part): (usize, &Part)| {
        let [put_in, taken_out, turned] = [
            column(i, |share| share.put_in),
            column(i, |share| share.taken_out),
            column(i, |share| f64::from(u8::from(share.turns))),
        ];
        let chance = put_in.chance_above(LEAST).max(taken_out.chance_above(LEAST));
        let row = Carried {
            part: *part,
            put_in: put_in.mean,
            put_in_sd: put_in.sd,
            taken_out: taken_out.mean,
            taken_out_sd: taken_out.sd,
            turned: turned.mean,
            carries: false,
        };
        (row, chance)
    };
    let (rows, chances): (Vec<_>, Vec<_>) = parts.iter().enumerate().map(row).unzip();
    let both = rows.into_iter().zip(holm(&chances));
    let judged = both.map(|(row, chance)| Carried {
        carries: shares.len() >= FEWEST_PAIRS && chance <= RISK,
        ..row
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};

    /// Shares of heads that carry nothing, or just the least that has a name, in a thousand tables of 16
    /// parts: some part is named in at most 5 % and a little.
    #[test]
    fn what_carries_nothing_is_not_named() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let parts: Vec<_> =
            (0..16).map(|h| Part { layer: 0, what: What::Head(h), at: At::Last }).collect();
        let mut named = [0; 2];
        for (case, named) in named.iter_mut().enumerate() {
            for _ in 0..1000 {
                let mean = [0.0, LEAST][case];
                // The sum of four uniform numbers is nearly normal.
                let mut drawn = |spread: f64| {
                    mean + spread * (0..4).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>()
                };
                let mut share = || {
                    let (put_in, taken_out) = (drawn(0.3), drawn(0.3));
                    Share { put_in, taken_out, turns: false }
                };
                let shares: Vec<Vec<_>> =
                    (0..12).map(|_| parts.iter().map(|_| share()).collect()).collect();
                *named += usize::from(verdict(&parts, &shares).iter().any(|row| row.carries));
            }
        }
        assert!(named[0] == 0 && named[1] <= 65, "{named:?}");
    }

    #[test]
    fn what_carries_is_named_and_too_few_pairs_say_nothing() {
        let parts = [0, 1].map(|h| Part { layer: 0, what: What::Head(h), at: At::Last });
        let pair = |i: usize| {
            let noise = (i % 3) as f64 / 30.0;
            [0.4 + noise, noise].map(|x| Share { put_in: x, taken_out: x, turns: false }).to_vec()
        };
        let named = |n: usize| {
            let shares: Vec<_> = (0..n).map(pair).collect();
            verdict(&parts, &shares).iter().map(|row| row.carries).collect::<Vec<_>>()
        };
        assert_eq!(named(FEWEST_PAIRS), [true, false]);
        assert_eq!(named(FEWEST_PAIRS - 1), [false, false]);
        assert_eq!(named(0), [false, false]);
        let sides = [Share { put_in: 0.9, taken_out: 0.0, turns: true }];
        let one_side = verdict(&parts[..1], &vec![sides.to_vec(); 20]);
        assert!(!one_side[0].carries && one_side[0].turned == 1.0);
    }
}
