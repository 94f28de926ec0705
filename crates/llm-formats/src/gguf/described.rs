//! What a file says of a model, as our settings, and the other way.

use super::architecture::Architecture;
use super::file::TensorInfo;
use super::value::{Entry, MetaValue, Metadata};
use crate::error::{FormatError, Result, refuse, shown, unsupported};
use crate::imported::{MODERN, several, shortest, with_inner};
use llm_core::base::Fill;
use llm_core::model::Rotary;
use llm_core::{AttentionSpec, Config, message};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Key of the family.
pub(super) const ARCHITECTURE: &str = "general.architecture";
/// Key of what is in the file: a model, or what goes with one.
pub(super) const KIND: &str = "general.type";
/// θ where a file does not say it: llama.cpp's.
const THETA: f64 = 10_000.0;
/// Key of ε of layer norms.
const GPT2_EPS: &str = "attention.layer_norm_epsilon";
/// Key of ε of root-mean-square norms.
const LLAMA_EPS: &str = "attention.layer_norm_rms_epsilon";

/// A model of a family, apart from its weights.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) family: Architecture,
    pub(super) config: Config,
    pub(super) attention: AttentionSpec,
}

impl Described {
    /// Entries of a file's metadata, in their order.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let Described { family, config, attention } = self;
        let key = |name: &str| format!("{}.{name}", family.name());
        let number = |name: &str, n: usize| (key(name), MetaValue::u32(n as u32));
        let mut entries = vec![
            number("vocab_size", config.vocab_size),
            number("context_length", config.seq_len),
            number("embedding_length", config.d_model),
            number("feed_forward_length", config.inner()),
            number("block_count", config.n_layers),
            number("attention.head_count", attention.n_heads),
        ];
        if *family == Architecture::Gpt2 {
            entries.push((key(GPT2_EPS), MetaValue::Single(config.norm_eps)));
            return entries;
        }
        let theta = attention.rotary.map_or(THETA, |rotary| rotary.theta) as f32;
        let head_dim = attention.head_dim(config.d_model);
        entries.extend([
            number("attention.head_count_kv", attention.kv_heads()),
            number("attention.key_length", head_dim),
            number("attention.value_length", head_dim),
            number("rope.dimension_count", head_dim),
            (key("rope.freq_base"), MetaValue::Single(theta)),
            (key(LLAMA_EPS), MetaValue::Single(config.norm_eps)),
        ]);
        entries
    }

    /// Reads the description in a file.
    ///
    /// # Errors
    /// [`FormatError::Content`] naming the key, its value and what is supported.
    pub(super) fn read(metadata: &Metadata, tensors: &[TensorInfo]) -> Result<Described> {
        let Some(MetaValue::Text(name)) = metadata.get(ARCHITECTURE) else {
            return refuse(message!("it does not say {}", ARCHITECTURE));
        };
        let family = Architecture::ALL.into_iter().find(|family| family.name() == name);
        let Some(family) = family else {
            let known = Architecture::ALL.map(Architecture::name).join(", ");
            return Err(unsupported(ARCHITECTURE, format!("'{}'", shown(name)), known));
        };
        let has = |name: &str| tensors.iter().any(|tensor| tensor.name == name);
        let keys = Keys { metadata, family, asked: RefCell::default() };
        let d_model = keys.size("embedding_length")?;
        let attention = keys.attention(d_model, &has)?;
        let vocab_size = vocabulary(tensors)?;
        keys.is("vocab_size", vocab_size)?;
        let sizes = [d_model, keys.size("block_count")?];
        let config = Config {
            norm_eps: keys.epsilon()?,
            tied_head: !has("output.weight"),
            mlp_bias: family == Architecture::Gpt2 || has("blk.0.ffn_up.bias"),
            ..family.holder().config(vocab_size, keys.size("context_length")?, sizes)
        };
        let config = with_inner(config, keys.size("feed_forward_length")?);
        keys.only_asked()?;
        Ok(Described { family, config, attention })
    }
}

/// V: rows of the table of tokens.
fn vocabulary(tensors: &[TensorInfo]) -> Result<usize> {
    const TABLE: &str = "token_embd.weight";
    let table = tensors.iter().find(|tensor| tensor.name == TABLE);
    match table.map(|tensor| &tensor.shape[..]) {
        Some(&[rows, _]) => Ok(rows),
        Some(_) => refuse(message!("tensor {} has not two axes", TABLE)),
        None => refuse(message!("tensor {} is missing", TABLE)),
    }
}

