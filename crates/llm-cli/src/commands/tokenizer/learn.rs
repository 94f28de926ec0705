//! `tokenizer train`: a vocabulary of one's own.

use crate::args::{TextEnds, TokenizerArg, TokenizerArgs, TokenizerTrainArgs};
use crate::console::note;
use crate::data::{Input, Reading, check_about_files, one_stdin};
use crate::error::{CliError, Result, system_reason};
use crate::next_commands;
use crate::output::may_replace;
use crate::program::Program;
use crate::tokenizers::{Choice, make};
use llm_core::base::replace_file;
use llm_core::message;
use llm_messages::escape::one_line;
use std::path::{Path, PathBuf};

/// Learns from the text and saves a tokenizer.json.
pub(super) fn train(program: &Program, args: &TokenizerTrainArgs) -> Result<()> {
    let flags = TokenizerArgs {
        kind: Some(TokenizerArg::Bpe),
        vocab_size: args.vocab_size,
        ..TokenizerArgs::default()
    };
    let choice =
        Choice::of(&flags)?.ok_or_else(|| CliError::Internal("flags without a choice".into()))?;
    one_stdin(&args.data)?;
    check_about_files(&args.data, None, args.end_of_text)?;
    let hint = "nothing was learnt, choose another --save";
    check_target(&args.save).map_err(|e| e.of_verb(hint))?;
    let input = match args.data.is_empty() {
        true => Input::stories(),
        false => {
            let ends = args.end_of_text.unwrap_or(TextEnds::Files).into();
            Input::files(&args.data, Reading::new(choice.kind(), None).ending(ends))?
        }
    };
    let quiet = args.output.quiet();
    let made = make(&choice, &input, 0.0, quiet)?;
    let blob = made.tokenizer.blob();
    replace_file(&args.save, |file| file.write_all(&blob))
        .map_err(|e| CliError::not_created(&args.save, e, hint))?;
    if !quiet {
        made.note.iter().for_each(|line| note(line));
        let path = args.save.display().to_string();
        note(message!("saved   {}", one_line(&path)));
        let (name, data) = (next_commands::program(program), next_commands::data(&args.data, &[]));
        // A bare word would be taken for a kind.
        let bare = args.save.extension().is_none() && args.save.components().count() == 1;
        let path = if bare { PathBuf::from(".").join(&args.save) } else { args.save.clone() };
        let path = next_commands::quoted(path.as_os_str());
        note(message!("next    {}{} --tokenizer {}", name, data, path));
    }
    Ok(())
}

/// Refuses, before anything is learnt, a file that is no tokenizer or cannot be written.
fn check_target(path: &Path) -> Result<()> {
    let is_ours = |path: &Path| Choice::File(path.into()).load().is_ok();
    may_replace(path, is_ours, "it exists and is not a tokenizer")
        .map_err(|e| CliError::Create { path: path.into(), why: system_reason(&e) })
}
