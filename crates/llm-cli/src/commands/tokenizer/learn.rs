//! `tokenizer train`: a vocabulary of your own.

use crate::args::TokenizerTrainArgs;
use crate::console::note;
use crate::error::{Result, RunError, of_verb};
use crate::next_commands;
use crate::program::Program;
use crate::progress::watched;
use llm_core::base::escape::one_line;
use llm_core::base::{replace_file, system_reason};
use llm_core::message;
use llm_core::recipe::EndOfText;
use llm_run::data::{Input, Reading, check_about_files, one_stdin};
use llm_run::folder::may_replace;
use llm_run::tokenizers::{Choice, TokenizerKind, TokenizerOptions, make};
use std::path::{Path, PathBuf};

/// Learns from the text and saves a tokenizer.json.
pub(super) fn train(program: &Program, args: &TokenizerTrainArgs) -> Result<()> {
    let (kind, vocab_size) = (Some(TokenizerKind::Bpe), args.vocab_size);
    let options = TokenizerOptions { kind, vocab_size, ..TokenizerOptions::default() };
    let choice =
        Choice::of(&options)?.ok_or_else(|| RunError::Internal("flags without a choice".into()))?;
    one_stdin(&args.data)?;
    check_about_files(&args.data, None, args.end_of_text)?;
    let hint = "nothing was learned, choose another --save";
    check_target(&args.save).map_err(|e| of_verb(e, hint))?;
    let input = match args.data.is_empty() {
        true => Input::stories(),
        false => {
            let ends = args.end_of_text.unwrap_or(EndOfText::Files);
            Input::files(&args.data, Reading::new(choice.kind(), None).ending(ends))?
        }
    };
    let quiet = args.output.quiet();
    let made = watched(quiet, |watch| make(&choice, &input, 0.0, watch))?;
    let blob = made.tokenizer.blob();
    replace_file(&args.save, |file| file.write_all(&blob))
        .map_err(|e| RunError::not_created(&args.save, e, hint))?;
    if !quiet {
        made.note.iter().for_each(|of| note(llm_messages::note(of)));
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

/// Refuses, before any training, a file that is no tokenizer or cannot be written.
fn check_target(path: &Path) -> Result<()> {
    let is_ours = |path: &Path| Choice::File(path.into()).load().is_ok();
    may_replace(path, is_ours, "it exists and is not a tokenizer")
        .map_err(|e| RunError::Create { path: path.into(), why: system_reason(&e) })
}
