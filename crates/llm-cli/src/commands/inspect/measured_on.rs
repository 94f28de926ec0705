//! What `inspect` measures on.

use crate::commands::notes::say_changed;
use crate::error::{Result, usage};
use llm_core::base::Message;
use llm_core::message;
use llm_core::recipe::DataSource;
use llm_run::data::{Cut, Data, Input, Reading, Validation, one_stdin};
use llm_run::plan::{Loaded, own_unseen};
use std::path::{Path, PathBuf};

/// What a model is measured on, and what to call it: the files that are given, else the unseen part
/// of what its run was trained on.
pub(super) fn measured_on(
    loaded: &Loaded,
    path: &Path,
    files: &[PathBuf],
    verb: &str,
) -> Result<(Validation, Message)> {
    one_stdin(files)?;
    let (tokenizer, recipe) = (&loaded.tokenizer, &loaded.run.recipe);
    let reading = Reading::for_model(&**tokenizer, &recipe.data, None);
    let Some(input) = Input::again(&recipe.data, files, reading)? else {
        if recipe.data == DataSource::NONE {
            return usage(message!(
                "inspect {} needs --data: the model was imported, name some to measure on",
                verb
            ));
        }
        let unseen = own_unseen(path, recipe, tokenizer)?;
        say_changed(&unseen);
        return Ok((unseen, message!("the run's own unseen text")));
    };
    let name = match &input {
        Input::Stories { .. } => message!("unseen built-in stories"),
        Input::Files(files) if input.source() == recipe.data => {
            message!("{}, learned by this run", files.name)
        }
        Input::Files(files) => files.name.clone(),
    };
    let seq_len = loaded.run.model.config().seq_len;
    let cut = Cut { seq_len, loss_on: recipe.loss_on };
    let val = Data::whole(input, cut, tokenizer)?;
    say_changed(&val);
    Ok((val, name))
}
