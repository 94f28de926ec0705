//! A forward pass as a list: every op that made something, its inputs, and the numbers that decide it.
//!
//! The list is enough to compute the forward again, and with each op's backward the gradients,
//! without knowing the model: that is how a step comes to run on another device. What an op says of
//! itself stands in the line that makes its result, in the op's own file.
//!
//! | op | inputs | facts |
//! |---|---|---|
//! | `embedding` | w | `tokens` or `places` (the batch's tokens; their numbers in the row, from 0), else `rows`, and `ngrams` where those follow from the tokens |
//! | `add`, `sub`, `mul` | a, b, of one shape | |
//! | `mul_scalar`, `add_scalar` | x | `s` |
//! | `sum`, `mean`, `gelu`, `gelu_exact`, `silu`, `swiglu`, `relu2`, `softmax` | x | |
//! | `reshape`, `broadcast` | x | the result's shape alone |
//! | `matmul` | a, b, both of two axes or both of three | `bits` |
//! | `linear` | x, w, and b if there is one | `transposed`: w is `[out, in]`; `bits` |
//! | `layernorm` | x, and gain and bias if affine | `eps` |
//! | `rmsnorm` | x, and a gain if there is one | `eps` |
//! | `attention` | qkv `[B, T, (H+2G)·D]` | `heads` H, `kv_heads` G, `head_dim` D, `window`, `scale`; `soft_cap` where scores have one; `keep` where heads are switched off; `masks` of P where some weights are dropped |
//! | `rotary` | x `[B, T, W]` | `heads`, `head_dim`, `start`, `angles` |
//! | `dropout` | x | `masks` |
//! | `slice` | x | `axis`, `start` |
//! | `concat` | as many as there are | `axis` |
//! | `transpose` | x | `a`, `b`: the two axes |
//! | `cross_entropy` | logits | `targets`; `weights` where they have some |
//!
//! Ops of llm-courses: `permute` says its `axes`, `softmax` that rows of −∞ give `zeros`,
//! `attention_weights` (q, k) its `heads`, `scale` and, if there is one, `mask`, `weighted_sum` (p, v)
//! its `heads`.
//!
//! Numbers that name a choice are 0 or 1; a window that reaches to the start is `usize::MAX`.

use crate::base::TokenId;
use crate::kernels::attention::Scoring;
use crate::kernels::dropout::Dropout;
use crate::kernels::gemm::Execution;
use crate::kernels::ngrams::NgramTable;
use crate::kernels::rotary::Angles;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// What decides an op's result beside its inputs, by name.
pub type Facts = Vec<(&'static str, Fact)>;

/// A number, list or table that decides a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// ε, a number of heads, an axis; exact.
    Number(f64),
    /// Rows of a table, or targets.
    Ids(Vec<TokenId>),
    /// An order of axes.
    Axes(Vec<usize>),
    /// For each head whether it is used.
    Flags(Vec<bool>),
    /// What an op adds that is no tensor, row-major in the result's shape.
    Values(Vec<f32>),
    /// The masks of dropped numbers.
    Masks(Dropout),
    /// A table whose rows follow from the last tokens.
    Ngrams(NgramTable),
    /// Cosines and sines by position.
    Angles(Arc<Angles>),
}

impl From<f32> for Fact {
    fn from(x: f32) -> Fact {
        Fact::Number(f64::from(x))
    }
}

impl From<usize> for Fact {
    fn from(n: usize) -> Fact {
        Fact::Number(n as f64)
    }
}

impl From<bool> for Fact {
    fn from(yes: bool) -> Fact {
        Fact::Number(f64::from(u8::from(yes)))
    }
}

/// What an op was made from.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A parameter, or the result of an op before this one.
    Variable {
        /// The number that [`Tensor::id`](crate::Tensor::id) gives.
        id: u64,
        /// Lengths of its axes.
        shape: Vec<usize>,
    },
    /// A tensor that no parameter took part in.
    Constant {
        /// Lengths of its axes.
        shape: Vec<usize>,
        /// The elements, row-major.
        data: Vec<f32>,
    },
}

