//! The model that a verb looks at or writes with.

use crate::args::{ApartArgs, OutputArgs};
use crate::console::note;
use crate::error::Result;
use crate::program::Program;
use llm_run::folder::to_load;
use llm_run::plan::{Apart, Loaded, load_beside, merged};
use std::path::{Path, PathBuf};

/// Loads what `--load` names, in one with its adapter, and the path of the checkpoint.
///
/// # Errors
/// What loading refuses.
pub(super) fn loaded(
    program: &Program,
    load: &Path,
    apart: &ApartArgs,
    output: &OutputArgs,
) -> Result<(PathBuf, Loaded)> {
    let path = to_load(load)?;
    let ApartArgs { base, adapter } = apart;
    let apart = Apart { base: base.as_deref(), adapter: adapter.as_deref() };
    let (loaded, notes) = load_beside(&program.models, &path, apart)?;
    if !output.quiet() {
        notes.into_iter().for_each(|one| note(one.message()));
    }
    Ok((path, merged(&program.models, loaded)?))
}
