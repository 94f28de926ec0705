//! The next positions of texts, from what earlier ones left in the cache.

use crate::grouped::HeadShape;
use crate::modern::{Modern, Projections};
use llm_core::kernels::attention::{attend_one, head_view, head_views};
use llm_core::kernels::parallel::{LIGHT, rows, rows_with};
use llm_core::kernels::rmsnorm;
use llm_core::kernels::rotary::{Turned, turn};
use llm_core::model::Decode;
use llm_core::{Result, Tensor};

/// Cached numbers that are worth a thread of their own: they come from memory, as weights do.
const CACHED: usize = LIGHT / 4;
/// Positions that are worth one.
const POSITIONS: usize = 4;

impl Modern {
    /// What `forward` does, for the next positions. The cache keeps a key, normed and turned, and a
    /// value for each group; a window reads its last rows.
    pub(crate) fn next_positions(&self, mut step: Decode<'_>) -> Result<()> {
        let heads = self.heads(step.d_model);
        let Projections { w_qkv, b_qkv, w_proj, b_proj } = self.projections(step.p)?;
        let HeadShape { n_heads: h, kv_heads: g, head_dim: d, .. } = heads;
        let width = heads.all() * d;
        let eps = step.norm_eps;
        let mut qkv = step.linear(w_qkv, b_qkv)?; // [n, (H+2G)·D]
        if let Some([q_g, k_g]) = self.gains(step.p)? {
            for row in qkv.chunks_exact_mut(width) {
                let (q, rest) = row.split_at_mut(h * d);
                norm_heads(q, q_g, eps);
                norm_heads(&mut rest[..g * d], k_g, eps);
            }
        }
        let mut y = vec![0.0; step.positions() * h * d];
        let used = self.spec.used(step.layer);
        step.each([&mut qkv, &mut y], |text, [qkv, y]| {
            let (before, n) = (text.before, text.new);
            if let Some(angles) = self.angles(before + n, d) {
                let angles = &*angles;
                let (n_heads, head_dim, seq_len, start) = (h + g, d, n, before);
                turn(qkv, &Turned { angles, width, n_heads, head_dim, seq_len, start });
            }
            let kept: Vec<f32> =
                qkv.chunks_exact(width).flat_map(|row| &row[h * d..]).copied().collect();
            let text = Text { heads, keep: used, kept: text.keep(&kept)? }; // [before + n, 2·G·D]
            if n == 1 {
                text.attend(&qkv[..h * d], before + 1, y);
                return Ok(());
            }
            // Each position is one thread's; short texts are not worth sharing.
            rows(y, h * d, POSITIONS * h * d, |first, y| {
                for (i, y) in y.chunks_exact_mut(h * d).enumerate() {
                    let q = &qkv[(first + i) * width..][..h * d];
                    text.attend(q, before + first + i + 1, y);
                }
            });
            Ok(())
        })?;
        step.add_linear(&y, w_proj, b_proj)
    }
}

/// Every head of x ← its norm.
fn norm_heads(x: &mut [f32], gain: &Tensor, eps: f32) {
    let (old, d) = (x.to_vec(), gain.numel());
    let mut stats = vec![0.0; x.len() / d * rmsnorm::STATS];
    rmsnorm::forward(x, &mut stats, &old, Some(gain.data()), d, eps);
}

/// Keys and values of all positions so far.
struct Text<'a> {
    heads: HeadShape,
    keep: &'a [bool],
    /// `[.., 2·G·D]`
    kept: &'a [f32],
}

impl Text<'_> {
    /// Every head of the last of `so_far` positions: `q, y [H·D]`.
    fn attend(&self, q: &[f32], so_far: usize, y: &mut [f32]) {
        let HeadShape { kv_heads: g, head_dim: d, scoring, .. } = self.heads;
        let first = so_far.saturating_sub(scoring.window);
        let (n, row) = (so_far - first, 2 * g * d);
        let parts = head_views(&self.kept[first * row..so_far * row], [1, n, 2 * g, d]);
        let mut scores = vec![0.0; self.heads.n_heads * n];
        rows_with(y, d, &mut scores, n, CACHED.div_ceil(n), |first, y, scores| {
            let each = y.chunks_exact_mut(d).zip(scores.chunks_exact_mut(n)).enumerate();
            for (h, (y, scores)) in each.map(|(i, head)| (first + i, head)) {
                if self.keep.get(h) == Some(&false) {
                    y.fill(0.0);
                    continue;
                }
                let group = h / self.heads.each();
                let [k, v] = [group, g + group].map(|part| head_view(&parts, 0, part));
                attend_one(&q[h * d..][..d], k, v, scoring, scores, y);
            }
        });
    }
}
