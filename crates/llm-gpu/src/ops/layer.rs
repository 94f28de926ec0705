//! The products of a linear layer, of all its rows or of some.

use super::activation;
use super::common::{number, rows_of, whole};
use super::half;
use super::matmul::{End, Product, View};
use super::sums::{Parts, SCRATCH, columns};
use crate::error::{GpuError, Result};
use crate::layout::Spot;
use crate::maker::{Maker, Target};
use crate::plan::Room;
use llm_core::kernels::gemm::Precision;
use llm_core::listing::Listed;
use llm_core::message;
use std::ops::Range;

/// A linear layer: its sizes, and where its input and its parameters lie.
pub(super) struct Linear {
    pub rows: usize,
    /// Inputs of a row.
    pub i: usize,
    /// Outputs of a row.
    pub o: usize,
    /// Whether W is stored `[out, in]`.
    transposed: bool,
    /// In f16, what a gradient is multiplied by before it is rounded.
    lift: Option<f32>,
    pub x: Room,
    w: Spot,
    bias: Option<Spot>,
}

impl Linear {
    pub(super) fn of(maker: &Maker<'_>, made: &Listed) -> Result<Linear> {
        let ([rows, i], [_, o]) = (rows_of(made.inputs[0].shape()), rows_of(&made.shape));
        let bits = whole(made, "bits")?;
        if bits == Precision::Bf16.bits() {
            return Err(GpuError::no(made.op, message!("in bf16")));
        }
        let transposed = number(made, "transposed")? != 0.0;
        let (x, w) = (maker.value(made, 0)?, maker.weight(made, 1)?);
        let lift = half::multiplies(made).then(|| half::lift(maker));
        let bias = (made.inputs.len() > 2).then(|| maker.weight(made, 2)).transpose()?;
        Ok(Linear { rows, i, o, transposed, lift, x, w, bias })
    }

    /// W as `[in, out]`.
    fn matrix(&self, maker: &Maker<'_>) -> View {
        let (room, at) = (maker.fixed.theta[self.w.array], self.w.at as usize);
        if self.transposed { View::of(room, at, self.i).t() } else { View::of(room, at, self.o) }
    }

    /// y = x·W + b of some rows, whose results lie from y's beginning on.
    pub(super) fn product(&self, maker: &Maker<'_>, of: &Range<usize>, y: Room) -> Product {
        let Linear { i, o, x, bias, lift, .. } = *self;
        let x = View::of(x, of.start * i, i).half(maker.is_half(x));
        let y = View::of(y, 0, o);
        let product = Product::new(y, x, self.matrix(maker), [of.len(), o, i]);
        Product {
            bias: bias.map(|of| (maker.fixed.theta[of.array], of.at)),
            f16: lift.map(|_| [1.0; 2]),
            ..product
        }
    }

    /// dx = dy·Wᵀ, dW = xᵀ·dy (or dyᵀ·x), db = Σ_rows dy of some rows, whose dy lies from its room's beginning on.
    pub(super) fn back(
        &self,
        m: &mut Maker<'_>,
        made: &Listed,
        of: &Range<usize>,
        dy: Room,
        (dx, end): (Target<Room>, End),
    ) -> Result<()> {
        let Linear { i, o, transposed, lift, bias, .. } = *self;
        let of_dy = View::of(dy, 0, o).half(m.is_half(dy));
        let to = View::of(dx.to, of.start * i, i);
        let product = Product::new(to, of_dy, self.matrix(m).t(), [of.len(), i, o]);
        Product { add: dx.add, end, f16: lift.map(|lift| [lift, 1.0]), ..product }.call(m);
        // The sums of dy's columns come with dW, where dy is the right factor: as it is multiplied, rounded or not.
        let along = bias.is_some() && !transposed;
        let along = along.then(|| m.weight_target(made, 2)).transpose()?;
        self.weight(m, made, of, dy, along)?;
        if bias.is_some() && along.is_none() {
            columns(m, dy, [of.len(), o], made, 2)?;
        }
        Ok(())
    }

    /// dW has few numbers and a long sum for each: many rows are cut into chunks, whose sums are added
    /// in order.
    fn weight(
        &self,
        maker: &mut Maker<'_>,
        made: &Listed,
        of: &Range<usize>,
        dy: Room,
        bias: Option<Target<Spot>>,
    ) -> Result<()> {
        let Linear { i, o, transposed, lift, x, .. } = *self;
        let rows = of.len();
        let f16 = lift.map(|lift| if transposed { [lift, 1.0] } else { [1.0, lift] });
        let (x, dy) = ((x, of.start * i, i), (dy, 0, o));
        let ((left, at, m), (right, from, n)) = if transposed { (dy, x) } else { (x, dy) };
        let view =
            |room: Room, at: usize, n: usize| View::of(room, at, n).half(maker.is_half(room));
        let (left, right) = (view(left, at, m).t(), view(right, from, n));
        let dw = maker.weight_target(made, 1)?;
        let tiles = m.div_ceil(64) * n.div_ceil(64);
        let splits = (512 / tiles).min(rows / 128).min(SCRATCH / (m * n)).max(1);
        let chunk = rows.div_ceil(splits).next_multiple_of(16);
        let splits = rows.div_ceil(chunk);
        if splits == 1 {
            let to = View::of(maker.fixed.grads[dw.to.array], dw.to.at as usize, n);
            let product = Product::new(to, left, right, [m, n, rows]);
            let sums = bias.map(|of| Target { to: of.to.at, add: of.add });
            Product { add: dw.add, f16, sums, ..product }.call(maker);
            return Ok(());
        }
        let width = m * n + if bias.is_some() { n } else { 0 };
        let parts = Parts { rows: splits, width, to: dw, rest: bias.map(|bias| (m * n, bias)) };
        let (of_chunks, at) = parts.later(maker);
        let to = View::of(of_chunks, at, n).stepping([width, 0]);
        let product = Product::new(to, left, right, [m, n, rows]);
        let sums = bias.map(|_| Target { to: (at + m * n) as u32, add: 0 });
        Product { batch: [splits, 1], chunk, f16, sums, ..product }.call(maker);
        Ok(())
    }

    /// Where dx goes. If x is an activation's that nothing else uses, what that read gets its gradient at once.
    pub(super) fn target(m: &mut Maker<'_>, made: &Listed) -> Result<(Target<Room>, End)> {
        let before = m.maker_of(made, 0).filter(|before| m.only_user(before).is_some());
        let slope =
            before.and_then(|before| Some((before, activation::ending(before, "backward")?)));
        let Some((before, [text, half])) = slope else {
            return Ok((m.target(made, 0), End::Plain));
        };
        let read = m.value(before, 0)?;
        match half::lift_of(m, before, 0)? {
            Some(lift) => Ok((m.half_target(before, 0), End::Slope(half, read, lift))),
            None => Ok((m.target(before, 0), End::Slope(text, read, 1.0))),
        }
    }
}
