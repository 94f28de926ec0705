//! The whole layer.

use crate::check::{Mistake, check, mistake};
use crate::library::{Cut, How, Sees, layer, layer_with};
use crate::numbers::{layer_by_hand, some, some_weights};
use llm_core::ndarray::{arr3, s};
use llm_exercises::{Array3, Weights, multi_head};

pub fn mistakes(x: &Array3, w: &Weights, n_heads: usize) -> Vec<Mistake> {
    let c = x.dim().2;
    let with = |how: How| layer_with(x, w, n_heads, &how);
    let parts = |parts: [usize; 3]| with(How { parts, ..How::default() });
    let cut = |split: Cut, join: Cut| with(How { split, join, ..How::default() });
    let d = c / n_heads;
    let first = x.slice(s![..1, .., ..]).broadcast(x.raw_dim()).unwrap().to_owned();
    vec![
        mistake(
            "scores are divided by √C and not √D: a head's dot product has D terms",
            with(How { root_of: Some(c), ..How::default() }),
        ),
        mistake("scores are not divided by √D", with(How { root_of: Some(1), ..How::default() })),
        mistake(
            "scores are divided by √D twice: `scores` of exercise 2 does it already",
            with(How { root_of: Some(d * d), ..How::default() }),
        ),
        mistake(
            "every sequence is computed from the first one: take x[b] for each b",
            layer(&first, w, n_heads, &[]),
        ),
        mistake(
            "it is a softmax over the wrong axis: every row has to add up to 1",
            with(How { wrong_axis: true, ..How::default() }),
        ),
        mistake("the future is not hidden", with(How { sees: Sees::All, ..How::default() })),
        mistake(
            "`j >= i` hides the token itself",
            with(How { sees: Sees::Past, ..How::default() }),
        ),
        mistake("queries and keys are exchanged", parts([1, 0, 2])),
        mistake("keys and values are exchanged: the order in W_qkv is q, k, v", parts([0, 2, 1])),
        mistake("the keys are taken for the values", parts([0, 1, 1])),
        mistake("the order in W_qkv is read as k, q, v or v, q, k", parts([2, 0, 1])),
        mistake(
            "W_qkv is read head by head: its columns are all queries, then all keys, then all values",
            with(How { packed_by_head: true, ..How::default() }),
        ),
        mistake(
            "heads are joined in the wrong order: the last one first",
            cut(Cut::ByHead, Cut::Backwards),
        ),
        mistake(
            "heads are joined by a view in place of a transpose",
            cut(Cut::ByHead, Cut::Reread),
        ),
        mistake(
            "heads are joined channel by channel, d·H + h, and not head by head",
            cut(Cut::ByHead, Cut::Interleaved),
        ),
        mistake(
            "channels become heads, and heads channels, by a view in place of a transpose",
            cut(Cut::Reread, Cut::Reread),
        ),
        mistake(
            "channels are dealt out to the heads in turn, and joined likewise",
            cut(Cut::Interleaved, Cut::Interleaved),
        ),
        mistake("the output projection is left out", with(How { proj: 0, ..How::default() })),
        mistake("W_proj is read as [out, in]", with(How { proj: 2, ..How::default() })),
        mistake("b_qkv is forgotten", with(How { b_qkv: false, ..How::default() })),
        mistake("b_proj is forgotten", with(How { b_proj: false, ..How::default() })),
    ]
}

#[test]
fn by_hand() {
    // docs/variants/mha/learn_by_hand.md, sections 1 to 4.
    let (x, w) = (arr3(&[[[1.0, 2.0], [2.0, -1.0]]]), layer_by_hand());
    let want = arr3(&[[[3.0, -1.0], [1.023075, 2.738519]]]);
    check("the layer of the page", multi_head(&x, &w, 2), want, &mistakes(&x, &w, 2));
}

#[test]
fn as_in_the_library() {
    for [b, t, h, d] in [[2, 4, 3, 2], [1, 6, 2, 3], [2, 3, 4, 1]] {
        let (x, w) = (some((b, t, h * d), 1), some_weights(h * d, 2));
        let what = format!("the layer for x [{b}, {t}, {}] and {h} heads", h * d);
        check(&what, multi_head(&x, &w, h), layer(&x, &w, h, &[]), &mistakes(&x, &w, h));
    }
}

const HEARD: &str = "it listens to a later position. Where to look: `hide_future`, and how heads are split and joined";
const DEAF: &str = "a position hears itself and all before it. Where to look: `hide_future`, and where results are put";

#[test]
fn the_future_is_not_heard() {
    let (mut x, w) = (some((1, 5, 4), 3), some_weights(4, 4));
    let before = multi_head(&x, &w, 2);
    x[[0, 3, 1]] += 1.0;
    let after = multi_head(&x, &w, 2);
    for t in 0..5 {
        let changed = (0..4).any(|c| before[[0, t, c]] != after[[0, t, c]]);
        if t < 3 {
            assert!(
                !changed,
                "the result at position {t} changes when x changes at position 3: {HEARD}"
            );
        } else {
            assert!(
                changed,
                "the result at position {t} is the same when x changes at position 3: {DEAF}"
            );
        }
    }
}
