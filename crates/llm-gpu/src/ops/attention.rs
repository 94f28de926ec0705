//! attention between the projections: heads that may share keys and values, and see a window.
//!
//! P is stored here, `[B, H, T, T]`; where that can be left out, [`super::flash`] does it. A head is an offset and two strides of one product; the heads of a
//! group are called one after the other, so that the gradients of what they share are added in
//! their order.

use super::common::ROW_SUMS;
use super::dropout;
use super::flash::Flash;
use super::head_shape::HeadShape;
use super::keep::keep;
use super::matmul::{Causal, Product, View};
use super::step::step;
use crate::error::Result;
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, elements};
use llm_core::listing::Listed;

/// What an attention may say of itself.
pub(super) const FACTS: &[&str] =
    &["heads", "kv_heads", "head_dim", "window", "scale", "soft_cap", "keep", "masks"];

const TEXT: &[&str] = &[ROW_SUMS, include_str!("softmax.wgsl")];
const FORWARD: Kernel = Kernel::new("forward", TEXT);
const BACKWARD: Kernel = Kernel::new("backward", TEXT);
const CAP: &[&str] = &[include_str!("cap.wgsl")];

/// Views for one head of every group: q, k, v in qkv, or their gradients; y; P.
struct Views {
    q: View,
    k: View,
    v: View,
    y: View,
    p: View,
}

impl HeadShape {
    fn weights(&self) -> usize {
        self.b * self.h * self.t * self.t
    }

    /// Rows of P, their length, and how many are one sequence's.
    fn rows(&self) -> [usize; 3] {
        [self.b * self.h * self.t, self.t, self.h * self.t]
    }

    /// HeadShape of a group.
    fn each(&self) -> usize {
        self.h / self.g
    }

    /// The views of head `i` of every group.
    fn views(&self, i: usize, qkv: Room, y: Room, p: Room) -> Views {
        let HeadShape { t, h, g, d, .. } = *self;
        let (width, each) = ((h + 2 * g) * d, self.each());
        let of_qkv = |at: usize, step: usize| View::of(qkv, at, width).stepping([t * width, step]);
        Views {
            q: of_qkv(i * d, each * d),
            k: of_qkv(h * d, d),
            v: of_qkv((h + g) * d, d),
            y: View::of(y, i * d, h * d).stepping([t * h * d, each * d]),
            p: View::of(p, i * t * t, t).stepping([h * t * t, each * t * t]),
        }
    }

    fn call(&self, maker: &mut Maker<'_>, product: Product, causal: Causal, alpha: f32) {
        Product { batch: [self.b, self.g], causal, alpha, ..product }.call(maker);
    }

    /// S = Q·Kᵀ·scale of every head, before a cap.
    fn scores(&self, maker: &mut Maker<'_>, qkv: Room) -> Room {
        let HeadShape { t, d, scale, .. } = *self;
        let s = maker.room(self.weights());
        for i in 0..self.each() {
            let on = self.views(i, qkv, qkv, s);
            let product = Product::new(on.p, on.q, on.k.t(), [t, t, d]);
            self.call(maker, product, Causal::Result, scale);
        }
        s
    }

    /// The soft cap of scores, if there is one; on the way back the scores before it are in `rooms`, too.
    fn cap(&self, maker: &mut Maker<'_>, entry: &'static str, rooms: &[Room]) {
        let Some(cap) = self.soft_cap else { return };
        let (kernel, n) = (Kernel::new(entry, CAP), self.weights());
        maker.call(kernel, &[n as u32, cap.to_bits()], rooms, elements(n));
    }

    fn softmax(&self, maker: &mut Maker<'_>, kernel: Kernel, rooms: &[Room]) {
        let grid = [self.t as u32, (self.b * self.h) as u32, 1];
        maker.call(kernel, &[self.t as u32, self.window as u32], rooms, grid);
    }
}

/// S = Q·Kᵀ·scale with its cap, P = softmax(S) where a query sees, Y = P·V.
pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let (heads, qkv) = (HeadShape::new(maker, made)?, maker.value(made, 0)?);
    if let Some(text) = maker.text {
        let y = step(maker, &heads, &text, qkv);
        return keep(maker, made, y, true).map(Made::from);
    }
    if let Some(flash) = Flash::of(maker, &heads) {
        let done = flash.forward(maker, made, qkv)?;
        keep(maker, made, done.result, true)?;
        return Ok(done);
    }
    let HeadShape { t, d, .. } = heads;
    let y = maker.room(made.shape.iter().product());
    let p = heads.scores(maker, qkv);
    heads.cap(maker, "forward", &[p]);
    heads.softmax(maker, FORWARD, &[p]);
    let mut used = p; // P, or what dropout leaves of it
    if made.fact("masks").is_some() {
        used = maker.room(heads.weights());
        dropout::apply(maker, made, [p, used], heads.rows(), 0)?;
    }
    for i in 0..heads.each() {
        let on = heads.views(i, qkv, y, used);
        heads.call(maker, Product::new(on.y, on.p, on.v, [t, d, t]), Causal::Left, 1.0);
    }
    keep(maker, made, y, true)?;
    Ok(Made { result: y, kept: vec![p, used] })
}

/// dP = dY·Vᵀ, dV = Pᵀ·dY (both with what dropout left), dS = P ∘ (dP − Σⱼ P·dP), times the slope of a cap,
/// dQ = dS·K·scale, dK = dSᵀ·Q·scale.
pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, kept: &[Room]) -> Result<()> {
    let (heads, qkv) = (HeadShape::new(m, made)?, m.value(made, 0)?);
    let dy = keep(m, made, dy, false)?;
    if let Some(flash) = Flash::of(m, &heads) {
        return flash.backward(m, made, [qkv, dy, kept[0], kept[1]]);
    }
    let (p, used) = (kept[0], kept[1]);
    let HeadShape { t, d, .. } = heads;
    let dqkv = m.room(made.inputs[0].shape().iter().product());
    let mut dp = m.room(heads.weights());
    for i in 0..heads.each() {
        let (on, of) = (heads.views(i, qkv, dy, used), heads.views(i, dqkv, dy, dp));
        let add = u32::from(i > 0);
        heads.call(m, Product::new(of.p, on.y, on.v.t(), [t, t, d]), Causal::Result, 1.0);
        let dv = Product::new(of.v, on.p.t(), on.y, [t, d, t]);
        heads.call(m, Product { add, ..dv }, Causal::LeftTransposed, 1.0);
    }
    if p != used {
        let of_p = m.room(heads.weights());
        dropout::apply(m, made, [dp, of_p], heads.rows(), 0)?;
        dp = of_p;
    }
    heads.softmax(m, BACKWARD, &[dp, p]);
    if heads.soft_cap.is_some() {
        let scores = heads.scores(m, qkv); // once more: P has taken the place of those of forward
        heads.cap(m, "backward", &[dp, scores]);
    }
    for i in 0..heads.each() {
        let (on, of) = (heads.views(i, qkv, dy, p), heads.views(i, dqkv, dy, dp));
        let add = u32::from(i > 0);
        heads.call(m, Product::new(of.q, of.p, on.k, [t, d, t]), Causal::Left, heads.scale);
        let dk = Product::new(of.k, of.p.t(), on.q, [t, d, t]);
        heads.call(m, Product { add, ..dk }, Causal::LeftTransposed, heads.scale);
    }
    m.share(made, 0, dqkv);
    Ok(())
}
