//! Reverse-mode differentiation: what ops record, and the walk back.
//!
//! Every op result gets a number that grows with time, and its inputs are older than itself. So
//! "newest first" is a valid order for the walk back: no search, no recursion. The gradients are
//! returned, not stored in the tensors: there is nothing to zero before the next step.

use crate::base::{Error, Result, scoped};
use crate::buffer::Buffer;
use crate::kernels::elementwise;
use crate::profile::{self, Phase};
use crate::tensor::Tensor;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Creation order of everything that can have a gradient.
pub(crate) type TensorId = u64;

/// dL/dy in, the inputs' shares out.
type Backward = Box<dyn FnOnce(Buffer, &mut Gradients) + Send>;

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(true) };
}

pub(crate) fn recording() -> bool {
    RECORDING.get()
}

/// Runs `f` without recording: its results are constants, and nothing is kept for backward.
pub fn no_grad<T>(f: impl FnOnce() -> T) -> T {
    scoped(&RECORDING, false, f)
}

/// How a tensor was made: its number, what it was made from, and the op's backward function.
pub(crate) struct GradFn {
    pub(crate) id: TensorId,
    /// Name of the op; `leaf` for a parameter.
    pub(crate) op: &'static str,
    pub(crate) leaf: bool,
    parents: Vec<Arc<GradFn>>,
    /// Taken by the walk; gone afterwards.
    backward: Mutex<Option<Backward>>,
}

impl GradFn {
    fn new(op: &'static str, parents: Vec<Arc<GradFn>>, backward: Option<Backward>) -> Arc<GradFn> {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let (leaf, backward) = (backward.is_none(), Mutex::new(backward));
        Arc::new(GradFn { id, op, leaf, parents, backward })
    }

    pub(crate) fn leaf() -> Arc<GradFn> {
        GradFn::new("leaf", Vec::new(), None)
    }

    pub(crate) fn of_op(op: &'static str, parents: &[&Parent], backward: Backward) -> Arc<GradFn> {
        let parents = parents.iter().filter_map(|p| p.grad_fn.clone()).collect();
        GradFn::new(op, parents, Some(backward))
    }

    fn take_backward(&self) -> Option<Backward> {
        self.backward.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A chain of a million ops must not overflow the stack when it goes: ancestors are dropped from a
/// list, not from within each other.
impl Drop for GradFn {
    fn drop(&mut self) {
        let mut pending = std::mem::take(&mut self.parents);
        drop(self.take_backward()); // what it keeps alive is in `pending` too
        while let Some(node) = pending.pop() {
            if let Some(mut last_owner) = Arc::into_inner(node) {
                pending.append(&mut last_owner.parents);
                drop(last_owner.take_backward());
            }
        }
    }
}

impl std::fmt::Debug for GradFn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GradFn").field("id", &self.id).field("op", &self.op).finish()
    }
}

/// What a backward function keeps of an op's input: where its gradient goes, not its value.
#[derive(Clone, Debug)]
pub struct Parent {
    grad_fn: Option<Arc<GradFn>>,
    numel: usize,
}

impl Parent {
    pub(crate) fn new(grad_fn: Option<Arc<GradFn>>, numel: usize) -> Parent {
        Parent { grad_fn, numel }
    }

    /// An input that wants no gradient, for an optional one that is absent.
    pub fn constant() -> Parent {
        Parent { grad_fn: None, numel: 0 }
    }

    /// Whether anything is to be computed for this input.
    pub fn wants_grad(&self) -> bool {
        self.grad_fn.is_some()
    }
}

/// dL/dp for every parameter p of a loss L.
#[derive(Debug, Default)]
pub struct Gradients {
    /// A tree of small nodes: a table would move into ever larger blocks at every walk.
    by_id: BTreeMap<TensorId, Buffer>,
}

impl Gradients {
    /// dL/d`tensor`, row-major; `None` when L does not depend on it (or it is not a parameter).
    pub fn get(&self, tensor: &Tensor) -> Option<&[f32]> {
        self.by_id.get(&tensor.id()?).map(|g| &**g)
    }

    /// [`Gradients::get`], for changing it.
    pub fn get_mut(&mut self, tensor: &Tensor) -> Option<&mut [f32]> {
        self.by_id.get_mut(&tensor.id()?).map(|g| &mut **g)
    }

    /// The gradients of these tensors in their order, each with its name, for changing them. Those
    /// without a gradient are left out.
    ///
    /// ```
    /// use llm_core::{Config, TinyGPT, TokenDataset, model::Mode};
    /// let model = TinyGPT::new(Config::new(256, 8, 8, 1), 1)?;
    /// let batch = TokenDataset::from_bytes(b"once upon a time".to_vec()).batch(1, 0, [1, 8])?;
    /// let mut grads = model.loss(&batch, Mode::Training)?.backward()?;
    /// for (name, gradient) in grads.named_mut(model.parameters()) {
    ///     if name.ends_with("b_qkv") {
    ///         gradient.fill(0.0); // a frozen bias
    ///     }
    /// }
    /// # Ok::<(), llm_core::Error>(())
    /// ```
    pub fn named_mut<'t>(
        &mut self,
        tensors: impl IntoIterator<Item = (String, &'t Tensor)>,
    ) -> Vec<(String, &mut [f32])> {
        let mut all: BTreeMap<TensorId, &mut [f32]> =
            self.by_id.iter_mut().map(|(id, g)| (*id, &mut **g)).collect();
        let named = tensors.into_iter();
        named.filter_map(|(name, t)| Some((name, all.remove(&t.id()?)?))).collect()
    }

