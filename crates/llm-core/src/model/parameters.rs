//! Parameters, described once: each with its name, its shape and how it starts, by the part of the
//! model that owns it. Loading, listing, counting, memory, checkpoints and exports follow.

use super::Config;
use crate::base::{Error, Result};
use crate::message;
use crate::ops::AttentionParams;
use crate::tensor::{Role, Tensor};
use std::collections::HashMap;

/// One parameter, apart from its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Lengths of the axes.
    pub shape: Vec<usize>,
    /// The first values.
    pub start: Start,
    /// What the parameter is in its model.
    pub role: Role,
    /// Whether 4 bits are too few for it, where other matrices of a model for writing have them.
    pub sensitive: bool,
}

/// How a parameter starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// 0: biases.
    Zero,
    /// 1: gains.
    One,
    /// Drawn from a normal distribution around 0; its width follows from the settings' [`Init`].
    ///
    /// [`Init`]: super::Init
    Normal {
        /// Numbers that are added up into one output.
        fan_in: usize,
    },
    /// Drawn evenly from ±1/√`fan_in`, whatever the settings: the A of an adapter.
    Uniform {
        /// Numbers that are added up into one output.
        fan_in: usize,
    },
}

impl Param {
    /// A parameter of this shape.
    pub fn new(shape: Vec<usize>, start: Start, role: Role) -> Param {
        Param { shape, start, role, sensitive: false }
    }

    /// This parameter, but never in 4 bits. Softmax turns a small error of a score into a large one of a
    /// weight: of all matrices of a block those that give queries and keys cost by far the most when
    /// they are rounded to 4 bits.
    pub fn sensitive(self) -> Param {
        Param { sensitive: true, ..self }
    }

    /// A matrix `[in, out]` of y = x·W inside a block.
    pub fn weight(shape: [usize; 2]) -> Param {
        Param::side_by_side(shape[0], [shape[1], 0, 0])
    }

    /// Up to three such matrices side by side, `[in, Σ columns]`, by their numbers of columns: an
    /// optimizer that looks at whole matrices takes each by itself.
    pub fn side_by_side(rows: usize, columns: [usize; 3]) -> Param {
        let shape = vec![rows, columns.iter().fold(0, |sum, n| sum.saturating_add(*n))];
        Param::new(shape, Start::Normal { fan_in: rows }, Role::Hidden(columns))
    }

    /// A matrix `[in, out]` whose outputs are added to the residual stream.
    pub fn into_stream(shape: [usize; 2]) -> Param {
        Param::new(shape.into(), Start::Normal { fan_in: shape[0] }, Role::IntoStream)
    }

    /// The output head, `[C, V]`.
    pub fn head(shape: [usize; 2]) -> Param {
        Param::new(shape.into(), Start::Normal { fan_in: shape[0] }, Role::Head)
    }

    /// A table `[rows, C]`, of which rows are taken by their number.
    pub fn table(shape: [usize; 2]) -> Param {
        Param::new(shape.into(), Start::Normal { fan_in: shape[1] }, Role::Table)
    }

    /// A bias `[n]`.
    pub fn bias(n: usize) -> Param {
        Param::new(vec![n], Start::Zero, Role::Vector)
    }

    /// A gain `[n]`.
    pub fn gain(n: usize) -> Param {
        Param::new(vec![n], Start::One, Role::Vector)
    }

    /// Number of weights.
    pub fn numel(&self) -> u64 {
        self.shape.iter().fold(1, |numbers, &n| numbers.saturating_mul(n as u64))
    }
}

/// Parameters with their names, in the order of the equations.
pub type ParamList = Vec<(String, Param)>;

/// The parameters of an attention that the model does not know by name: what
/// [`Attention::parameters`](super::Attention::parameters) listed, in its order.
#[derive(Clone, Debug, Default)]
pub struct Parameters(Vec<(String, Tensor)>);

impl Parameters {
    /// Parameters with their names, in this order.
    pub fn new(list: Vec<(String, Tensor)>) -> Parameters {
        Parameters(list)
    }

