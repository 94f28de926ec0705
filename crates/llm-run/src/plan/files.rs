//! The text files of a run: as they are typed, or as the run's folder remembers them.
//!
//! A checkpoint knows what its text was, by length and hash, and not where: it may travel. The
//! folder of a run stays where the run was, and its `config.toml` names the files.

use crate::folder::{config, run_of};
use crate::options::Options;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Where the text comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextFiles {
    /// The training data; none: the built-in stories.
    pub data: Vec<PathBuf>,
    /// The validation data, if that is text of its own.
    pub val: Vec<PathBuf>,
    /// Nothing of `data` was typed: the run's folder named it.
    pub remembered: bool,
    /// Files that the folder names and that are no longer where they were.
    pub gone: Vec<PathBuf>,
}

impl TextFiles {
    /// What is typed, and nothing else.
    pub fn typed(options: &Options) -> TextFiles {
        let (data, val) = (options.data.clone(), options.val.clone());
        TextFiles { data, val, ..TextFiles::default() }
    }

    /// What is typed, and for the rest what the folder of the run remembers whose checkpoint is at
    /// `checkpoint`.
    pub(super) fn of_run(options: &Options, checkpoint: &Path) -> TextFiles {
        let mut files = TextFiles::typed(options);
        let Some(run) = run_of(checkpoint) else { return files };
        let Some(config) = config(&run) else { return files };
        let TextFiles { data, val, remembered, gone } = &mut files;
        for (list, key) in [(&mut *data, "data"), (val, "val")] {
            if !list.is_empty() {
                continue;
            }
            let named = names(&config, key);
            let found: Vec<PathBuf> = named.iter().filter_map(|name| find(&run, name)).collect();
            // Some of them would be another text.
            if found.len() == named.len() {
                *list = found;
            } else {
                gone.extend(named.into_iter().filter(|name| find(&run, name).is_none()));
            }
        }
        *remembered = options.data.is_empty() && !data.is_empty();
        files
    }
}

/// The files named by `data = [..]` or `data = ".."`; standard input cannot be read again.
fn names(config: &Table, key: &str) -> Vec<PathBuf> {
    let of_table = config.get("data").and_then(Value::as_table).and_then(|table| table.get(key));
    let paths: Vec<PathBuf> = match of_table {
        Some(Value::String(one)) => vec![one.into()],
        Some(Value::Array(several)) => {
            several.iter().filter_map(Value::as_str).map(PathBuf::from).collect()
        }
        _ => Vec::new(),
    };
    if paths.iter().any(|path| path.as_os_str() == "-") { Vec::new() } else { paths }
}

/// Where the file is now: from here, or from where the run was begun, `runs/NNN` below it. Whether
/// it is the same text is decided by its hash.
fn find(run: &Path, name: &Path) -> Option<PathBuf> {
    let begun = [run.join("../.."), run.join("..")].map(|place| place.join(name));
    [name.to_path_buf()].into_iter().chain(begun).find(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_remembers_its_files() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("runs/001");
        std::fs::create_dir_all(run.join("ckpt")).unwrap();
        let of_run = |config: &str| {
            std::fs::write(run.join("config.toml"), config).unwrap();
            TextFiles::of_run(&Options::default(), &run.join("ckpt/last"))
        };
        std::fs::write(place.path().join("a"), "text").unwrap();
        let found = of_run("[data]\ndata = [\"a\"]\n");
        assert!(found.remembered && found.data.len() == 1 && found.val.is_empty(), "{found:?}");
        assert_eq!(std::fs::read(&found.data[0]).unwrap(), b"text");

        let half = of_run("[data]\ndata = [\"a\", \"b\"]\nval = \"c\"\n");
        assert!(half.data.is_empty() && !half.remembered, "{half:?}");
        assert_eq!(half.gone, [Path::new("b"), Path::new("c")]);

        for nothing in ["", "data = 5", "[data]\ndata = [\"-\"]\n", "[data", "[data]\ndata = []"] {
            assert_eq!(of_run(nothing), TextFiles::default(), "{nothing}");
        }
        let elsewhere = TextFiles::of_run(&Options::default(), Path::new("model.ckpt"));
        assert_eq!(elsewhere, TextFiles::default());
    }
}