    /// Adds the gradients of another loss: those of the sum of both.
    pub fn add(&mut self, other: Gradients) {
        for (id, share) in other.by_id {
            match self.by_id.get_mut(&id) {
                Some(g) => elementwise::add_assign(g, &share),
                None => drop(self.by_id.insert(id, share)),
            }
        }
    }

    /// Takes out the gradient of a leaf, with more added to it.
    pub(crate) fn take_with(&mut self, leaf: TensorId, more: Buffer) -> Buffer {
        let Some(mut gradient) = self.by_id.remove(&leaf) else { return more };
        elementwise::add_assign(&mut gradient, &more);
        gradient
    }

    /// All leaves that have one, with their gradients.
    pub(crate) fn into_leaves(self) -> impl Iterator<Item = (TensorId, Buffer)> {
        self.by_id.into_iter()
    }

    /// The gradients of these leaves.
    pub(crate) fn of_leaves(leaves: impl IntoIterator<Item = (TensorId, Buffer)>) -> Gradients {
        Gradients { by_id: leaves.into_iter().collect() }
    }

    /// Adds a share to the gradient of an input, for backward functions.
    ///
    /// `add(dx, beta)` gets the gradient so far and must make it beta·dx + share, as BLAS does:
    /// beta is 0 the first time, when `dx` holds arbitrary old numbers to be overwritten, and 1
    /// afterwards. It is not called for constants.
    pub fn accumulate(&mut self, input: &Parent, add: impl FnOnce(&mut [f32], f32)) {
        let Some(grad_fn) = &input.grad_fn else { return };
        match self.by_id.get_mut(&grad_fn.id) {
            Some(dx) => add(dx, 1.0),
            None => {
                let mut dx = Buffer::stale(input.numel);
                add(&mut dx, 0.0);
                self.by_id.insert(grad_fn.id, dx);
            }
        }
    }

    /// [`Gradients::accumulate`] for shares that can only be added: `dx` starts as zeros.
    pub fn accumulate_zeroed(&mut self, input: &Parent, add: impl FnOnce(&mut [f32])) {
        self.accumulate(input, |dx, beta| {
            if beta == 0.0 {
                dx.fill(0.0);
            }
            add(dx);
        });
    }

    /// [`Gradients::accumulate`] with a share that exists already as a buffer of the input's size.
    pub fn give(&mut self, input: &Parent, share: Buffer) {
        let Some(grad_fn) = &input.grad_fn else { return };
        debug_assert_eq!(share.len(), input.numel, "a gradient has its input's size");
        match self.by_id.get_mut(&grad_fn.id) {
            Some(dx) => elementwise::add_assign(dx, &share),
            None => {
                self.by_id.insert(grad_fn.id, share);
            }
        }
    }

    /// Gives what `fill` writes into a buffer of the input's size, each of its numbers.
    pub fn give_with(&mut self, input: &Parent, fill: impl FnOnce(&mut [f32])) {
        if input.wants_grad() {
            self.give(input, Buffer::written(input.numel, fill));
        }
    }

    /// [`Gradients::give`] for several inputs that get the same share.
    pub fn give_copy(&mut self, input: &Parent, share: &[f32]) {
        self.accumulate(input, |dx, beta| {
            if beta == 0.0 { dx.copy_from_slice(share) } else { elementwise::add_assign(dx, share) }
        });
    }

    /// The walk, from which each leaf's gradient is given away as soon as no op adds to it any more.
    pub(crate) fn give_from(
        root: &Arc<GradFn>,
        weight: f32,
        mut give: impl FnMut(TensorId, Buffer),
    ) -> Result<()> {
        let mut leaves = by_last_use(root);
        let mut grads = Gradients::default();
        grads.walk(root, weight, |grads, op| {
            for leaf in leaves.remove(&op).unwrap_or_default() {
                if let Some(gradient) = grads.by_id.remove(&leaf) {
                    give(leaf, gradient);
                }
            }
        })
    }

    /// Goes on with the walk through the graph of `y`, whose gradient is `dy`: adds those of its leaves, but
    /// gives that of the leaf `x` to `input`.
    pub(crate) fn within(
        &mut self,
        y: &Tensor,
        dy: Buffer,
        x: &Tensor,
        input: &Parent,
    ) -> Result<()> {
        let Some(root) = y.grad_fn() else { return Ok(()) };
        self.walk_from(root, dy, |_, _| {})?;
        if let Some(dx) = x.id().and_then(|id| self.by_id.remove(&id)) {
            self.give(input, dx);
        }
        Ok(())
    }

