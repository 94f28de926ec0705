//! The language of what is printed. A line is made in both languages in one place, side by side.

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

impl Lang {
    /// Of the same thing in both languages, the one that is asked for.
    pub fn pick<T>(self, en: T, zh: T) -> T {
        match self {
            Lang::En => en,
            Lang::Zh => zh,
        }
    }
}

/// The same in both languages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bilingual {
    /// English.
    pub en: String,
    /// Simplified Chinese.
    pub zh: String,
}

impl Bilingual {
    /// Both texts.
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Bilingual {
        Bilingual { en: en.into(), zh: zh.into() }
    }
}
