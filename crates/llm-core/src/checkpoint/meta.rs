//! What a checkpoint says besides its tensors.

use crate::buffer::Preview;
use crate::model::{AdapterSpec, AttentionSpec, Config};
use crate::recipe::Recipe;
use crate::tokenizer::{ByteTokenizer, Tokenizer};
use std::fmt;

/// Which tokenizer made the tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenizerSpec {
    /// Name of the kind, at most 64 bytes.
    pub kind: String,
    /// Data from which the tokenizer is made again; empty for bytes. At most 64 MiB.
    pub blob: Vec<u8>,
}

impl fmt::Debug for TokenizerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TokenizerSpec { kind, blob } = self;
        let mut fields = f.debug_struct("TokenizerSpec");
        fields.field("kind", kind).field("blob", &Preview(blob)).finish()
    }
}

impl TokenizerSpec {
    /// What makes this tokenizer again, with
    /// [`tokenizer::from_spec`](crate::tokenizer::from_spec).
    pub fn of(tokenizer: &dyn Tokenizer) -> TokenizerSpec {
        TokenizerSpec { kind: tokenizer.name().into(), blob: tokenizer.blob() }
    }

    /// [`ByteTokenizer`].
    pub fn bytes() -> TokenizerSpec {
        TokenizerSpec::of(&ByteTokenizer)
    }
}

/// Everything in a checkpoint that is no tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// Sizes and options of the model.
    pub config: Config,
    /// The model's attention.
    pub attention: AttentionSpec,
    /// What is beside the matrices of a model that is frozen.
    pub adapter: Option<AdapterSpec>,
    /// The tokenizer that made the tokens.
    pub tokenizer: TokenizerSpec,
    /// The settings of the run.
    pub recipe: Recipe,
    /// Steps done.
    pub step: u64,
}
