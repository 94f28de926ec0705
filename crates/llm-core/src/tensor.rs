//! A value with a shape, shared and never changed once made, that may remember how it was made.

use crate::autograd::{GradFn, Gradients, Parent, TensorId, recording};
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::kernels::gemm::bf16::number::widen;
use crate::kernels::gemm::{Factor, matrix};
use crate::listing::{self, Facts, Input, Listed};
use crate::profile::enter;
use halves::Halves;
use ndarray::{ArrayD, ArrayView2, ArrayViewD, IxDyn};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(crate) mod halves;

/// An f32 array of any rank, row-major.
///
/// The value is an ndarray array: built from one ([`Tensor::new`]), seen as one
/// ([`Tensor::view`]). Cloning and reshaping share the storage; the storage is recycled when its
/// last owner goes. A tensor made by an op keeps the op's backward function, through which
/// [`Tensor::backward`] later finds the gradients.
///
/// ```
/// use llm_core::{Tensor, ndarray::arr2, ops};
/// let w = Tensor::parameter(arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn());
/// let loss = ops::sum(&ops::mul(&w, &w)?)?; // Σ w²
/// assert_eq!(loss.item(), 30.0);
/// let grads = loss.backward()?;
/// assert_eq!(grads.get(&w).unwrap(), [2.0, 4.0, 6.0, 8.0]); // 2w
/// # Ok::<(), llm_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    shape: Vec<usize>,
    data: Arc<Buffer>,
    /// The numbers, in place of `data`.
    halves: Option<Arc<Halves>>,
    grad_fn: Option<Arc<GradFn>>,
    role: Role,
    /// What is added to it where it is a matrix that others are multiplied with.
    adapter: Option<Box<Pair>>,
}

/// Some columns of a matrix, and what is added to them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Part {
    /// Columns of W, right of those of the part before.
    pub columns: usize,
    /// r, the inner length of A·B; 0: nothing is added to these columns.
    pub rank: usize,
    /// s, which A·B is multiplied by.
    pub scale: f32,
}

/// A and B of one matrix `[K, M]`.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Pair {
    /// `[K, Σ rᵢ]`: the parts' A side by side.
    pub a: Tensor,
    /// `[max rᵢ, M]`: the parts' B side by side, each in its first rᵢ rows; the other numbers are 0.
    pub b: Tensor,
    /// The parts, whose columns are those of W together.
    pub parts: Vec<Part>,
}

/// What a parameter is in a model: some optimizers move one kind otherwise than another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// A bias, a gain, and every tensor of which nothing else was said.
    #[default]
    Vector,
    /// `[rows, C]`: rows are taken by their numbers.
    Table,
    /// `[in, out]`: a matrix inside a block, or several side by side: their numbers of columns,
    /// the unused ones 0.
    Hidden([usize; 3]),
    /// `[in, C]`: a matrix inside a block whose outputs are added to the residual stream.
    IntoStream,
    /// `[C, V]`: the output head.
    Head,
}

impl Role {
    /// The numbers of columns of the hidden matrices that lie side by side in a parameter of this
    /// shape; none if it has another role, or more axes than a matrix.
    pub fn matrices(self, shape: &[usize]) -> Vec<usize> {
        let columns = match self {
            Role::Hidden(columns) => columns,
            Role::IntoStream => [0; 3],
            Role::Vector | Role::Table | Role::Head => return Vec::new(),
        };
        match *shape {
            [_, all] if columns.iter().sum::<usize>() == all => {
                columns.into_iter().filter(|n| *n > 0).collect()
            }
            [_, all] => vec![all],
            _ => Vec::new(),
        }
    }
}

/// What an op says of itself to [`Tensor::from_op`]: a name alone, or all that somebody else needs
/// to compute it again, for a [`listing`].
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Op<'a> {
    name: &'static str,
    inputs: [Option<&'a Tensor>; 3],
    /// Inputs behind those.
    more: &'a [&'a Tensor],
    facts: &'a dyn Fn() -> Facts,
}

