//! The language of what is printed.

use clap::ValueEnum;
use llm_report::Bilingual;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// The environment variable that chooses where no flag does.
pub const VARIABLE: &str = "LLM_LANG";
/// The flag.
const FLAG: &str = "--lang";

/// Like colours and the width of lines, the language is the terminal's: one for the whole process.
static IS_CHINESE: AtomicBool = AtomicBool::new(false);

impl Lang {
    /// What was chosen; English before.
    pub fn chosen() -> Lang {
        #[cfg(test)]
        if let Some(here) = tests::HERE.get() {
            return here;
        }
        if IS_CHINESE.load(Ordering::Relaxed) { Lang::Zh } else { Lang::En }
    }

    /// A text in this language.
    pub fn of(self, text: &Bilingual) -> &str {
        if self == Lang::Zh { &text.zh } else { &text.en }
    }

    /// The one that is called so.
    pub(crate) fn named(word: &str) -> Option<Lang> {
        Lang::from_str(word, false).ok()
    }

    /// From now on everything is said in this language.
    pub fn choose(self) {
        IS_CHINESE.store(self == Lang::Zh, Ordering::Relaxed);
    }

    /// The language that a command line or else the environment asks for, and the words without
    /// that flag. It is found before anything is parsed, so that help and errors speak it too. What
    /// is no language stays, to be refused.
    pub fn taken_from(words: impl IntoIterator<Item = OsString>) -> (Lang, Vec<OsString>) {
        let known = |word: &OsString| Lang::named(word.to_str()?);
        let (mut asked, mut kept) = (None, Vec::new());
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                kept.push(word);
                break;
            }
            let of_flag = word.to_str().and_then(|word| word.strip_prefix(FLAG));
            let found = match of_flag {
                Some("") => words.next_if(|next| known(next).is_some()).as_ref().and_then(known),
                Some(rest) => rest.strip_prefix('=').and_then(|value| known(&value.into())),
                None => None,
            };
            match found {
                Some(lang) => asked = Some(lang),
                None => kept.push(word),
            }
        }
        kept.extend(words);
        let usual = || known(&std::env::var_os(VARIABLE)?);
        (asked.or_else(usual).unwrap_or_default(), kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// What one test has chosen; others go on at the same time.
        pub(super) static HERE: Cell<Option<Lang>> = const { Cell::new(None) };
    }

    impl Lang {
        pub(crate) fn choose_here(self) {
            HERE.set(Some(self));
        }
    }

    #[test]
    fn the_language_may_stand_anywhere() {
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(Into::into).collect() };
        for (line, lang, rest) in [
            ("train-gpt runs", Lang::En, "train-gpt runs"),
            ("train-gpt --lang zh runs --json", Lang::Zh, "train-gpt runs --json"),
            ("train-gpt inspect model --lang=zh-CN", Lang::Zh, "train-gpt inspect model"),
            ("train-gpt --lang zh --lang en", Lang::En, "train-gpt"),
            ("train-gpt --lang xx", Lang::En, "train-gpt --lang xx"),
            ("train-gpt --lang", Lang::En, "train-gpt --lang"),
            ("train-gpt --language zh", Lang::En, "train-gpt --language zh"),
            ("train-gpt runs -- --lang zh", Lang::En, "train-gpt runs -- --lang zh"),
        ] {
            assert_eq!(Lang::taken_from(words(line)), (lang, words(rest)), "{line}");
        }
    }
}
