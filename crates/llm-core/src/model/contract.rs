//! What a model asks of an attention, checked: for the tests of those who write one.

use super::initial::initial;
use super::{
    Attention, AttentionSpec, Config, Context, Decode, Growing, Parameters, Probe, Scratch, Site,
    check_attention, parameter_list,
};
use crate::autograd::no_grad;
use crate::base::Error;
use crate::base::rng::stream;
use crate::gradcheck;
use crate::kernels::dropout::Dropout;
use crate::ops;
use crate::tensor::Tensor;
use ndarray::{Array3, ArrayView2, ArrayView3};
use rand::Rng;
use std::cell::RefCell;
use std::fmt;

/// B and most of T in a check.
const SHAPE: [usize; 2] = [2, 7];
/// Difference that rounding of f32 may make of numbers around 1.
const TOLERANCE: f32 = 1e-4;

/// A part of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// The description fits the model, and comes back from what is saved of it.
    Description,
    /// `[B, T, C]` in, `[B, T, C]` out, all numbers finite.
    Shapes,
    /// A position depends neither on later ones nor on other sequences.
    Causality,
    /// `decode` gives the rows of `forward`.
    Decode,
    /// The masks of the context change the result, always in the same way.
    Dropout,
    /// What a probe is shown is complete, causal, and what the output was made of; what it puts in place of
    /// the heads' outputs is projected.
    Probe,
    /// Every parameter has a gradient, and it is that of the value.
    Gradients,
}

/// A clause that an attention does not keep, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The clause.
    pub clause: Clause,
    /// What was found.
    pub why: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.clause, self.why)
    }
}

/// Checks an attention in a model of these settings with drawn weights and inputs, and gives what is
/// not kept of the contract; nothing when all is.
///
/// ```
/// use llm_core::Config;
/// use llm_core::model::{SingleHead, check_contract};
/// assert_eq!(check_contract(&SingleHead, &Config::new(256, 16, 8, 2)), []);
/// ```
///
/// An attention that shows a probe nothing keeps the contract: `inspect` then says that it cannot look
/// inside.
pub fn check_contract(attention: &dyn Attention, config: &Config) -> Vec<Breach> {
    let description = description(attention, config);
    if let Err(why) = description {
        return vec![Breach { clause: Clause::Description, why }];
    }
    let trial = Trial::new(attention, config);
    let clauses = [
        (Clause::Shapes, trial.shapes()),
        (Clause::Causality, trial.causality()),
        (Clause::Decode, trial.decode()),
        (Clause::Dropout, trial.dropout()),
        (Clause::Probe, trial.probe()),
        (Clause::Gradients, trial.gradients()),
    ];
    let broken = clauses.into_iter().filter_map(|(clause, outcome)| Some((clause, outcome.err()?)));
    broken.map(|(clause, why)| Breach { clause, why }).collect()
}

/// `Err` with what was found.
type Outcome = Result<(), String>;

/// `Err` with these words unless it holds.
fn ensure(holds: bool, why: impl fmt::Display) -> Outcome {
    if holds { Ok(()) } else { Err(why.to_string()) }
}

/// The words of an error.
fn words(error: Error) -> String {
    error.to_string()
}

fn description(attention: &dyn Attention, config: &Config) -> Outcome {
    config.check().map_err(words)?;
    check_attention(attention, config).map_err(words)?;
    let spec = attention.spec();
    let saved = spec.settings().map_err(words)?;
    let (head_mask, name) = (spec.head_mask.clone(), spec.name.as_str());
    let plain = AttentionSpec { head_mask, ..AttentionSpec::new(name, spec.n_heads) };
    let again = plain.with_settings(saved).map_err(words)?;
    ensure(again == spec, "from what is saved of it comes another one")?;
    let others = parameter_list(config, &Vec::new());
    let names = others.iter().filter_map(|(name, _)| Some(name.strip_prefix("blocks.0.")?.into()));
    let mut names: Vec<String> = names.collect();
    for (name, _) in attention.parameters(config) {
        let why = format_args!("'{name}' is the name of another parameter");
        ensure(!names.contains(&name), why)?;
        names.push(name);
    }
    Ok(())
}

/// An attention with drawn weights and an input.
struct Trial<'a> {
    attention: &'a dyn Attention,
    config: &'a Config,
    p: Parameters,
    x: Tensor,
}

/// Numbers around 0, other ones for each salt.
fn drawn(shape: &[usize], salt: u64) -> Tensor {
    let mut rng = stream(1, b"contract", salt, 0);
    let numbers = (0..shape.iter().product()).map(|_| rng.random_range(-1.0f32..1.0)).collect();
    Tensor::from_vec(shape, numbers).expect("as many numbers as the shape says")
}

