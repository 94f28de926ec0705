//! `tokenizer`: learn one, use one, look at one.

mod info;
mod learn;
mod source;
mod translate;

use crate::args::TokenizerVerb;
use crate::error::Result;
use crate::program::Program;
use crate::threads::in_pool;

/// Does what the verb says.
///
/// # Errors
/// Usage, input, data and output errors, each naming the flag or file.
pub fn tokenizer(program: &Program, verb: &TokenizerVerb) -> Result<()> {
    match verb {
        TokenizerVerb::Train(args) => in_pool(&args.output, |_| learn::train(program, args)),
        TokenizerVerb::Encode(args) => in_pool(&args.output, |_| translate::encode(args)),
        TokenizerVerb::Decode(args) => in_pool(&args.output, |_| translate::decode(args)),
        TokenizerVerb::Info(args) => in_pool(&args.output, |_| info::info(args)),
    }
}
