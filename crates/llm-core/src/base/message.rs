//! A sentence with its values.

use std::fmt;

/// A sentence for a person: a template, and what fills its places `{}`. A place with a name is an
/// option of the caller, by its field: `{val_frac}` is `--val-frac` on a command line.
/// [`Display`](fmt::Display) writes it in English; in another [`Language`] the same values fill the
/// template's translation. Made by [`message!`](crate::message).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    template: &'static str,
    values: Vec<Filling>,
}

/// What fills a place of a [`Message`].
#[derive(Clone, Debug, PartialEq)]
pub enum Filling {
    /// A name, a quotation, a number that is written already: the same in every language.
    Text(String),
    /// A path, which may hold anything: a front end that shows it makes it safe.
    Name(String),
    /// Words of others, such as a system's reason, which may have a translation as they are.
    Words(String),
    /// A number, written as the place says: `{:.4}`, `{:+.1}`, `{:.2e}`, `{:e}` or `{}`.
    Number(f64),
    /// A number in single precision, written as [`Filling::Number`].
    Single(f32),
    /// A sentence or a word, which has a translation of its own.
    Message(Message),
    /// An option of the caller, by the name of its field; each front end spells it in its own way.
    Option(&'static str),
}

/// How a front end says messages.
pub trait Language {
    /// The translation of an English template, which comes as it was written, `{:.2}` and all: the same
    /// places without how they are written, `{2}` for the second where they are not in order. `None`:
    /// the English is used.
    fn translation(&self, template: &str) -> Option<&str>;

    /// The translation of words of others; `None`: they stay as they are.
    fn words(&self, words: &str) -> Option<String> {
        self.translation(words).map(String::from)
    }

    /// A path as it may be shown here: on a terminal in one line that cannot control it.
    fn name(&self, name: &str) -> String {
        name.into()
    }

    /// The spelling of an option, such as `--val-frac` for `val_frac`.
    fn option(&self, name: &str) -> String;
}

/// English, and options by their names.
struct Plain;

impl Language for Plain {
    fn translation(&self, _: &str) -> Option<&str> {
        None
    }

    fn option(&self, name: &str) -> String {
        name.into()
    }
}

impl Message {
    /// The sentence of a template that has a place for each value.
    pub const fn new(template: &'static str, values: Vec<Filling>) -> Message {
        Message { template, values }
    }

    /// Words of others, which may have a translation as they are.
    pub fn words(words: impl Into<String>) -> Message {
        Message::new("{}", vec![Filling::Words(words.into())])
    }

    /// The sentences one after the other, with this template between each two.
    pub fn joined(link: &'static str, all: impl IntoIterator<Item = Message>) -> Option<Message> {
        let two = |a: Message, b: Message| {
            Message::new(link, vec![Filling::Message(a), Filling::Message(b)])
        };
        all.into_iter().reduce(two)
    }

    /// `1, 2, 4`: values one after the other.
    pub fn list(values: impl IntoIterator<Item = impl Fill>) -> Message {
        let all = values.into_iter().map(|value| Message::new("{}", vec![value.fill()]));
        Message::joined("{}, {}", all).unwrap_or_else(|| String::new().into())
    }

    /// The English template, by which a translation is found.
    pub fn template(&self) -> &'static str {
        self.template
    }

    /// The sentence in this language.
    pub fn said(&self, language: &dyn Language) -> String {
        let specs = pieces(self.template).filter_map(|(_, place)| place);
        let specs: Vec<&str> = specs.filter(|place| !is_name(place)).collect();
        let translation = language.translation(self.template);
        let (mut text, mut next) = (String::new(), 0);
        for (words, place) in pieces(translation.unwrap_or(self.template)) {
            text.push_str(&words.replace("{{", "{").replace("}}", "}"));
            let Some(place) = place else { continue };
            if is_name(place) {
                text.push_str(&language.option(place));
                continue;
            }
            let number = place.split(':').next().and_then(|n| n.parse::<usize>().ok());
            let number = number.and_then(|n| n.checked_sub(1));
            let at = number.unwrap_or(next);
            next = at + 1;
            let spec = specs.get(at).and_then(|spec| spec.strip_prefix(':')).unwrap_or_default();
            text.push_str(&self.values.get(at).map_or(String::new(), |v| v.said(spec, language)));
        }
        text
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.said(&Plain))
    }
}