/// The keys of a family, and which of them were asked for.
struct Keys<'m> {
    metadata: &'m Metadata,
    family: Architecture,
    asked: RefCell<BTreeSet<String>>,
}

impl<'m> Keys<'m> {
    fn full(&self, name: &str) -> String {
        format!("{}.{name}", self.family.name())
    }

    fn get(&self, name: &str) -> Option<&'m MetaValue> {
        let key = self.full(name);
        let value = self.metadata.get(&key);
        self.asked.borrow_mut().insert(key);
        value
    }

    fn needed(&self, name: &str) -> Result<&'m MetaValue> {
        let missing = || FormatError::content(message!("it does not say {}", self.full(name)));
        self.get(name).ok_or_else(missing)
    }

    fn unsupported(&self, name: &str, found: &MetaValue, supported: impl Fill) -> FormatError {
        unsupported(&self.full(name), found.in_words(), supported)
    }

    /// A whole number of 1 or more.
    fn size(&self, name: &str) -> Result<usize> {
        let value = self.needed(name)?;
        let size = value.whole().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        size.ok_or_else(|| self.unsupported(name, value, message!("a whole number of 1 or more")))
    }

    fn size_or(&self, name: &str, usual: usize) -> Result<usize> {
        self.get(name).map_or(Ok(usual), |_| self.size(name))
    }

    /// A number that follows from others.
    fn is(&self, name: &str, n: usize) -> Result<()> {
        match self.get(name) {
            Some(value) if value.whole() != Some(n as u64) => Err(self.unsupported(name, value, n)),
            _ => Ok(()),
        }
    }

    /// ε of the norms, as it is rounded to f32.
    fn epsilon(&self) -> Result<f32> {
        let name = match self.family {
            Architecture::Gpt2 => GPT2_EPS,
            Architecture::Llama | Architecture::Qwen3 => LLAMA_EPS,
        };
        let value = self.needed(name)?;
        let eps = value.real().map(|eps| eps as f32).filter(|eps| *eps > 0.0 && *eps <= 1.0);
        eps.ok_or_else(|| self.unsupported(name, value, message!("a number above 0, up to 1")))
    }

    /// θ of the rotary positions.
    fn theta(&self) -> Result<f64> {
        const NAME: &str = "rope.freq_base";
        let Some(value) = self.get(NAME) else { return Ok(THETA) };
        value.real().ok_or_else(|| self.unsupported(NAME, value, message!("a number")))
    }

    fn attention(&self, d_model: usize, has: &impl Fn(&str) -> bool) -> Result<AttentionSpec> {
        let plain = several(self.size("attention.head_count")?);
        if self.family == Architecture::Gpt2 {
            self.is("attention.head_count_kv", plain.n_heads)?;
            return Ok(plain);
        }
        if has("rope_freqs.weight") {
            return refuse(message!(
                "it scales rotary positions (rope_freqs.weight), which is not supported"
            ));
        }
        let head_dim = self.size_or("attention.key_length", plain.head_dim(d_model))?;
        self.is("attention.value_length", head_dim)?;
        self.is("rope.dimension_count", head_dim)?;
        let kv_heads = self.size_or("attention.head_count_kv", plain.n_heads)?;
        let own = AttentionSpec {
            name: MODERN.into(),
            kv_heads: (kv_heads != plain.n_heads).then_some(kv_heads),
            head_dim: Some(head_dim),
            rotary: Some(Rotary::new(self.theta()?)),
            qk_norm: self.family == Architecture::Qwen3,
            biases: ["attn_q", "attn_output"].map(|name| has(&format!("blk.0.{name}.bias"))),
            ..plain
        };
        Ok(shortest(own, d_model))
    }

    /// Refuses a key that was not asked for: it may change what is computed.
    fn only_asked(&self) -> Result<()> {
        let asked = self.asked.borrow();
        let own = self.metadata.iter().filter(|(key, _)| key.starts_with(&self.full("")));
        for (key, value) in own.filter(|(key, _)| !asked.contains(*key)) {
            // A mixture of no experts, which others than these have.
            let none = value.whole() == Some(0);
            let unscaled =
                *key == self.full("rope.scaling.type") && *value == MetaValue::text("none");
            if !(none || unscaled) {
                let (key, found) = (shown(key), value.in_words());
                return refuse(message!("{} is {}, which is not supported", key, found));
            }
        }
        Ok(())
    }
}
