//! Folders among the files that are given.

use super::held::{refused, unreadable};
use llm_core::{Result, message};
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DataPath {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Whether it was found in a folder, and not named.
    pub(super) in_folder: bool,
}

/// Every file that is named, and in the place of a folder the files in it and below, by their
/// names; hidden ones are left out.
///
/// # Errors
/// [`Error::Io`](llm_core::Error::Io) naming a folder that cannot be read, or has no file.
pub(super) fn expand(paths: &[PathBuf]) -> Result<Vec<DataPath>> {
    let mut found = Vec::with_capacity(paths.len());
    for path in paths {
        if path.is_dir() {
            found.extend(files_in(path)?);
        } else {
            found.push(DataPath { path: path.clone(), in_folder: false });
        }
    }
    Ok(found)
}

fn files_in(folder: &Path) -> Result<Vec<DataPath>> {
    let mut found = Vec::new();
    let shown = |entry: &DirEntry| {
        entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".")
    };
    let entries = WalkDir::new(folder).sort_by_file_name().follow_links(true).into_iter();
    for entry in entries.filter_entry(shown) {
        let entry =
            entry.map_err(|e| match (e.path().map(Path::to_path_buf), e.into_io_error()) {
                (Some(path), Some(why)) => unreadable(&path, why),
                _ => {
                    refused(folder, message!("a link in it leads back to a folder that it lies in"))
                }
            })?;
        if entry.file_type().is_file() {
            found.push(DataPath { path: entry.into_path(), in_folder: true });
        }
    }
    match found.is_empty() {
        true => Err(refused(folder, message!("it is a folder without files"))),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::Error;

    #[test]
    fn a_folder_stands_for_its_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b", ".git", "empty"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        for name in ["c.txt", "a.txt", "b/z.txt", "b/y.txt", ".hidden", ".git/config"] {
            std::fs::write(path(name), name).unwrap();
        }
        let found = expand(&[path("c.txt"), folder.path().into(), "-".into()]).unwrap();
        let names = ["a.txt", "b/y.txt", "b/z.txt", "c.txt"];
        let inside = names.map(|name| DataPath { path: path(name), in_folder: true });
        let named = |path| DataPath { path, in_folder: false };
        let expected = [&[named(path("c.txt"))], &inside[..], &[named("-".into())]].concat();
        assert_eq!(found, expected);
        assert!(matches!(expand(&[path("empty")]), Err(Error::Io { .. })));
    }
}
