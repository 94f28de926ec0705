//! docs/concepts/overfitting.md: a table that memorises a text, and stories of which a window shows more than one.

use super::next::{LETTERS, TEXT, lesson, nothing_known, pairs};
use llm_core::TokenId;
use llm_stories::{StoryCorpus, surprise};

/// A word that is not learned, of the same letters.
pub const UNSEEN: &str = "radar";
/// How often the text is gone through.
pub const PASSES: usize = 200;
/// Bytes of a training window.
const WINDOW: usize = 256;

fn pairs_of(text: &str) -> Vec<(TokenId, TokenId)> {
    let number = |c: char| LETTERS.iter().position(|l| l.starts_with(c)).unwrap() as TokenId;
    let text: Vec<TokenId> = text.chars().map(number).collect();
    text.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Loss of the learned text and of the unseen word after each pass, none included.
pub fn curve() -> Vec<[f64; 2]> {
    let mut scores = nothing_known().unwrap();
    let mut losses = Vec::new();
    for _ in 0..=PASSES {
        let (next, loss) = lesson(&scores, &pairs(), 10.0).unwrap(); // 1 for each of the ten pairs
        let unseen = lesson(&scores, &pairs_of(UNSEEN), 0.0).unwrap().1;
        losses.push([loss.into(), unseen.into()]);
        scores = next;
    }
    losses
}

/// The pass with the lowest loss of the unseen word.
pub fn best() -> usize {
    let curve = curve();
    (0..curve.len()).min_by(|&a, &b| curve[a][1].total_cmp(&curve[b][1])).unwrap()
}

/// The same losses of counted pairs, each count `more` larger than it is.
pub fn counted(more: f64) -> [f64; 2] {
    let mut counts = [[more; 5]; 5];
    pairs().iter().for_each(|&(a, b)| counts[a as usize][b as usize] += 1.0);
    [TEXT, UNSEEN].map(|text| {
        let share = |(a, b): (TokenId, TokenId)| {
            let row = counts[a as usize];
            row[b as usize] / row.iter().sum::<f64>()
        };
        let pairs = pairs_of(text);
        pairs.iter().map(|&pair| -share(pair).ln()).sum::<f64>() / pairs.len() as f64
    })
}

/// What the stories themselves leave open, nats a byte: in the story that a window of training begins with, in
/// those that it begins after it, and in all; and the share of the bytes of the latter stories.
pub fn left_open() -> [f64; 4] {
    let corpus = StoryCorpus::new(1, 18_000..20_000);
    let nats: Vec<_> = corpus.stories.iter().map(|s| surprise(&s.text).unwrap()).collect();
    let mut sums = [[0.0; 2]; 2];
    let enough = |i: usize| nats[i..].iter().map(Vec::len).take(20).sum::<usize>() > WINDOW;
    for first in (0..nats.len()).take_while(|&i| enough(i)) {
        // The first byte of the window is no target.
        let all = nats[first..].iter().enumerate();
        let all = all.flat_map(|(later, of)| of.iter().map(move |x| (usize::from(later > 0), x)));
        for (later, x) in all.skip(1).take(WINDOW) {
            sums[later][0] += x;
            sums[later][1] += 1.0;
        }
    }
    let [first, later] = sums;
    let all = first[1] + later[1];
    [first[0] / first[1], later[0] / later[1], (first[0] + later[0]) / all, later[1] / all]
}

#[test]
fn the_unseen_word_is_lost_where_the_text_is_learned_by_heart() {
    let curve = curve();
    assert!(curve.is_sorted_by(|a, b| a[0] > b[0]), "what is learned gets better and better");
    let best = best();
    assert!(best > 0 && best < 5 && curve[PASSES][1] > curve[0][1]);
    assert_eq!(counted(0.0)[1], f64::INFINITY);
}