    /// The walk: from the loss (dL/dL = `weight`) newest first. An op's own gradient is taken out
    /// when its turn comes; those of leaves stay, added to what is there, and are the result. Calls
    /// `done` after each op.
    pub(crate) fn walk(
        &mut self,
        root: &Arc<GradFn>,
        weight: f32,
        done: impl FnMut(&mut Gradients, TensorId),
    ) -> Result<()> {
        self.walk_from(root, Buffer::from(vec![weight]), done)
    }

    /// [`Gradients::walk`] from any tensor, whose gradient is `dy`.
    fn walk_from(
        &mut self,
        root: &Arc<GradFn>,
        dy: Buffer,
        mut done: impl FnMut(&mut Gradients, TensorId),
    ) -> Result<()> {
        self.by_id.insert(root.id, dy);
        let mut pending = BTreeMap::from([(root.id, root.clone())]);
        while let Some((id, node)) = pending.pop_last() {
            if node.leaf {
                continue;
            }
            let backward = node.take_backward().ok_or(Error::Backward {
                reason: "this graph was walked before; compute the loss again",
            })?;
            pending.extend(node.parents.iter().map(|p| (p.id, p.clone())));
            // No gradient: every consumer chose not to send one.
            if let Some(dy) = self.by_id.remove(&id) {
                let _span = profile::open(node.op, Phase::Backward);
                backward(dy, self);
            }
            done(self, id);
        }
        Ok(())
    }
}

/// The leaves of a graph, by the last op of the walk that uses them.
fn by_last_use(root: &Arc<GradFn>) -> BTreeMap<TensorId, Vec<TensorId>> {
    let mut users = BTreeMap::new();
    let mut pending = BTreeMap::from([(root.id, root)]);
    while let Some((op, node)) = pending.pop_last() {
        for parent in &node.parents {
            if parent.leaf {
                users.insert(parent.id, op); // in place of one that comes earlier
            } else {
                pending.insert(parent.id, parent);
            }
        }
    }
    let mut leaves: BTreeMap<TensorId, Vec<TensorId>> = BTreeMap::new();
    users.into_iter().for_each(|(leaf, op)| leaves.entry(op).or_default().push(leaf));
    leaves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;
    use ndarray::arr1;

    fn parameter(values: &[f32]) -> Tensor {
        Tensor::parameter(arr1(values).into_dyn())
    }

    #[test]
    fn shared_inputs_add_up() {
        let x = parameter(&[2.0, 3.0]);
        let y = ops::add(&ops::mul(&x, &x).unwrap(), &x).unwrap(); // x² + x
        let grads = ops::sum(&y).unwrap().backward().unwrap();
        assert_eq!(grads.get(&x).unwrap(), [5.0, 7.0]);
    }

    /// A leaf that two ops use is given away after both, others before: newest first.
    #[test]
    fn gradients_are_given_away_once_and_complete() {
        let [shared, early, late] = [2.0, 3.0, 5.0].map(|x| parameter(&[x]));
        let loss = || {
            let first = ops::mul(&shared, &early).unwrap();
            ops::sum(&ops::mul(&ops::mul(&first, &late).unwrap(), &shared).unwrap()).unwrap()
        };
        let whole = loss().backward_into(Gradients::default(), 0.5).unwrap();
        let mut given = Vec::new();
        loss().backward_giving(0.5, |leaf, gradient| given.push((leaf, gradient))).unwrap();
        let order: Vec<TensorId> = given.iter().map(|(leaf, _)| *leaf).collect();
        assert_eq!(order[0], late.id().unwrap());
        assert_eq!(order.len(), 3);
        let given = Gradients::of_leaves(given);
        assert!([shared, early, late].iter().all(|x| given.get(x) == whole.get(x)), "{given:?}");
    }

    #[test]
    fn a_graph_is_walked_once() {
        let x = parameter(&[2.0]);
        let loss = ops::sum(&ops::mul(&x, &x).unwrap()).unwrap();
        assert!(loss.backward().is_ok());
        assert!(matches!(loss.backward(), Err(Error::Backward { .. })));
    }

    #[test]
    fn no_grad_records_nothing_and_ends() {
        let x = parameter(&[2.0]);
        assert!(!no_grad(|| ops::mul(&x, &x).unwrap()).wants_grad());
        let _ = std::panic::catch_unwind(|| no_grad(|| std::panic::resume_unwind(Box::new(()))));
        assert!(ops::mul(&x, &x).unwrap().wants_grad());
    }

    #[test]
    fn long_chains_neither_walk_nor_drop_recursively() {
        let chain = || {
            let x = parameter(&[1.0]);
            let mut y = x.clone();
            for _ in 0..200_000 {
                y = ops::add_scalar(&y, 0.0).unwrap();
            }
            (x, y)
        };
        drop(chain());
        let (x, y) = chain();
        assert_eq!(y.backward().unwrap().get(&x).unwrap(), [1.0]);
    }
}
