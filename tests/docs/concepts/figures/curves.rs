//! Figures with curves: what is learned against what is unseen, and one head against four.

use super::svg::{COLOURS, Picture};
use crate::docs::concepts::{cause, overfitting, rewards, robust};

const GREY: &str = "#9ca3af";
/// Left, top, right and bottom of the plane.
const PLANE: [f64; 4] = [70.0, 70.0, 630.0, 290.0];

/// The plane with lines at some heights; `up` says how far up a height lies, 0..=1.
fn plane(picture: &mut Picture, heights: &[(f64, &str)]) {
    let [left, _, right, _] = PLANE;
    for &(up, name) in heights {
        let y = place([0.0, up])[1];
        picture.stroke([left, y], [right, y], GREY, 0.5);
        picture.text([left - 8.0, y + 4.0], "end", 12, name);
    }
}

/// A point of the plane, whose sides are 0..=1.
fn place([right, up]: [f64; 2]) -> [f64; 2] {
    let [x0, y0, x1, y1] = PLANE;
    [x0 + right * (x1 - x0), y1 - up * (y1 - y0)].map(|x| (10.0 * x).round() / 10.0)
}

fn legend(picture: &mut Picture, names: [&str; 2]) {
    for (i, name) in names.into_iter().enumerate() {
        let x = PLANE[0] + 250.0 * i as f64;
        picture.rect([x, 42.0], [12.0, 12.0], COLOURS[i], 0.9);
        picture.text([x + 18.0, 53.0], "start", 13, name);
    }
}