impl<'a> Op<'a> {
    /// An op of up to three inputs, which with their shapes decide its result.
    pub fn new<const N: usize>(name: &'static str, inputs: [&'a Tensor; N]) -> Op<'a> {
        let inputs = [0, 1, 2].map(|i| inputs.get(i).copied());
        Op { name, inputs, more: &[], facts: &Vec::new }
    }

    /// This op with one input more, if it is there.
    pub fn and(self, input: Option<&'a Tensor>) -> Op<'a> {
        let [a, b, c] = self.inputs;
        let inputs = if b.is_none() { [a, input, c] } else { [a, b, input] };
        Op { inputs, ..self }
    }

    /// This op with any number of inputs more.
    pub fn and_all(self, more: &'a [&'a Tensor]) -> Op<'a> {
        Op { more, ..self }
    }

    /// This op with what else decides its result; asked only when somebody lists.
    pub fn says(self, facts: &'a dyn Fn() -> Facts) -> Op<'a> {
        Op { facts, ..self }
    }

    fn listed(&self, result: TensorId, shape: &[usize]) -> Listed {
        let inputs = self.inputs.iter().flatten().chain(self.more).copied();
        let inputs = inputs.map(Tensor::as_input).collect();
        Listed { op: self.name, result, inputs, shape: shape.to_vec(), facts: (self.facts)() }
    }
}

impl From<&'static str> for Op<'_> {
    fn from(name: &'static str) -> Self {
        Op::new(name, [])
    }
}

impl fmt::Debug for Op<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Tensor {
    /// A constant: nothing flows back into it. Any memory layout is accepted.
    pub fn new(value: ArrayD<f32>) -> Tensor {
        let shape = value.shape().to_vec();
        let (mut data, start) = match value.is_standard_layout() {
            true => value.into_raw_vec_and_offset(),
            false => value.as_standard_layout().into_owned().into_raw_vec_and_offset(),
        };
        // The array may have been a part of its storage.
        let len = shape.iter().product();
        data.drain(..start.unwrap_or(0));
        data.truncate(len);
        Tensor::with_grad_fn(shape, Arc::new(data.into()), None)
    }

    /// A tensor without a role and an adapter.
    fn with_grad_fn(shape: Vec<usize>, data: Arc<Buffer>, grad_fn: Option<Arc<GradFn>>) -> Tensor {
        Tensor { shape, data, halves: None, grad_fn, role: Role::default(), adapter: None }
    }

    /// A leaf that gradients are wanted for.
    pub fn parameter(value: ArrayD<f32>) -> Tensor {
        Tensor { grad_fn: Some(GradFn::leaf()), ..Tensor::new(value) }
    }

    /// A leaf that gradients are wanted for, from a flat row-major list.
    ///
    /// ```
    /// use llm_core::Tensor;
    /// let w = Tensor::parameter_from_vec(&[2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    /// assert!(w.wants_grad());
    /// # Ok::<(), llm_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::from_vec`].
    pub fn parameter_from_vec(shape: &[usize], data: Vec<f32>) -> Result<Tensor> {
        Ok(Tensor { grad_fn: Some(GradFn::leaf()), ..Tensor::from_vec(shape, data)? })
    }

    /// A leaf that gradients are wanted for, from a row-major buffer of as many numbers as `shape` says.
    pub(crate) fn parameter_of(shape: &[usize], data: Buffer) -> Tensor {
        Tensor::with_grad_fn(shape.to_vec(), Arc::new(data), Some(GradFn::leaf()))
    }

    /// A leaf of numbers in half the memory, as many as `shape` says.
    pub(crate) fn parameter_of_halves(shape: &[usize], halves: Halves) -> Tensor {
        let leaf = Tensor::parameter_of(shape, Buffer::default());
        Tensor { halves: Some(Arc::new(halves)), ..leaf }
    }

    /// This value as a leaf that gradients are wanted for: itself if it is one. An adapter is added
    /// to the value.
    pub(crate) fn into_parameter(mut self, role: Role) -> Tensor {
        self.merge();
        let leaf = self.grad_fn.filter(|made| made.leaf).unwrap_or_else(GradFn::leaf);
        Tensor { grad_fn: Some(leaf), role, ..self }
    }

    /// What the parameter is in its model.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The matrices whose product [`ops::linear_lastdim`](crate::ops::linear_lastdim) adds to this one.
    pub fn adapter(&self) -> Option<&Pair> {
        self.adapter.as_deref()
    }

