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
const BY_ONE_PLACE: Kernel = Kernel::new("by_one_place", TEXT);
const BACK_TO_TOKENS: Kernel = Kernel::new("back_to_tokens", TEXT);
const ADD_PIECES: Kernel = Kernel::new("add_pieces", TEXT);
const PIECES_TO_TOKENS: Kernel = Kernel::new("pieces_to_tokens", TEXT);
const BACK_TO_PLACES: Kernel = Kernel::new("back_to_places", TEXT);

/// Places that are added up first, and the rows from which on they are.
const PIECE: usize = 32;
const MANY: usize = 32 * PIECE;

/// What a table's rows are looked up by.
#[derive(Clone, Copy)]
enum By {
    Places,
    /// By these numbers, which the host sorts for the way back.
    Numbers([Room; 2]),
}

/// What it is looked up by, and the sizes but for where the table begins.
fn sizes_of(maker: &mut Maker<'_>, made: &Listed) -> Result<(By, [usize; 4])> {
    let (table, [rows, width]) = (made.inputs[0].shape(), rows_of(&made.shape));
    let [b, t] = maker.batch;
    let in_order = |(i, &id): (usize, &TokenId)| id as usize == i % t;
    let by = match (made.fact("tokens"), made.fact("places"), made.fact("ngrams")) {
        (Some(Fact::Ids(_)), ..) => By::Numbers([maker.fixed.tokens, maker.fixed.sorted]),
        (_, Some(Fact::Ids(ids)), _) if ids.iter().enumerate().all(in_order) => By::Places,
        (.., Some(Fact::Ngrams(of))) => By::Numbers(maker.look_up(*of, rows, table[0])),
        _ => return Err(GpuError::no(made.op, message!("of rows that no token tells"))),
    };
    if rows != b * t {
        return Err(GpuError::no(made.op, message!("of another batch")));
    }
    Ok((by, [rows, width, t, table[0]]))
}

pub(super) fn forward(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let ((by, sizes), at) = (sizes_of(maker, made)?, maker.weight(made, 0)?);
    let n = sizes[0] * sizes[1];
    // Places are added to the tokens' rows where those stand, if only this sum uses both.
    let sum = maker.only_user(made).filter(|sum| matches!(by, By::Places) && sum.op == "add");
    let other = sum.and_then(|sum| maker.alone_in(sum, made).map(|room| (sum, room)));
    let (y, add) = match other {
        Some((sum, room)) => {
            maker.keep(sum, room);
            (room, 1)
        }
        None => (maker.room(n), 0),
    };
    let [rows, width, t, v] = sizes.map(|n| n as u32);
    let (kernel, rooms) = match by {
        By::Numbers([ids, _]) => (BY_TOKEN, vec![maker.fixed.theta[at.array], ids, y]),
        By::Places => match maker.text {
            Some(text) => (BY_ONE_PLACE, vec![maker.fixed.theta[at.array], y, text.place]),
            None => (BY_PLACE, vec![maker.fixed.theta[at.array], y]),
        },
    };
    maker.call(kernel, &[rows, width, t, v, at.at, add], &rooms, elements(n));
    Ok(y.into())
}

pub(super) fn backward(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let ((by, sizes), dw) = (sizes_of(m, made)?, m.weight_target(made, 0)?);
    let [rows, width, t, v] = sizes.map(|n| n as u32);
    let grads = m.fixed.grads[dw.to.array];
    let all = [rows, width, t, v, dw.to.at, dw.add];
    let (kernel, rooms) = match by {
        By::Places => (BACK_TO_PLACES, vec![dy, grads]),
        By::Numbers([_, places]) if sizes[0] < MANY => (BACK_TO_TOKENS, vec![dy, places, grads]),
        By::Numbers([_, places]) => {
            let n = sizes[0].div_ceil(PIECE) * sizes[1];
            let pieces = m.room(n);
            m.call(ADD_PIECES, &all, &[dy, places, pieces], elements(n));
            (PIECES_TO_TOKENS, vec![dy, places, grads, pieces])
        }
    };
    m.call(kernel, &all, &rooms, elements(sizes[3] * sizes[1]));
    Ok(())
}
