//! The data of a run that goes on: given again where they cannot be made again, and the same.

use super::files::TextFiles;
use super::fresh::fitted;
use crate::data::{Data, Input, Reading, Validation, check_kind_of_data};
use crate::error::{Result, RunError, option, usage};
use crate::options::Options;
use crate::rewards::{Ground, Judge, own_questions, pairs, questions};
use llm_core::base::escape::paths;
use llm_core::base::{Message, bytes};
use llm_core::message;
use llm_core::recipe::{DataForm, DataSource, EndOfText, Recipe};
use llm_core::tokenizer::Tokenizer;
use llm_formats::tokenizers;
use std::path::Path;
use std::sync::Arc;

/// The share of another text that is unseen, where the run had validation text of its own.
const UNSEEN: f64 = 0.1;

/// The data of a run that goes on: the same as before, or other data that was allowed. Validation
/// text of its own is asked for when something is to be judged.
pub(super) fn resumed(
    options: &Options,
    files: &TextFiles,
    recipe: &mut Recipe,
    tokenizer: &mut Arc<dyn Tokenizer>,
    judged: bool,
    path: &Path,
    context: usize,
) -> Result<(Data, Ground)> {
    let (rewards, are_pairs) = (!recipe.reward.is_empty(), recipe.reward == Judge::PAIRS);
    let reading = Reading::for_model(&**tokenizer, &recipe.data, options.data_as);
    let reading = reading.of_pairs(are_pairs);
    let reading = match options.end_of_text {
        None => reading,
        Some(ends) if ends == EndOfText::None || tokenizer.end_of_text().is_some() => {
            reading.ending(ends)
        }
        Some(_) => {
            return usage(message!(
                "{end_of_text}: the model of '{}' has no token that ends a text; leave it out, \
                 or train a new model",
                path.display()
            ));
        }
    };
    let untrained = recipe.data == DataSource::NONE;
    let own = own_questions(&recipe.reward);
    let input = match files.data.is_empty() {
        _ if own.is_some() => {
            let own = own.unwrap_or_default();
            Some(Input::of_bytes(recipe.reward.clone(), own, reading)?)
        }
        true if untrained && are_pairs => {
            return usage(message!("{dpo} needs pairs of answers: name them with {data}"));
        }
        true if untrained && rewards => {
            let judge = &recipe.reward;
            return usage(message!("{reward} {}: name the questions with {data}", judge));
        }
        true => Input::again(&recipe.data, &[], reading)?,
        false => Some(options.files(&files.data, reading)?),
    };
    let Some(input) = input else {
        if untrained {
            let path = path.display();
            return usage(message!(
                "checkpoint '{}' was imported; give it text to learn with {data}",
                path
            ));
        }
        return Err(missing(path, message!("was trained on files"), &recipe.data, files, "data"));
    };
    let allowed = untrained || options.allow_data_change.unwrap_or(false);
    let val = match (&recipe.val_data, files.val.is_empty()) {
        // Of another text the end of that is unseen.
        (Some(_), true) if !options.data.is_empty() && allowed && input.source() != recipe.data => {
            recipe.val_data = None;
            if !options.given.contains_key("val_frac") {
                recipe.val_frac = UNSEEN;
            }
            None
        }
        (Some(val), true) if judged => {
            return Err(missing(path, message!("has its own validation text"), val, files, "val"));
        }
        (_, true) => None,
        (_, false) if matches!(input, Input::Stories { .. }) => {
            return usage(message!("{val} needs {data}"));
        }
        (_, false) => Some(options.files(&files.val, reading)?),
    };
    let talked = matches!(recipe.data, DataSource::Files { form: DataForm::Chats, .. });
    let before = Some(&recipe.data);
    if let Some(now) = changed(before, &input, allowed, path, message!("trained"), Some(files))? {
        recipe.data = now;
    }
    if let Some(val) = &val
        && let before = recipe.val_data.as_ref()
        && let Some(now) = changed(before, val, allowed, path, message!("judged"), None)?
    {
        recipe.val_data = Some(now);
        recipe.val_frac = 0.0; // trained on all of {data} from now on
    }
    check_kind_of_data(&options.given, &input)?;
    if are_pairs {
        let (data, pairs) = pairs(input, recipe, tokenizer)?;
        return Ok((data, Ground { pairs: Some(Arc::new(pairs)), ..Ground::default() }));
    }
    if rewards {
        let (data, questions) = questions(input, recipe, context, tokenizer)?;
        return Ok((data, Ground { questions: Some(Arc::new(questions)), ..Ground::default() }));
    }
    if let Some(chats) = input.chats() {
        *tokenizer = tokenizers::talking(tokenizer.clone(), None, false)?;
        if !talked && !options.given.contains_key("seq") {
            recipe.seq_len = fitted(&chats.lengths(&**tokenizer)?).min(context);
        }
    }
    let data = Data::new(input, val, recipe.val_frac, (&*recipe).into(), tokenizer)?;
    Ok((data, Ground::default()))
}

