//! One safetensors file under this project's own parameter names: for looking into a model with
//! other tools, and for bringing changed weights back.
//!
//! The names are those of a checkpoint: `wte`, `wpe`, `blocks.0.w_qkv`, .. The entry
//! `tiny-gpt` of the file's metadata says what the weights do not: heads, dropout, tokenizer; the
//! tokenizer's data are a tensor of bytes. A file without the entry is read all the same, its
//! sizes taken from the shapes, when the number of heads is given.

use crate::error::{FormatError, Result, refuse, said};
use crate::files::read_file;
use crate::imported::{FromSpec, Imported, Note, attention, check, heads, nameless, with_inner};
use crate::mapping::finished;
use crate::safetensors::{Contents, Data, Dtype, Named, Values, Wanted, write};
use crate::tokenizers;
use llm_core::checkpoint::{TokenizerSpec, limits::MAX_BLOB};
use llm_core::model::{Mlp, Norm, Param, parameter_list};
use llm_core::tokenizer::Tokenizer;
use llm_core::{Attention, AttentionSpec, Config, Tensor, TinyGPT, message};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Key of the description in the file's metadata.
const KEY: &str = "tiny-gpt";
/// Name of the tensor with the tokenizer's data.
const TOKENIZER: &str = "tokenizer";

/// Everything that the weights do not say.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    config: Config,
    attention: AttentionSpec,
    tokenizer: String,
}

/// Writes the model to the file at `path`.
///
/// # Errors
/// What the system says; an old file then stays.
pub fn export(path: &Path, model: &TinyGPT, tokenizer: &dyn Tokenizer) -> io::Result<()> {
    let model = &model.clone().merged();
    let description = Description {
        config: model.config().clone(),
        attention: model.attention().spec(),
        tokenizer: tokenizer.name().into(),
    };
    let parameter = |(name, p): (String, _)| {
        let p: &Tensor = p;
        Named { name, shape: p.shape().to_vec(), data: Data::Floats(Cow::Borrowed(p.data())) }
    };
    let mut tensors: Vec<_> = model.parameters().map(parameter).collect();
    let blob = tokenizer.blob();
    if !blob.is_empty() {
        let shape = vec![blob.len()];
        tensors.push(Named { name: TOKENIZER.into(), shape, data: Data::Bytes(blob.into()) });
    }
    write(path, (KEY, &serde_json::to_string(&description)?), tensors)
}

/// Whether the file was written by [`export`]. For a look before it is replaced.
pub fn is_ours(path: &Path) -> bool {
    read_file(path, Contents::open).is_ok_and(|contents| contents.metadata.contains_key(KEY))
}

/// Reads a model from the file at `path`. `n_heads` is what is known about it, and needed where
/// the file does not say it.
///
/// # Errors
/// [`FormatError::File`] on whatever does not fit.
pub fn import(path: &Path, n_heads: Option<usize>, from_spec: &FromSpec<'_>) -> Result<Imported> {
    read_file(path, |file, length| read(file, length, n_heads, from_spec))
}

