//! Heads as views: cutting the channel axis of `[B, T, N·D]` into N groups without moving a number.

use super::super::parallel;
use ndarray::{ArrayView2, ArrayView4, ArrayViewMut2, ArrayViewMut3, ArrayViewMut4, Axis};

/// `data [B, T, N·D]` seen as its groups, `[B, N, T, D]`: group n is channels n·D..(n+1)·D.
///
/// For `qkv [B, T, 3C]` take N = 3·H: the groups 0..H of a sequence are its queries per head,
/// H..2H its keys, 2H..3H its values. [`head_view`] gives one of them.
///
/// # Panics
/// When `data` has not B·T·N·D elements: callers have checked shapes.
pub fn head_views(data: &[f32], [b, t, n, d]: [usize; 4]) -> ArrayView4<'_, f32> {
    let view = ArrayView4::from_shape((b, t, n, d), data).expect("length was checked by the op");
    view.permuted_axes([0, 2, 1, 3])
}

/// [`head_views`], for writing.
///
/// # Panics
/// When `data` has not B·T·N·D elements: callers have checked shapes.
pub fn head_views_mut(data: &mut [f32], [b, t, n, d]: [usize; 4]) -> ArrayViewMut4<'_, f32> {
    let view = ArrayViewMut4::from_shape((b, t, n, d), data).expect("length was checked by the op");
    view.permuted_axes([0, 2, 1, 3])
}

/// Group `n` of sequence `b`, `[T, D]`.
pub fn head_view<'a>(views: &ArrayView4<'a, f32>, b: usize, n: usize) -> ArrayView2<'a, f32> {
    views.index_axis_move(Axis(0), b).index_axis_move(Axis(0), n)
}

/// The groups of `dqkv [B, T, 3·H·D]` as three: those of dq, dk and dv, `[B, H, T, D]` each.
///
/// # Panics
/// When `dqkv` has not B·T·3·H·D elements: callers have checked shapes.
pub fn qkv_views_mut(dqkv: &mut [f32], [b, t, h, d]: [usize; 4]) -> [ArrayViewMut4<'_, f32>; 3] {
    let (dq, rest) = head_views_mut(dqkv, [b, t, 3 * h, d]).split_at(Axis(1), h);
    let (dk, dv) = rest.split_at(Axis(1), h);
    [dq, dk, dv]
}

/// One number for every row of every head, `data [B, H, T]` as `[B, H, T, 1]`.
///
/// # Panics
/// When `data` has not B·H·T elements: callers have checked shapes.
pub fn row_views_mut(data: &mut [f32], [b, h, t]: [usize; 3]) -> ArrayViewMut4<'_, f32> {
    ArrayViewMut4::from_shape((b, h, t, 1), data).expect("length was checked by the op")
}

/// Calls `f(b, h, [view of each output])` for every (sequence, head), on the pool's threads when
/// `work` (scores in all) is worth it. The outputs are `[B, H, T, ..]`, a task gets `[T, ..]`.
pub fn each_head<const N: usize>(
    outputs: [ArrayViewMut4<'_, f32>; N],
    work: usize,
    f: impl Fn(usize, usize, [ArrayViewMut2<'_, f32>; N]) + Sync,
) {
    let Some((_, heads, ..)) = outputs.first().map(ArrayViewMut4::dim) else { return };
    each_group(outputs, heads, work, |sequence, head, parts| {
        f(sequence, head, parts.map(|x| x.index_axis_move(Axis(0), 0)));
    });
}

/// [`each_head`] for heads that stand in `groups` of neighbours: calls `f(b, g, ..)` for every
/// (sequence, group) with what belongs to the group of each output. Outputs are `[B, N, T, ..]`, N a
/// multiple of `groups` that may be another for each, and a task gets `[N/groups, T, ..]`.
pub fn each_group<const N: usize>(
    outputs: [ArrayViewMut4<'_, f32>; N],
    groups: usize,
    work: usize,
    f: impl Fn(usize, usize, [ArrayViewMut3<'_, f32>; N]) + Sync,
) {
    let Some((sequences, ..)) = outputs.first().map(ArrayViewMut4::dim) else { return };
    halves(outputs, [0, 0], [sequences, groups], work >= 2 * parallel::HEAVY, &f);
}

/// `lengths` sequences and groups from `at` on: halved, by sequences and then by groups,
/// until one is left.
fn halves<const N: usize>(
    outputs: [ArrayViewMut4<'_, f32>; N],
    at: [usize; 2],
    lengths: [usize; 2],
    fork: bool,
    f: &(impl Fn(usize, usize, [ArrayViewMut3<'_, f32>; N]) + Sync),
) {
    let [sequences, groups] = lengths;
    if sequences == 0 || groups == 0 {
        return; // nothing to do
    }
    let axis = usize::from(sequences == 1);
    let len = lengths[axis];
    if len == 1 {
        return f(at[0], at[1], outputs.map(|x| x.index_axis_move(Axis(0), 0)));
    }
    let middle = len / 2;
    let (mut next, mut before, mut later) = (at, lengths, lengths);
    next[axis] += middle;
    before[axis] = middle;
    later[axis] -= middle;
    let mut cut = outputs.map(|x| {
        let each = x.len_of(Axis(axis)) / len; // heads of a group; 1 for sequences
        let (first, later) = x.split_at(Axis(axis), middle * each);
        (Some(first), Some(later))
    });
    let first = cut.each_mut().map(|(first, _)| first.take().expect("just cut"));
    let second = cut.map(|(_, later)| later.expect("just cut"));
    if fork {
        rayon::join(|| halves(first, at, before, fork, f), || halves(second, next, later, fork, f));
    } else {
        halves(first, at, before, fork, f);
        halves(second, next, later, fork, f);
    }
}

/// Row `i` of a view whose columns lie together.
#[inline(always)]
pub(super) fn row<'a>(view: &ArrayView2<'a, f32>, i: usize) -> &'a [f32] {
    view.index_axis_move(Axis(0), i).to_slice().expect("the columns of a head lie together")
}
