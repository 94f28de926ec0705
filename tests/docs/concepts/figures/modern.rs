//! The figures of docs/variants/modern/: a pair that turns, heads over groups, masks with a second edge.

use super::svg::{COLOURS, Picture};
use crate::docs::values::modern::{rotary as turning, windows};
use llm_variant_modern::HeadShape;

const RADIUS: f64 = 105.0;

/// Where the arrow of a position ends, at `times` the radius.
fn tip([x, y]: [f64; 2], position: usize, times: f64) -> [f64; 2] {
    let arrow = turning::turned(&[1.0, 0.0], 10_000.0, 2, position);
    // Upwards is less in a picture.
    let [right, up] = [arrow[0], arrow[1]].map(|x| f64::from(x) * RADIUS * times);
    [x + right, y - up]
}

fn tenth([x, y]: [f64; 2]) -> [f64; 2] {
    [x, y].map(|x| (10.0 * x).round() / 10.0)
}

/// One pair of channels at positions 0 to 7, and the angle between two of them, twice.
pub fn rotary(language: usize) -> String {
    let title = ["One pair of channels, turned by its position", "一对通道，按位置转动"][language];
    let mut picture = Picture::new(720.0, 350.0, title);
    let names = [
        ["[1, 0] at positions 0 to 7", "3 and 1, 7 and 5: the same angle"],
        ["[1, 0] 在位置 0 到 7", "3 与 1，7 与 5：同样的夹角"],
    ][language];
    let centres = [[180.0, 190.0], [540.0, 190.0]];
    for (centre, name) in centres.into_iter().zip(names) {
        picture.text([centre[0], 36.0], "middle", 14, name);
        picture.circle(centre, RADIUS);
    }
    let mut arrow = |centre: [f64; 2], position: usize, colour: &str| {
        picture.stroke(centre, tip(centre, position, 1.0), colour, 2.5);
        let [x, y] = tenth(tip(centre, position, 1.14));
        picture.text([x, y + 5.0], "middle", 13, &position.to_string());
    };
    for position in 0..8 {
        arrow(centres[0], position, COLOURS[0]);
    }
    for (position, colour) in [(1, 0), (3, 0), (5, 1), (7, 1)] {
        arrow(centres[1], position, COLOURS[colour]);
    }
    picture.finish()
}

/// Four heads over four, two and one group of keys and values.
pub fn groups(language: usize) -> String {
    let title = ["Which head reads which group", "哪个头读哪一组"][language];
    let mut picture = Picture::new(780.0, 230.0, title);
    let names = [["multi-head", "grouped queries", "multi-query"], ["多头", "分组查询", "多查询"]]
        [language];
    const WIDE: f64 = 44.0;
    const STEP: f64 = 54.0;
    for (i, kv_heads) in [4, 2, 1].into_iter().enumerate() {
        let heads = HeadShape::of([4, kv_heads, 1]);
        let left = 34.0 + 252.0 * i as f64;
        picture.text([left + 103.0, 36.0], "middle", 14, names[i]);
        let above = |h: usize| left + STEP * h as f64;
        let size = STEP * heads.each() as f64;
        let below = |g: usize| left + size * g as f64 + (size - STEP) / 2.0;
        for h in 0..heads.n_heads {
            let middle = [above(h), below(h / heads.each())].map(|x| x + WIDE / 2.0);
            picture.stroke([middle[0], 92.0], [middle[1], 160.0], "#9ca3af", 1.5);
        }
        for h in 0..heads.n_heads {
            picture.rect([above(h), 60.0], [WIDE, 32.0], COLOURS[0], 0.25);
            picture.text([above(h) + WIDE / 2.0, 81.0], "middle", 13, &format!("q {h}"));
        }
        for g in 0..kv_heads {
            picture.rect([below(g), 160.0], [WIDE, 32.0], COLOURS[1], 0.25);
            picture.text([below(g) + WIDE / 2.0, 181.0], "middle", 13, &format!("k v {g}"));
        }
    }
    picture.finish()
}

/// What is seen: causal, with a window, and through two blocks with one.
pub fn window(language: usize) -> String {
    const CELL: f64 = 30.0;
    let title = ["What a position sees", "一个位置看得见什么"][language];
    let mut picture = Picture::new(780.0, 300.0, title);
    let names = [
        ["all up to it", "a window of 3", "through 2 blocks"],
        ["到它为止的全部", "窗口为 3", "经过 2 个块"],
    ][language];
    let t = windows::T;
    let sees = |window: usize| windows::shares(window).iter().map(|&p| p > 0.0).collect::<Vec<_>>();
    let one = sees(windows::W);
    let two =
        (0..t * t).map(|n| (0..t).any(|j| one[n / t * t + j] && one[j * t + n % t])).collect();
    for (i, seen) in [sees(usize::MAX), one.clone(), two].into_iter().enumerate() {
        let [x, y] = [56.0 + 248.0 * i as f64, 84.0];
        picture.text([x + CELL * t as f64 / 2.0, 40.0], "middle", 14, names[i]);
        for n in 0..t {
            let middle = (n as f64 + 0.5) * CELL;
            picture.text([x + middle, y - 8.0], "middle", 12, &n.to_string());
            picture.text([x - 10.0, y + middle + 4.0], "end", 12, &n.to_string());
        }
        for n in 0..t * t {
            let at = [x + CELL * (n % t) as f64, y + CELL * (n / t) as f64];
            picture.rect(at, [CELL, CELL], COLOURS[0], if seen[n] { 0.55 } else { 0.0 });
        }
    }
    picture.finish()
}
