//! What a head may be doing, and when its scores say so.

use crate::report::Bilingual;

/// A kind of place to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its column.
    pub name: &'static str,
    /// What a head does that looks there.
    pub en: &'static str,
    /// The same in Chinese.
    pub zh: &'static str,
}

impl Role {
    const fn new(name: &'static str, en: &'static str, zh: &'static str) -> Role {
        Role { name, en, zh }
    }
}

/// Number of kinds of places.
pub(super) const N: usize = 9;

/// All kinds, in the order of the columns; `marks.rs` says exactly which places they are.
pub const ROLES: [Role; N] = [
    Role::new("previous", "looks at the previous token", "看前一个词元"),
    Role::new(
        "first",
        "looks at the first token, where little is to be had",
        "看第一个词元，那里没有多少信息",
    ),
    Role::new("itself", "looks at the token itself", "看词元自己"),
    Role::new("word", "looks at the letters of its own word", "看自己所在词的字母"),
    Role::new("same", "looks at earlier mentions of the same word", "看同一个词先前出现的地方"),
    Role::new(
        "after",
        "looks at what followed the same token before (induction)",
        "看同一词元先前出现之后的词元（归纳）",
    ),
    Role::new(
        "copy",
        "looks at tokens like the one that comes next (copying)",
        "看与下一个词元相同的词元（复制）",
    ),
    Role::new("separator", "looks at spaces, punctuation and line ends", "看空格、标点和换行"),
    Role::new(
        "answer",
        "looks the answer up: earlier mentions of the word to be told",
        "查找答案：将要说出的词先前出现的地方",
    ),
];

/// A role needs a score of so many times what even attention gives.
const TIMES: f64 = 2.0;
/// And so much of the way from there to 1.
const WAY: f64 = 0.1;

/// How much of the way from `uniform` to 1 a score goes; 0 or less when it is no higher.
fn way(score: f64, uniform: f64) -> f64 {
    if uniform >= 1.0 { 0.0 } else { (score - uniform) / (1.0 - uniform) }
}

/// What the scores say: the role whose score goes the farthest beyond even attention, if it goes
/// far enough; of equals the first (who looks at the previous letter looks into its word).
/// Scores without a value were not measured.
pub(super) fn role_of(scores: &[Option<f64>; N], uniform: &[Option<f64>; N]) -> Option<usize> {
    let measured = (0..N).filter_map(|i| Some((i, scores[i]?, uniform[i]?)));
    measured
        .filter(|&(_, score, even)| score >= TIMES * even && way(score, even) >= WAY)
        .rev()
        .max_by(|a, b| way(a.1, a.2).total_cmp(&way(b.1, b.2)))
        .map(|(i, ..)| i)
}

/// The role in words; nothing when nothing stands out.
pub(super) fn in_words(role: Option<usize>, is_off: bool) -> Bilingual {
    match (role.and_then(|i| ROLES.get(i)), is_off) {
        (_, true) => Bilingual { en: "switched off".into(), zh: "已关闭".into() },
        (Some(role), _) => Bilingual { en: role.en.into(), zh: role.zh.into() },
        (None, _) => Bilingual::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_needs_to_stand_out() {
        let uniform = [Some(0.05); N];
        let with = |changes: &[(usize, f64)]| {
            let mut scores = uniform;
            changes.iter().for_each(|&(i, score)| scores[i] = Some(score));
            role_of(&scores, &uniform)
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[(2, 0.09)]), None); // not twice
        assert_eq!(with(&[(2, 0.14)]), None); // not a tenth of the way
        assert_eq!(with(&[(2, 0.15)]), Some(2));
        assert_eq!(with(&[(2, 0.3), (5, 0.4)]), Some(5));
        assert_eq!(with(&[(0, 0.4), (3, 0.4)]), Some(0));
        // A third of everything is a separator: 0.6 there says less than 0.5 elsewhere.
        let mut even = uniform;
        even[7] = Some(0.33);
        let mut scores = uniform;
        (scores[7], scores[0]) = (Some(0.6), Some(0.5));
        assert_eq!(role_of(&scores, &even), Some(0));
        assert_eq!(role_of(&[None; N], &even), None);
        assert_eq!(role_of(&[Some(1.0); N], &[Some(1.0); N]), None);
    }
}
