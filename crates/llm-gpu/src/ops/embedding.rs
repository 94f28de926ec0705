//! embedding: rows by the batch's tokens, or by their places.

use super::common::rows_of;
use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, elements};
use llm_core::listing::{Fact, Listed};
use llm_core::{TokenId, message};

const TEXT: &[&str] = &[include_str!("embedding.wgsl")];
const BY_TOKEN: Kernel = Kernel::new("by_token", TEXT);
const BY_PLACE: Kernel = Kernel::new("by_place", TEXT);
const BACK_TO_TOKENS: Kernel = Kernel::new("back_to_tokens", TEXT);
const ADD_PIECES: Kernel = Kernel::new("add_pieces", TEXT);
const PIECES_TO_TOKENS: Kernel = Kernel::new("pieces_to_tokens", TEXT);
const BACK_TO_PLACES: Kernel = Kernel::new("back_to_places", TEXT);

/// Places that are added up first, and the rows from which on they are.
const PIECE: usize = 32;
const MANY: usize = 32 * PIECE;

/// Whether by places, and the sizes but for where the table begins.
fn sizes_of(maker: &Maker<'_>, made: &Listed) -> Result<(bool, [usize; 4])> {
    let (table, [rows, width]) = (made.inputs[0].shape(), rows_of(&made.shape));
    let [b, t] = maker.batch;
    let in_order = |(i, &id): (usize, &TokenId)| id as usize == i % t;
    let by_place = match (made.fact("tokens"), made.fact("places")) {
        (Some(Fact::Ids(_)), _) => false,
        (_, Some(Fact::Ids(ids))) if ids.iter().enumerate().all(in_order) => true,
        _ => return Err(GpuError::no(made.op, message!("of tables of ngrams"))),
    };
    if rows != b * t {
        return Err(GpuError::no(made.op, message!("of another batch")));
    }
    Ok((by_place, [rows, width, t, table[0]]))
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let ((by_place, sizes), at) = (sizes_of(maker, made)?, maker.weight(made, 0)?);
    let n = sizes[0] * sizes[1];
    // Places are added to the tokens' rows where those stand, if only this sum uses both.
    let sum = maker.only_user(made).filter(|sum| by_place && sum.op == "add");
    let other = sum.and_then(|sum| maker.alone_in(sum, made).map(|room| (sum, room)));
    let (y, add) = match other {
        Some((sum, room)) => {
            maker.keep(sum, room);
            (room, 1)
        }
        None => (maker.room(n), 0),
    };
    let [rows, width, t, v] = sizes.map(|n| n as u32);
    let (kernel, rooms) = match by_place {
        false => (BY_TOKEN, vec![maker.fixed.theta[at.array], maker.fixed.tokens, y]),
        true => (BY_PLACE, vec![maker.fixed.theta[at.array], y]),
    };
    maker.call(kernel, &[rows, width, t, v, at.at, add], &rooms, elements(n));
    Ok(y.into())
}

pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let ((by_place, sizes), dw) = (sizes_of(m, made)?, m.weight_target(made, 0)?);
    let [rows, width, t, v] = sizes.map(|n| n as u32);
    let (grads, places) = (m.fixed.grads[dw.to.array], m.fixed.sorted);
    let all = [rows, width, t, v, dw.to.at, dw.add];
    let (kernel, rooms) = match by_place {
        true => (BACK_TO_PLACES, vec![dy, grads]),
        false if sizes[0] < MANY => (BACK_TO_TOKENS, vec![dy, places, grads]),
        false => {
            let n = sizes[0].div_ceil(PIECE) * sizes[1];
            let pieces = m.room(n);
            m.call(ADD_PIECES, &all, &[dy, places, pieces], elements(n));
            (PIECES_TO_TOKENS, vec![dy, places, grads, pieces])
        }
    };
    m.call(kernel, &all, &rooms, elements(sizes[3] * sizes[1]));
    Ok(())
}
