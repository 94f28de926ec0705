//! Commands to type next, so that they can be copied into a shell.

use crate::program::Program;
use llm_core::tokenizer::Tokenizer;
use llm_messages::shell::HERE;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The program as it was called, when that was by a path (cargo does so); else by its name.
pub fn program(program: &Program) -> String {
    match std::env::args_os().next() {
        Some(called) if Path::new(&called).components().count() > 1 => {
            let here = std::env::current_dir().unwrap_or_default();
            let short = Path::new(&called).strip_prefix(&here).unwrap_or(Path::new(&called));
            HERE.command(&short.to_string_lossy())
        }
        _ => program.models.name.to_string(),
    }
}

/// A whole command that goes on with a run.
pub fn load(what: &Program, path: &Path) -> String {
    format!("{}{}", program(what), load_flag(path))
}

/// ` --load PATH`.
pub fn load_flag(path: &Path) -> String {
    format!(" --load {}", quoted(path.as_os_str()))
}

/// ` --data FILE` and ` --val FILE` for every file of a run, nothing for the built-in stories.
pub fn data(data: &[PathBuf], val: &[PathBuf]) -> String {
    let flag = |name, file: &PathBuf| format!(" --{name} {}", quoted(file.as_os_str()));
    let data = data.iter().map(|file| flag("data", file));
    data.chain(val.iter().map(|file| flag("val", file))).collect()
}

/// ` -p TEXT`: the words that are given, or one that most texts have; nothing where the vocabulary
/// has not even that.
pub fn prompt(opening: Option<&str>, tokenizer: &dyn Tokenizer) -> String {
    let text = opening.unwrap_or("The");
    let known = tokenizer.encode(text.as_bytes()).is_ok();
    if known { format!(" -p {}", quoted(OsStr::new(text))) } else { String::new() }
}

/// A word as a shell reads it back; control characters as escapes, which no shell reads back, but
/// no terminal obeys either.
pub fn quoted(word: &OsStr) -> String {
    HERE.word(&word.to_string_lossy())
}