pub fn overfitting(language: usize) -> String {
    let title = ["A text memorised", "把一段文本背下来"][language];
    let mut picture = Picture::new(660.0, 340.0, title);
    let names = [["the learned text", "the unseen word"], ["学过的文本", "没见过的词"]];
    legend(&mut picture, names[language]);
    plane(&mut picture, &[(0.0, "0"), (0.4, "1"), (0.8, "2")]);
    let along = |pass: usize| (pass as f64 + 1.0).ln() / (overfitting::PASSES as f64 + 1.0).ln();
    let curve = overfitting::curve();
    for (which, colour) in COLOURS.into_iter().enumerate() {
        let passes = (0..curve.len()).filter(|&n| n <= 20 || n % 20 == 0);
        let at = |n: usize| place([along(n), curve[n][which] / 2.5]);
        picture.curve(&passes.map(at).collect::<Vec<_>>(), colour, 2.5);
    }
    for pass in [0, 1, 2, 5, 20, overfitting::PASSES] {
        let x = place([along(pass), 0.0])[0];
        picture.text([x, PLANE[3] + 18.0], "middle", 12, &pass.to_string());
    }
    let below = ["times through the text", "走过文本几遍"][language];
    picture.text([350.0, 330.0], "middle", 13, below);
    picture.finish()
}
pub fn race(language: usize) -> String {
    let title = ["Facts right by step, five seeds each", "各步答对的事实，各五个种子"][language];
    let mut picture = Picture::new(660.0, 340.0, title);
    let names = [["four heads", "one head"], ["四个头", "一个头"]][language];
    legend(&mut picture, names);
    plane(&mut picture, &[(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")]);
    let [one, four] = robust::race();
    for (colour, runs) in [(1, &one), (0, &four)] {
        let at = |(step, share): (f64, f64)| place([step / 800.0, share / 100.0]);
        for seed in 0..5 {
            let points = runs.iter().map(|(step, seeds)| at((*step, seeds[seed])));
            picture.curve(&points.collect::<Vec<_>>(), COLOURS[colour], 0.7);
        }
        let mean = runs.iter().map(|(step, s)| at((*step, s.iter().sum::<f64>() / 5.0)));
        picture.curve(&mean.collect::<Vec<_>>(), COLOURS[colour], 3.0);
    }
    for step in [50, 100, 150, 200, 400, 600, 800] {
        let x = place([f64::from(step) / 800.0, 0.0])[0];
        picture.text([x, PLANE[3] + 18.0], "middle", 12, &step.to_string());
    }
    picture.text([350.0, 330.0], "middle", 13, ["step", "步"][language]);
    picture.finish()
}

/// Heads 1.0 to 1.2 of the default run while it learns: where they look, and what they move.
pub fn cause(language: usize) -> String {
    let title = ["Looks, and what comes of them", "看，以及看了之后"][language];
    let mut picture = Picture::new(960.0, 330.0, title);
    let colours = [COLOURS[1], COLOURS[0], "#047857"];
    for (i, colour) in colours.iter().enumerate() {
        let x = 70.0 + 110.0 * i as f64;
        picture.rect([x, 16.0], [12.0, 12.0], colour, 0.9);
        picture.text([x + 18.0, 27.0], "start", 13, &format!("{} 1.{i}", ["head", "头"][language]));
    }
    let moments = cause::moments();
    /// What it shows, its first column, its top, and the heights that have a line.
    type Panel = ([&'static str; 2], usize, f64, [(f64, &'static str); 3]);
    let panels: [Panel; 2] = [
        (
            ["weight on the letters of the other name", "放在另一个名字上的权重"],
            1,
            70.0,
            [(0.0, "0 %"), (30.0, "30 %"), (60.0, "60 %")],
        ),
        (
            [
                "how far the answer falls with the twin's head, nats",
                "换成双胞胎的头，答案落后多少，奈特",
            ],
            5,
            9.0,
            [(0.0, "0"), (4.0, "4"), (8.0, "8")],
        ),
    ];
    for (i, (names, first, top, heights)) in panels.into_iter().enumerate() {
        let (left, width, below, height) = (70.0 + 470.0 * i as f64, 390.0, 270.0, 190.0);
        let tenth = |x: f64| (10.0 * x).round() / 10.0;
        let at = |step: f64, y: f64| {
            [tenth(left + step / 800.0 * width), tenth(below - y / top * height)]
        };
        picture.text([left, 62.0], "start", 13, names[language]);
        for (y, name) in heights {
            picture.stroke(at(0.0, y), at(800.0, y), GREY, 0.5);
            picture.text([left - 8.0, at(0.0, y)[1] + 4.0], "end", 12, name);
        }
        for (head, colour) in colours.iter().enumerate() {
            let points: Vec<_> = moments.iter().map(|row| at(row[0], row[first + head])).collect();
            picture.curve(&points, colour, 2.5);
        }
        for step in [0.0, 200.0, 400.0, 600.0, 800.0] {
            picture.text([at(step, 0.0)[0], below + 18.0], "middle", 12, &step.to_string());
        }
        picture.text([left + width / 2.0, 312.0], "middle", 13, ["step", "步"][language]);
    }
    picture.finish()
}

/// Where a group of four sends the score of the right token, by how many of it are right.
pub fn rewards(language: usize) -> String {
    let title = ["What a group says", "一组回答说什么"][language];
    let mut picture = Picture::new(660.0, 340.0, title);
    let names = [
        ["rewards 11 and 10 as they are", "the mean taken off"],
        ["奖励 11 和 10，原样", "减去均值"],
    ];
    legend(&mut picture, names[language]);
    let up = |x: f64| (x + 3.0) / 12.0;
    plane(&mut picture, &[(up(-2.0), "−2"), (up(0.0), "0"), (up(4.0), "4"), (up(8.0), "8")]);
    let groups = rewards::groups();
    let along = |right: usize| 0.04 + 0.92 * right as f64 / rewards::GROUP as f64;
    for (colour, which) in [(0, 1), (1, 2)] {
        let at = |right: usize| place([along(right), up(groups[right][which])]);
        let points: Vec<_> = (0..groups.len()).map(at).collect();
        picture.curve(&points, COLOURS[colour], 2.5);
        for [x, y] in points {
            picture.rect([x - 4.0, y - 4.0], [8.0, 8.0], COLOURS[colour], 1.0);
        }
    }
    for right in 0..groups.len() {
        let x = place([along(right), 0.0])[0];
        picture.text([x, PLANE[3] + 18.0], "middle", 12, &right.to_string());
    }
    let below = ["right answers of four", "四个回答里对了几个"][language];
    picture.text([350.0, 330.0], "middle", 13, below);
    picture.finish()
}
