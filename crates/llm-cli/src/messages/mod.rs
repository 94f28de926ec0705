//! Every sentence that there is in both languages, side by side. What is measured, trained or
//! followed is data elsewhere; here it gets its words.
//!
//! | file | holds |
//! |---|---|
//! | `train.rs` | why a run ended early |
//! | `report.rs` | labels of a page, what is not on it |
//! | `inspect.rs` | what heads do |
//! | `compare.rs` | what may be concluded about numbers of heads |
//! | `trace.rs` | one score of attention, step by step |
//!
//! The script of a page has its own words, see `report/page.js`.

pub(crate) mod compare;
pub(crate) mod inspect;
pub(crate) mod report;
pub(crate) mod trace;
pub(crate) mod train;

/// Functions that say the same in English and in Chinese: a name, what is to be filled in, both
/// texts as [`format!`] takes them.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident($($given:ident),*) $en:literal, $zh:literal;)+) => {$(
        $(#[$doc])*
        pub fn $name($($given: impl std::fmt::Display),*) -> $crate::lang::Bilingual {
            $crate::lang::Bilingual::new(format!($en), format!($zh))
        }
    )+};
}
use messages;

/// `1 head`, `2 heads`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {}", plural(n as u64, what))
}

/// `head` of one, `heads` of more or none.
pub(crate) fn plural(n: u64, what: &str) -> String {
    format!("{what}{}", if n == 1 { "" } else { "s" })
}
