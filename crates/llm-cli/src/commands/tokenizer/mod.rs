//! `tokenizer`: learn one, use one, look at one.

mod info;
mod learn;
mod source;
mod translate;

use crate::args::{TokenizerCommand, TokenizerVerb};
use crate::error::Result;
use crate::program::Program;

/// Does what the verb says.
///
/// # Errors
/// Usage, input, data and output errors, each naming the flag or file.
pub fn tokenizer(program: &Program, command: &TokenizerCommand) -> Result<()> {
    match &command.verb {
        TokenizerVerb::Train(args) => learn::train(program, args),
        TokenizerVerb::Encode(args) => translate::encode(args),
        TokenizerVerb::Decode(args) => translate::decode(args),
        TokenizerVerb::Info(args) => info::info(args),
    }
}
