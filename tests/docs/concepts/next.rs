//! docs/concepts/guess_the_next.md: the smallest language model, a table of scores for the next letter.

use llm_core::{Result, Tensor, TokenId, ops};

/// The text, and the letters that it has.
pub const TEXT: &str = "abracadabra";
pub const LETTERS: [&str; 5] = ["a", "b", "c", "d", "r"];
/// How often the whole text is gone through.
pub const PASSES: usize = 200;

/// A letter, and what comes after it, for every place of the text.
pub fn pairs() -> Vec<(TokenId, TokenId)> {
    let number = |c: char| LETTERS.iter().position(|l| l.starts_with(c)).unwrap() as TokenId;
    let text: Vec<TokenId> = TEXT.chars().map(number).collect();
    text.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Scores before anything is learned: a row for each letter.
pub fn nothing_known() -> Result<Tensor> {
    Tensor::parameter_from_vec(&[5, 5], vec![0.0; 25])
}

/// Guess, be told, change a little: the scores after these pairs, and the mean loss of the guess.
pub fn lesson(scores: &Tensor, pairs: &[(TokenId, TokenId)], lr: f32) -> Result<(Tensor, f32)> {
    let (letters, nexts): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
    let guess = ops::embedding(scores, &letters, &[letters.len()])?; // the row of each letter
    let loss = ops::cross_entropy(&guess, &nexts)?;
    let gradient = loss.backward()?;
    let gradient = gradient.get(scores).expect("every score is asked for");
    let moved = scores.data().iter().zip(gradient).map(|(score, g)| score - lr * g).collect();
    Ok((Tensor::parameter_from_vec(&[5, 5], moved)?, loss.item()))
}

/// Shares of every next letter, a row for each letter.
pub fn shares(scores: &Tensor) -> Result<Tensor> {
    ops::softmax_lastdim(scores)
}

/// Scores after one lesson, a then b, and after many over the whole text; the mean losses of the latter.
pub fn learned() -> Result<(Tensor, Tensor, Vec<f32>)> {
    let start = nothing_known()?;
    let (once, _) = lesson(&start, &pairs()[..1], 1.0)?;
    let (mut scores, mut losses) = (start, Vec::new());
    for _ in 0..PASSES {
        let (next, loss) = lesson(&scores, &pairs(), 10.0)?; // 1 for each of the ten pairs
        losses.push(loss);
        scores = next;
    }
    losses.push(lesson(&scores, &pairs(), 0.0)?.1);
    Ok((once, scores, losses))
}

/// No table of scores for the next letter can be better than the counts of the text.
#[test]
fn the_shares_become_those_of_the_text() {
    let (_, scores, losses) = learned().unwrap();
    let of_a = &shares(&scores).unwrap().data()[..5].to_vec();
    for (share, count) in of_a.iter().zip([0.0, 2.0, 1.0, 1.0, 0.0]) {
        assert!((share - count / 4.0).abs() < 0.01, "{of_a:?}");
    }
    let lowest = 0.4 * (0.5 * 2f32.ln() + 0.5 * 4f32.ln());
    assert!(losses.is_sorted_by(|a, b| a > b) && losses[PASSES] > lowest);
}
