//! linear: y = x·W + b, W as it is or transposed. An activation or a sum that alone uses y is done by the same call.

use super::activation;
use super::common::{number, rows_of, whole};
use super::matmul::{End, Product, View};
use super::sums::{Parts, SCRATCH, columns};
use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker, Target};
use crate::plan::Room;
use llm_core::kernels::gemm::Precision;
use llm_core::listing::Listed;
use llm_core::message;

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
    let bias = (made.inputs.len() > 2).then(|| maker.weight(made, 2)).transpose()?;
    let y = maker.room(rows * o);
    let w = matrix(maker.fixed.theta, w, [i, o], transposed);
    let product = Product::new(View::of(y, 0, o), View::of(x, 0, i), w, [rows, o, i]);
    let product = Product { bias, f16: lift.map(|_| [1.0; 2]), ..product };
    let (plus, end) = ended(maker, made, y, rows * o);
    Product { plus, end, ..product }.call(maker);
    Ok(y.into())
}

/// What the call does beside the product, for the op that alone uses y; whose result is kept.
fn ended(
    maker: &mut Maker<'_>,
    made: &Listed,
    y: Room,
    numbers: usize,
) -> (Option<(Room, f32)>, End) {
    let Some(next) = maker.only_user(made) else { return (None, End::Plain) };
    if let Some(text) = activation::ending(next, "forward") {
        let to = maker.room(numbers);
        maker.keep(next, to);
        return (None, End::Activated(text, to));
    }
    let is_sum = next.op == "add" && next.inputs.iter().all(|x| x.shape() == made.shape);
    let other = next.inputs.iter().position(|x| x.id() != Some(made.result));
    match other.filter(|_| is_sum).and_then(|i| maker.value(next, i).ok()) {
        Some(other) => {
            maker.keep(next, y);
            (Some((other, 1.0)), End::Plain)
        }
        None => (None, End::Plain),
    }
}

/// dx = dy·Wᵀ, dW = xᵀ·dy (or dyᵀ·x), db = Σ_rows dy. If x is an activation's that nothing else uses, what that read
/// gets its gradient at once.
pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let ([rows, i, o], transposed, lift) = sizes_of(m, made)?;
    let (x, w) = (m.value(made, 0)?, m.weight(made, 1)?);
    let before = m.maker_of(made, 0).filter(|before| m.only_user(before).is_some());
    let slope = before.and_then(|before| Some((before, activation::ending(before, "backward")?)));
    let (dx, end) = match slope {
        Some((before, text)) => (m.target(before, 0), End::Slope(text, m.value(before, 0)?)),
        None => (m.target(made, 0), End::Plain),
    };
    let w = matrix(m.fixed.theta, w, [i, o], transposed);
    let product = Product::new(View::of(dx.to, 0, i), View::of(dy, 0, o), w.t(), [rows, i, o]);
    Product { add: dx.add, end, f16: lift.map(|lift| [lift, 1.0]), ..product }.call(m);
    let f16 = lift.map(|lift| if transposed { [lift, 1.0] } else { [1.0, lift] });
    // The sums of dy's columns come with dW, where dy is the right factor and its numbers are whole.
    let has_bias = made.inputs.len() > 2;
    let along = has_bias && f16.is_none() && !transposed;
    let bias = along.then(|| m.weight_target(made, 2)).transpose()?;
    weight(m, made, [(x, i), (dy, o)], rows, transposed, f16, bias)?;
    if has_bias && !along {
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
    bias: Option<Target<u32>>,
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
        let product = Product::new(to, left, right, [m, n, rows]);
        Product { add: dw.add, f16, sums: bias, ..product }.call(maker);
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
