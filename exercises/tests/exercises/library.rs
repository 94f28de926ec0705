//! The library's answers, and attention with its usual mistakes.

use llm_core::Tensor;
use llm_core::ndarray::{Array, Axis, Dimension, Ix2, Ix3, s};
use llm_core::ops::Context;
use llm_exercises::{Array1, Array2, Array3, Array4, Weights};
use llm_variant_mha::self_attention_mha;

/// The library computes in single precision.
pub fn tensor<D: Dimension>(x: &Array<f64, D>) -> Tensor {
    Tensor::new(x.mapv(|x| x as f32).into_dyn())
}

/// And back.
pub fn array<D: Dimension>(x: &Tensor) -> Array<f64, D> {
    x.view().mapv(f64::from).into_dimensionality().expect("the rank that the test says")
}

/// `self_attention_mha` of llm-variant-mha; `keep` empty: every head.
pub fn layer(x: &Array3, w: &Weights, n_heads: usize, keep: &[bool]) -> Array3 {
    let (x, w_qkv, b_qkv) = (tensor(x), tensor(&w.w_qkv), tensor(&w.b_qkv));
    let (w_proj, b_proj) = (tensor(&w.w_proj), tensor(&w.b_proj));
    let ctx = Context::new(0).with_heads(keep);
    array::<Ix3>(&self_attention_mha(&x, &w_qkv, &b_qkv, &w_proj, &b_proj, n_heads, &ctx).unwrap())
}

/// What a position is let see.
#[derive(Clone, Copy, PartialEq)]
pub enum Sees {
    PastAndItself,
    Past,
    Itself,
    Oldest,
    All,
    /// The visible ones have a score that is larger by 1.
    AllVisiblePlusOne,
    /// The hidden ones have.
    AllHiddenPlusOne,
    /// The others have the score 0 and not −∞.
    AllHiddenAsZero,
    /// Softmax over everything, hidden shares set to 0 behind it.
    AllThenCut,
}

/// How channels become heads, or heads channels.
#[derive(Clone, Copy, PartialEq)]
pub enum Cut {
    /// Channel h·D + d.
    ByHead,
    /// Channel d·H + h.
    Interleaved,
    /// The list of one shape read as the other.
    Reread,
    /// The last head first.
    Backwards,
}

/// Which mistake is made; by default no mistake.
#[derive(Clone)]
pub struct How {
    pub sees: Sees,
    /// In place of √D.
    pub root_of: Option<usize>,
    /// Which thirds of qkv are q, k and v.
    pub parts: [usize; 3],
    /// qkv has q, k and v of head 0, then those of head 1.
    pub packed_by_head: bool,
    pub split: Cut,
    pub join: Cut,
    /// Softmax over i and not over j.
    pub wrong_axis: bool,
    pub b_qkv: bool,
    pub b_proj: bool,
    /// Done with `W_proj`: 1 as it is, 2 turned over, 0 left out.
    pub proj: u8,
    /// `[H]` or empty.
    pub keep: Vec<bool>,
    /// The scores of heads that are not kept are 0, and not their results.
    pub cut_scores: bool,
}

impl Default for How {
    fn default() -> How {
        How {
            sees: Sees::PastAndItself,
            root_of: None,
            parts: [0, 1, 2],
            packed_by_head: false,
            split: Cut::ByHead,
            join: Cut::ByHead,
            wrong_axis: false,
            b_qkv: true,
            b_proj: true,
            proj: 1,
            keep: Vec::new(),
            cut_scores: false,
        }
    }
}

/// `[B, T, C]` to `[B, H, T, D]`.
pub fn split(x: &Array3, n_heads: usize, cut: Cut) -> Array4 {
    let (b, t, c) = x.dim();
    let (h, d) = (n_heads, c / n_heads);
    let list = x.as_standard_layout().into_owned();
    let as_shape = |shape| list.clone().into_shape_with_order(shape).unwrap();
    let heads = match cut {
        Cut::ByHead => as_shape((b, t, h, d)).permuted_axes([0, 2, 1, 3]),
        Cut::Interleaved => as_shape((b, t, d, h)).permuted_axes([0, 3, 1, 2]),
        Cut::Reread => as_shape((b, h, t, d)),
        Cut::Backwards => {
            as_shape((b, t, h, d)).permuted_axes([0, 2, 1, 3]).slice_move(s![.., ..;-1, .., ..])
        }
    };
    heads.as_standard_layout().into_owned()
}

