//! Into how many pieces a product is cut for the threads.

/// The number of pieces for a product of M, N, K; fewer multiply-adds than `piece` are not worth a
/// thread of their own. No element's sum is cut, so pieces do not show in the result.
pub(super) fn pieces([m, n, k]: [usize; 3], threads: usize, piece: usize) -> usize {
    let pieces = (m * n).saturating_mul(k) / piece;
    let most = match threads {
        1 => 1, // the caller alone, as it asked
        _ if pieces >= 8 * threads => 2 * threads,
        _ => threads,
    };
    pieces.clamp(1, most)
}
