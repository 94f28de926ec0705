//! `inspect`: looking inside a model.

mod attention;
mod heads;
mod lens;
mod model;
mod patch;
mod prune;

use crate::args::InspectVerb;
use crate::error::Result;
use crate::program::Program;
use crate::threads::in_pool;

/// Does what the verb says.
///
/// # Errors
/// Usage, input, data, checkpoint and output errors, each naming the flag or file.
pub fn inspect(program: &Program, verb: &InspectVerb) -> Result<()> {
    match verb {
        InspectVerb::Model(args) => in_pool(&args.output, |_| model::model(program, args)),
        InspectVerb::Attention(args) => {
            in_pool(&args.output, |_| attention::attention(program, args))
        }
        InspectVerb::Heads(args) => in_pool(&args.output, |_| heads::heads(program, args)),
        InspectVerb::Prune(args) => in_pool(&args.on.output, |_| prune::prune(program, args)),
        InspectVerb::Patch(args) => in_pool(&args.output, |_| patch::patch(program, args)),
        InspectVerb::Lens(args) => in_pool(&args.output, |_| lens::lens(program, args)),
    }
}
