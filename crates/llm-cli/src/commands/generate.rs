//! `generate`: text from a trained model.

use super::devices;
use super::loaded::loaded;
use crate::args::GenerateArgs;
use crate::console::{Out, note};
use crate::error::Result;
use crate::generation::{Request, To};
use crate::program::Program;
use crate::signals::Signals;
use llm_run::defaults::TextDefaults;
use llm_run::plan::Loaded;

/// Loads the model and writes.
///
/// # Errors
/// What loading or writing refuses.
pub fn generate(program: &Program, args: &GenerateArgs) -> Result<()> {
    let json = args.json || args.output.json();
    let for_the_cpu = [("--weights", args.weights.flatten().is_some())];
    let Some(device) = devices::chosen(args.device.as_ref(), json, &for_the_cpu)? else {
        return Ok(());
    };
    let foreign = args.nano_gpt.notes(&program.models)?;
    if !args.output.quiet() {
        foreign.iter().for_each(note);
    }
    let signals = Signals::listen();
    let (_, loaded) = loaded(program, &args.load, &args.apart, &args.output)?;
    let Loaded { mut run, tokenizer, .. } = loaded;
    let seed = args.seed.unwrap_or(run.recipe.seed);
    let defaults = TextDefaults::choose(None);
    let mut request = Request::new(&args.sampling, &defaults, &tokenizer, seed, &run.recipe.data)?;
    request.window = run.model.attention().spec().window;
    request.weights = args.weights.flatten();
    if let Some(kind) = request.weights {
        run.model = run.model.rounded(kind)?; // the prompt is read with the same numbers
    }
    let mut out = Out::default();
    let to = To { out: &mut out, signals: &signals, json, step: run.step };
    request.write_on(&device, &run.model, to, |_| {})?;
    out.finish()
}