/// `[B, H, T, D]` to `[B, T, C]`.
pub fn join(heads: &Array4, cut: Cut) -> Array3 {
    let (b, h, t, d) = heads.dim();
    let turned = match cut {
        Cut::ByHead => heads.view().permuted_axes([0, 2, 1, 3]),
        Cut::Interleaved => heads.view().permuted_axes([0, 2, 3, 1]),
        Cut::Reread => heads.view(),
        Cut::Backwards => heads.slice(s![.., ..;-1, .., ..]).permuted_axes([0, 2, 1, 3]),
    };
    let list = turned.as_standard_layout().into_owned();
    list.into_shape_with_order((b, t, h * d)).unwrap()
}

/// softmax along an axis; 0/0 is NaN.
pub fn shares(scores: &Array2, axis: usize) -> Array2 {
    let max = scores.map_axis(Axis(axis), |row| row.fold(f64::NEG_INFINITY, |a, b| a.max(*b)));
    let exps = (scores - &max.insert_axis(Axis(axis))).mapv(f64::exp);
    &exps / &exps.sum_axis(Axis(axis)).insert_axis(Axis(axis))
}

/// What comes out when the sum of one number goes on from that of the number before, in the order of reading: through the
/// whole table, or anew for each row.
pub fn running(sums: &Array2, anew_for_each_row: bool) -> Array2 {
    let mut sum = 0.0;
    let mut all = sums.clone();
    for mut row in all.rows_mut() {
        if anew_for_each_row {
            sum = 0.0;
        }
        row.mapv_inplace(|s| {
            sum += s;
            sum
        });
    }
    all
}

/// One head.
pub fn head(q: &Array2, k: &Array2, v: &Array2, how: &How) -> Array2 {
    let root = (how.root_of.unwrap_or(q.ncols()) as f64).sqrt();
    let mut scores = q.dot(&k.t()) / root;
    for ((i, j), s) in scores.indexed_iter_mut() {
        let hidden = match how.sees {
            Sees::Past => j >= i,
            Sees::Itself => j != i,
            Sees::Oldest => j != 0,
            Sees::All | Sees::AllThenCut => false,
            _ => j > i,
        };
        match how.sees {
            Sees::AllHiddenAsZero if hidden => *s = 0.0,
            Sees::AllVisiblePlusOne if !hidden => *s += 1.0,
            Sees::AllHiddenPlusOne if hidden => *s += 1.0,
            Sees::AllHiddenAsZero | Sees::AllVisiblePlusOne | Sees::AllHiddenPlusOne => {}
            _ if hidden => *s = f64::NEG_INFINITY,
            _ => {}
        }
    }
    let mut p = shares(&scores, if how.wrong_axis { 0 } else { 1 });
    if how.sees == Sees::AllThenCut {
        p.indexed_iter_mut().filter(|((i, j), _)| j > i).for_each(|(_, p)| *p = 0.0);
    }
    p.dot(v)
}

/// x·W + b of every sequence.
pub fn project(x: &Array3, w: &Array2, b: Option<&Array1>) -> Array3 {
    let mut y = Array3::zeros((x.dim().0, x.dim().1, w.ncols()));
    for (x, mut y) in x.outer_iter().zip(y.outer_iter_mut()) {
        y.assign(&x.dot(w));
    }
    b.map_or(y.clone(), |b| y + b)
}

/// The layer, up to the heads' results `[B, H, T, D]`.
pub fn heads(x: &Array3, w: &Weights, n_heads: usize, how: &How) -> Array4 {
    let c = x.dim().2;
    let qkv = project(x, &w.w_qkv, how.b_qkv.then_some(&w.b_qkv));
    let [q, k, v] = how.parts.map(|part| {
        if how.packed_by_head {
            return split(&qkv, 3 * n_heads, how.split).slice_move(s![.., part..;3, .., ..]);
        }
        split(&qkv.slice(s![.., .., part * c..(part + 1) * c]).to_owned(), n_heads, how.split)
    });
    let mut y = Array4::zeros(q.raw_dim());
    for b in 0..q.dim().0 {
        for h in 0..n_heads {
            let of = |part: &Array4| part.slice(s![b, h, .., ..]).to_owned();
            let mut query: Array<f64, Ix2> = of(&q);
            if how.keep.get(h) == Some(&false) {
                if !how.cut_scores {
                    continue;
                }
                query.fill(0.0);
            }
            y.slice_mut(s![b, h, .., ..]).assign(&head(&query, &of(&k), &of(&v), how));
        }
    }
    y
}

/// The layer with a mistake.
pub fn layer_with(x: &Array3, w: &Weights, n_heads: usize, how: &How) -> Array3 {
    let joined = join(&heads(x, w, n_heads, how), how.join);
    let bias = how.b_proj.then_some(&w.b_proj);
    match how.proj {
        0 => joined,
        1 => project(&joined, &w.w_proj, bias),
        _ => project(&joined, &w.w_proj.t().to_owned(), bias),
    }
}
