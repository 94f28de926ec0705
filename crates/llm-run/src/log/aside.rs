//! Foreign files that have a run's name in its folder: kept under another name.

use crate::log::info;
use llm_core::base::{Message, open_regular};
use llm_core::{Error, IoAction, Result, message};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How this crate's files begin that are replaced or added to as a run goes on. Those with rows are
/// read row by row, and people change the settings.
const BEGINNINGS: [(&str, &str); 7] = [
    ("loss.svg", "<svg width=\"1000\" height=\"600\" "),
    (info::FILE, "{\n  \"program\": "),
    ("samples.jsonl", "{\"step\":"),
    ("heads.jsonl", "{\"step\":"),
    ("rewards.jsonl", "{\"step\":"),
    ("pairs.jsonl", "{\"step\":"),
    ("answers.jsonl", "{\"step\":"),
];

/// Renames the files in `dir` that have one of these names, and do not begin as what a run would put
/// there, to `NAME.old-N`; this crate's own names too. What there is to say about each.
///
/// # Errors
/// [`Error::Io`] with the path.
pub fn others_aside(dir: &Path, more: &[(&str, &str)]) -> Result<Vec<Message>> {
    let mut notes = Vec::new();
    for (name, begins) in BEGINNINGS.iter().chain(more) {
        let path = dir.join(name);
        let failed = |e| Error::io(IoAction::Create, &path, e);
        let Ok((file, _)) = open_regular(&path) else { continue };
        let mut start = Vec::new();
        file.take(begins.len() as u64).read_to_end(&mut start).map_err(failed)?;
        // A kill may have cut what is added to.
        if !begins.as_bytes().starts_with(&start) {
            notes.push(move_aside(&path, message!("is not of this program")).map_err(failed)?);
        }
    }
    Ok(notes)
}

/// Renames the file to the first free `NAME.old-N`, and says so.
pub(crate) fn move_aside(path: &Path, why: Message) -> io::Result<Message> {
    let mut names = (1u64..).map(|n| suffixed(path, &format!(".old-{n}")));
    let aside = names.find(|name| fs::symlink_metadata(name).is_err()).unwrap_or_default();
    fs::rename(path, &aside)?;
    let [path, aside] = [path, &aside].map(|path| path.display().to_string());
    Ok(message!("'{}' {}: kept as '{}', a new one is begun", path, why, aside))
}

/// The path with something after its name.
pub(crate) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}
