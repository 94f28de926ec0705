//! What a model is scored on.

use crate::console::note;
use crate::error::{Result, RunError, usage};
use llm_core::base::{Message, memory};
use llm_core::message;
use llm_core::recipe::{DataForm, DataSource};
use llm_run::data::{Cut, Data, Input, Reading, Validation, check_about_files, one_stdin};
use llm_run::plan::{Loaded, own_unseen};
use std::path::{Path, PathBuf};

/// The files that are given, else the unseen part of what the model's run was trained on, with what
/// `about` says of the files or, if there are none, of that part.
///
/// # Errors
/// [`RunError::Usage`] with `none` where there is neither; what reading says.
pub(super) fn scored_on<T>(
    loaded: &Loaded,
    path: &Path,
    (files, form): (&[PathBuf], Option<DataForm>),
    none: Message,
    about: impl FnOnce(Option<&Input>) -> T,
) -> Result<(Validation, T)> {
    check_about_files(files, form, None)?;
    one_stdin(files)?;
    let (tokenizer, recipe) = (&loaded.tokenizer, &loaded.run.recipe);
    let reading = Reading::for_model(&**tokenizer, &recipe.data, form);
    let input = Input::again(&recipe.data, files, reading)?;
    if input.is_none() && recipe.data == DataSource::NONE {
        return usage(none);
    }
    let about = about(input.as_ref());
    let cut = Cut { seq_len: loaded.run.model.config().seq_len, loss_on: recipe.loss_on };
    let val = match input {
        Some(input) => Data::whole(input, cut, tokenizer)?,
        None => own_unseen(path, recipe, tokenizer)?,
    };
    val.about.iter().for_each(|label| note(message!("data    {}", label)));
    Ok((val, about))
}

/// Windows that are scored together, for which there has to be memory.
pub(super) fn batch_of(loaded: &Loaded, given: Option<usize>) -> Result<usize> {
    let model = &loaded.run.model;
    let batch = given.unwrap_or(loaded.run.recipe.batch_size);
    if batch == 0 {
        return usage("--batch 0: there is nothing to score at a time");
    }
    memory::require(model.inference_memory(batch, model.config().seq_len))
        .map_err(|e| RunError::Memory(e, message!("--batch")))?;
    Ok(batch)
}

/// What `inspect` measures a model on, and what to call it.
pub(super) type Measured = (Validation, Message);

pub fn measured_on(
    loaded: &Loaded,
    path: &Path,
    files: &[PathBuf],
    verb: &str,
) -> Result<Measured> {
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
