//! How what is said is said: the templates of this crate in `zh.json`, and those of the libraries.

use llm_core::base::Language;
use llm_messages::{Catalogue, LIBRARIES};
use llm_run::settings;
use std::sync::LazyLock;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let [libraries, run] = LIBRARIES;
    Catalogue::new(&[include_str!("zh.json"), libraries, run])
});

/// A language of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// As the sources have it.
    English,
    /// By the catalogue.
    Chinese,
}

impl Language for Words {
    fn translation(&self, template: &str) -> Option<&str> {
        CATALOGUE.translation(template).filter(|_| *self == Words::Chinese)
    }

    /// As core calls its field: the page has no flags.
    fn option(&self, name: &str) -> String {
        let setting = settings::settings().find(|setting| setting.name == name);
        let field = setting.and_then(|setting| setting.key.rsplit('.').next());
        field.unwrap_or(name).into()
    }
}