/// [`import`] from a reader of `length` bytes.
///
/// # Errors
/// [`FormatError`] on whatever does not fit.
pub fn read(
    input: impl Read,
    length: u64,
    n_heads: Option<usize>,
    from_spec: &FromSpec<'_>,
) -> Result<Imported> {
    let contents = Contents::open(input, length)?.unwrapped();
    let (config, attention, kind) = match contents.metadata.get(KEY) {
        Some(text) => described(text, n_heads, from_spec)?,
        None => undescribed(&contents, n_heads, from_spec)?,
    };
    let notes = Vec::from_iter(kind.is_none().then_some(Note::Undescribed));
    check(&config, attention.as_ref())?;
    let list = parameter_list(&config, &attention.parameters(&config));
    let parameter = |(name, p): &(String, Param)| Wanted::parameter(name.clone(), p.shape.clone());
    let mut wanted: Vec<_> = list.iter().map(parameter).collect();
    let blob = contents.row(TOKENIZER).filter(|_| kind.is_some());
    if let Some(row) = blob {
        if row.length > MAX_BLOB {
            let why = message!("a tokenizer of {} bytes, the limit is {}", row.length, MAX_BLOB);
            return refuse(why);
        }
        let shape = vec![row.length as usize];
        wanted.push(Wanted { name: TOKENIZER.into(), shape, dtype: Dtype::U8 });
    }
    let (mut made, mut blob) = (vec![Vec::new(); list.len()], Vec::new());
    let take = |i: usize, values| {
        match values {
            Values::Floats(values) => made[i] = values,
            Values::Bytes(bytes) => blob = bytes,
        }
        Ok(())
    };
    contents.read(&wanted, |_| false, take)?;
    let tokenizer = tokenizer(kind, blob, config.vocab_size)?;
    Imported::untrained(config, attention, finished(list, made)?, Some(tokenizer), notes)
}

type Described = (Config, Arc<dyn Attention>, Option<String>);

/// The settings of a file that [`export`] wrote.
fn described(text: &str, n_heads: Option<usize>, from_spec: &FromSpec<'_>) -> Result<Described> {
    let Description { config, attention: spec, tokenizer } = serde_json::from_str(text)
        .map_err(|e| FormatError::content(message!("metadata '{}': {}", KEY, said(&e))))?;
    if let Some(given) = n_heads.filter(|h| *h != spec.n_heads) {
        return Err(FormatError::HeadsDiffer { found: spec.n_heads, given });
    }
    Ok((config, attention(spec, from_spec)?, Some(tokenizer)))
}

/// The settings of any other, from its shapes.
fn undescribed<R: Read>(
    contents: &Contents<R>,
    n_heads: Option<usize>,
    from_spec: &FromSpec<'_>,
) -> Result<Described> {
    let n_heads = n_heads.ok_or(FormatError::HeadsUnknown)?;
    let has = |name: &str| contents.row(name).is_some();
    let shape = |name: &str| match contents.row(name).map(|row| &row.shape[..]) {
        Some(&[rows, columns]) => Ok((rows, columns)),
        Some(_) => refuse(message!("tensor {} has not two axes", name)),
        None => refuse(message!("tensor {} is missing", name)),
    };
    let ((vocab_size, d_model), (seq_len, _)) = (shape("wte")?, shape("wpe")?);
    let hidden = shape("blocks.0.w_fc").map_or(0, |(_, hidden)| hidden);
    let inner = shape("blocks.0.w_out").map_or(hidden, |(inner, _)| inner);
    let layers = (0..=Config::MAX_LAYERS).take_while(|i| has(&format!("blocks.{i}.w_qkv")));
    let n_layers = layers.count();
    let config = Config {
        norm_affine: has("lnf_g"),
        norm: if has("lnf_g") && !has("lnf_b") { Norm::Rms } else { Norm::Layer },
        tied_head: !has("w_lm"),
        head_bias: has("b_lm"),
        mlp: if inner.checked_mul(2) == Some(hidden) { Mlp::SwiGlu } else { Mlp::Gelu },
        mlp_bias: has("blocks.0.b_fc") || has("blocks.0.b_out"),
        ..Config::new(vocab_size, seq_len, d_model, n_layers)
    };
    Ok((with_inner(config, inner), heads(n_heads, from_spec)?, None))
}

/// The tokenizer that a file names, or the one for a file that names none.
fn tokenizer(kind: Option<String>, blob: Vec<u8>, vocab_size: usize) -> Result<Arc<dyn Tokenizer>> {
    let Some(kind) = kind else { return nameless(vocab_size) };
    let tokenizer =
        tokenizers::from_spec(&TokenizerSpec { kind, blob }).map_err(FormatError::Refused)?;
    tokenizers::fit(tokenizer, vocab_size)
}
