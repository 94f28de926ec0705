//! The map of words: who looks at whom in a model that was trained on the built-in stories.

use super::svg::{COLOURS, Picture};
use crate::docs::concepts::map;

/// Layer and head of each map that is shown.
const SHOWN: [[usize; 2]; 4] = [[0, 0], [0, 3], [0, 1], [1, 0]];
const CELL: f64 = 15.0;
/// Weights that are too faint to be seen.
const FAINT: f64 = 0.01;

pub fn map_of_words(language: usize) -> String {
    let map = map::map();
    let side = map.tokens.len() as f64 * CELL;
    let title = ["Who looks at whom", "谁在看谁"][language];
    let mut picture = Picture::new(720.0, 2.0 * (side + 92.0) + 36.0, title);
    let rule = [
        "A row is a token that looks, a column one that is looked at; the darker, the more weight.",
        "一行是在看的词元，一列是被看的词元；颜色越深，权重越大。",
    ][language];
    picture.text([20.0, 26.0], "start", 13, rule);
    for (n, [layer, head]) in SHOWN.into_iter().enumerate() {
        let x = 72.0 + 352.0 * (n % 2) as f64;
        let y = 116.0 + (side + 92.0) * (n / 2) as f64;
        let name = ["head", "头"][language];
        picture.text([x + side / 2.0, y - 56.0], "middle", 14, &format!("{name} {layer}.{head}"));
        for (i, token) in map.tokens.iter().enumerate() {
            let word = token.trim_start_matches('␣');
            let middle = (i as f64 + 0.5) * CELL;
            picture.text([x - 6.0, y + middle + 4.0], "end", 11, word);
            picture.turned([x + middle + 4.0, y - 6.0], word);
        }
        picture.rect([x, y], [side, side], COLOURS[0], 0.03);
        // The row that the page speaks of.
        let gave = map.place("gave", 0) as f64;
        picture.rect([x, y + gave * CELL], [(gave + 1.0) * CELL, CELL], COLOURS[1], 0.12);
        for i in 0..map.tokens.len() {
            for j in (0..=i).filter(|&j| map.weight([layer, head], i, j) > FAINT) {
                let at = [x + j as f64 * CELL, y + i as f64 * CELL];
                picture.cell(at, CELL, map.weight([layer, head], i, j));
            }
        }
    }
    picture.finish()
}
