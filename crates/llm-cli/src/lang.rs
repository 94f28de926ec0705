//! The language of what is printed, and a text in both.

use clap::ValueEnum;
use serde::Serialize;

/// A language that results can be read in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// 简体中文.
    #[value(aliases = ["zh-cn", "zh-CN", "zh-Hans"])]
    Zh,
}

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

    /// The text in one of them.
    pub fn text(self, lang: Lang) -> String {
        match lang {
            Lang::En => self.en,
            Lang::Zh => self.zh,
        }
    }
}
