//! `generate`: text from a trained model.

use crate::args::GenerateArgs;
use crate::console::{Out, note};
use crate::defaults::TextDefaults;
use crate::error::Result;
use crate::generation::Request;
use crate::output::to_load;
use crate::plan::{Loaded, load};
use crate::program::Program;
use crate::signals::Signals;

/// Loads the model and writes.
///
/// # Errors
/// What loading or writing refuses.
pub fn generate(program: &Program, args: &GenerateArgs) -> Result<()> {
    let foreign = args.nano_gpt.notes()?;
    if !args.output.quiet() {
        foreign.iter().for_each(|line| note(line));
    }
    let signals = Signals::listen();
    let Loaded { run, tokenizer, .. } = load(program, &to_load(&args.load)?)?;
    let seed = args.seed.unwrap_or(run.recipe.seed);
    let defaults = TextDefaults::choose(None);
    let request =
        signals.reading(|| Request::new(&args.sampling, &defaults, &tokenizer, seed, None))?;
    let request = request.by((program.described)(&run.model.attention().spec()));
    let mut out = Out::default();
    let json = args.json || args.output.json();
    request.write(&run.model, run.step, &mut out, &signals, json, |_| {})?;
    out.finish()
}
