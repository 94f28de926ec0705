//! `inspect`: looking inside a model.

mod attention;
mod heads;
mod measured_on;
mod model;
mod output;
mod prune;

use crate::args::{InspectCommand, InspectVerb};
use crate::error::Result;
use crate::program::Program;

/// Does what the verb says.
///
/// # Errors
/// Usage, input, data, checkpoint and output errors, each naming the flag or file.
pub fn inspect(program: &Program, command: &InspectCommand) -> Result<()> {
    match &command.verb {
        InspectVerb::Model(args) => model::model(program, args),
        InspectVerb::Attention(args) => attention::attention(program, args),
        InspectVerb::Heads(args) => heads::heads(program, args),
        InspectVerb::Prune(args) => prune::prune(program, args),
    }
}
