//! One head at one position, as it is for another text.

use crate::check::{Mistake, check, mistake};
use crate::library::{Cut, How, array, head, heads, join, project, split, tensor};
use crate::numbers::{layer_by_hand, some, some_weights};
use llm_core::Tensor;
use llm_core::ndarray::{Array3, Axis, arr1, arr2, s};
use llm_core::ops::linear_lastdim;
use llm_exercises::{Array2, Array4, Weights, patched, put_in};
use llm_variant_mha::causal_attention_heads;

/// Which head, where.
type Place = [usize; 2];

fn out(y: &Array2, w: &Weights) -> Array2 {
    project(&y.clone().insert_axis(Axis(0)), &w.w_proj, Some(&w.b_proj)).index_axis_move(Axis(0), 0)
}

/// The heads of a text side by side, `[T, C]`.
fn given(x: &Array2, w: &Weights, n_heads: usize) -> Array2 {
    let x = x.clone().insert_axis(Axis(0));
    join(&heads(&x, w, n_heads, &How::default()), Cut::ByHead).index_axis_move(Axis(0), 0)
}

/// The heads when one of q, k and v, number `part`, is the other text's there.
fn inside(
    x: &Array2,
    other: &Array2,
    w: &Weights,
    h_len: usize,
    [h, t]: Place,
    part: usize,
) -> Array2 {
    let c = x.ncols();
    let parts = |x: &Array2| -> [Array4; 3] {
        let qkv = project(&x.clone().insert_axis(Axis(0)), &w.w_qkv, Some(&w.b_qkv));
        [0, 1, 2].map(|n| {
            split(&qkv.slice(s![.., .., n * c..(n + 1) * c]).to_owned(), h_len, Cut::ByHead)
        })
    };
    let (mut ours, theirs) = (parts(x), parts(other));
    ours[part].slice_mut(s![0, h, t, ..]).assign(&theirs[part].slice(s![0, h, t, ..]));
    let mut y = Array4::zeros(ours[0].raw_dim());
    for h in 0..h_len {
        let [q, k, v] = ours.each_ref().map(|part| part.slice(s![0, h, .., ..]).to_owned());
        y.slice_mut(s![0, h, .., ..]).assign(&head(&q, &k, &v, &How::default()));
    }
    join(&y, Cut::ByHead).index_axis_move(Axis(0), 0)
}

fn mistakes(x: &Array2, other: &Array2, w: &Weights, h_len: usize, [h, t]: Place) -> Vec<Mistake> {
    let d = x.ncols() / h_len;
    let (y, z) = (given(x, w, h_len), given(other, w, h_len));
    let replaced = |y: &Array2, z: &Array2, here: &dyn Fn(usize, usize) -> bool| {
        let mut y = y.clone();
        y.indexed_iter_mut()
            .filter(|((t, c), _)| here(*t, *c))
            .for_each(|((t, c), y)| *y = z[[t, c]]);
        y
    };
    let with = |here: &dyn Fn(usize, usize) -> bool| out(&replaced(&y, &z, here), w);
    let is_here = |at: usize, c: usize| at == t && c / d == h;
    let nothing = Array2::zeros(y.raw_dim());
    vec![
        mistake("nothing is replaced", out(&y, w)),
        mistake(
            "x and other are exchanged: the result is other's, with a head of x in it",
            out(&replaced(&z, &y, &is_here), w),
        ),
        mistake(
            "rows of the output are replaced behind the projection, where heads are mixed already",
            replaced(&out(&y, w), &out(&z, w), &is_here),
        ),
        mistake("the output projection is left out", replaced(&y, &z, &is_here)),
        mistake("the head is replaced at every position, and not at one", with(&|_, c| c / d == h)),
        mistake(
            "it is replaced at all positions up to this one",
            with(&|at, c| at <= t && c / d == h),
        ),
        mistake("it is replaced from this position on", with(&|at, c| at >= t && c / d == h)),
        mistake(
            "the wrong columns are replaced: head h has h·D..(h+1)·D, and not every H-th",
            with(&|at, c| at == t && c % h_len == h),
        ),
        mistake("one number is replaced, column h: a head has D", with(&|at, c| at == t && c == h)),
        mistake("all heads are replaced, and not one", with(&|at, _| at == t)),
        mistake(
            "the next head is replaced: heads count from 0",
            with(&|at, c| at == t && c / d == h + 1),
        ),
        mistake("all heads but this one are replaced", with(&|at, c| at == t && c / d != h)),
        mistake(
            "the head is switched off: zeros are no text's",
            out(&replaced(&y, &nothing, &is_here), w),
        ),
        mistake(
            "the other text's numbers are added to those that are there, and not put in their place",
            out(&replaced(&y, &(&y + &z), &is_here), w),
        ),
        mistake(
            "the query is the other text's, and not what the head gives",
            out(&inside(x, other, w, h_len, [h, t], 0), w),
        ),
        mistake(
            "the key is the other text's, and not what the head gives",
            out(&inside(x, other, w, h_len, [h, t], 1), w),
        ),
        mistake(
            "the value is the other text's, and not what the head gives",
            out(&inside(x, other, w, h_len, [h, t], 2), w),
        ),
    ]
}

