//! linear: y = x·W + b, W as it is or transposed.

use super::common::{number, rows_of, whole};
use super::matmul::{Plus, Product, View};
use super::sums::{columns, parts};
use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker};
use crate::plan::Room;
use llm_core::kernels::gemm::Precision;
use llm_core::listing::Listed;
use llm_core::message;

/// The most that chunks of a weight's gradient may take, in numbers.
const SCRATCH: usize = 1 << 24;

/// Rows, inputs, outputs; whether W is stored `[out, in]`; in f16, what a gradient is multiplied by before it is rounded: as
/// a mean over the rows of all micro-batches it is about as much too small.
fn sizes_of(maker: &Maker<'_>, made: &Listed) -> Result<([usize; 3], bool, Option<f32>)> {
    let ([rows, i], [_, o]) = (rows_of(made.inputs[0].shape()), rows_of(&made.shape));
    let bits = whole(made, "bits")?;
    if bits == Precision::Bf16.bits() {
        return Err(GpuError::no(made.op, message!("in bf16")));
    }
    let lift = (rows * maker.micro_batches as usize).next_power_of_two() as f32;
    let lift = (bits == Precision::F16.bits()).then_some(lift);
    Ok(([rows, i, o], number(made, "transposed")? != 0.0, lift))
}

/// W as `[in, out]`.
fn matrix(room: Room, at: u32, [i, o]: [usize; 2], transposed: bool) -> View {
    let at = at as usize;
    if transposed { View::of(room, at, i).t() } else { View::of(room, at, o) }
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let ([rows, i, o], transposed, lift) = sizes_of(maker, made)?;
    let (x, w) = (maker.value(made, 0)?, maker.weight(made, 1)?);
    let has_bias = made.inputs.len() > 2;
    let plus = if has_bias { Plus::Bias(maker.weight(made, 2)?) } else { Plus::Nothing };
    let y = maker.room(rows * o);
    let w = matrix(maker.fixed.theta, w, [i, o], transposed);
    let product = Product::new(View::of(y, 0, o), View::of(x, 0, i), w, [rows, o, i]);
    Product { plus, f16: lift.map(|_| [1.0; 2]), ..product }.call(maker);
    Ok(y.into())
}

/// dx = dy·Wᵀ, dW = xᵀ·dy (or dyᵀ·x), db = Σ_rows dy.
pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let ([rows, i, o], transposed, lift) = sizes_of(m, made)?;
    let (x, w) = (m.value(made, 0)?, m.weight(made, 1)?);
    let dx = m.target(made, 0);
    let w = matrix(m.fixed.theta, w, [i, o], transposed);
    let product = Product::new(View::of(dx.to, 0, i), View::of(dy, 0, o), w.t(), [rows, i, o]);
    Product { add: dx.add, f16: lift.map(|lift| [lift, 1.0]), ..product }.call(m);
    let f16 = lift.map(|lift| if transposed { [lift, 1.0] } else { [1.0, lift] });
    weight(m, made, [(x, i), (dy, o)], rows, transposed, f16)?;
    if made.inputs.len() > 2 {
        columns(m, dy, [rows, o], made, 2)?;
    }
    Ok(())
}

/// dW has few numbers and a long sum for each: many rows are cut into chunks, whose sums are added
/// in order.
fn weight(
    maker: &mut Maker<'_>,
    made: &Listed,
    [x, dy]: [(Room, usize); 2],
    rows: usize,
    transposed: bool,
    f16: Option<[f32; 2]>,
) -> Result<()> {
    let ((left, m), (right, n)) = if transposed { (dy, x) } else { (x, dy) };
    let (left, right) = (View::of(left, 0, m).t(), View::of(right, 0, n));
    let dw = maker.weight_target(made, 1)?;
    let tiles = m.div_ceil(64) * n.div_ceil(64);
    let splits = (512 / tiles).min(rows / 128).min(SCRATCH / (m * n)).max(1);
    let chunk = rows.div_ceil(splits).next_multiple_of(16);
    let splits = rows.div_ceil(chunk);
    if splits == 1 {
        let to = View::of(maker.fixed.grads, dw.to as usize, n);
        Product { add: dw.add, f16, ..Product::new(to, left, right, [m, n, rows]) }.call(maker);
        return Ok(());
    }
    let of_chunks = maker.room(splits * m * n);
    let to = View::of(of_chunks, 0, n).stepping([m * n, 0]);
    let product = Product::new(to, left, right, [m, n, rows]);
    Product { batch: [splits, 1], chunk, f16, ..product }.call(maker);
    parts(maker, of_chunks, [splits, m * n], dw);
    Ok(())
}
