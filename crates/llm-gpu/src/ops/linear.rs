//! linear: y = x·W + b, W as it is or transposed. An activation or a sum that alone uses y is done by the same call.

use super::half;
use super::layer::Linear;
use super::matmul::{End, Product};
use super::{activation, head, norm};
use crate::error::Result;
use crate::maker::{Made, Maker};
use crate::plan::Room;
use llm_core::listing::Listed;

/// The input x on the way back: where memory is short, what is made in a pass over numbers is made again, not kept.
fn again(maker: &mut Maker<'_>, made: &Listed) -> Result<Room> {
    let forward = match maker.maker_of(made, 0).filter(|_| maker.is_tight) {
        Some(of) if matches!(of.op, "layernorm" | "rmsnorm") => norm::forward(maker, of),
        Some(of) if activation::is_one(of) => activation::forward(maker, of),
        _ => return maker.value(made, 0),
    };
    Ok(forward?.result)
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let linear = Linear::of(maker, made)?;
    if let Some(losses) = head::in_pieces(maker, made, &linear)? {
        return Ok(losses.into());
    }
    let y = maker.room(linear.rows * linear.o);
    let product = linear.product(maker, &(0..linear.rows), y);
    let (plus, end) = ended(maker, made, y, linear.rows * linear.o);
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
    if let Some([text, half]) = activation::ending(next, "forward") {
        let is_half = half::is_result(maker, next);
        let to = maker.room_of(numbers, is_half);
        maker.keep(next, to);
        return (None, End::Activated(if is_half { half } else { text }, to));
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

pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let mut linear = Linear::of(m, made)?;
    linear.x = again(m, made)?;
    let to = Linear::target(m, made)?;
    linear.back(m, made, &(0..linear.rows), dy, to)
}
