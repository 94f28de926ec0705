//! A word that stands where none is read: the command that was meant.

use super::command::TRAIN;
use crate::looks;
use clap::Command;
use clap::error::{ContextKind, ContextValue};
use llm_core::base::Message;
use llm_core::base::escape::one_line;
use llm_core::message;
use llm_formats::first_look::Look;
use llm_messages::shell::HERE;
use std::ffi::OsString;

/// What to type in the place of `words`, of which clap does not expect one: a verb behind its
/// flags, a file without its flag, a program of nanoGPT's.
pub fn in_its_place(command: &Command, words: &[OsString], e: &clap::Error) -> Option<Message> {
    let word = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg].map(|kind| e.get(kind));
    let word = word.into_iter().flatten().find_map(|value| match value {
        ContextValue::String(word) if !word.starts_with('-') => Some(word.as_str()),
        _ => None,
    })?;
    if word.ends_with(".py") {
        return Some(message!("'{}': {}", one_line(word), looks::instead(Look::Python)));
    }
    let words: Vec<_> = words.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    // What follows a flag may be its value.
    let is_alone = |&at: &usize| at == 0 || !words[at - 1].starts_with('-');
    let mut all = words.iter().enumerate().filter(|(_, typed)| *typed == word).map(|(at, _)| at);
    let at = all.clone().find(is_alone).or(all.next_back())?;
    let [before, after] = [&words[..at], &words[at + 1..]];
    let name = command.get_name();
    let verb = before.first()?;
    if verb.starts_with('-') {
        let is_verb = word == TRAIN || command.find_subcommand(word).is_some();
        let line = || line([name, word].into_iter().chain(rest(before)).chain(rest(after)));
        return is_verb.then(|| message!("'{}' comes first: {}", word, line()));
    }
    let verb = command.find_subcommand(verb.as_ref())?;
    let inner = before.get(1).and_then(|inner| verb.find_subcommand(inner.as_ref()));
    let is_given = |flag: &str| words.iter().any(|typed| typed.split('=').next() == Some(flag));
    let takes = |flag: &&str| {
        let mut arguments = inner.unwrap_or(verb).get_arguments();
        !is_given(flag) && arguments.any(|arg| arg.get_long() == Some(&flag[2..]))
    };
    let flag = ["--load", "--data"].into_iter().find(takes)?;
    let line = line([name].into_iter().chain(rest(before)).chain([flag, word]).chain(rest(after)));
    Some(message!("unexpected '{}'; type {}", one_line(word), line))
}

fn rest<'a>(words: &'a [std::borrow::Cow<'_, str>]) -> impl Iterator<Item = &'a str> {
    words.iter().map(|word| word.as_ref())
}

/// The words as a shell reads them back.
fn line<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let quoted = |word: &str| match word.split_once('=').filter(|_| word.starts_with('-')) {
        Some((flag, value)) => format!("{}={}", one_line(flag), HERE.word(value)),
        None if word.starts_with('-') => one_line(word),
        None => HERE.word(word),
    };
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use crate::command_line::{Parsed, parse};
    use crate::program::EVERYTHING;

    #[test]
    fn the_whole_command_is_named() {
        for (typed, meant) in [
            ("--load RUN chat", "'chat' comes first: {} chat --load RUN;"),
            ("--load RUN generate -n 3", "'generate' comes first: {} generate --load RUN -n 3;"),
            ("--load generate generate", "'generate' comes first: {} generate --load generate;"),
            ("--data=a.txt train", "'train' comes first: {} train --data=a.txt;"),
            ("chat RUN", "unexpected 'RUN'; type {} chat --load RUN;"),
            ("chat -n 5 RUN", "unexpected 'RUN'; type {} chat -n 5 --load RUN;"),
            ("eval RUN --batch 2", "unexpected 'RUN'; type {} eval --load RUN --batch 2;"),
            ("eval --load RUN a.txt", "unexpected 'a.txt'; type {} eval --load RUN --data a.txt;"),
            ("inspect heads RUN", "unexpected 'RUN'; type {} inspect heads --load RUN;"),
            ("config/x.py", "'config/x.py': it is a program in Python; docs/from_nano_gpt.md"),
            ("train.py config/x.py", "'train.py': it is a program in Python"),
            ("train config/x.py", "'config/x.py': it is a program in Python"),
            ("generate sample.py", "'sample.py': it is a program in Python"),
            ("--steps 1 book.txt", "unexpected 'book.txt'; verbs come first"),
        ] {
            let name = EVERYTHING.models.name;
            let words = [name].into_iter().chain(typed.split(' ')).map(Into::into);
            let Parsed::Wrong(said) = parse(&EVERYTHING, words) else { panic!("{typed}") };
            let (said, meant) = (said.to_string(), meant.replace("{}", name));
            assert!(said.starts_with(&format!("error: {meant}")), "{typed}: {said}");
        }
    }
}
