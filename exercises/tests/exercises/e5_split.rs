//! `[B, T, C]` to `[B, H, T, D]` and back.

use crate::check::{Mistake, check, mistake};
use crate::library::{Cut, join, split};
use crate::numbers::some;
use llm_core::kernels::attention::{head_view, head_views};
use llm_core::ndarray::{Array, arr3, s};
use llm_exercises::{Array3, Array4, join_heads, split_heads};

fn split_mistakes(x: &Array3, n_heads: usize) -> Vec<Mistake> {
    let mut all = vec![
        mistake(
            "the list of numbers is read under the other shape: a view in place of a transpose; \
             head 0 then has whole positions of all channels",
            split(x, n_heads, Cut::Reread),
        ),
        mistake(
            "channels are dealt out in turn: head h has h·D + d, neighbours, and not d·H + h",
            split(x, n_heads, Cut::Interleaved),
        ),
        mistake("the axes are not exchanged: this is [B, T, H, D] and not [B, H, T, D]", {
            let list = x.as_standard_layout().into_owned();
            let (b, t, c) = x.dim();
            list.into_shape_with_order((b, t, n_heads, c / n_heads)).unwrap()
        }),
        mistake("the last head comes first", split(x, n_heads, Cut::Backwards)),
    ];
    let (b, t, c) = x.dim();
    let d = c / n_heads;
    if d > n_heads {
        // With d < H there are not so many channels.
        let shape = (b, n_heads, t, d);
        all.push(mistake(
            FROM_H,
            Array4::from_shape_fn(shape, |(b, h, t, d)| x[[b, t, h * n_heads + d]]),
        ));
    }
    all
}

const FROM_H: &str =
    "a head begins at channel h·H: it begins at h·D, behind the D channels of each head before it";

/// Heads written to channel h·H and those behind it, one over the other.
fn joined_from_h(heads: &Array4) -> Array3 {
    let (b_len, n_heads, t_len, d_len) = heads.dim();
    let mut x = Array3::zeros((b_len, t_len, n_heads * d_len));
    for ((b, h, t, d), number) in heads.indexed_iter() {
        x[[b, t, h * n_heads + d]] = *number;
    }
    x
}

#[test]
fn into_two_heads_by_hand() {
    // Position t has the channels 10t, 10t + 1, 10t + 2, 10t + 3.
    let x = Array3::from_shape_fn((1, 3, 4), |(_, t, c)| (10 * t + c) as f64);
    let head_0 = [[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]];
    let head_1 = [[2.0, 3.0], [12.0, 13.0], [22.0, 23.0]];
    let want = arr3(&[head_0, head_1]).insert_axis(llm_core::ndarray::Axis(0));
    check("the heads of x", split_heads(&x, 2), want, &split_mistakes(&x, 2));
}

#[test]
fn into_heads_as_in_the_library() {
    for [b, t, h, d] in [[1, 4, 2, 3], [2, 5, 3, 2], [2, 4, 4, 1], [1, 3, 1, 4]] {
        let x = some((b, t, h * d), 1);
        let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        let views = head_views(&single, [b, t, h, d]); // where they lie: nothing is copied
        let mut want = Array4::zeros((b, h, t, d));
        for (b, h) in (0..b).flat_map(|b| (0..h).map(move |h| (b, h))) {
            want.slice_mut(s![b, h, .., ..]).assign(&head_view(&views, b, h).mapv(f64::from));
        }
        let what = format!("x [{b}, {t}, {}] as {h} heads", h * d);
        check(&what, split_heads(&x, h), want, &split_mistakes(&x, h));
    }
}

#[test]
fn out_of_heads() {
    let heads = Array::from_shape_fn((2, 3, 2, 4), |(b, h, t, d)| {
        (1000 * b + 100 * h + 10 * t + d) as f64 // b, h, t and d can be read off
    });
    let mistakes = [
        mistake(
            "the list of numbers is read under the other shape: a view in place of a transpose",
            join(&heads, Cut::Reread),
        ),
        mistake(
            "heads are joined in the wrong order: the last one first",
            join(&heads, Cut::Backwards),
        ),
        mistake(
            "heads are joined in the wrong order: channel by channel, d·H + h, and not head by head",
            join(&heads, Cut::Interleaved),
        ),
        mistake(FROM_H, joined_from_h(&heads)),
    ];
    check("the heads side by side", join_heads(&heads), join(&heads, Cut::ByHead), &mistakes);
}

#[test]
fn there_and_back() {
    let x = some((2, 3, 6), 2);
    check("x split and joined again", join_heads(&split_heads(&x, 3)), x.clone(), &[]);
}