    /// The parameter of this name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, p)| p)
    }

    /// [`Parameters::get`], for changing it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Tensor> {
        self.0.iter_mut().find(|(n, _)| n == name).map(|(_, p)| p)
    }

    /// Several at once: `let [w, b] = p.named(["w", "b"])?`.
    ///
    /// # Errors
    /// [`Error::Config`] naming one that is not there.
    pub fn named<const N: usize>(&self, names: [&str; N]) -> Result<[&Tensor; N]> {
        let mut all = Vec::with_capacity(N);
        for name in names {
            all.push(self.get(name).ok_or_else(|| missing(name))?);
        }
        all.try_into().map_err(|_| missing("a parameter"))
    }

    /// The four of single-head and multi-head attention.
    ///
    /// # Errors
    /// [`Error::Config`] when the attention has others.
    pub fn standard(&self) -> Result<AttentionParams<'_>> {
        let [w_qkv, b_qkv, w_proj, b_proj] = self.named(["w_qkv", "b_qkv", "w_proj", "b_proj"])?;
        Ok(AttentionParams { w_qkv, b_qkv, w_proj, b_proj })
    }

    /// All parameters, with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.0.iter().map(|(name, p)| (name.as_str(), p))
    }
}

/// What descriptions follow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'a> {
    pub(super) config: &'a Config,
    /// The parameters of one block's attention.
    pub(super) attention: &'a ParamList,
}

/// Tensors by their full names, waiting for their places.
pub(super) struct Given(pub(super) HashMap<String, Tensor>);

pub(super) fn missing(name: &str) -> Error {
    Error::config("parameters", message!("'{}' is missing", name))
}

