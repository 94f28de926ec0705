//! What a chat template finds: `transformers`' functions, Python's methods and tests, and bounds on
//! what it makes.

use super::source::KEPT;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Instant;

/// Lists in one another.
const MOST_DEPTH: usize = 32;
/// What each value in a list of lists costs that gets a name.
const KEEPING: u64 = 8;
/// Bytes of what is written for a unit of fuel.
const BYTES_OF_FUEL: usize = 64;

/// Why a value is refused: `template` has the sentences.
pub(super) const TOO_DEEP: &str = "depth";
pub(super) const NAMESPACE: &str = "namespace";
pub(super) const FORMAT: &str = "format";

/// The day of every conversation: what a run learns must not depend on when it began.
pub(super) const DAY: &str = "2024-07-26";
/// `strftime`'s codes and what they write on that day.
const CODES: &str = "%d 26|%-d 26|%e 26|%m 07|%-m 7|%b Jul|%h Jul|%B July|%Y 2024|%y 24|%a Fri|\
    %A Friday|%j 208|%H 00|%I 12|%M 00|%S 00|%p AM|%% %";
/// The function that gives the day.
pub(super) const TODAY: &str = "strftime_now";

thread_local! {
    /// When what this thread renders has to be done.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Has everything that `work` renders end by then.
pub(super) fn by<T>(deadline: Instant, work: impl FnOnce() -> T) -> T {
    let before = DEADLINE.replace(Some(deadline));
    let done = work();
    DEADLINE.set(before);
    done
}

fn in_time() -> Result<(), Error> {
    match DEADLINE.get() {
        Some(deadline) if Instant::now() > deadline => Err(ErrorKind::OutOfFuel.into()),
        _ => Ok(()),
    }
}

fn refused(why: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}

/// An environment without templates.
pub(super) fn environment() -> Result<Environment<'static>, Error> {
    let mut jinja = Environment::new();
    jinja.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    jinja.set_auto_escape_callback(|_| AutoEscape::None);
    jinja.set_unknown_method_callback(|state, value, method, arguments| {
        in_time()?;
        if let ("format", Some(text)) = (method, value.as_str()) {
            state.consume_fuel(formatted(text, arguments)? / BYTES_OF_FUEL as u64)?;
        }
        unknown_method_callback(state, value, method, arguments)
    });
    jinja.set_formatter(|out, state, value| {
        in_time()?;
        minijinja::escape_formatter(out, state, value)
    });
    jinja.add_filter(KEPT[0], |state: &State, value: Value| kept(state, value));
    jinja.add_filter(KEPT[1], |state: &State, value: Value| match is_namespace(&value) {
        true => Err(refused(NAMESPACE)),
        false => kept(state, value),
    });
    // Jinja has none of that name, and what they give is as deep as it was long in the making.
    jinja.remove_filter("chain");
    jinja.remove_filter("zip");
    jinja.add_filter("tojson", tojson);
    jinja.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
    jinja.add_test("sequence", |value: &Value| {
        use ValueKind::{Iterable, Map, Seq, String, Undefined};
        matches!(value.kind(), Undefined | String | Seq | Map | Iterable)
    });
    jinja.add_function("raise_exception", |why: String| -> Result<String, Error> {
        Err(refused(why))
    });
    jinja.add_function(TODAY, |format: &str| {
        let codes = || CODES.split('|').filter_map(|pair| pair.split_once(' '));
        let mut day = String::new();
        let mut rest = format;
        while let Some(first) = rest.chars().next() {
            let itself = &rest[..first.len_utf8()];
            let known = codes().find(|(code, _)| rest.starts_with(code));
            let (code, text) = known.unwrap_or((itself, itself));
            day.push_str(text);
            rest = &rest[code.len()..];
        }
        day
    });
    Ok(jinja)
}

/// The value as it is kept under a name: paid for, no deeper than [`MOST_DEPTH`], without the lists
/// that minijinja makes anew each time that they are looked at.
fn kept(state: &State<'_, '_>, value: Value) -> Result<Value, Error> {
    in_time()?;
    Ok(rebuilt(state, &value, 0)?.unwrap_or(value))
}

/// The value with lists in place of what makes them; nothing where it holds none.
fn rebuilt(state: &State<'_, '_>, value: &Value, depth: usize) -> Result<Option<Value>, Error> {
    // What looks through a list later pays for its items, and not for theirs.
    let is_plain = depth < 2 && value.as_object().is_none();
    state.consume_fuel(if is_plain { 1 } else { KEEPING })?;
    if depth > MOST_DEPTH {
        return Err(refused(TOO_DEEP));
    }
    match value.kind() {
        ValueKind::Map if depth > 0 && is_namespace(value) => Err(refused(NAMESPACE)),
        ValueKind::Map => {
            let mut pairs = BTreeMap::new();
            let mut changed = false;
            for key in value.try_iter()? {
                let item = value.get_item(&key)?;
                let instead = rebuilt(state, &item, depth + 1)?;
                changed |= instead.is_some();
                pairs.insert(key, instead.unwrap_or(item));
            }
            match changed && is_namespace(value) {
                true => Err(refused(NAMESPACE)),
                false => Ok(changed.then(|| pairs.into())),
            }
        }
        kind @ (ValueKind::Seq | ValueKind::Iterable) => {
            let mut items = Vec::new();
            let mut changed = kind == ValueKind::Iterable;
            for item in value.try_iter()? {
                let instead = rebuilt(state, &item, depth + 1)?;
                changed |= instead.is_some();
                items.push(instead.unwrap_or(item));
            }
            Ok(changed.then(|| Value::from(items)))
        }
        _ => Ok(None),
    }
}

fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

/// Most bytes that `text.format(..)` gives.
fn formatted(text: &str, arguments: &[Value]) -> Result<u64, Error> {
    const NUMBER: u64 = 400;
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let widths = numbers.map(|digits| digits.parse().unwrap_or(u64::MAX));
    let widths = widths.fold(0, u64::saturating_add);
    let mut longest = NUMBER;
    for argument in arguments {
        if argument.as_object().is_some() {
            return Err(refused(FORMAT));
        }
        longest = longest.max(argument.as_str().map_or(0, |text| text.len() as u64));
    }
    let fields = text.matches('{').count() as u64;
    Ok(fields.saturating_mul(longest).saturating_add(widths.saturating_mul(4)))
}

/// As Python's json.dumps writes it.
fn tojson(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    let mut written = Vec::new();
    let mut to = serde_json::Serializer::with_formatter(&mut written, Spaced);
    serde::Serialize::serialize(value, &mut to).map_err(|e| refused(e.to_string()))?;
    state.consume_fuel((written.len() / BYTES_OF_FUEL) as u64)?;
    String::from_utf8(written).map_err(|e| refused(e.to_string()))
}

/// `{"a": 1, "b": 2}`.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}
