//! One token at a time, against the whole text.

use crate::check::{Mistake, check, mistake};
use crate::e6_multi_head;
use crate::library::{Cut, How, Sees, head, join, layer, layer_with, project, split};
use crate::numbers::{layer_by_hand, some, some_weights};
use llm_core::ndarray::{Axis, arr3, s};
use llm_exercises::{Array1, Array2, Array3, Array4, Cache, Weights, next_token};

/// The rows for a text `[1, T, C]`, token after token.
fn one_by_one(x: &Array3, w: &Weights, n_heads: usize) -> Array3 {
    let mut cache = Cache::default();
    let mut out = Array3::zeros(x.raw_dim());
    for t in 0..x.dim().1 {
        let y = next_token(&x.slice(s![0, t, ..]).to_owned(), w, n_heads, &mut cache);
        assert_eq!(y.len(), x.dim().2, "the result has to be one row of C numbers");
        out.slice_mut(s![0, t, ..]).assign(&y);
    }
    out
}

fn mistakes(x: &Array3, w: &Weights, n_heads: usize) -> Vec<Mistake> {
    let (c, t_len) = (x.dim().2, x.dim().1);
    let mut all = vec![
        mistake(
            "each token sees only itself: the cache is emptied, or only its last entry is read",
            layer_with(x, w, n_heads, &How { sees: Sees::Itself, ..How::default() }),
        ),
        mistake(
            "the new token's key and value are put into the cache after the scores: it does not see itself",
            {
                let mut out =
                    layer_with(x, w, n_heads, &How { sees: Sees::Past, ..How::default() });
                out.slice_mut(s![0, 0, ..]).assign(&w.b_proj); // nothing to sum up
                out
            },
        ),
    ];
    all.push(mistake(
        "each token sees only the oldest one: the only row of the new token was hidden as if it were row 0; in a cache \
         there is no future, and nothing to hide",
        layer_with(x, w, n_heads, &How { sees: Sees::Oldest, ..How::default() }),
    ));
    all.extend(wrong_channels(x, w, n_heads));
    // What a step does that is not a step of the whole text: rows of texts that are changed.
    let rows = |text: &dyn Fn(usize) -> Array3| {
        let mut out = Array3::zeros(x.raw_dim());
        for t in 0..t_len {
            out.slice_mut(s![0, t, ..]).assign(&text(t).slice(s![0, -1, ..]));
        }
        out
    };
    let prefix = |t: usize| x.slice(s![.., ..=t, ..]).to_owned();
    all.push(mistake(
        "scores are divided by the root of the number of tokens and not by √D",
        rows(&|t| {
            layer_with(&prefix(t), w, n_heads, &How { root_of: Some(t + 1), ..How::default() })
        }),
    ));
    all.push(mistake(
        "one softmax is over the scores of all heads together, and not one for each head",
        rows(&|t| one_softmax(&prefix(t), w, n_heads)),
    ));
    all.push(mistake(
        "every share is 1: the scores stand in a column, and softmax makes each row of one number 1",
        rows(&|t| all_ones(&prefix(t), w, n_heads)),
    ));
    all.push(mistake(
        "values meet the wrong shares: keys and values are not in the same order in the cache",
        rows(&|t| backwards(&prefix(t), w, n_heads)),
    ));
    all.push(mistake(
        "scores are divided by √C and not √D",
        layer_with(x, w, n_heads, &How { root_of: Some(c), ..How::default() }),
    ));
    all.extend(e6_multi_head::mistakes(x, w, n_heads).into_iter().skip(1)); // √C is there already
    all
}

/// The channels of a head are h·D..(h+1)·D of q, of each key and of each value.
fn wrong_channels(x: &Array3, w: &Weights, n_heads: usize) -> Vec<Mistake> {
    let (q, k, v) = parts(x, w, n_heads);
    let head_0 = |part: &Array4| {
        part.slice(s![.., ..1, .., ..]).broadcast(part.raw_dim()).unwrap().to_owned()
    };
    let out = |q: &Array4, k: &Array4, v: &Array4, root_of: usize| {
        let mut y = Array4::zeros(v.raw_dim());
        for h in 0..n_heads {
            let of = |part: &Array4| part.slice(s![0, h, .., ..]).to_owned();
            let how = How { root_of: Some(root_of), ..How::default() };
            y.slice_mut(s![0, h, .., ..]).assign(&head(&of(q), &of(k), &of(v), &how));
        }
        project(&join(&y, Cut::ByHead), &w.w_proj, Some(&w.b_proj))
    };
    let (q0, k0, v0) = (head_0(&q), head_0(&k), head_0(&v));
    let d = q.dim().3;
    let mut all: Vec<Mistake> =
        [(&q0, &k0, &v), (&q, &k0, &v), (&q, &k, &v0), (&q, &k0, &v0), (&q0, &k0, &v0)]
            .map(|(q, k, v)| {
                mistake(
                    "every head reads the channels of head 0: head h begins at h·D",
                    out(q, k, v, d),
                )
            })
            .into();
    // [1, H, T, C]: all channels for each head.
    let whole = |part: &Array4| {
        let c = x.dim().2;
        let all = join(part, Cut::ByHead).insert_axis(Axis(1));
        all.broadcast((1, n_heads, x.dim().1, c)).unwrap().to_owned()
    };
    for root_of in [d, x.dim().2] {
        all.push(mistake(
            "a head's scores are summed over all C channels: they have only its own, h·D..(h+1)·D",
            out(&whole(&q), &whole(&k), &v, root_of),
        ));
    }
    all
}