/// The largest difference of two equally long lists, by the size of their numbers.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    let size = a.iter().fold(1.0, |size: f32, a| size.max(a.abs()));
    let each = a.iter().zip(b).map(|(a, b)| (a - b).abs() / size);
    each.fold(0.0, |most, next| if next <= most { most } else { next }) // NaN is the largest
}

impl<'a> Trial<'a> {
    fn new(attention: &'a dyn Attention, config: &'a Config) -> Trial<'a> {
        let list = attention.parameters(config).into_iter().enumerate();
        // Biases and gains are not at their starts, at which a fault might not show.
        let p = list.map(|(i, (name, param))| {
            let mut p = initial(config, 1, &name, &param);
            let noise = drawn(&param.shape, i as u64 + 1);
            p.data_mut().iter_mut().zip(noise.data()).for_each(|(p, n)| *p += n / 5.0);
            (name, p)
        });
        let p = Parameters::new(p.collect());
        let [b, most] = SHAPE;
        let x = drawn(&[b, most.min(config.seq_len), config.d_model], 0);
        Trial { attention, config, p, x }
    }

    fn context<'c>(&self) -> Context<'c> {
        Context::new(0).with_norm_eps(self.config.norm_eps)
    }

    fn seq_len(&self) -> usize {
        self.x.shape()[1]
    }

    /// The output for an input of whatever length.
    fn output(&self, x: &Tensor) -> Result<Tensor, String> {
        self.with(x, &self.context())
    }

    fn with(&self, x: &Tensor, context: &Context<'_>) -> Result<Tensor, String> {
        no_grad(|| self.attention.forward(x, &self.p, context)).map_err(words)
    }

    /// The first n positions.
    fn prefix(&self, n: usize) -> Result<Tensor, String> {
        ops::slice(&self.x, 1, 0, n).map_err(words)
    }

    /// The rows of one sequence's first n positions in an output, side by side.
    fn rows<'y>(&self, y: &'y Tensor, sequence: usize, n: usize) -> &'y [f32] {
        let c = self.config.d_model;
        &y.data()[sequence * y.shape()[1] * c..][..n * c]
    }

    fn shapes(&self) -> Outcome {
        for n in [1, self.seq_len()] {
            let x = self.prefix(n)?;
            let y = self.output(&x)?;
            let (from, to) = (x.shape(), y.shape());
            ensure(from == to, format_args!("{from:?} in, {to:?} out"))?;
            ensure(y.data().iter().all(|y| y.is_finite()), "a number is not finite")?;
        }
        Ok(())
    }

    fn causality(&self) -> Outcome {
        self.shapes()?;
        let (t, c) = (self.seq_len(), self.config.d_model);
        let whole = self.output(&self.x)?;
        for n in 1..t {
            // Later positions, and the whole other sequence, are others.
            let mut other = self.x.detach();
            let noise = drawn(self.x.shape(), 99);
            let kept = n * c;
            other.data_mut()[kept..].copy_from_slice(&noise.data()[kept..]);
            let changed = self.output(&other)?;
            let [before, after] = [&whole, &changed].map(|y| self.rows(y, 0, n));
            let why = format_args!("one of the first {n} positions sees what comes after them");
            ensure(difference(before, after) <= TOLERANCE, why)?;
            let alone = self.output(&self.prefix(n)?)?;
            for sequence in 0..SHAPE[0] {
                let [whole, alone] = [&whole, &alone].map(|y| self.rows(y, sequence, n));
                let why =
                    format_args!("the first {n} positions give something else in a longer text");
                ensure(difference(whole, alone) <= TOLERANCE, why)?;
            }
        }
        Ok(())
    }

    fn decode(&self) -> Outcome {
        self.shapes()?;
        let (t, d_model) = (self.seq_len(), self.config.d_model);
        let whole = self.output(&self.x)?;
        let x = &self.x.data()[..t * d_model];
        for together in [1, 2, t] {
            let mut cache = vec![0.0; t * self.attention.cache_row(self.config)];
            let (mut scratch, mut stream) = (Scratch::default(), vec![1.0; t * d_model]);
            let chunks = stream.chunks_mut(together * d_model).zip(x.chunks(together * d_model));
            for (i, (stream, x)) in chunks.enumerate() {
                let step = Decode {
                    layer: 0,
                    texts: vec![Growing {
                        before: i * together,
                        new: x.len() / d_model,
                        cache: &mut cache,
                    }],
                    x,
                    p: &self.p,
                    scratch: &mut scratch,
                    stream,
                    d_model,
                    norm_eps: self.config.norm_eps,
                };
                self.attention.decode(step).map_err(words)?;
            }
            let want: Vec<f32> = self.rows(&whole, 0, t).iter().map(|y| y + 1.0).collect();
            let difference = difference(&want, &stream);
            let why = format_args!(
                "with {together} positions a time it differs from forward by {difference:.1e}"
            );
            ensure(difference <= TOLERANCE, why)?;
        }
        Ok(())
    }

    fn dropout(&self) -> Outcome {
        let masks = Dropout::new(0.5, 1, 0, 0);
        let context = self.context().with_dropout(masks);
        let [plain, once, again] =
            [self.output(&self.x)?, self.with(&self.x, &context)?, self.with(&self.x, &context)?];
        ensure(once.data() == again.data(), "the same masks give other numbers")?;
        let dropped = difference(plain.data(), once.data()) > TOLERANCE;
        ensure(dropped, "no weight is dropped (Context::weight_masks)")
    }

    fn probe(&self) -> Outcome {
        let seen = Seen::default();
        let y = self.with(&self.x, &self.context().with_probe(Some(&seen)))?;
        let (heads, together) = (seen.heads.into_inner(), seen.together.into_inner());
        if heads.is_empty() && together.is_empty() {
            return Ok(()); // allowed
        }
        let plain = self.output(&self.x)?;
        ensure(y.data() == plain.data(), "it changes what is computed")?;
        let (t, n_heads) = (self.seq_len(), self.attention.spec().n_heads);
        let mut shown: Vec<[usize; 2]> = heads.iter().map(|(place, _)| *place).collect();
        shown.sort_unstable();
        let all: Vec<[usize; 2]> =
            (0..SHAPE[0]).flat_map(|b| (0..n_heads).map(move |h| [b, h])).collect();
        let (found, want) = (shown.len(), all.len());
        let why = format_args!("{found} weights of heads are shown, there are {want}");
        ensure(shown == all, why)?;
        for ([_, head], p) in &heads {
            for (i, row) in p.chunks_exact(t).enumerate() {
                let (sum, hidden) = (row.iter().sum::<f32>(), &row[i + 1..]);
                let proper = row.iter().all(|p| *p >= 0.0) && sum <= 1.0 + TOLERANCE;
                let why = format_args!("row {i} of head {head} is not one of causal weights");
                ensure(proper && hidden.iter().all(|p| *p == 0.0), why)?;
            }
        }
        let [together] = &together[..] else {
            return Err(format!("the outputs of the heads are shown {} times", together.len()));
        };
        let other = drawn(together.shape(), 98);
        let patched = InPlace(other.clone());
        let patched = self.with(&self.x, &self.context().with_probe(Some(&patched)))?;
        let is_used = difference(y.data(), patched.data()) > TOLERANCE;
        ensure(is_used, "what a probe puts in place of the heads' outputs is not used")?;
        let Some(w_proj) = self.p.get("w_proj") else { return Ok(()) };
        for (heads, y, why) in [
            (
                together,
                &y,
                "the outputs of the heads that are shown are not those that were projected",
            ),
            (&other, &patched, "what a probe puts in place of the heads' outputs is not projected"),
        ] {
            let again = ops::linear_lastdim(heads, w_proj, self.p.get("b_proj")).map_err(words)?;
            ensure(difference(y.data(), again.data()) <= TOLERANCE, why)?;
        }
        Ok(())
    }

    fn gradients(&self) -> Outcome {
        self.shapes()?;
        let names: Vec<&str> = self.p.iter().map(|(name, _)| name).collect();
        let given = |inputs: &[Tensor]| {
            let named = names.iter().map(|name| name.to_string()).zip(inputs[1..].iter().cloned());
            self.attention.forward(&inputs[0], &Parameters::new(named.collect()), &self.context())
        };
        let x = Tensor::parameter(self.x.view().to_owned());
        let parameters = self.p.iter().map(|(_, p)| Tensor::parameter(p.view().to_owned()));
        let inputs: Vec<Tensor> = std::iter::once(x).chain(parameters).collect();
        let loss = given(&inputs).and_then(|y| ops::sum(&y)).map_err(words)?;
        let grads = loss.backward().map_err(words)?;
        for (name, p) in names.iter().zip(&inputs[1..]) {
            ensure(grads.get(p).is_some(), format_args!("'{name}' is not read"))?;
        }
        gradcheck::check(&inputs, 1, given).map(drop).map_err(words)
    }
}

/// A probe that keeps what it is shown.
#[derive(Default)]
struct Seen {
    /// By sequence and head.
    heads: RefCell<Vec<([usize; 2], Vec<f32>)>>,
    together: RefCell<Vec<Tensor>>,
}

impl Probe for Seen {
    fn head(&self, _: usize, sequence: usize, head: usize, probs: ArrayView2<'_, f32>) {
        self.heads.borrow_mut().push(([sequence, head], probs.iter().copied().collect()));
    }

    fn value(&self, _: usize, _: Site, y: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
        self.together.borrow_mut().push(Tensor::new(y.to_owned().into_dyn()));
        None
    }
}

/// A probe that puts other numbers in the place of what the heads gave.
struct InPlace(Tensor);

impl Probe for InPlace {
    fn value(&self, _: usize, _: Site, y: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
        Array3::from_shape_vec(y.dim(), self.0.data().to_vec()).ok()
    }
}
