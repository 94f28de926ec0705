//! reshape, which moves nothing; slice and concat, which copy a part of an axis.

use super::common::whole;
use crate::error::{GpuError, Result};
use crate::maker::{Made, Maker};
use crate::plan::{Kernel, Room, elements};
use llm_core::listing::Listed;
use llm_core::message;

const TEXT: &[&str] = &[include_str!("parts.wgsl")];
const TAKE: Kernel = Kernel::new("take", TEXT);
const PUT: Kernel = Kernel::new("put", TEXT);
const SPREAD: Kernel = Kernel::new("spread", TEXT);

pub(super) fn reshape(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    Ok(maker.value(made, 0)?.into())
}

pub(super) fn reshape_back(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    m.share(made, 0, dy);
    Ok(())
}

/// Numbers of a part, the length of its rows, and of those of the whole.
fn rows_of(part: &[usize], whole: &[usize], axis: usize) -> [usize; 3] {
    let of = |shape: &[usize]| shape[axis..].iter().product();
    [part.iter().product(), of(part), of(whole)]
}

pub(super) fn slice(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let ([n, length, width], start) = slice_of(made)?;
    let (x, y) = (maker.value(made, 0)?, maker.room(n));
    let sizes = [n, length, width, start, 0].map(|n| n as u32);
    maker.call(TAKE, &sizes, &[x, y], elements(n));
    Ok(y.into())
}

pub(super) fn slice_back(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    let ([_, length, width], start) = slice_of(made)?;
    let n: usize = made.inputs[0].shape().iter().product();
    let dx = m.target(made, 0);
    let sizes = [n, length, width, start, dx.add as usize].map(|n| n as u32);
    m.call(SPREAD, &sizes, &[dy, dx.to], elements(n));
    Ok(())
}

fn slice_of(made: &Listed) -> Result<([usize; 3], usize)> {
    let axis = whole(made, "axis")?;
    let sizes = rows_of(&made.shape, made.inputs[0].shape(), axis);
    Ok((sizes, whole(made, "start")? * sizes[1] / made.shape[axis].max(1)))
}

pub(super) fn concat(maker: &mut Maker<'_>, made: &Listed) -> Result<Made> {
    let y = maker.room(made.shape.iter().product());
    each_part(maker, made, |maker, i, [n, length, width, start]| {
        let x = maker.value(made, i)?;
        let sizes = [n, length, width, start, 0].map(|n| n as u32);
        maker.call(PUT, &sizes, &[x, y], elements(n));
        Ok(())
    })?;
    Ok(y.into())
}

pub(super) fn concat_back(m: &mut Maker<'_>, made: &Listed, dy: Room, _: &[Room]) -> Result<()> {
    each_part(m, made, |m, i, [n, length, width, start]| {
        let dx = m.target(made, i);
        let sizes = [n, length, width, start, dx.add as usize].map(|n| n as u32);
        m.call(TAKE, &sizes, &[dy, dx.to], elements(n));
        Ok(())
    })
}

/// Each input's numbers, the length of its rows and of the whole's, and where they begin in those.
fn each_part(
    maker: &mut Maker<'_>,
    made: &Listed,
    mut part: impl FnMut(&mut Maker<'_>, usize, [usize; 4]) -> Result<()>,
) -> Result<()> {
    let axis = whole(made, "axis")?;
    let mut start = 0;
    for (i, input) in made.inputs.iter().enumerate() {
        let [n, length, width] = rows_of(input.shape(), &made.shape, axis);
        if n == 0 {
            return Err(GpuError::no(made.op, message!("of an empty part")));
        }
        part(maker, i, [n, length, width, start])?;
        start += length;
    }
    Ok(())
}