/// Shares of all heads add up to 1 together: each head's is scaled by its part of e^S.
fn one_softmax(x: &Array3, w: &Weights, n_heads: usize) -> Array3 {
    let (q, k, v) = parts(x, w, n_heads);
    let (d, last) = (q.dim().3, q.dim().2 - 1);
    let mut y = Array4::zeros(q.raw_dim());
    let exps: Vec<Array1> = (0..n_heads)
        .map(|h| {
            let q: Array1 = q.slice(s![0, h, last, ..]).to_owned();
            let k: Array2 = k.slice(s![0, h, .., ..]).to_owned();
            (k.dot(&q) / (d as f64).sqrt()).exp()
        })
        .collect();
    let sum: f64 = exps.iter().map(|e| e.sum()).sum();
    for (h, exps) in exps.iter().enumerate() {
        let values: Array2 = v.slice(s![0, h, .., ..]).to_owned();
        let row: Array1 = (exps / sum).dot(&values);
        y.slice_mut(s![0, h, last, ..]).assign(&row);
    }
    project(&join(&y, Cut::ByHead), &w.w_proj, Some(&w.b_proj))
}

/// Values are added up.
fn all_ones(x: &Array3, w: &Weights, n_heads: usize) -> Array3 {
    let (_, _, mut v) = parts(x, w, n_heads);
    v.accumulate_axis_inplace(Axis(2), |before, v| *v += before);
    project(&join(&v, Cut::ByHead), &w.w_proj, Some(&w.b_proj))
}

/// The newest key meets the oldest value.
fn backwards(x: &Array3, w: &Weights, n_heads: usize) -> Array3 {
    let (q, k, v) = parts(x, w, n_heads);
    let last = q.dim().2 - 1;
    let mut y = Array4::zeros(q.raw_dim());
    for h in 0..n_heads {
        let (q, k) = (q.slice(s![0, h, .., ..]).to_owned(), k.slice(s![0, h, .., ..]).to_owned());
        let turned = v.slice(s![0, h, ..;-1, ..]).to_owned();
        let row = head(&q, &k, &turned, &How::default());
        y.slice_mut(s![0, h, last, ..]).assign(&row.row(last));
    }
    project(&join(&y, Cut::ByHead), &w.w_proj, Some(&w.b_proj))
}

fn parts(x: &Array3, w: &Weights, n_heads: usize) -> (Array4, Array4, Array4) {
    let c = x.dim().2;
    let qkv = project(x, &w.w_qkv, Some(&w.b_qkv));
    let of = |n: usize| {
        let part = qkv.slice(s![.., .., n * c..(n + 1) * c]).to_owned();
        split(&part, n_heads, Cut::ByHead)
    };
    (of(0), of(1), of(2))
}

#[test]
fn by_hand() {
    let (x, w) = (arr3(&[[[1.0, 2.0], [2.0, -1.0]]]), layer_by_hand());
    let want = arr3(&[[[3.0, -1.0], [1.023075, 2.738519]]]);
    check(
        "the layer of the page, token by token",
        one_by_one(&x, &w, 2),
        want,
        &mistakes(&x, &w, 2),
    );
}

#[test]
fn one_by_one_as_the_library_all_at_once() {
    for [t, h, d] in [[5, 3, 2], [6, 2, 3]] {
        let (x, w) = (some((1, t, h * d), 1), some_weights(h * d, 2));
        let what = format!("{t} tokens one by one with {h} heads");
        check(&what, one_by_one(&x, &w, h), layer(&x, &w, h, &[]), &mistakes(&x, &w, h));
    }
}

const CUT_FIRST: &str =
    "cut the row qkv into q, k and v, C columns each, before k and v are put into the cache";

#[test]
fn holds_one_key_and_one_value_for_each_token() {
    let (x, w) = (some((1, 4, 6), 3), some_weights(6, 4));
    let mut cache = Cache::default();
    for (t, row) in x.index_axis(Axis(0), 0).outer_iter().enumerate() {
        next_token(&row.to_owned(), &w, 3, &mut cache);
        assert_eq!(cache.keys.len(), t + 1, "keys in the cache after {} tokens", t + 1);
        assert_eq!(cache.values.len(), t + 1, "values in the cache after {} tokens", t + 1);
        for kept in cache.keys.iter().chain(&cache.values) {
            let got = kept.len();
            assert_eq!(
                got, 6,
                "a key or a value in the cache has {got} numbers and not C: {CUT_FIRST}"
            );
        }
    }
    let qkv = x.index_axis(Axis(0), 0).dot(&w.w_qkv) + &w.b_qkv;
    for (t, (key, value)) in cache.keys.iter().zip(&cache.values).enumerate() {
        let of = |n: usize| qkv.slice(s![t, n * 6..(n + 1) * 6]).to_owned();
        check(
            &format!("key {t} in the cache"),
            key.clone(),
            of(1),
            &[
                mistake("the query is kept in place of the key", of(0)),
                mistake("the newest comes first", qkv.slice(s![3 - t, 6..12]).to_owned()),
                mistake("the value is kept in place of the key", of(2)),
            ],
        );
        check(
            &format!("value {t} in the cache"),
            value.clone(),
            of(2),
            &[
                mistake("the key is kept in place of the value", of(1)),
                mistake("the newest comes first", qkv.slice(s![3 - t, 12..]).to_owned()),
            ],
        );
    }
}
