//! layernorm and rmsnorm, without and with gain (and bias).

use super::common::{ROW_SUMS, chunk_of, number, rows_of};
use super::half::{self, BITS};
use super::sums::{Parts, columns};
use crate::error::{GpuError, Result};
use crate::layout::Spot;
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, rows};
use llm_core::listing::Listed;

const BOTH: &str = include_str!("norm.wgsl");
const LAYER: &[&str] = &[ROW_SUMS, BOTH, include_str!("layernorm.wgsl")];
const RMS: &[&str] = &[ROW_SUMS, BOTH, include_str!("rmsnorm.wgsl")];

/// How y is stored: as it is, or as f16.
const STORED: [&[&str]; 2] =
    [&[include_str!("norm_row.wgsl")], &[BITS, include_str!("norm_row_half.wgsl")]];

/// A norm's text, its sizes, and how many numbers it keeps of a row.
struct Norm {
    text: &'static [&'static str],
    is_layer: bool,
    affine: bool,
    rows: usize,
    width: usize,
    eps: f32,
    at: [Spot; 2],
}

impl Norm {
    fn new(maker: &Maker<'_>, made: &Listed) -> Result<Norm> {
        let (text, is_layer) = match made.op {
            "layernorm" => (LAYER, true),
            "rmsnorm" => (RMS, false),
            other => return Err(GpuError::without(other)),
        };
        let affine = made.inputs.len() > 1;
        let [rows, width] = rows_of(&made.shape);
        let gain = if affine { maker.weight(made, 1)? } else { Spot::default() };
        let bias = if affine && is_layer { maker.weight(made, 2)? } else { Spot::default() };
        let eps = number(made, "eps")? as f32;
        Ok(Norm { text, is_layer, affine, rows, width, eps, at: [gain, bias] })
    }

    /// The numbers of the text's `Sizes`.
    fn sizes(&self, add: u32, chunk: usize) -> [u32; 8] {
        let [rows, width] = [self.rows as u32, self.width as u32];
        let [gain, bias] = self.at.map(|of| of.at);
        [rows, width, self.eps.to_bits(), self.affine.into(), gain, bias, add, chunk as u32]
    }

    fn kernel(&self, entry: &'static str) -> Kernel {
        Kernel { kinds: STORED[0], ..Kernel::new(entry, self.text) }
    }
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let (norm, x) = (Norm::new(maker, made)?, maker.value(made, 0)?);
    let is_half = half::is_result(maker, made);
    let y = maker.room_of(norm.rows * norm.width, is_half);
    let stats = maker.room(norm.rows * if norm.is_layer { 2 } else { 1 });
    let rooms = [x, maker.fixed.theta[norm.at[0].array], stats, y];
    let kernel = Kernel { kinds: STORED[usize::from(is_half)], ..norm.kernel("forward") };
    maker.call(kernel, &norm.sizes(0, 0), &rooms, rows(norm.rows));
    Ok(Made { result: y, kept: vec![stats] })
}

pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, kept: &[Room]) -> Result<()> {
    let (norm, x, stats) = (Norm::new(m, made)?, m.value(made, 0)?, kept[0]);
    if norm.affine {
        let chunk = chunk_of(norm.rows);
        let chunks = norm.rows.div_ceil(chunk);
        let of_chunks = m.room(chunks * norm.width);
        let grid = [norm.width.div_ceil(64) as u32, chunks as u32, 1];
        let rooms = [dy, x, stats, of_chunks];
        m.call(norm.kernel("gain"), &norm.sizes(0, chunk), &rooms, grid);
        let gain = m.weight_target(made, 1)?;
        let parts = Parts { rows: chunks, width: norm.width, to: gain, rest: None };
        parts.add_up(m, of_chunks);
        if norm.is_layer {
            columns(m, dy, [norm.rows, norm.width], made, 2)?;
        }
    }
    let dx = m.target(made, 0);
    let rooms = [x, m.fixed.theta[norm.at[0].array], stats, dy, dx.to];
    m.call(norm.kernel("backward"), &norm.sizes(dx.add, 0), &rooms, rows(norm.rows));
    Ok(())
}
