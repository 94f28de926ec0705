//! Into how many pieces a product is cut for the threads.

/// `[across, down]`: pieces beside each other, each with some of C's columns, and below each other.
/// `shape` is M, N, K, `tile` its rows and columns; fewer multiply-adds than `piece` are not worth a
/// thread of their own.
///
/// No element's sum is cut, so pieces do not show in the result.
pub(super) fn pieces(
    [m, n, k]: [usize; 3],
    [mr, nr]: [usize; 2],
    threads: usize,
    piece: usize,
) -> [usize; 2] {
    let pieces = (m * n).saturating_mul(k) / piece;
    let most = match threads {
        1 => 1, // the caller alone, as it asked
        _ if pieces >= 8 * threads => 2 * threads,
        _ => threads,
    };
    let pieces = pieces.clamp(1, most);
    let (rows, cols) = (m.div_ceil(mr), n.div_ceil(nr));
    // Cutting columns packs nothing of B twice; what is too narrow for that is cut by rows.
    let across = if cols >= 2 * pieces { pieces } else { 1 };
    [across, (pieces / across).min(rows)]
}