/// A reason of its own, as the cause of an [`io::Error`](std::io::Error) too.
impl std::error::Error for Message {}

/// Words, each with the inside of the place behind them; none behind the last.
fn pieces(template: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(template);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let bytes = text.as_bytes();
        let mut from = 0;
        while let Some(open) = text[from..].find('{').map(|at| from + at) {
            if bytes.get(open + 1) == Some(&b'{') {
                from = open + 2;
                continue;
            }
            let Some(close) = text[open..].find('}').map(|at| open + at) else { break };
            rest = Some(&text[close + 1..]);
            return Some((&text[..open], Some(&text[open + 1..close])));
        }
        Some((text, None))
    })
}

/// Whether a place is an option's.
fn is_name(place: &str) -> bool {
    place.starts_with(|c: char| c.is_ascii_lowercase())
}

impl Filling {
    fn said(&self, spec: &str, language: &dyn Language) -> String {
        match self {
            Filling::Text(text) => text.clone(),
            Filling::Name(name) => language.name(name),
            Filling::Words(words) => language.words(words).unwrap_or_else(|| words.clone()),
            Filling::Number(x) => number(*x, spec).unwrap_or_else(|| x.to_string()),
            Filling::Single(x) => match spec {
                "" => x.to_string(),
                "e" => format!("{x:e}"),
                _ => number(f64::from(*x), spec).unwrap_or_else(|| x.to_string()),
            },
            Filling::Message(message) => message.said(language),
            Filling::Option(name) => language.option(name),
        }
    }
}

/// A number as `format!` writes it.
fn number(x: f64, spec: &str) -> Option<String> {
    let (plus, spec) = (spec.starts_with('+'), spec.trim_start_matches('+'));
    let digits = spec.strip_prefix('.').map(|digits| digits.trim_end_matches('e').parse().ok());
    Some(match (digits, spec.ends_with('e'), plus) {
        (Some(n), false, false) => format!("{x:.*}", n?),
        (Some(n), false, true) => format!("{x:+.*}", n?),
        (Some(n), true, _) => format!("{x:.*e}", n?),
        (None, true, _) => format!("{x:e}"),
        (None, false, _) => return None,
    })
}

/// What can fill a place of a [`Message`].
pub trait Fill {
    /// The filling for the place.
    fn fill(&self) -> Filling;
}

/// How values of each type fill a place.
macro_rules! fills {
    ($($kind:ty),+ => |$value:ident| $filling:expr) => {$(
        impl Fill for $kind {
            fn fill(&self) -> Filling {
                let $value = self;
                $filling
            }
        }
    )+};
}
// Text as it is: it has no translation.
fills!(str, String, char, bool, i32, i64, u8, u16, u32, u64, u128, usize => |x| Filling::Text(x.to_string()));
fills!(fmt::Arguments<'_>, std::borrow::Cow<'_, str> => |x| Filling::Text(x.to_string()));
fills!(std::str::EscapeDefault<'_>, std::str::EscapeDebug<'_> => |x| Filling::Text(x.to_string()));
fills!(Vec<usize> => |shape| Filling::Text(format!("{shape:?}"))); // [2, 3]
fills!(std::path::Display<'_> => |path| Filling::Name(path.to_string()));
fills!(f64 => |x| Filling::Number(*x));
fills!(f32 => |x| Filling::Single(*x));
fills!(Message => |message| Filling::Message(message.clone()));
fills!(Filling => |filling| filling.clone());

impl<T: Fill + ?Sized> Fill for &T {
    fn fill(&self) -> Filling {
        (**self).fill()
    }
}

/// A template alone, without places: words, or a reason.
impl From<&'static str> for Message {
    fn from(template: &'static str) -> Message {
        Message::new(template, Vec::new())
    }
}

/// A text that is made already, which has no translation.
impl From<String> for Message {
    fn from(text: String) -> Message {
        Message::new("{}", vec![Filling::Text(text)])
    }
}

