//! `inspect`: looking inside a model.

mod attention;
mod heads;
mod model;
mod prune;

use super::scored::scored_on;
use crate::args::InspectVerb;
use crate::error::Result;
use crate::program::Program;
use crate::threads::in_pool;
use llm_core::base::{Message, escape::one_line};
use llm_core::message;
use llm_report::{Fact, Page};
use llm_run::data::{Input, Validation};
use llm_run::plan::Loaded;
use std::path::{Path, PathBuf};

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
    }
}

/// The page about a checkpoint, with what is known of it alone.
fn page_of(path: &Path, program: &Program, verb: &str, facts: Vec<Fact>) -> Page {
    let (name, version) = (program.models.name, env!("CARGO_PKG_VERSION"));
    Page {
        title: one_line(&path.display().to_string()),
        made_by: format!("{name} {version} inspect {verb}"),
        facts,
        ..Page::default()
    }
}

/// What a model is measured on, and what to call it.
type Measured = (Validation, Message);

fn measured_on(loaded: &Loaded, path: &Path, files: &[PathBuf], verb: &str) -> Result<Measured> {
    let none =
        message!("inspect {} needs --data: the model was imported, name some to measure on", verb);
    scored_on(loaded, path, (files, None), none, |input| match input {
        None => message!("the run's own unseen text"),
        Some(Input::Stories { .. }) => message!("unseen built-in stories"),
        Some(input @ Input::Files(files)) => match input.source() == loaded.run.recipe.data {
            true => message!("{}, learned by this run", files.name),
            false => files.name.clone(),
        },
    })
}
