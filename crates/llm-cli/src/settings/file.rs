//! `--config FILE`: a TOML file made into the flags it stands for.

use crate::args::in_one_line;
use crate::error::{Result, RunError, foreign};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, Id};
use llm_core::base::{Message, system_reason};
use llm_core::message;
use std::any::TypeId;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Largest file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Whether a file may hold the flag: it is neither about such files nor one of every verb.
pub(super) fn is_in_files(arg: &Arg) -> bool {
    let answers = matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !(answers || arg.is_global_set() || arg.get_help_heading() == Some("Settings"))
}

/// One key of a file.
struct Setting {
    flag: Id,
    /// The flags it stands for, each in one word.
    words: Vec<OsString>,
    line: usize,
}

/// Parses once more, with the settings of the file's `text` before the user's `words`. A flag that
/// was typed takes the place of the file's, and of those in the file that exclude it.
///
/// # Errors
/// [`RunError::Usage`] naming file, line and key.
pub(crate) fn merge(
    command: &mut Command,
    path: &Path,
    text: &str,
    typed: &ArgMatches,
    words: &[OsString],
) -> Result<ArgMatches> {
    let mut file = File { command, path, text };
    let settings = file.settings()?;
    let (program, given) = words.split_at(words.len().min(1));
    let kept = file.untyped(settings, typed).flat_map(|s| s.words);
    let all: Vec<_> = program.iter().cloned().chain(kept).chain(given.iter().cloned()).collect();
    let merged = file.command.try_get_matches_from_mut(all);
    merged.map_err(|e| RunError::Usage(message!("{}: {}", file.name(), in_one_line(&e, &[]))))
}

/// The text of the file at `path`.
///
/// # Errors
/// [`RunError::Input`] when it cannot be read or is no text.
pub(crate) fn read(path: &Path) -> Result<String> {
    if let Some(other) = foreign(path, &[]) {
        return Err(other);
    }
    let file = std::fs::File::open(path);
    let file = file.map_err(|e| RunError::Input { path: path.into(), why: system_reason(&e) })?;
    text_of(path, file)
}

/// What `file`, opened at `path`, holds.
pub(crate) fn text_of(path: &Path, file: impl Read) -> Result<String> {
    let unreadable = |why: Message| RunError::Input { path: path.to_path_buf(), why };
    let mut text = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut text);
    read.map_err(|e| unreadable(system_reason(&e)))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(unreadable("it is too large for a file of settings".into()));
    }
    String::from_utf8(text).map_err(|_| unreadable("it is not UTF-8 text".into()))
}

struct File<'a> {
    command: &'a mut Command,
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    /// All settings, checked one by one.
    fn settings(&mut self) -> Result<Vec<Setting>> {
        let table = DeTable::parse(self.text).map_err(|e| {
            let span = e.span().unwrap_or_default();
            // What is wrong, and the words that it is about, where they are few.
            let about = self.text.get(span.clone()).map(str::trim).unwrap_or_default();
            let few = !about.is_empty() && about.len() <= 40 && !about.contains('\n');
            let why = Message::words(e.message().trim_end());
            self.wrong(span.start, if few { message!("{}: {}", why, about) } else { why })
        })?;
        let mut settings = Vec::new();
        self.add_table(table.get_ref(), &mut settings)?;
        Ok(settings)
    }

    /// Tables only group: their names say nothing.
    fn add_table(&mut self, table: &DeTable<'_>, to: &mut Vec<Setting>) -> Result<()> {
        for (key, value) in table {
            if let DeValue::Table(inner) = value.get_ref() {
                self.add_table(inner, to)?;
                continue;
            }
            let at = key.span().start;
            let setting = self.setting(key.get_ref(), at, value)?;
            if let Some(first) = to.iter().find(|s| s.flag == setting.flag) {
                let why = message!("'{}' is set in line {} already", key.get_ref(), first.line);
                return Err(self.wrong(at, why));
            }
            to.push(setting);
        }
        Ok(())
    }

    /// The flag of this name, if a file may hold it.
    fn arg(&self, flag: &str) -> Option<&Arg> {
        let is_meant = |arg: &&Arg| {
            arg.get_long() == Some(flag)
                || arg.get_all_aliases().is_some_and(|names| names.contains(&flag))
        };
        self.command.get_arguments().find(is_meant).filter(|arg| is_in_files(arg))
    }

    fn setting(&mut self, key: &str, at: usize, value: &Spanned<DeValue<'_>>) -> Result<Setting> {
        let flag = key.replace('_', "-");
        let Some(arg) = self.arg(&flag) else {
            let why = self.unknown(key, &flag);
            return Err(self.wrong(at, why));
        };
        let values = match value.get_ref() {
            DeValue::Array(values) if matches!(arg.get_action(), ArgAction::Append) => {
                values.iter().collect()
            }
            _ => vec![value],
        };
        let (flag, name) = (arg.get_id().clone(), arg.get_long().unwrap_or_default());
        let mut words = Vec::new();
        for value in values {
            let word = TomlKind::of(arg).word(value.get_ref()).map_err(|expected| {
                let got = value.get_ref().type_str();
                let (expected, got) = (Message::from(expected), Message::words(with_article(got)));
                self.wrong(at, message!("'{}' takes {}, not {}", key, expected, got))
            })?;
            words.push(OsString::from(format!("--{name}={word}")));
        }
        let program = OsString::from(self.command.get_name());
        let alone = std::iter::once(&program).chain(&words);
        let alone = self.command.try_get_matches_from_mut(alone);
        alone.map_err(|e| self.wrong(at, message!("'{}': {}", key, in_one_line(&e, &[]))))?;
        Ok(Setting { flag, words, line: self.line(at) })
    }

    /// The settings that nothing `typed` takes the place of.
    fn untyped(&self, all: Vec<Setting>, typed: &ArgMatches) -> impl Iterator<Item = Setting> {
        let is_typed = |id: &str| typed.value_source(id) == Some(ValueSource::CommandLine);
        let args = || self.command.get_arguments();
        let typed: Vec<&Arg> = args().filter(|arg| is_typed(arg.get_id().as_str())).collect();
        let excludes = |a: &Arg, b: &Arg| self.command.get_arg_conflicts_with(a).contains(&b);
        let wins =
            move |by: &Arg, over: &Arg| by == over || excludes(by, over) || excludes(over, by);
        all.into_iter().filter(move |s| {
            let arg = args().find(|arg| *arg.get_id() == s.flag);
            !arg.is_some_and(|arg| typed.iter().any(|by| wins(by, arg)))
        })
    }

    /// clap knows which flag may have been meant.
    fn unknown(&mut self, key: &str, flag: &str) -> Message {
        let words = [self.command.get_name().to_string(), format!("--{flag}")];
        let near = self.command.try_get_matches_from_mut(words).err().and_then(|e| {
            let ContextValue::String(near) = e.get(ContextKind::SuggestedArg)? else { return None };
            Some(near.trim_start_matches('-').replace('-', "_"))
        });
        let near = near.filter(|near| self.arg(&near.replace('_', "-")).is_some());
        match near {
            Some(near) => message!("there is no setting '{}'; a similar one is '{}'", key, near),
            None => message!("there is no setting '{}'; the names are those of the flags", key),
        }
    }

    fn wrong(&self, at: usize, why: impl Into<Message>) -> RunError {
        RunError::Usage(message!("{} line {}: {}", self.name(), self.line(at), why.into()))
    }

    fn name(&self) -> String {
        format!("'{}'", self.path.display())
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|&b| b == b'\n').count()
    }
}