/// The text of the run whose checkpoint is at `path`, as far as its folder remembers it.
///
/// # Errors
/// As for a run that goes on.
pub fn own_data(path: &Path, recipe: &Recipe, tokenizer: &Arc<dyn Tokenizer>) -> Result<Data> {
    own(path, recipe, tokenizer, false)
}

fn own(path: &Path, recipe: &Recipe, tokenizer: &Arc<dyn Tokenizer>, judged: bool) -> Result<Data> {
    let options = Options::default();
    let files = TextFiles::of_run(&options, path);
    let (recipe, tokenizer) = (&mut recipe.clone(), &mut tokenizer.clone());
    let context = recipe.seq_len;
    resumed(&options, &files, recipe, tokenizer, judged, path, context).map(|(data, _)| data)
}

/// The unseen part of that text.
///
/// # Errors
/// As for a run that goes on; [`RunError::Usage`] when all of it is trained on.
pub fn own_unseen(path: &Path, recipe: &Recipe, cut: &Arc<dyn Tokenizer>) -> Result<Validation> {
    own(path, recipe, cut, true)?.val.ok_or_else(|| {
        let path = path.display();
        RunError::Usage(message!("the run of '{}' set no text apart; name some with {data}", path))
    })
}

/// The note when training data is scored.
pub fn about_training_data(input: &Input, recipe: &Recipe) -> Option<Message> {
    (matches!(input, Input::Files(_)) && input.source() == recipe.data).then(|| {
        message!(
            "data    learned by this run, its unseen part and the rest: without {data} the part alone"
        )
    })
}

/// Files that a run needs and that were not given.
fn missing(
    path: &Path,
    how: Message,
    source: &DataSource,
    files: &TextFiles,
    name: &'static str,
) -> RunError {
    let size = match source {
        DataSource::Files { len, .. } => bytes(*len),
        DataSource::Stories { .. } => "none".into(),
    };
    let about = message!("checkpoint '{}' {} ({})", path.display(), how, size);
    let about = match files.gone.is_empty() {
        true => about,
        false => message!("{}; {} not found", about, paths(&files.gone)),
    };
    RunError::Usage(message!("{}; give them again with {}", about, option(name)))
}

/// The other data than before that a run goes on with, if they are others and may be.
fn changed(
    before: Option<&DataSource>,
    input: &Input,
    allowed: bool,
    path: &Path,
    verb: Message,
    files: Option<&TextFiles>,
) -> Result<Option<DataSource>> {
    let now = input.source();
    if before == Some(&now) {
        return Ok(None);
    }
    if allowed {
        return Ok(Some(now));
    }
    let now = match files.filter(|files| files.remembered) {
        Some(files) => message!("{}, which {} is now", describe(&now), paths(&files.data)),
        None => describe(&now),
    };
    Err(RunError::Data(message!(
        "checkpoint '{}' was {} on {}, not on {}; give the same data, or add \
         {allow_data_change}",
        path.display(),
        verb,
        before.map_or_else(|| message!("a part of {data}"), describe),
        now
    )))
}

fn describe(source: &DataSource) -> Message {
    let (len, [a, b, c, ..], form, ends) = match source {
        DataSource::Stories { version, .. } => {
            return message!("built-in stories (grammar {})", version);
        }
        DataSource::Files { len, blake3, form, end_of_text } => (len, blake3, form, end_of_text),
    };
    let bytes = message!("{} bytes", len);
    let what = match (form, ends) {
        (DataForm::U16, _) => message!("{} of token numbers", bytes),
        (DataForm::Chats, _) => message!("{} of conversations", bytes),
        (_, EndOfText::None) => bytes,
        (_, EndOfText::Files) => message!("{} in several texts", bytes),
        (_, EndOfText::Marked) => message!("{} in marked texts", bytes),
    };
    message!("{} (BLAKE3 {}..)", what, format_args!("{a:02x}{b:02x}{c:02x}"))
}
