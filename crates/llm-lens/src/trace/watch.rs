//! An attention that notes what one of its layers is given and what it makes of it, and otherwise
//! is the one inside.

use super::layout::own;
use super::sizes::Place;
use llm_core::model::{Context, Decode, Kept, ParamList, Parameters, Probe, Site};
use llm_core::ndarray::{Array3, ArrayView2, ArrayView3, Axis};
use llm_core::{Attention, AttentionSpec, Config, Result, Tensor};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A layer's input and parameters, and what the kernels made of one query.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `[B, T, C]`: what the layer reads, behind the norm.
    pub x: Tensor,
    /// `[C, 3C]`; `[C, (H+2G)·D]` with other heads.
    pub w_qkv: Tensor,
    /// `[3C]`, or as wide as that; zeros where there is no bias.
    pub b_qkv: Tensor,
    /// `[C, C]`, or `[H·D, C]`.
    pub w_proj: Tensor,
    /// `[C]`; zeros where there is no bias.
    pub b_proj: Tensor,
    /// Gains of normed queries and keys, `[D]` each.
    pub gains: Option<[Tensor; 2]>,
    /// Whether each of the two biases is there.
    pub biased: [bool; 2],
    /// ε of norms.
    pub norm_eps: f32,
    /// What the attention has.
    pub spec: AttentionSpec,
    /// `[T]`: the kernel's P of the query.
    pub probs: Vec<f32>,
    /// `[C]`, or `[H·D]`: the kernel's output for the query, all heads side by side.
    pub att: Vec<f32>,
}

/// What the kernels showed.
#[derive(Default)]
struct Notes {
    probs: Vec<f32>,
    att: Vec<f32>,
    seen: Option<Seen>,
}

/// Watches one layer of an attention.
pub struct Watch {
    inner: Arc<dyn Attention>,
    layer: usize,
    place: Place,
    notes: Mutex<Notes>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Watch { inner, layer, place, .. } = self;
        let mut fields = f.debug_struct("Watch");
        fields.field("inner", inner).field("layer", layer).field("place", place);
        fields.finish_non_exhaustive()
    }
}

impl Watch {
    /// Watches `layer` of `inner` where it computes the query of `place`.
    pub fn new(inner: Arc<dyn Attention>, layer: usize, place: Place) -> Watch {
        Watch { inner, layer, place, notes: Mutex::default() }
    }

    /// What was seen in the last forward pass; nothing when there was none.
    pub fn seen(&self) -> Option<Seen> {
        self.note(|notes| notes.seen.clone())
    }

    fn note<T>(&self, f: impl FnOnce(&mut Notes) -> T) -> T {
        f(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Attention for Watch {
    fn spec(&self) -> AttentionSpec {
        self.inner.spec()
    }

    fn check(&self, config: &Config) -> Result<()> {
        self.inner.check(config)
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        if ctx.layer != self.layer {
            return self.inner.forward(x, p, ctx);
        }
        let out = self.inner.forward(x, p, &ctx.with_probe(Some(self)))?;
        let ([w_qkv, b_qkv, w_proj, b_proj], gains) = own(p)?;
        let biased = ["b_qkv", "b_proj"].map(|name| p.get(name).is_some());
        let (x, spec) = (x.detach(), self.inner.spec());
        self.note(|notes| {
            notes.seen = Some(Seen {
                x,
                w_qkv,
                b_qkv,
                w_proj,
                b_proj,
                gains,
                biased,
                norm_eps: ctx.norm_eps,
                spec,
                probs: std::mem::take(&mut notes.probs),
                att: std::mem::take(&mut notes.att),
            });
        });
        Ok(out)
    }

    fn parameters(&self, config: &Config) -> ParamList {
        self.inner.parameters(config)
    }

    fn kept(&self, config: &Config) -> Kept {
        self.inner.kept(config)
    }

    fn cache_row(&self, config: &Config) -> usize {
        self.inner.cache_row(config)
    }

    fn decode(&self, step: Decode<'_>) -> Result<()> {
        self.inner.decode(step)
    }
}

impl Probe for Watch {
    fn head(&self, _layer: usize, sequence: usize, head: usize, probs: ArrayView2<'_, f32>) {
        let Place { batch_index, head: wanted, query, .. } = self.place;
        if [sequence, head] == [batch_index, wanted] {
            self.note(|notes| notes.probs = probs.row(query).to_vec());
        }
    }

    fn value(&self, _: usize, site: Site, y: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
        if site == Site::Heads {
            let sequence = y.index_axis(Axis(0), self.place.batch_index);
            self.note(|notes| notes.att = sequence.row(self.place.query).to_vec());
        }
        None
    }
}
