//! Heads as views: cutting the channel axis of `[B, T, N·D]` into N groups without moving a number.

use ndarray::{ArrayView2, ArrayView4, ArrayViewMut2, ArrayViewMut4, Axis, s};

/// The groups of `data [B, T, N, D]` as `B·N` views `[T, D]`, in the order (b, n).
///
/// For `qkv [B, T, 3C]` take N = 3·H: the groups 0..H of a sequence are its queries per head,
/// H..2H its keys, 2H..3H its values. Group n covers channels n·D..(n+1)·D.
///
/// # Panics
/// When `data` has not B·T·N·D elements: callers have checked shapes.
pub fn head_views(data: &[f32], [b, t, n, d]: [usize; 4]) -> Vec<ArrayView2<'_, f32>> {
    let view = ArrayView4::from_shape((b, t, n, d), data).expect("length was checked by the op");
    (0..b * n).map(|i| view.slice_move(s![i / n, .., i % n, ..])).collect()
}

/// [`head_views`], for writing: the views do not overlap.
///
/// # Panics
/// When `data` has not B·T·N·D elements: callers have checked shapes.
pub fn head_views_mut(data: &mut [f32], [b, t, n, d]: [usize; 4]) -> Vec<ArrayViewMut2<'_, f32>> {
    let view = ArrayViewMut4::from_shape((b, t, n, d), data).expect("length was checked by the op");
    let mut rest = view.permuted_axes([0, 2, 1, 3]); // [B, N, T, D]
    let mut views = Vec::with_capacity(b * n);
    for _ in 0..b {
        let (first, others) = rest.split_at(Axis(0), 1);
        let mut groups = first.index_axis_move(Axis(0), 0);
        for _ in 0..n {
            let (group, later) = groups.split_at(Axis(0), 1);
            views.push(group.index_axis_move(Axis(0), 0));
            groups = later;
        }
        rest = others;
    }
    views
}

/// Row `i` of a view whose columns lie together.
#[inline(always)]
pub(super) fn row<'a>(view: &ArrayView2<'a, f32>, i: usize) -> &'a [f32] {
    view.index_axis_move(Axis(0), i).to_slice().expect("the columns of a head lie together")
}