    /// [`Tensor::adapter`], for changing it.
    pub(crate) fn adapter_mut(&mut self) -> Option<&mut Pair> {
        self.adapter.as_deref_mut()
    }

    /// The value as a constant with a pair beside it, whose shapes fit.
    pub(crate) fn adapted(&self, pair: Pair) -> Tensor {
        Tensor { adapter: Some(Box::new(pair)), ..self.detach() }
    }

    /// Adds the adapter to the numbers, of which it is a part then.
    pub(crate) fn merge(&mut self) {
        if let Some(pair) = self.adapter.take() {
            pair.merge_into(self.data_mut());
        }
    }

    /// A constant from a flat row-major list.
    ///
    /// # Errors
    /// [`Error::Shape`] when the list's length is not the product of `shape`.
    pub fn from_vec(shape: &[usize], data: Vec<f32>) -> Result<Tensor> {
        let got = data.len();
        let array = ArrayD::from_shape_vec(IxDyn(shape), data)
            .map_err(|_| Error::shape("from_vec", format!("elements of {shape:?}"), &[got]))?;
        Ok(Tensor::new(array))
    }

    /// The result of an op: the one way to make a tensor from tensors, so that no op can lack a
    /// gradient. `op` is its name, for messages and [`profile`](crate::profile), or an [`Op`] that
    /// also says what decides the result, for a [`listing`].
    ///
    /// `backward(dy, grads)` gets dL/dy (row-major, of `shape`) and adds, for each of `parents`,
    /// its share through [`Gradients::accumulate`] or [`Gradients::give`]. It is called at most
    /// once, and not kept at all when no parent wants a gradient or inside
    /// [`no_grad`](crate::autograd::no_grad).
    ///
    /// # Panics
    /// When `data` has not as many elements as `shape`: a mistake in the op.
    pub fn from_op<'a>(
        op: impl Into<Op<'a>>,
        shape: &[usize],
        data: impl Into<Buffer>,
        parents: &[&Parent],
        backward: impl FnOnce(Buffer, &mut Gradients) + Send + 'static,
    ) -> Tensor {
        Tensor::from_op_sharing(op, shape, Arc::new(data.into()), parents, backward)
    }

    /// [`Tensor::from_op`] over storage that the backward function (or, for a view, the input)
    /// holds as well.
    ///
    /// # Panics
    /// As [`Tensor::from_op`].
    pub fn from_op_sharing<'a>(
        op: impl Into<Op<'a>>,
        shape: &[usize],
        data: Arc<Buffer>,
        parents: &[&Parent],
        backward: impl FnOnce(Buffer, &mut Gradients) + Send + 'static,
    ) -> Tensor {
        let op: Op<'_> = op.into();
        assert_eq!(data.len(), shape.iter().product::<usize>(), "{op:?} made a wrong size");
        let wanted = recording() && parents.iter().any(|p| p.wants_grad());
        let grad_fn = wanted.then(|| GradFn::of_op(op.name, parents, Box::new(backward)));
        if let Some(made) = &grad_fn
            && listing::is_on()
        {
            listing::add(op.listed(made.id, shape));
        }
        Tensor::with_grad_fn(shape.to_vec(), data, grad_fn)
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn numel(&self) -> usize {
        self.halves.as_ref().map_or(self.data.len(), |halves| halves.bits().len())
    }

    /// The elements, row-major.
    pub fn data(&self) -> &[f32] {
        self.halves.as_ref().map_or(&self.data, |halves| halves.wide())
    }

    /// The elements in this range. Of a matrix that is kept in half the memory these alone are made, where
    /// [`Tensor::data`] would make and keep all.
    pub(crate) fn part(&self, range: Range<usize>) -> Cow<'_, [f32]> {
        match &self.halves {
            None => Cow::Borrowed(&self.data[range]),
            Some(halves) => halves.bits()[range].iter().map(|x| widen(*x)).collect(),
        }
    }

    /// Row `i` of a matrix, as [`Tensor::part`] gives it.
    pub(crate) fn row(&self, i: usize) -> Cow<'_, [f32]> {
        let width = self.shape.last().copied().unwrap_or(1);
        self.part(i * width..(i + 1) * width)
    }

    /// The elements as a matrix of these rows and columns, as many as there are, for a product.
    pub(crate) fn factor(&self, [rows, columns]: [usize; 2]) -> Factor<'_> {
        match &self.halves {
            None => Factor::Single(matrix(&self.data, rows, columns)),
            Some(halves) => Factor::Half(
                ArrayView2::from_shape((rows, columns), halves.bits())
                    .expect("length was checked by the op"),
            ),
        }
    }

    /// What the numbers are in, if that is half the memory of f32.
    pub(crate) fn halves(&self) -> Option<&Arc<Halves>> {
        self.halves.as_ref()
    }

    /// The value as an ndarray view.
    pub fn view(&self) -> ArrayViewD<'_, f32> {
        ArrayViewD::from_shape(IxDyn(&self.shape), self.data())
            .expect("shape and storage agree by construction")
    }

    /// The one element of a tensor with one element (the first, if there are more; 0 if none).
    pub fn item(&self) -> f32 {
        self.data().first().copied().unwrap_or(0.0)
    }

    /// The elements for changing in place, as an optimizer does between steps. While a recorded
    /// graph or a clone still shares the storage, this tensor gets its own copy first.
    pub fn data_mut(&mut self) -> &mut [f32] {
        self.widen();
        let own: &mut Buffer = Arc::make_mut(&mut self.data);
        own
    }

    /// The same numbers in f32.
    pub(crate) fn widen(&mut self) {
        if let Some(halves) = self.halves.take() {
            self.data = halves.wide().clone();
        }
    }

    /// The value without its history: a constant, and so is its adapter.
    pub fn detach(&self) -> Tensor {
        let adapter = self.adapter().map(|pair| Box::new(pair.detach()));
        let of = Tensor::with_grad_fn(self.shape.clone(), self.data.clone(), None);
        Tensor { role: self.role, adapter, halves: self.halves.clone(), ..of }
    }

    /// Whether gradients flow into this tensor.
    pub fn wants_grad(&self) -> bool {
        self.grad_fn.is_some()
    }

    /// What an op's backward function keeps of an input to route its gradient, without its value.
    pub fn parent(&self) -> Parent {
        Parent::new(self.grad_fn.clone(), self.numel())
    }

    /// The axes as an array of N lengths.
    ///
    /// # Errors
    /// [`Error::Shape`] naming `op` and `expected` when the rank is not N.
    pub fn dims<const N: usize>(&self, op: &'static str, expected: &str) -> Result<[usize; N]> {
        <[usize; N]>::try_from(self.shape()).map_err(|_| Error::shape(op, expected, &self.shape))
    }

    /// Gradients of this scalar with respect to every parameter it was made from.
    ///
    /// Works through the recorded ops from the newest to the oldest and lets go of what each kept
    /// as soon as it is done, so a graph can be walked once.
    ///
    /// # Errors
    /// [`Error::Backward`] when this is not a single number, was made without parameters, or its
    /// graph was walked before.
    pub fn backward(&self) -> Result<Gradients> {
        self.backward_into(Gradients::default(), 1.0)
    }

    /// Adds `weight` times the gradients of this scalar to those of another: the gradients of a
    /// sum of losses whose graphs need not exist at the same time.
    ///
    /// # Errors
    /// As [`Tensor::backward`].
    pub fn backward_into(&self, mut grads: Gradients, weight: f32) -> Result<Gradients> {
        let _span = enter("backward");
        grads.walk(self.root()?, weight, |_, _| {}).map(|()| grads)
    }

    /// [`Tensor::backward_into`] of nothing, which gives each parameter's gradient away as soon as
    /// it is complete: those of the last layers first.
    ///
    /// # Errors
    /// As [`Tensor::backward`].
    pub(crate) fn backward_giving(
        &self,
        weight: f32,
        give: impl FnMut(TensorId, Buffer),
    ) -> Result<()> {
        let _span = enter("backward");
        Gradients::give_from(self.root()?, weight, give)
    }

    /// Where a walk back begins.
    fn root(&self) -> Result<&Arc<GradFn>> {
        Error::unless_shaped(self.numel() == 1, "backward", "a scalar", &self.shape)?;
        self.grad_fn.as_ref().ok_or(Error::Backward {
            reason: "no parameter took part, or it was computed inside no_grad",
        })
    }

    /// The number that it has in a [`listing`]; none for a constant.
    #[doc(hidden)]
    pub fn id(&self) -> Option<TensorId> {
        self.grad_fn.as_ref().map(|f| f.id)
    }

    /// What a listing keeps of an op's input.
    fn as_input(&self) -> Input {
        let shape = self.shape.clone();
        match self.id() {
            Some(id) => Input::Variable { id, shape },
            None => Input::Constant { shape, data: self.data().to_vec() },
        }
    }

    /// How it was made.
    pub(crate) fn grad_fn(&self) -> Option<&Arc<GradFn>> {
        self.grad_fn.as_ref()
    }

    /// The storage itself, to be shared by a view.
    pub(crate) fn storage(&self) -> Arc<Buffer> {
        self.halves.as_ref().map_or(&self.data, |halves| halves.wide()).clone()
    }

    /// Whether both are one storage: who writes to a tensor that shares its own gets a copy.
    pub(crate) fn shares_storage(&self, other: &Tensor) -> bool {
        match (&self.halves, &other.halves) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => Arc::ptr_eq(&self.data, &other.data),
            _ => false,
        }
    }
}