impl Input {
    /// Lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        match self {
            Input::Variable { shape, .. } | Input::Constant { shape, .. } => shape,
        }
    }

    /// The number of a parameter or result.
    pub fn id(&self) -> Option<u64> {
        match self {
            Input::Variable { id, .. } => Some(*id),
            Input::Constant { .. } => None,
        }
    }
}

/// One op of a [`listing`].
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The op's name.
    pub op: &'static str,
    /// The number of its result, greater than those of its inputs.
    pub result: u64,
    /// In the op's order. None at all for an op that says nothing but its name: only its owner
    /// knows how to compute it again.
    pub inputs: Vec<Input>,
    /// Lengths of the result's axes.
    pub shape: Vec<usize>,
    /// What decides the result beside the inputs.
    pub facts: Facts,
}

impl Listed {
    /// A fact by its name.
    pub fn fact(&self, name: &str) -> Option<&Fact> {
        self.facts.iter().find(|(of, _)| *of == name).map(|(_, fact)| fact)
    }

    /// What whoever computes an op elsewhere asks first: nothing decides it but `facts`.
    ///
    /// # Errors
    /// The first fact that is not among them.
    pub fn only(&self, facts: &[&str]) -> Result<(), &'static str> {
        let unknown = self.facts.iter().find(|(name, _)| !facts.contains(name));
        unknown.map_or(Ok(()), |(name, _)| Err(name))
    }

    /// A number by its name.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.fact(name) {
            Some(Fact::Number(x)) => Some(*x),
            _ => None,
        }
    }
}

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static LIST: RefCell<Vec<Listed>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f` and lists the ops that this thread calls in it, in their order. A result that no
/// parameter took part in, as all are inside [`no_grad`](crate::no_grad), is a constant to its
/// users and not listed. Of a listing inside another the outer one sees nothing.
pub fn listing<T>(f: impl FnOnce() -> T) -> (T, Vec<Listed>) {
    /// Puts the outer list back, also when `f` panics.
    struct Outer(bool, Vec<Listed>);
    impl Drop for Outer {
        fn drop(&mut self) {
            ON.set(self.0);
            LIST.set(std::mem::take(&mut self.1));
        }
    }
    let _outer = Outer(ON.replace(true), LIST.take());
    let done = f();
    (done, LIST.take())
}

/// Whether this thread lists its ops.
pub(crate) fn is_on() -> bool {
    ON.get()
}

/// Adds an op to the list.
pub(crate) fn add(made: Listed) {
    LIST.with_borrow_mut(|list| list.push(made));
}

/// What a product says: the bits of precision of the numbers that it multiplies.
pub(crate) fn product(work: Execution) -> (&'static str, Fact) {
    ("bits", work.precision.bits().into())
}

/// What every attention between the projections says: H, G and D; how its scores come about; which heads
/// are used, all if it is empty; what is dropped of P, `[B, H, T, T]`.
pub fn attention(
    [heads, kv_heads, head_dim]: [usize; 3],
    scoring: Scoring,
    keep: &[bool],
    masks: Option<Dropout>,
) -> Facts {
    let Scoring { scale, soft_cap, window } = scoring;
    let mut facts: Facts = vec![
        ("heads", heads.into()),
        ("kv_heads", kv_heads.into()),
        ("head_dim", head_dim.into()),
        ("window", window.into()),
        ("scale", scale.into()),
    ];
    facts.extend(soft_cap.map(|c| ("soft_cap", c.into())));
    facts.extend(keep.contains(&false).then(|| ("keep", Fact::Flags(keep.to_vec()))));
    facts.extend(masks.map(|masks| ("masks", Fact::Masks(masks))));
    facts
}
