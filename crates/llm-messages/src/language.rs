//! Chinese of what the libraries say, for programs without sentences of their own.

use crate::catalogue::Catalogue;
use std::sync::LazyLock;

/// What the libraries below say.
pub const LIBRARIES: [&str; 2] = [include_str!("zh/libraries.json"), include_str!("zh/run.json")];

/// Chinese of what the libraries say; the English is a message's [`Display`](std::fmt::Display).
pub fn chinese() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::new(&LIBRARIES));
    &CATALOGUE
}