impl From<&String> for Message {
    fn from(text: &String) -> Message {
        text.clone().into()
    }
}

impl From<&Message> for Message {
    fn from(message: &Message) -> Message {
        message.clone()
    }
}

/// A [`Message`](crate::base::Message) of a template and what fills its places, in order; as many as
/// there are places. The template is the key of its translations.
///
/// ```
/// use llm_core::message;
///
/// let said = message!("loss {:.2} after {} steps", 1.2345, 10);
/// assert_eq!(said.to_string(), "loss 1.23 after 10 steps");
/// assert_eq!(said.template(), "loss {:.2} after {} steps");
/// ```
#[macro_export]
macro_rules! message {
    ($template:literal $(, $value:expr)* $(,)?) => {
        $crate::base::Message::new($template, vec![$($crate::base::Fill::fill(&$value)),*])
    };
}

/// `1 file`, `2 files`: a number and what is counted.
///
/// ```
/// assert_eq!(llm_core::counted!(1, "file").to_string(), "1 file");
/// ```
#[macro_export]
macro_rules! counted {
    ($n:expr, $what:literal) => {
        match $n {
            n => $crate::base::Message::new(
                if n == 1 { concat!("{} ", $what) } else { concat!("{} ", $what, "s") },
                vec![$crate::base::Fill::fill(&n)],
            ),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words backwards.
    struct Backwards;

    impl Language for Backwards {
        fn translation(&self, template: &str) -> Option<&str> {
            match template {
                "{} of {:.1}" => Some("{2} fo {1} {{}}"),
                "all" => Some("lla"),
                "gone" => Some("enog"),
                _ => None,
            }
        }

        fn option(&self, name: &str) -> String {
            format!("--{}", name.replace('_', "-"))
        }
    }

    #[test]
    fn the_same_values_fill_both_languages() {
        let message = message!("{} of {:.1}", message!("all"), 2.0);
        assert_eq!(message.to_string(), "all of 2.0");
        assert_eq!(message.said(&Backwards), "2.0 fo lla {}");
        let words = ["gone", "there"].map(|words| Filling::Words(words.into()));
        let [known, unknown] = words.map(|words| message!("{}", words).said(&Backwards));
        assert_eq!((known.as_str(), unknown.as_str()), ("enog", "there"));
        let option = message!("{} is wrong", Filling::Option("val_frac"));
        assert_eq!(option.to_string(), "val_frac is wrong");
        assert_eq!(option.said(&Backwards), "--val-frac is wrong");
        let named = message!("{} is wrong for {val_frac}, {:.1} too", 1, 2.0);
        assert_eq!(named.to_string(), "1 is wrong for val_frac, 2.0 too");
        assert_eq!(named.said(&Backwards), "1 is wrong for --val-frac, 2.0 too");
    }

    #[test]
    fn numbers_are_written_as_format_writes_them() {
        let x = 1234.5678_f64;
        for (message, want) in [
            (message!("{}", x), format!("{x}")),
            (message!("{:.2}", x), format!("{x:.2}")),
            (message!("{:+.1}", x), format!("{x:+.1}")),
            (message!("{:.2e}", x), format!("{x:.2e}")),
            (message!("{:e}", x), format!("{x:e}")),
            (message!("{}", 0.1_f32), "0.1".into()),
            (message!("{:e}", 0.1_f32), "1e-1".into()),
            (message!("{:.3}", 0.1_f32), "0.100".into()),
            (message!("{{}} {} {{{}}}", 1, 'x'), "{} 1 {x}".into()),
        ] {
            assert_eq!(message.to_string(), want);
        }
    }

    #[test]
    fn what_is_counted_is_one_or_several() {
        assert_eq!([1, 2].map(|n| counted!(n, "head").to_string()), ["1 head", "2 heads"]);
        let all = ["a", "b", "c"].map(|name| message!("{}", name));
        assert_eq!(Message::joined("{}; {}", all).unwrap().to_string(), "a; b; c");
        assert_eq!(Message::list([1, 2, 4]).to_string(), "1, 2, 4");
        assert_eq!(Message::list([0_i32; 0]).to_string(), "");
    }
}
