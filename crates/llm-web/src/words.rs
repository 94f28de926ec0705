//! Chinese for what is said: the templates of this crate in `zh.toml`, and those of the libraries.

use llm_messages::{Catalogue, LIBRARIES};
use std::sync::LazyLock;

/// Chinese, as the page says it.
pub static CHINESE: LazyLock<Catalogue> =
    LazyLock::new(|| Catalogue::new(&[include_str!("zh.toml"), LIBRARIES]));