/// What a flag takes, as far as TOML tells values apart.
#[derive(Clone, Copy, PartialEq)]
enum TomlKind {
    Boolean,
    Whole,
    Number,
    Text,
    /// With a parser of its own, which will judge.
    Other,
}

impl TomlKind {
    fn of(arg: &Arg) -> TomlKind {
        if !arg.get_action().takes_values() {
            return TomlKind::Boolean;
        }
        let id = arg.get_value_parser().type_id();
        let whole = [TypeId::of::<usize>(), TypeId::of::<u64>(), TypeId::of::<u32>()];
        let text = [TypeId::of::<PathBuf>(), TypeId::of::<OsString>(), TypeId::of::<String>()];
        let is = |types: &[TypeId]| types.iter().any(|of| id == *of);
        match () {
            () if arg.get_value_delimiter().is_some() => TomlKind::Other,
            () if is(&[TypeId::of::<bool>()]) => TomlKind::Boolean,
            () if is(&whole) => TomlKind::Whole,
            () if is(&[TypeId::of::<f32>(), TypeId::of::<f64>()]) => TomlKind::Number,
            () if is(&text) => TomlKind::Text,
            () => TomlKind::Other,
        }
    }

    /// The value as it would be typed, or what the flag takes instead.
    fn word(self, value: &DeValue<'_>) -> std::result::Result<String, &'static str> {
        use TomlKind::{Boolean, Number, Other, Text, Whole};
        // TOML's whole numbers end at 2^63.
        let is_large = |text: &str| text.parse().is_ok_and(|n: u64| n >> 63 == 1);
        match (self, value) {
            (Boolean, DeValue::Boolean(yes)) => Ok(yes.to_string()),
            (Boolean, DeValue::Integer(n)) if ["0", "1"].contains(&n.as_str()) => {
                Ok(n.as_str().into())
            }
            // Other bases are not how numbers are typed.
            (_, DeValue::Integer(n)) if n.radix() != 10 => Err("a decimal number"),
            (Whole | Number | Other, DeValue::Integer(n)) => Ok(n.as_str().into()),
            (Number | Other, DeValue::Float(x)) => Ok(x.as_str().into()),
            (Whole, DeValue::String(text)) if is_large(text) => Ok(text.to_string()),
            (Text | Other, DeValue::String(text)) => Ok(text.to_string()),
            (Boolean, _) => Err("true or false"),
            (Whole, _) => Err("a whole number"),
            (Number, _) => Err("a number"),
            (Text, _) => Err("a text in quotes"),
            (Other, _) => Err("one value"),
        }
    }
}

fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}
