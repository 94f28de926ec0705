//! A text in both languages.

use llm_core::base::Message;
use llm_messages::chinese;
use serde::Serialize;

/// A text in both languages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bilingual {
    /// English.
    pub en: String,
    /// Simplified Chinese.
    pub zh: String,
}

/// Numbers and names are the same in both languages.
impl From<String> for Bilingual {
    fn from(text: String) -> Bilingual {
        Bilingual { en: text.clone(), zh: text }
    }
}

impl From<&str> for Bilingual {
    fn from(text: &str) -> Bilingual {
        text.to_string().into()
    }
}

/// A message, options by their names.
impl From<Message> for Bilingual {
    fn from(message: Message) -> Bilingual {
        Bilingual::new(message.to_string(), message.said(chinese()))
    }
}

impl Bilingual {
    /// Both texts.
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Bilingual {
        Bilingual { en: en.into(), zh: zh.into() }
    }
}
