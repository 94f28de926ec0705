//! Chinese for what is printed: the sentences of the command line in the files of `zh/`, and those of
//! the libraries.

use llm_messages::{Catalogue, LIBRARIES};
use std::sync::LazyLock;

/// The files; the last has what is not found in this project's sources as it stands.
const FILES: [&str; 5] = [
    include_str!("zh/help.toml"),
    include_str!("zh/lines.toml"),
    include_str!("zh/errors.toml"),
    LIBRARIES,
    include_str!("zh/foreign.toml"),
];

/// All of them.
pub(super) static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::new(&FILES));

/// The line in Chinese; `None`: nothing of it is known.
pub(crate) fn chinese(line: &str) -> Option<String> {
    CATALOGUE.chinese(line)
}

#[cfg(test)]
mod tests;
