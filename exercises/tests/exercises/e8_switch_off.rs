//! Some heads silent.

use crate::check::{Mistake, check, mistake};
use crate::library::Cut;
use crate::library::{How, heads, join, layer, layer_with, project};
use crate::numbers::{layer_by_hand, some, some_weights};
use llm_core::ndarray::arr3;
use llm_exercises::{Array3, Weights, multi_head_with};

fn mistakes(x: &Array3, w: &Weights, n_heads: usize, keep: &[bool]) -> Vec<Mistake> {
    let (c, kept) = (x.dim().2, keep.iter().filter(|keep| **keep).count());
    let d = c / n_heads;
    let off = How { keep: keep.to_vec(), ..How::default() };
    let whole = join(&heads(x, w, n_heads, &How::default()), Cut::ByHead);
    let without = |of_channel: &dyn Fn(usize) -> usize, y: &Array3| {
        let mut y = y.clone();
        y.indexed_iter_mut()
            .filter(|((_, _, c), _)| !keep[of_channel(*c)])
            .for_each(|(_, y)| *y = 0.0);
        y
    };
    let out = |y: &Array3| project(y, &w.w_proj, Some(&w.b_proj));
    let mut all = vec![
        mistake("no head is switched off", out(&whole)),
        mistake(
            "`keep` is turned round: true means that a head is used",
            layer_with(
                x,
                w,
                n_heads,
                &How { keep: keep.iter().map(|k| !k).collect(), ..off.clone() },
            ),
        ),
        mistake(
            "channels are zeroed behind the output projection, where heads are mixed already",
            without(&|c| c / d, &out(&whole)),
        ),
        mistake(
            "the wrong channels are zeroed: head h has h·D..(h+1)·D",
            out(&without(&|c| c % n_heads, &whole)),
        ),
        mistake(
            "scores of the head are set to 0: equal shares are shares, and the head still speaks",
            layer_with(x, w, n_heads, &How { cut_scores: true, ..off.clone() }),
        ),
        mistake(
            "b_proj is lost with the head",
            layer_with(x, w, n_heads, &How { b_proj: false, ..off.clone() }),
        ),
    ];
    let before: Vec<bool> = keep
        .iter()
        .scan(true, |on, keep| {
            *on &= keep;
            Some(*on)
        })
        .collect();
    all.push(mistake(
        "the heads behind one that is off are lost too: `continue` goes on with the next head, `break` does not",
        layer_with(x, w, n_heads, &How { keep: before, ..off.clone() }),
    ));
    if kept > 0 {
        let larger = without(&|c| c / d, &whole) * (n_heads as f64 / kept as f64);
        all.push(mistake(
            "the heads that are left are made larger, by H over their number",
            out(&larger),
        ));
    }
    all
}

#[test]
fn by_hand() {
    // docs/variants/mha/learn_by_hand.md without head 1: sum and difference are head 0 alone.
    let (x, w) = (arr3(&[[[1.0, 2.0], [2.0, -1.0]]]), layer_by_hand());
    let want = arr3(&[[[1.0, 1.0], [1.880797, 1.880797]]]);
    let keep = [true, false];
    check(
        "the layer of the page",
        multi_head_with(&x, &w, 2, &keep),
        want,
        &mistakes(&x, &w, 2, &keep),
    );
}

#[test]
fn as_in_the_library() {
    let (x, w) = (some((2, 4, 6), 1), some_weights(6, 2));
    for keep in
        [[true, false, true], [false, true, true], [false, false, true], [false; 3], [true; 3]]
    {
        let want = layer(&x, &w, 3, &keep);
        let what = format!("the layer with keep = {keep:?}");
        check(&what, multi_head_with(&x, &w, 3, &keep), want, &mistakes(&x, &w, 3, &keep));
    }
}