/// A struct of parameters, made by [`parameters!`].
pub(super) trait Structure: Sized {
    fn describe(plan: &Plan<'_>, prefix: &str, list: &mut ParamList);
    fn take(plan: &Plan<'_>, prefix: &str, given: &mut Given) -> Result<Self>;
    fn list<'a>(&'a self, prefix: &str, list: &mut Vec<(String, &'a Tensor)>);
    fn list_mut<'a>(&'a mut self, prefix: &str, list: &mut Vec<(String, &'a mut Tensor)>);
}

/// What a field of such a struct can be.
pub(super) trait Field: Sized {
    /// What says which parameters it has.
    type Description;
    fn describe(d: Self::Description, plan: &Plan<'_>, name: &str, list: &mut ParamList);
    fn take(d: Self::Description, plan: &Plan<'_>, name: &str, given: &mut Given) -> Result<Self>;
    fn list<'a>(&'a self, name: &str, list: &mut Vec<(String, &'a Tensor)>);
    fn list_mut<'a>(&'a mut self, name: &str, list: &mut Vec<(String, &'a mut Tensor)>);
}

/// A parameter that is always there.
impl Field for Tensor {
    type Description = Param;

    fn describe(d: Param, _: &Plan<'_>, name: &str, list: &mut ParamList) {
        list.push((name.into(), d));
    }

    fn take(d: Param, _: &Plan<'_>, name: &str, given: &mut Given) -> Result<Tensor> {
        given.0.remove(name).map(|t| t.into_parameter(d.role)).ok_or_else(|| missing(name))
    }

    fn list<'a>(&'a self, name: &str, list: &mut Vec<(String, &'a Tensor)>) {
        list.push((name.into(), self));
    }

    fn list_mut<'a>(&'a mut self, name: &str, list: &mut Vec<(String, &'a mut Tensor)>) {
        list.push((name.into(), self));
    }
}

/// A parameter that only some settings ask for.
impl Field for Option<Tensor> {
    type Description = Option<Param>;

    fn describe(d: Option<Param>, _: &Plan<'_>, name: &str, list: &mut ParamList) {
        list.extend(d.map(|d| (name.into(), d)));
    }

    fn take(d: Option<Param>, plan: &Plan<'_>, name: &str, given: &mut Given) -> Result<Self> {
        d.map(|d| Tensor::take(d, plan, name, given)).transpose()
    }

    fn list<'a>(&'a self, name: &str, list: &mut Vec<(String, &'a Tensor)>) {
        list.extend(self.as_ref().map(|p| (name.into(), p)));
    }

    fn list_mut<'a>(&'a mut self, name: &str, list: &mut Vec<(String, &'a mut Tensor)>) {
        list.extend(self.as_mut().map(|p| (name.into(), p)));
    }
}

/// The attention's own: under their own names, in place of the field's.
impl Field for Parameters {
    type Description = ParamList;

    fn describe(d: ParamList, _: &Plan<'_>, name: &str, list: &mut ParamList) {
        list.extend(d.into_iter().map(|(own, p)| (beside(name, &own), p)));
    }

    fn take(d: ParamList, plan: &Plan<'_>, name: &str, given: &mut Given) -> Result<Self> {
        let take = |(own, p): (String, Param)| {
            let tensor = Tensor::take(p, plan, &beside(name, &own), given)?;
            Ok((own, tensor))
        };
        Ok(Parameters(d.into_iter().map(take).collect::<Result<_>>()?))
    }

    fn list<'a>(&'a self, name: &str, list: &mut Vec<(String, &'a Tensor)>) {
        list.extend(self.0.iter().map(|(own, p)| (beside(name, own), p)));
    }

    fn list_mut<'a>(&'a mut self, name: &str, list: &mut Vec<(String, &'a mut Tensor)>) {
        list.extend(self.0.iter_mut().map(|(own, p)| (beside(name, own), p)));
    }
}

/// `blocks.3.attention` and `w_qkv`: `blocks.3.w_qkv`.
fn beside(name: &str, own: &str) -> String {
    match name.rsplit_once('.') {
        Some((prefix, _)) => format!("{prefix}.{own}"),
        None => own.into(),
    }
}

/// Several of a kind, numbered: `blocks.0`, `blocks.1`, ...
impl<S: Structure> Field for Vec<S> {
    type Description = usize;

    fn describe(n: usize, plan: &Plan<'_>, name: &str, list: &mut ParamList) {
        (0..n).for_each(|i| S::describe(plan, &format!("{name}.{i}."), list));
    }

    fn take(n: usize, plan: &Plan<'_>, name: &str, given: &mut Given) -> Result<Self> {
        (0..n).map(|i| S::take(plan, &format!("{name}.{i}."), given)).collect()
    }

    fn list<'a>(&'a self, name: &str, list: &mut Vec<(String, &'a Tensor)>) {
        self.iter().enumerate().for_each(|(i, s)| s.list(&format!("{name}.{i}."), list));
    }

    fn list_mut<'a>(&'a mut self, name: &str, list: &mut Vec<(String, &'a mut Tensor)>) {
        self.iter_mut().enumerate().for_each(|(i, s)| s.list_mut(&format!("{name}.{i}."), list));
    }
}

/// A struct of parameters. Each field says once which parameter it is: its name is the field's, and
/// what stands after `=` is its shape and start, for the settings of a plan. Everything that must
/// know all parameters is made from this list.
macro_rules! parameters {
    (
        $(#[$doc:meta])*
        pub struct $Name:ident($plan:ident) {
            $($(#[$field_doc:meta])* $field:ident: $Kind:ty = $description:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $Name {
            $($(#[$field_doc])* pub $field: $Kind,)*
        }

        impl Structure for $Name {
            fn describe($plan: &Plan<'_>, prefix: &str, list: &mut ParamList) {
                $({
                    let name = format!("{prefix}{}", stringify!($field));
                    <$Kind as Field>::describe($description, $plan, &name, list);
                })*
            }

            fn take($plan: &Plan<'_>, prefix: &str, given: &mut Given) -> Result<$Name> {
                Ok($Name {
                    $($field: {
                        let name = format!("{prefix}{}", stringify!($field));
                        <$Kind as Field>::take($description, $plan, &name, given)?
                    },)*
                })
            }

            fn list<'a>(&'a self, prefix: &str, list: &mut Vec<(String, &'a Tensor)>) {
                $(self.$field.list(&format!("{prefix}{}", stringify!($field)), list);)*
            }

            fn list_mut<'a>(
                &'a mut self,
                prefix: &str,
                list: &mut Vec<(String, &'a mut Tensor)>,
            ) {
                $(self.$field.list_mut(&format!("{prefix}{}", stringify!($field)), list);)*
            }
        }
    };
}
pub(super) use parameters;