/// The shape, the first numbers, and the op that it comes from (`leaf` for a parameter).
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tensor { shape, data, grad_fn, .. } = self;
        let op = grad_fn.as_ref().map(|f| f.op);
        let mut fields = f.debug_struct("Tensor");
        fields.field("shape", shape).field("data", data).field("op", &op).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::arr2;

    #[test]
    fn any_layout_becomes_row_major() {
        let t = Tensor::new(arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).reversed_axes().into_dyn());
        assert_eq!(t.shape(), [3, 2]);
        assert_eq!(t.data(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(t.view()[[2, 1]], 6.0);
        let part = arr2(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).slice_move(ndarray::s![1..2, ..]);
        assert_eq!(Tensor::new(part.into_dyn()).data(), [3.0, 4.0]);
    }

    #[test]
    fn writing_does_not_reach_clones() {
        let mut a = Tensor::from_vec(&[2], vec![1.0, 2.0]).unwrap();
        let b = a.clone();
        a.data_mut()[0] = 9.0;
        assert_eq!((a.data(), b.data()), (&[9.0, 2.0][..], &[1.0, 2.0][..]));
    }

    #[test]
    fn debug_is_short() {
        let x = Tensor::from_vec(&[3], vec![1.0, 2.0, 3.0]).unwrap();
        assert_eq!(format!("{x:?}"), "Tensor { shape: [3], data: [1.0, 2.0, 3.0], op: None }");
        let w = Tensor::parameter(ArrayD::ones(vec![100, 1000]));
        let y = crate::ops::add_scalar(&w, 1.0).unwrap();
        let numbers = "[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, .. 100000 in all]";
        let want =
            format!("Tensor {{ shape: [100, 1000], data: {numbers}, op: Some(\"add_scalar\") }}");
        assert_eq!(format!("{y:?}"), want);
        let grads = crate::ops::sum(&y).unwrap().backward().unwrap();
        assert!(format!("{grads:?}").len() < 200);
    }

    #[test]
    fn a_parameter_from_a_list_gets_its_gradient() {
        let w = Tensor::parameter_from_vec(&[2, 1], vec![3.0, 4.0]).unwrap();
        assert_eq!((w.shape(), w.data()), (&[2, 1][..], &[3.0, 4.0][..]));
        let grads = crate::ops::sum(&w).unwrap().backward().unwrap();
        assert_eq!(grads.get(&w).unwrap(), [1.0, 1.0]);
    }

    #[test]
    fn wrong_lengths_are_errors() {
        assert!(matches!(Tensor::from_vec(&[2, 2], vec![0.0; 3]), Err(Error::Shape { .. })));
        assert!(Tensor::parameter_from_vec(&[2, 2], vec![0.0; 5]).is_err());
        assert!(Tensor::from_vec(&[2], vec![0.0; 2]).unwrap().backward().is_err());
        assert!(Tensor::from_vec(&[1], vec![0.0]).unwrap().backward().is_err());
    }

    #[test]
    fn tensors_can_go_to_other_threads() {
        fn check<T: Send + Sync>() {}
        check::<Tensor>();
        check::<Gradients>();
    }
}
