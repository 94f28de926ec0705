//! What help says, in both languages, and the words that a flag takes.
//!
//! A text and its Chinese are one, with `zh:` between them, wherever a flag, a verb or a word is
//! written down: as its comment or as its string.

use crate::lang::Lang;
use clap::Command;
use clap::builder::{
    PossibleValue, PossibleValuesParser, Resettable, StyledStr, TypedValueParser, ValueParser,
};

/// The mark between English and Chinese.
const CHINESE: &str = " zh: ";

/// The text in the language that was chosen, each paragraph by itself.
pub(crate) fn chosen(text: &str) -> String {
    let said = |both: &str| match (both.split_once(CHINESE), Lang::chosen()) {
        (Some((_, zh)), Lang::Zh) => in_one_line(zh.trim()),
        (Some((en, _)), Lang::En) => en.trim().to_string(),
        (None, _) => both.to_string(),
    };
    text.split("\n\n").map(said).collect::<Vec<_>>().join("\n\n")
}

/// Chinese that stood in several lines: marks of its own have no space beside them.
fn in_one_line(chinese: &str) -> String {
    let marks = ["，", "；", "：", "、", "。"];
    let closed = marks
        .iter()
        .fold(chinese.to_string(), |text, mark| text.replace(&format!("{mark} "), mark));
    closed.replace(" （", "（")
}

/// A command whose help speaks that language.
pub(crate) fn in_one_language(command: Command) -> Command {
    let one = |text: Option<&StyledStr>| {
        Resettable::from(text.map(|text| StyledStr::from(chosen(&text.to_string()))))
    };
    let [about, long] = [command.get_about(), command.get_long_about()].map(one);
    let command = command.about(about).long_about(long).mut_args(|arg| {
        let [help, long] = [arg.get_help(), arg.get_long_help()].map(one);
        arg.help(help).long_help(long)
    });
    command.mut_subcommands(in_one_language)
}

/// A word, what it stands for, and what help says about it.
pub(crate) type Word<T> = (&'static str, T, &'static str);

/// Words, each with what it stands for and, as the comment above it, what help says about it.
macro_rules! described {
    [$($(#[doc = $help:literal])* $word:literal,)+] => {
        &[$(($word, concat!($($help),*).trim_ascii())),+]
    };
    [$($(#[doc = $help:literal])* $word:literal = $meant:expr,)+] => {
        &[$(($word, $meant, concat!($($help),*).trim_ascii())),+]
    };
}
pub(crate) use described;

/// Reads one of these words.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(words: &'static [Word<T>]) -> ValueParser {
    let known = words.iter().map(|(word, _, help)| (*word, *help));
    let meant = |typed: String| {
        let found = words.iter().find(|(word, ..)| *word == typed);
        found.map(|(_, meant, _)| meant.clone()).ok_or("unknown")
    };
    possible(known).try_map(meant).into()
}

/// Reads one of these words, each with what help says about it.
pub(crate) fn possible(
    words: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> PossibleValuesParser {
    let value = |(word, help)| match help {
        "" => PossibleValue::new(word),
        help => PossibleValue::new(word).help(chosen(help)),
    };
    PossibleValuesParser::new(words.into_iter().map(value))
}

/// A choice that is typed as one of some words: the comment above each is what help says.
macro_rules! words {
    ($(#[$of:meta])* $vis:vis enum $name:ident {
        $($(#[doc = $help:literal])+ $choice:ident = $word:literal,)+
    }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        $(#[$of])*
        $vis enum $name { $(
            $(#[doc = $help])+
            #[value(name = $word, help = $crate::words::chosen(concat!($($help),+).trim()))]
            $choice,
        )+ }

        impl $name {
            /// Every choice, in the order of the help.
            pub const ALL: &[$name] = &[$($name::$choice),+];

            /// As typed.
            pub fn name(self) -> &'static str {
                match self { $($name::$choice => $word,)+ }
            }
        }
    };
}
pub(crate) use words;

/// Left to `--help` by `-h`: how a flag says it in [`flags`].
#[allow(non_upper_case_globals)]
pub(crate) const rare: bool = true;

/// What a verb takes, each flag in one item: its help as the comment, its name and type, what stands for
/// its value, whether it is rare, and in brackets what else clap is given. `<name>` is typed
/// without a name, `..name` stands for the flags of another struct.
macro_rules! flags {
    ($(#[$of:meta])* pub struct $args:ident $(in $heading:literal)? { $($rows:tt)* }) => {
        $crate::words::flags! { @
            [#[derive(Debug, clap::Args)] $(#[$of])* $(#[command(next_help_heading = $heading)])?]
            $args [] $($rows)*
        }
    };
    (@ [$($of:tt)*] $args:ident [$($done:tt)*]) => {
        $($of)*
        pub struct $args { $($done)* }
    };
    (@ $of:tt $args:ident [$($done:tt)*]
        $(#[doc = $doc:tt])+ ..$more:ident: $type:ty $([$($told:tt)*])?; $($rows:tt)*) => {
        $crate::words::flags! { @ $of $args [$($done)*
            $(#[doc = $doc])+ #[command(flatten $(, $($told)*)?)] pub $more: $type,
        ] $($rows)* }
    };
    (@ $of:tt $args:ident [$($done:tt)*]
        $(#[doc = $doc:tt])+ <$word:ident>: $type:ty = $value:literal $([$($told:tt)*])?; $($rows:tt)*
    ) => {
        $crate::words::flags! { @ $of $args [$($done)*
            $(#[doc = $doc])+ #[arg(value_name = $value $(, $($told)*)?)] pub $word: $type,
        ] $($rows)* }
    };
    (@ $of:tt $args:ident [$($done:tt)*]
        $(#[doc = $doc:tt])+ $flag:ident: $type:ty $(= $value:literal $($rare:ident)?)? $([$($told:tt)*])?;
        $($rows:tt)*
    ) => {
        $crate::words::flags! { @ $of $args [$($done)*
            $(#[doc = $doc])+
            #[arg(
                long
                $(, value_name = $value $(, hide_short_help = $crate::words::$rare)?)?
                $(, $($told)*)?
            )]
            pub $flag: $type,
        ] $($rows)* }
    };
}
pub(crate) use flags;
