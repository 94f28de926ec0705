//! Checkpoints of the C++ original, format version 1: `PREFIX.json` and `PREFIX.bin`.
//!
//! ```text
//! JSON  format, version, vocab_size, seq_len, d_model, n_layers, lr, beta1, beta2, eps,
//!       weight_decay, step, has_optim_state
//! bin    8 bytes  "BGPTCKPT"       4  version     4  moments: 0 or 1
//!        8        steps done       4  number of parameters
//!       per parameter: 8  number of elements, then the elements
//!       with moments:  8  updates done, then per parameter first and second moments
//! ```
//!
//! All numbers are little-endian, elements f32. The parameters are those of our baseline in its
//! order: `wte`, `wpe`, each block's `w_qkv`, `b_qkv`, `w_proj`, `b_proj`, `w_fc`, `b_fc`,
//! `w_out`, `b_out`, then `w_lm`, `b_lm`. The number of heads is in neither file: one by
//! default. Neither is the tokenizer: 256 tokens are bytes.

mod numbers;

use crate::error::{FormatError, Result, refuse, said, shown};
use crate::files::{json_object, read_file, read_small};
use crate::imported::{FromSpec, Imported, Note, check, heads, nameless, parameter};
use llm_core::base::memory;
use llm_core::model::{Footprint, SingleHead, parameter_shapes};
use llm_core::optim::Hyperparameters;
use llm_core::recipe::Recipe;
use llm_core::{Config, message};
use numbers::Numbers;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"BGPTCKPT";
const FORMAT: &str = "build-llm-using-cpp-checkpoint";
/// Bytes of the JSON file.
const MAX_JSON: u64 = 1 << 20;

/// The JSON file; further keys are ignored, as in the original.
struct MetaJson {
    config: Config,
    /// The original's way of training: the stored settings, and its defaults for the others.
    recipe: Recipe,
    /// Steps done.
    step: u64,
    has_optim_state: bool,
}

/// Reads both files. `n_heads` is what is known about the model: one head, if nothing is.
///
/// # Errors
/// [`FormatError::File`] naming the file that does not fit.
pub fn import(prefix: &Path, n_heads: Option<usize>, from_spec: &FromSpec<'_>) -> Result<Imported> {
    let [json, bin] = [".json", ".bin"].map(|ending| beside(prefix, ending));
    let settings = read_small(&json, MAX_JSON).and_then(|text| MetaJson::parse(&text));
    let settings = settings.map_err(|e| e.at(&json))?;
    read_file(&bin, |file, length| settings.import(file, length, n_heads, from_spec))
}

/// `PREFIX.json`, also where the prefix has a dot of its own.
fn beside(prefix: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = prefix.into();
    name.push(ending);
    name.into()
}

impl MetaJson {
    fn parse(text: &[u8]) -> Result<MetaJson> {
        let fields = json_object(text)?;
        let format: String = field(&fields, "format")?;
        if format != FORMAT {
            let found = shown(&format);
            return refuse(message!("format '{}', expected '{}'", found, FORMAT));
        }
        let version: u64 = field(&fields, "version")?;
        if version != 1 {
            return refuse(message!("version {}, this program reads 1", version));
        }
        let size = |name| field(&fields, name);
        let (vocab_size, seq_len) = (size("vocab_size")?, size("seq_len")?);
        let config = Config::new(vocab_size, seq_len, size("d_model")?, size("n_layers")?);
        let (lr, step) = (field(&fields, "lr")?, field(&fields, "step")?);
        let hyperparameters = Hyperparameters {
            beta1: field(&fields, "beta1")?,
            beta2: field(&fields, "beta2")?,
            eps: field(&fields, "eps")?,
            weight_decay: field(&fields, "weight_decay")?,
            ..Hyperparameters::default()
        };
        let windows = Recipe::new([4, seq_len.min(64)], step, lr);
        let recipe = Recipe { hyperparameters, clip: 0.0, ..windows };
        let has_optim_state = field(&fields, "has_optim_state")?;
        config.check().map_err(FormatError::Refused)?;
        recipe.check().map_err(FormatError::Refused)?;
        Ok(MetaJson { config, recipe, step, has_optim_state })
    }

    fn import(
        self,
        input: impl Read,
        length: u64,
        n_heads: Option<usize>,
        from_spec: &FromSpec<'_>,
    ) -> Result<Imported> {
        let config = &self.config;
        let attention = heads(n_heads.unwrap_or(1), from_spec)?;
        let notes = Vec::from_iter(n_heads.is_none().then_some(Note::HeadsUnknown));
        check(config, attention.as_ref())?;
        let shapes = parameter_shapes(config);
        let expected = file_length(config, shapes.len(), self.has_optim_state);
        let mut input = Numbers(input);
        self.check_start(&mut input, length, shapes.len())?;
        if length != expected {
            return refuse(message!("the file is {} bytes, this model needs {}", length, expected));
        }
        memory::require(length)?;
        let mut parameters = Vec::with_capacity(shapes.len());
        for (name, shape) in &shapes {
            let (found, count) = (input.u64()?, shape.iter().product::<usize>());
            if found != count as u64 {
                let why = message!("{} has {} elements, this model needs {}", name, found, count);
                return refuse(why);
            }
            parameters.push((name.clone(), parameter(shape, input.floats(name.clone(), count)?)?));
        }
        let optimizer = self.has_optim_state.then(|| input.optimizer(&shapes)).transpose()?;
        let tokenizer = nameless(config.vocab_size)?;
        let MetaJson { config, recipe, step, .. } = self;
        Ok(Imported { config, attention, parameters, tokenizer, recipe, step, optimizer, notes })
    }

    /// Checks what stands before the parameters, and agrees with the JSON file.
    fn check_start(&self, input: &mut Numbers<impl Read>, len: u64, tensors: usize) -> Result<()> {
        if len < START {
            return refuse(message!("the file is {} bytes, too short for a checkpoint", len));
        }
        if input.array::<8>()? != MAGIC {
            return refuse(message!("not a checkpoint of the C++ original"));
        }
        let version = input.u32()?;
        if version != 1 {
            return refuse(message!("version {}, this program reads 1", version));
        }
        let (moments, step, count) = (input.u32()?, input.u64()?, input.u32()?);
        for (what, found, expected) in [
            (message!("optimizer state"), moments.into(), self.has_optim_state.into()),
            ("step".to_string().into(), step, self.step),
        ] {
            if found != expected {
                return refuse(message!("{} is {}, the JSON file says {}", what, found, expected));
            }
        }
        if count as usize != tensors {
            return refuse(message!("{} parameters, this model has {}", count, tensors));
        }
        Ok(())
    }
}

/// A field of the JSON file.
fn field<T: DeserializeOwned>(fields: &Map<String, Value>, name: &str) -> Result<T> {
    let Some(value) = fields.get(name) else { return refuse(message!("{} is missing", name)) };
    T::deserialize(value).map_err(|e| FormatError::content(message!("{}: {}", name, said(&e))))
}

/// Bytes before the parameters.
const START: u64 = 28;

/// The length of a file with these parameters. The config has been checked, so nothing overflows.
fn file_length(config: &Config, parameters: usize, moments: bool) -> u64 {
    let (elements, parameters) =
        (4 * Footprint::new(config, &SingleHead).parameter_count(), parameters as u64);
    let moments = if moments { 8 + 2 * elements } else { 0 };
    START + 8 * parameters + elements + moments
}

#[cfg(test)]
mod tests;
