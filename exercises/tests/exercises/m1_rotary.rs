//! Queries and keys turned by their positions.

use crate::check::{Mistake, check, mistake};
use crate::library::tensor;
use crate::numbers::some;
use llm_core::kernels::rotary::{Angles, Turned, turn};
use llm_core::ndarray::arr2;
use llm_exercises::{Array2, rotate};

/// The library's kernel, in single precision.
fn turned(x: &Array2, theta: f64, start: usize) -> Array2 {
    let (t, d) = x.dim();
    let angles = &Angles::new(theta, d, start + t);
    let mut y = tensor(x).data().to_vec();
    turn(&mut y, &Turned { angles, width: d, n_heads: 1, head_dim: d, seq_len: t, start });
    Array2::from_shape_vec((t, d), y.into_iter().map(f64::from).collect()).unwrap()
}

/// The pairs turned by given angles; `pair` says which channels pair i has.
fn with(
    x: &Array2,
    angle: impl Fn(usize, f64) -> f64,
    pair: impl Fn(usize) -> [usize; 2],
) -> Array2 {
    let mut y = x.clone();
    let half = x.ncols() / 2;
    for row in 0..x.nrows() {
        for i in 0..half {
            let ([a, b], angle) = (pair(i), angle(row, i as f64 / half as f64));
            y[[row, a]] = x[[row, a]] * angle.cos() - x[[row, b]] * angle.sin();
            y[[row, b]] = x[[row, a]] * angle.sin() + x[[row, b]] * angle.cos();
        }
    }
    y
}

fn mistakes(x: &Array2, theta: f64, start: usize) -> Vec<Mistake> {
    let half = x.ncols() / 2;
    let split = |i: usize| [i, i + half];
    let right = |row: usize, part: f64| (start + row) as f64 * theta.powf(-part);
    let good = with(x, right, split);
    let second = |f: &dyn Fn(usize, usize) -> f64| {
        let mut y = good.clone();
        for row in 0..x.nrows() {
            (0..half).for_each(|i| y[[row, i + half]] = f(row, i));
        }
        y
    };
    let angle = |row: usize, i: usize| right(row, i as f64 / half as f64);
    vec![
        mistake(
            "neighbours 2i and 2i + 1 are a pair: here a pair are i and i + D/2",
            with(x, right, |i| [2 * i, 2 * i + 1]),
        ),
        mistake(
            "it is turned the other way: the minus stands before x[i + D/2]·sin in the first line",
            with(x, |row, part| -right(row, part), split),
        ),
        mistake(
            "t is the row and not the position: row 0 stands at `start`",
            with(x, |row, part| row as f64 * theta.powf(-part), split),
        ),
        mistake("positions are counted from 1", {
            with(x, |row, part| (start + row + 1) as f64 * theta.powf(-part), split)
        }),
        mistake("the power is −i/D: the 2 is forgotten", {
            with(x, |row, part| (start + row) as f64 * theta.powf(-part / 2.0), split)
        }),
        mistake("every pair turns by the angle t: θ^(−2i/D) is forgotten", {
            with(x, |row, _| (start + row) as f64, split)
        }),
        mistake("later pairs are faster: the power has lost its minus", {
            with(x, |row, part| (start + row) as f64 * theta.powf(part), split)
        }),
        mistake("angles are taken for degrees: `cos` and `sin` want radians, and have them", {
            with(x, |row, part| right(row, part).to_radians(), split)
        }),
        mistake(
            "the second line reads y[i], which is turned already: both lines read x",
            second(&|row, i| {
                good[[row, i]] * angle(row, i).sin() + x[[row, i + half]] * angle(row, i).cos()
            }),
        ),
        mistake(
            "the second line has a minus: x[i]·sin and x[i + D/2]·cos are added",
            second(&|row, i| {
                x[[row, i]] * angle(row, i).sin() - x[[row, i + half]] * angle(row, i).cos()
            }),
        ),
        mistake(
            "only the first half is turned: each pair has two new numbers",
            second(&|row, i| x[[row, i + half]]),
        ),
    ]
}

#[test]
fn by_hand() {
    // Position 1 of the page, θ = 100.
    let x = arr2(&[[1.0, 2.0, 3.0, 4.0]]);
    let want = arr2(&[[-1.984111, 1.590675, 2.462378, 4.179684]]);
    check("x of the page at position 1", rotate(&x, 100.0, 1), want, &mistakes(&x, 100.0, 1));
}

#[test]
fn the_first_position_stays_as_it_is() {
    let x = some((1, 6), 1);
    check("a row at position 0", rotate(&x, 100.0, 0), x.clone(), &mistakes(&x, 100.0, 0));
}

#[test]
fn as_in_the_library() {
    for (t, d, theta, start) in [(5, 2, 10_000.0, 0), (4, 8, 10_000.0, 3), (3, 6, 500.0, 40)] {
        let x = some((t, d), 2);
        let what = format!("{t} rows of {d} channels from position {start} on, θ = {theta}");
        check(
            &what,
            rotate(&x, theta, start),
            turned(&x, theta, start),
            &mistakes(&x, theta, start),
        );
    }
}

/// q·k of two rows depends on how far apart they are, and on nothing else.
#[test]
fn a_score_depends_on_the_distance() {
    let (q, k) = (some((1, 8), 3), some((1, 8), 4));
    let score = |i: usize, j: usize| (rotate(&q, 100.0, i) * rotate(&k, 100.0, j)).sum();
    for (i, j) in [(5, 3), (12, 10), (102, 100)] {
        assert!(
            (score(i, j) - score(2, 0)).abs() < 1e-5,
            "positions {i} and {j} have another score than 2 and 0, and are as far apart"
        );
    }
    assert!((score(3, 0) - score(2, 0)).abs() > 1e-3, "the distance makes no difference");
}
