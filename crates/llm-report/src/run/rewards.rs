//! What a page says about rewards: how they grew, what they cost, and answers over time; and about pairs of answers.

use crate::data::{Pairs, Rewards, rounded};
use llm_run::log::{AnswerMoment, Compared, Paired, Rewarded};

/// Most points of a curve, each the mean of its steps.
const MOST_POINTS: usize = 100;
/// Most moments whose answers are shown; those of a long run are thinned out, the first and the last stay.
const MOST_MOMENTS: usize = 12;

/// Rewards of a run, if it has any.
pub(crate) fn rewards(steps: &[Rewarded], moments: &[AnswerMoment]) -> Option<Rewards> {
    let each = steps.len().div_ceil(MOST_POINTS).max(1);
    let curve = |of: fn(&Rewarded) -> f64| -> Vec<(u64, f64)> {
        let point = |some: &[Rewarded]| {
            let mean = some.iter().map(of).sum::<f64>() / some.len() as f64;
            (some[some.len() / 2].step, rounded(mean))
        };
        steps.chunks(each).map(point).collect()
    };
    let start_kl = moments.iter().filter_map(|of| Some((of.step, rounded(of.start_kl?))));
    let (n, most) = (moments.len(), MOST_MOMENTS);
    let kept = |i: usize| n <= most || (0..most).any(|k| k * (n - 1) / (most - 1) == i);
    let kept = moments.iter().enumerate().filter(|(i, _)| kept(*i));
    (!steps.is_empty()).then(|| Rewards {
        reward: curve(|of| of.reward),
        differ: curve(|of| of.differ),
        length: curve(|of| of.length),
        entropy: curve(|of| of.entropy),
        kl: curve(|of| of.kl.unwrap_or(f64::NAN))
            .into_iter()
            .filter(|(_, kl)| kl.is_finite())
            .collect(),
        start_kl: start_kl.collect(),
        moments: kept.map(|(_, of)| AnswerMoment { first: Vec::new(), ..of.clone() }).collect(),
    })
}

/// Pairs of a run, if it has any.
pub(crate) fn pairs(all: &[Paired]) -> Option<Pairs> {
    let of = |unseen| all.iter().filter(|of| of.unseen == unseen).copied().collect();
    let (learned, unseen): (Vec<Paired>, Vec<Paired>) = (of(false), of(true));
    let each = learned.len().div_ceil(MOST_POINTS).max(1);
    let point = |some: &[Paired]| {
        let sum = |i: usize| some.iter().map(|pairs| pairs.of.numbers()[i]).sum::<f64>();
        let means = std::array::from_fn(|i| rounded(sum(i) / some.len() as f64));
        let of = Compared { pairs: sum(0) as u64, ..Compared::of(means) };
        Paired { of, ..some[some.len() / 2] }
    };
    (!all.is_empty()).then(|| Pairs {
        learned: learned.chunks(each).map(point).collect(),
        unseen: unseen.chunks(1).map(point).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_few_points_that_are_means_of_all_steps() {
        let step = |step| Rewarded {
            step,
            reward: (step % 2) as f64,
            differ: 0.5,
            length: 3.0,
            entropy: 1.0,
            kl: (step > 600).then_some(0.2),
            clipped: None,
            said: Vec::new(),
        };
        let moment = |step| AnswerMoment { step, start_kl: Some(0.1), ..AnswerMoment::default() };
        let steps: Vec<_> = (1..=1200).map(step).collect();
        let found = rewards(&steps, &(0..100).map(moment).collect::<Vec<_>>()).unwrap();
        assert_eq!((found.reward.len(), found.start_kl.len(), found.moments.len()), (100, 100, 12));
        assert!(found.reward.iter().all(|(_, mean)| *mean == 0.5));
        assert_eq!([&found.moments[0], &found.moments[11]].map(|of| of.step), [0, 99]);
        assert_eq!((found.kl.len(), found.kl[0]), (50, (607, 0.2)));
        assert!(rewards(&[], &[]).is_none());
        let pair = |step: u64, unseen| {
            let of = Compared { pairs: 4, margin: (step % 2) as f64, ..Compared::default() };
            Paired { step, unseen, of }
        };
        let all: Vec<_> = (0..1200).map(|i| pair(i + 1, false)).chain([pair(5, true)]).collect();
        let found = pairs(&all).unwrap();
        assert_eq!((found.learned.len(), found.unseen), (100, vec![pair(5, true)]));
        assert!(found.learned.iter().all(|of| (of.of.margin, of.of.pairs) == (0.5, 48)));
        assert!(pairs(&[]).is_none());
        assert_eq!(rewards(&steps[..3], &[]).unwrap().reward, [(1, 1.0), (2, 0.0), (3, 1.0)]);
    }
}
