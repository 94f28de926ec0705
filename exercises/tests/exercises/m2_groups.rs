//! Heads of queries over fewer heads of keys and values.

use crate::check::{Mistake, check, mistake};
use crate::library::{How, array, head, tensor};
use crate::numbers::some;
use llm_core::ndarray::{Array1, Axis, arr1, arr3, concatenate};
use llm_exercises::{Array3, cache_numbers, grouped_attention};
use llm_variant_modern::{HeadShape, causal_attention_grouped};

/// Each head with the keys and the values of the groups that `reads` names for it.
fn with(q: &Array3, k: &Array3, v: &Array3, reads: impl Fn(usize) -> [usize; 2]) -> Array3 {
    let mut y = Array3::zeros(q.raw_dim());
    for h in 0..q.dim().0 {
        let of = |x: &Array3, n: usize| x.index_axis(Axis(0), n).to_owned();
        let [group, of_v] = reads(h);
        let one = head(&of(q, h), &of(k, group), &of(v, of_v), &How::default());
        y.index_axis_mut(Axis(0), h).assign(&one);
    }
    y
}

fn mistakes(q: &Array3, k: &Array3, v: &Array3) -> Vec<Mistake> {
    let (h_len, g_len) = (q.dim().0, k.dim().0);
    let each = h_len / g_len;
    vec![
        mistake(
            "head h reads group h % G: groups are repeated in turn; neighbours share, h / (H/G)",
            with(q, k, v, |h| [h % g_len; 2]),
        ),
        mistake(
            "keys are of group h / (H/G), and values of group h % G",
            with(q, k, v, |h| [h / each, h % g_len]),
        ),
        mistake("every head reads group 0", with(q, k, v, |_| [0; 2])),
        mistake(
            "head h reads group h as long as there is one, and the last one from there on",
            with(q, k, v, |h| [h.min(g_len - 1); 2]),
        ),
        mistake(
            "the first heads read the last group: groups are counted from the back",
            with(q, k, v, |h| [g_len - 1 - h / each; 2]),
        ),
        mistake("keys and values are exchanged", with(q, v, k, |h| [h / each; 2])),
    ]
}

/// The library's, which has all heads of a position side by side.
fn library(q: &Array3, k: &Array3, v: &Array3) -> Array3 {
    let [h, t, d] = [q.dim().0, q.dim().1, q.dim().2];
    let all = concatenate(Axis(0), &[q.view(), k.view(), v.view()]).unwrap(); // [H + 2G, T, D]
    let n = all.dim().0;
    let rows = all.permuted_axes([1, 0, 2]).as_standard_layout().into_owned();
    let qkv = rows.into_shape_with_order((1, t, n * d)).unwrap();
    let heads = HeadShape::of([h, k.dim().0, d]);
    let y = causal_attention_grouped(&tensor(&qkv), heads, &[], None).unwrap();
    let y: Array3 = array(&y);
    let y = y.into_shape_with_order((t, h, d)).unwrap();
    y.permuted_axes([1, 0, 2]).as_standard_layout().into_owned()
}

#[test]
fn by_hand() {
    // The page's four heads of one channel; the first position's queries are 0.
    let q = arr3(&[[[0.0], [1.0]], [[0.0], [-1.0]], [[0.0], [2.0]], [[0.0], [0.0]]]);
    let (k, v) = (arr3(&[[[0.0], [1.0]], [[1.0], [0.0]]]), arr3(&[[[1.0], [2.0]], [[3.0], [5.0]]]));
    let want =
        arr3(&[[[1.0], [1.731059]], [[1.0], [1.268941]], [[3.0], [3.238406]], [[3.0], [4.0]]]);
    check("the heads of the page", grouped_attention(&q, &k, &v), want, &mistakes(&q, &k, &v));
}

#[test]
fn as_in_the_library() {
    for [h, g, t, d] in [[6, 3, 5, 2], [8, 2, 4, 3], [4, 4, 3, 2], [3, 1, 4, 2]] {
        let (q, k, v) = (some((h, t, d), 1), some((g, t, d), 2), some((g, t, d), 3));
        let what = format!("{h} heads over {g} groups");
        let want = library(&q, &k, &v);
        check(&what, grouped_attention(&q, &k, &v), want, &mistakes(&q, &k, &v));
    }
}

#[test]
fn numbers_that_are_kept() {
    // GPT-2, SmolLM2-135M, Llama 3 8B: blocks, groups, channels of a head; 100 positions.
    for (of, [l, g, d]) in
        [("GPT-2", [12, 12, 64]), ("SmolLM2-135M", [30, 3, 64]), ("Llama 3 8B", [32, 8, 128])]
    {
        let got = arr1(&[cache_numbers(l, g, d, 100) as f64]);
        let right = (l * g * d * 100) as f64;
        let gives = |factor: f64| -> Array1<f64> { arr1(&[factor * right]) };
        let mistakes = [
            mistake("keys are counted and values are not", gives(1.0)),
            mistake("one block is counted, and there are L", gives(2.0 / l as f64)),
            mistake("bytes are counted: wanted are numbers", gives(8.0)),
        ];
        check(&format!("what {of} keeps of 100 positions"), got, gives(2.0), &mistakes);
    }
}
