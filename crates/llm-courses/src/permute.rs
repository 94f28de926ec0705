//! permute: the axes of a tensor in another order.

use llm_core::buffer::Buffer;
use llm_core::listing::Fact;
use llm_core::ndarray::{ArrayViewD, ArrayViewMutD, IxDyn};
use llm_core::profile::span;
use llm_core::tensor::Op;
use llm_core::{Error, Result, Tensor};

/// Axis i of the result is axis `axes[i]` of x. A tensor is row-major, so the numbers are copied;
/// attention itself reads heads where they lie and needs no copy.
///
/// # Shapes
/// Any; `axes` names each of them once.
///
/// # Gradient
/// dx is dy with the axes put back.
///
/// # Errors
/// [`Error::Shape`] when `axes` is no order of the axes of x.
pub fn permute(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let _span = span("permute");
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    let expected = format_args!("an order of the {} axes of x", x.rank());
    Error::unless_shaped(sorted.into_iter().eq(0..x.rank()), "permute", expected, axes)?;
    let mut inverse = vec![0; axes.len()];
    axes.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);

    let shape: Vec<usize> = axes.iter().map(|&axis| x.shape()[axis]).collect();
    let y = row_major(x.view().permuted_axes(axes));
    let (parent, dy_shape) = (x.parent(), shape.clone());
    let facts = || vec![("axes", Fact::Axes(axes.to_vec()))];
    let op = Op::new("permute", [x]).says(&facts);
    Ok(Tensor::from_op(op, &shape, y, &[&x.parent()], move |dy, grads| {
        let dy = ArrayViewD::from_shape(IxDyn(&dy_shape), &dy).expect("dy has y's shape");
        grads.give(&parent, row_major(dy.permuted_axes(inverse)));
    }))
}

fn row_major(x: ArrayViewD<'_, f32>) -> Buffer {
    let mut y = Buffer::stale(x.len());
    ArrayViewMutD::from_shape(x.raw_dim(), &mut y).expect("made to measure").assign(&x);
    y
}
