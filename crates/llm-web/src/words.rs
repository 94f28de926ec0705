//! Chinese for what is said in English: the sentences of this crate in `zh.toml`, and those of the
//! libraries.

use llm_messages::{Catalogue, LIBRARIES};
use std::sync::LazyLock;

/// The sentences that are said here.
static OWN: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::new(&[include_str!("zh.toml")]));

static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| Catalogue::new(&[include_str!("zh.toml"), LIBRARIES]));

/// The sentence in Chinese; `None`: nothing of it is known.
pub fn in_chinese(en: &str) -> Option<String> {
    CATALOGUE.chinese(en)
}

/// The English of the own sentences, for the test that reads the sources.
pub fn sentences() -> impl Iterator<Item = &'static str> {
    OWN.pairs().iter().map(|pair| pair.en.as_str())
}