/// The library's heads of a text, patched as a list of numbers, through the library's projection.
fn library(x: &Array2, other: &Array2, w: &Weights, h_len: usize, [h, t]: Place) -> Array2 {
    let (t_len, c) = x.dim();
    let given = |x: &Array2| -> Vec<f32> {
        let x = tensor(&x.clone().insert_axis(Axis(0)));
        let qkv = linear_lastdim(&x, &tensor(&w.w_qkv), Some(&tensor(&w.b_qkv))).unwrap();
        causal_attention_heads(&qkv, h_len, &[], None).unwrap().data().to_vec()
    };
    let (mut y, z) = (given(x), given(other));
    let columns = t * c + h * (c / h_len)..t * c + (h + 1) * (c / h_len);
    y[columns.clone()].copy_from_slice(&z[columns]);
    let y = Tensor::from_vec(&[1, t_len, c], y).unwrap();
    let out = linear_lastdim(&y, &tensor(&w.w_proj), Some(&tensor(&w.b_proj))).unwrap();
    let out: Array3<f64> = array(&out);
    out.index_axis_move(Axis(0), 0)
}

#[test]
fn by_hand() {
    // docs/variants/mha/learn_by_hand.md, and a text whose rows have changed places: head 0 at the last position.
    let (x, w) = (arr2(&[[1.0, 2.0], [2.0, -1.0]]), layer_by_hand());
    let other = arr2(&[[2.0, -1.0], [1.0, 2.0]]);
    // What heads give at position 1: 1.880797 and −0.857723 for x; head 0 gives 1.731059 for other.
    let want = arr2(&[[3.0, -1.0], [0.873336, 2.588782]]);
    let got = patched(&x, &other, &w, 2, 0, 1);
    check(
        "the layer with head 0 as in the other text",
        got,
        want,
        &mistakes(&x, &other, &w, 2, [0, 1]),
    );
}

#[test]
fn as_in_the_library() {
    for [h_len, c, t_len, h, t] in
        [[3, 6, 5, 1, 3], [2, 8, 4, 0, 1], [4, 8, 3, 2, 2], [3, 6, 4, 2, 0]]
    {
        let (x, other, w) = (some((t_len, c), 1), some((t_len, c), 2), some_weights(c, 3));
        let want = library(&x, &other, &w, h_len, [h, t]);
        let what =
            format!("the layer with head {h} of {h_len} as in the other text at position {t}");
        let got = patched(&x, &other, &w, h_len, h, t);
        check(&what, got, want, &mistakes(&x, &other, &w, h_len, [h, t]));
    }
}

#[test]
fn how_far_it_went_over() {
    for [clean, other, patched] in
        [[4.0, -6.0, 3.0], [4.0, -6.0, -6.0], [2.0, -1.5, 2.5], [1.0, -3.0, 1.0]]
    {
        let got = arr1(&[put_in(clean, other, patched)]);
        let all = clean - other;
        let mistakes = [
            mistake(
                "how far it still is from the other text is taken: that is what is left of the clean one",
                arr1(&[(patched - other) / all]),
            ),
            mistake(
                "it is divided by d_clean: all there is to go is d_clean − d_other",
                arr1(&[(clean - patched) / clean]),
            ),
            mistake("the sign is turned: it went from d_clean", arr1(&[(patched - clean) / all])),
            mistake("it is not divided by d_clean − d_other", arr1(&[clean - patched])),
        ];
        let what = format!("the share from {clean} to {other} at {patched}");
        check(&what, got, arr1(&[(clean - patched) / all]), &mistakes);
    }
}
