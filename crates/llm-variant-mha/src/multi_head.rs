//! MultiHead: the variant behind core's attention seam.

use crate::heads::self_attention_mha;
use llm_core::kernels::attention as kernel;

use llm_core::kernels::parallel::{LIGHT, rows_with};
use llm_core::model::{Context, Decode, Parameters, Position, SingleHead};
use llm_core::ndarray::{ArrayView2, Axis, Slice};
use llm_core::ops::AttentionParams;
use llm_core::{Attention, AttentionSpec, Config, Error, Result, Tensor, message};
use std::ops::Range;
use std::sync::Arc;

/// Cached numbers that are worth a thread of their own: they come from memory, as weights do.
const CACHED: usize = LIGHT / 4;

/// H heads for [`TinyGPT::with_attention`](llm_core::TinyGPT::with_attention).
#[derive(Clone, Debug)]
pub struct MultiHead {
    spec: AttentionSpec,
}

impl MultiHead {
    /// The name in [`AttentionSpec`].
    pub const NAME: &'static str = "multi-head";

    /// All heads of all layers.
    pub fn new(n_heads: usize) -> MultiHead {
        MultiHead { spec: AttentionSpec::new(MultiHead::NAME, n_heads) }
    }

    /// Some heads switched off: `head_mask [L·H]`, layer by layer, false where a head is not used.
    pub fn with_head_mask(n_heads: usize, head_mask: Vec<bool>) -> MultiHead {
        let all = AttentionSpec::new(MultiHead::NAME, n_heads);
        MultiHead { spec: AttentionSpec { head_mask, ..all } }
    }

    /// Makes it again from what a checkpoint says. A single-head model is one with H = 1.
    ///
    /// # Errors
    /// [`Error::Config`] when the spec describes another attention.
    pub fn from_spec(spec: &AttentionSpec) -> Result<MultiHead> {
        let AttentionSpec { name, n_heads, head_mask, .. } = spec;
        let shown = name.escape_default();
        let contradiction = match name.as_str() {
            MultiHead::NAME => None,
            SingleHead::NAME if *n_heads != 1 => {
                Some(message!("'{}' with {} heads", shown, *n_heads))
            }
            SingleHead::NAME => None, // of which a layer's head may be switched off
            _ => Some(message!("'{}' is not known here", shown)),
        };
        if let Some(reason) = contradiction {
            return Err(Error::config("attention", reason));
        }
        spec.settings()?.expect_empty()?;
        Ok(MultiHead::with_head_mask(*n_heads, head_mask.clone()))
    }
}

/// The attention that a checkpoint describes: the baseline's own where it has one head.
///
/// # Errors
/// As [`MultiHead::from_spec`].
pub fn one_or_several(spec: &AttentionSpec) -> Result<Arc<dyn Attention>> {
    let several = MultiHead::from_spec(spec)?;
    let is_single = several.spec() == SingleHead.spec();
    if is_single { Ok(Arc::new(SingleHead)) } else { Ok(Arc::new(several)) }
}

impl Attention for MultiHead {
    /// One head is single-head attention, and is called so: either trainer opens it.
    fn spec(&self) -> AttentionSpec {
        let single = self.spec.n_heads == 1 && self.spec.head_mask.is_empty();
        let name = if single { SingleHead::NAME } else { MultiHead::NAME };
        AttentionSpec { name: name.into(), ..self.spec.clone() }
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        let AttentionParams { w_qkv, b_qkv, w_proj, b_proj } = p.standard()?;
        let ctx = ctx.with_heads(self.spec.used(ctx.layer));
        self_attention_mha(x, w_qkv, b_qkv, w_proj, b_proj, self.spec.n_heads, &ctx)
    }

    fn cache_row(&self, config: &Config) -> usize {
        self.spec.cache_row(config.d_model)
    }

    fn decode(&self, step: Decode<'_>) -> Result<()> {
        let kept = self.spec.used(step.layer);
        step.with_keys_and_values(self.spec.n_heads, |position| self.attend(position, kept))
    }
}

impl MultiHead {
    /// Every head of one new position.
    fn attend(&self, position: Position<'_>, kept: &[bool]) {
        let Position { q, keys, values, scores, y } = position;
        let (d, n) = (q.len() / self.spec.n_heads, keys.nrows());
        let scoring = kernel::Scoring::new(d);
        rows_with(y, d, scores, n, CACHED.div_ceil(n), |first, y, scores| {
            let heads = y.chunks_exact_mut(d).zip(scores.chunks_exact_mut(n)).enumerate();
            for (h, (y, scores)) in heads.map(|(i, head)| (first + i, head)) {
                if kept.get(h) == Some(&false) {
                    y.fill(0.0);
                    continue;
                }
                let columns = h * d..(h + 1) * d;
                let [keys, values] = [keys, values].map(|all| of_columns(all, columns.clone()));
                kernel::attend_one(&q[columns], keys, values, scoring, scores, y);
            }
        });
    }
}

fn of_columns(mut x: ArrayView2<'_, f32>, columns: Range<usize>) -> ArrayView2<'_, f32> {
    x.slice_axis_inplace(Axis(1), Slice::from(columns));
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::settings::Value;

    #[test]
    fn a_stored_description_is_taken_when_it_is_this_attention() {
        for (spec, n_heads) in [
            (AttentionSpec::new(SingleHead::NAME, 1), 1),
            (AttentionSpec::new(MultiHead::NAME, 1), 1),
            (AttentionSpec::new(MultiHead::NAME, 4), 4),
        ] {
            assert_eq!(MultiHead::from_spec(&spec).unwrap().spec.n_heads, n_heads);
        }
        let masked = MultiHead::with_head_mask(2, vec![true, false]);
        let again = MultiHead::from_spec(&masked.spec()).unwrap();
        assert_eq!((again.spec.n_heads, again.spec.head_mask), (2, vec![true, false]));
        let one = AttentionSpec::new(SingleHead::NAME, 1);
        let off = MultiHead::from_spec(&AttentionSpec { head_mask: vec![false], ..one }).unwrap();
        assert_eq!((off.spec.n_heads, off.spec.head_mask), (1, vec![false]));
    }

    #[test]
    fn a_description_of_another_attention_is_refused() {
        let single = |n_heads| AttentionSpec::new(SingleHead::NAME, n_heads);
        let mut unknown_setting = AttentionSpec::new(MultiHead::NAME, 4);
        unknown_setting.other.insert("sinks", Value::Whole(8)).unwrap();
        for (spec, needle) in [
            (single(4), "'single-head' with 4 heads"),
            (single(0), "'single-head' with 0 heads"),
            (AttentionSpec::new("rotary\u{1b}", 4), "'rotary\\u{1b}' is not known here"),
            (AttentionSpec::new("", 1), "'' is not known"),
            (unknown_setting, "'sinks' is unknown"),
        ] {
            let refused = MultiHead::from_spec(&spec).unwrap_err().to_string();
            assert!(refused.contains(needle), "{refused}");
        }
    }
}
