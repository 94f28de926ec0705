//! A text in both languages.

use llm_core::base::Message;
use llm_messages::chinese;
use serde::Serialize;

/// The same in both languages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bilingual {
    /// English.
    pub en: String,
    /// Simplified Chinese.
    pub zh: String,
}

/// Numbers and names are the same in both.
impl<T: Into<String>> From<T> for Bilingual {
    fn from(text: T) -> Bilingual {
        let text = text.into();
        Bilingual { en: text.clone(), zh: text }
    }
}

impl Bilingual {
    /// Both texts.
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Bilingual {
        Bilingual { en: en.into(), zh: zh.into() }
    }

    /// A message, options by their names.
    pub fn of(message: &Message) -> Bilingual {
        Bilingual::new(message.to_string(), message.said(chinese()))
    }
}

/// Makes functions that say the same in English and in Chinese: a name, what is to be filled in, both
/// texts as [`format!`] takes them.
#[macro_export]
macro_rules! bilingual {
    ($($(#[$doc:meta])* $name:ident($($given:ident),*) $en:literal, $zh:literal;)+) => {$(
        $(#[$doc])*
        pub fn $name($($given: impl std::fmt::Display),*) -> $crate::Bilingual {
            $crate::Bilingual::new(format!($en), format!($zh))
        }
    )+};
}
