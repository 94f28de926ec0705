//! Chinese for what is said: the templates of this crate in `zh.toml`, and those of the libraries.

use llm_core::base::Language;
use llm_messages::{Catalogue, LIBRARIES};
use std::sync::LazyLock;

static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| Catalogue::new(&[include_str!("zh.toml"), LIBRARIES]));

/// Chinese, as the page says it.
pub struct Chinese;

impl Language for Chinese {
    fn translation(&self, template: &str) -> Option<&str> {
        CATALOGUE.translation(template)
    }

    fn option(&self, name: &str) -> String {
        name.into()
    }
}
