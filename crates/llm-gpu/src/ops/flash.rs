//! attention between the projections in one call, and one back: nothing of [T, T] is stored.
//!
//! For heads of the usual widths; [`super::attention`] has the rest. Where linear layers multiply in f16 by matrix units,
//! attention does, too.

use super::dropout::{self, STREAM};
use super::flash_units;
use super::half::{self, BITS};
use super::head_shape::HeadShape;
use crate::error::Result;
use crate::maker::{Made, Maker};
use crate::plan::{Call, Kernel, Plan, Room};
use llm_core::listing::Listed;

/// A text for each width of a head, since threads have a part of a head in their registers, and how many share one:
/// with one thread for 64 numbers AMD's compiler put 150 registers of 406 into memory on the way back, with one for 128
/// 806. Now it puts none there.
/// Tiles and what is exchanged of a row take 16 KiB at most, which every device has for a workgroup.
macro_rules! texts {
    ($($d:literal: $d4:literal, $s:literal, $tile:literal;)+) => {
        [$(($d, $s, [
            texts!($d4, $s, $tile, "false"),
            texts!($d4, $s, $tile, "true"),
        ])),+]
    };
    ($d4:literal, $s:literal, $tile:literal, $capped:literal) => {
        &[
            concat!(
                "const D4: u32 = ", $d4, "u; const S: u32 = ", $s, "u; const TILE: u32 = ", $tile,
                "u; const CAPPED: bool = ", $capped, ";\n",
            ),
            include_str!("flash_heads.wgsl"),
            include_str!("flash.wgsl"),
        ]
    };
}

/// The width of a head, threads for a row, and the texts without and with a soft cap of scores.
const TEXTS: [(usize, usize, [&[&str]; 2]); 9] = texts! {
    8: 2, 1, 64;
    16: 4, 1, 64;
    24: 6, 1, 32;
    32: 8, 1, 32;
    48: 12, 2, 16;
    64: 16, 2, 12;
    80: 20, 4, 12;
    96: 24, 4, 12;
    128: 32, 4, 10;
};

/// What becomes of weights: all stay, or masks are made of them where they are needed.
const WHOLE: &[&str] = &[include_str!("flash_whole.wgsl")];
const DROPPED: &[&str] = &[STREAM, include_str!("flash_dropped.wgsl")];

/// How the gradient is stored: as it is, or as f16.
const STORED: [&[&str]; 2] =
    [&[include_str!("flash_gradient.wgsl")], &[BITS, include_str!("flash_gradient_half.wgsl")]];

/// The kernels for heads of a shape.
#[derive(Clone, Copy)]
pub(super) struct Flash<'h> {
    heads: &'h HeadShape,
    text: &'static [&'static str],
    /// Rows of a workgroup.
    rows: usize,
}

impl<'h> Flash<'h> {
    /// The kernels for these heads, if there are such.
    pub(super) fn of(maker: &Maker<'_>, heads: &'h HeadShape) -> Option<Flash<'h>> {
        let capped = heads.soft_cap.is_some();
        let units = maker.units().filter(|_| maker.any(half::multiplies));
        if let Some(text) = units.and_then(|units| flash_units::text(units, heads.d, capped)) {
            return Some(Flash { heads, text, rows: flash_units::ROWS });
        }
        let (_, share, texts) = TEXTS.iter().find(|(d, _, _)| *d == heads.d)?;
        Some(Flash { heads, text: texts[usize::from(capped)], rows: 64 / share })
    }

    fn call(
        &self,
        maker: &mut Maker<'_>,
        made: &Listed,
        entry: &'static str,
        rooms: &[Room],
        each: usize,
        lift: Option<f32>,
    ) -> Result<()> {
        let HeadShape { b, t, h, g, d: _, window, scale, soft_cap } = *self.heads;
        let masks = made.fact("masks").map(|_| dropout::decided_by(made)).transpose()?;
        let sizes = [t, window, h, g].map(|n| n as u32);
        let scores = [scale, soft_cap.unwrap_or(0.0)].map(f32::to_bits);
        let times = [lift.unwrap_or(1.0), half::lift(maker)].map(f32::to_bits);
        let sizes = [&sizes[..], &scores, &masks.unwrap_or_default(), &times].concat();
        let grid = [t.div_ceil(self.rows) as u32, (b * each) as u32, 1];
        let mut rooms = rooms.to_vec();
        let end = if masks.is_some() { DROPPED } else { WHOLE };
        if masks.is_some() {
            rooms.push(maker.fixed.drawn);
        }
        let kinds = STORED[usize::from(lift.is_some())];
        maker.call(Kernel { kinds, end, ..Kernel::new(entry, self.text) }, &sizes, &rooms, grid);
        Ok(())
    }

    /// Y, and ln Σ e^s of each row.
    pub(super) fn forward(&self, maker: &mut Maker<'_>, made: &Listed, qkv: Room) -> Result<Made> {
        let HeadShape { b, h, t, .. } = *self.heads;
        let (y, lse) = (maker.room(made.shape.iter().product()), maker.room(b * h * t));
        self.call(maker, made, "forward", &[qkv, y, lse], h, None)?;
        Ok(Made { result: y, kept: vec![y, lse] })
    }

    /// dQ by queries, dK and dV by keys: scores are computed for both, and none of either is stored.
    pub(super) fn backward(
        &self,
        m: &mut Maker<'_>,
        made: &Listed,
        [qkv, dy, y, lse]: [Room; 4],
    ) -> Result<()> {
        let HeadShape { h, g, .. } = *self.heads;
        let lift = half::lift_of(m, made, 0)?;
        let dqkv = m.room_of(made.inputs[0].shape().iter().product(), lift.is_some());
        self.call(m, made, "backward", &[qkv, dy, lse, dqkv, y], h + g, lift)?;
        m.share(made, 0, dqkv);
        Ok(())
    }
}

/// Every kernel for matrix units, of every device's.
#[cfg(all(test, feature = "native"))]
pub(super) fn by_units() -> impl Iterator<Item = Kernel> {
    let ends = [WHOLE, DROPPED].into_iter().flat_map(|end| STORED.map(|kinds| (kinds, end)));
    let all = move |text| {
        ends.clone().map(move |(kinds, end)| Kernel { kinds, end, ..Kernel::new("backward", text) })
    };
    flash_units::texts().flat_map(all)
}

/// What an attention in one call multiplies and adds, 0 for other calls: forward Q·Kᵀ and P·V, by units the first one twice; back
/// those two and three more, of which Q·Kᵀ and dY·Vᵀ come twice.
pub(crate) fn flash_products(plan: &Plan, call: &Call) -> f64 {
    let by_units = call.kernel.pieces().any(|piece| piece.contains("coopMultiplyAdd"));
    let products = match call.kernel.name() {
        "attention" if by_units => 3.0,
        "attention" => 2.0,
        "attention_back" => 7.0,
        _ => return 0.0,
    };
    let [t, window, h, g] = [0, 1, 2, 3].map(|i| f64::from(call.sizes[i]));
    let qkv = plan.rooms[call.rooms[0].place()].0 as f64;
    let seen = window * t - window * (window - 1.0) / 2.0; // queries × keys of a head
    2.0 * products * seen * qkv / t * h / (h + 2.0 * g)
}
