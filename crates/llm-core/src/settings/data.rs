//! Where data came from: several keys each, which depend on the first one.

use super::row::{Typed, named, typed};
use crate::base::{Error, Result, Settings, Value};
use crate::message;
use crate::recipe::{DataForm, DataSource, EndOfText};

named!(DataForm, EndOfText);

pub(super) fn write(name: &str, source: &DataSource, into: &mut Settings) -> Result<()> {
    let mut put = |key: &str, value: Value| into.insert(&format!("{name}.{key}"), value);
    match source {
        DataSource::Stories { version, seed, count } => {
            put("kind", Value::Text("stories".into()))?;
            put("version", version.to_value())?;
            put("seed", seed.to_value())?;
            put("count", count.to_value())
        }
        DataSource::Files { len, blake3, form, end_of_text } => {
            put("kind", Value::Text("files".into()))?;
            put("length", len.to_value())?;
            put("blake3", blake3.to_value())?;
            // A file from before there was a choice has no such key.
            if *form != DataForm::default() {
                put("form", form.to_value())?;
            }
            if *end_of_text != EndOfText::default() {
                put("end_of_text", end_of_text.to_value())?;
            }
            Ok(())
        }
    }
}

/// Takes the keys of one source; nothing when it has none.
pub(super) fn read(name: &str, from: &mut Settings) -> Result<Option<DataSource>> {
    let Some(kind) = from.take(&format!("{name}.kind")) else { return Ok(None) };
    Ok(Some(match typed::<String>(name, kind)?.as_str() {
        "stories" => DataSource::Stories {
            version: member(name, "version", from)?,
            seed: member(name, "seed", from)?,
            count: member(name, "count", from)?,
        },
        "files" => DataSource::Files {
            len: member(name, "length", from)?,
            blake3: member(name, "blake3", from)?,
            form: later(name, "form", from)?,
            end_of_text: later(name, "end_of_text", from)?,
        },
        other => {
            let other = other.escape_default();
            let reason = message!("'{}.kind' is '{}', known are: stories, files", name, other);
            return Err(Error::config("settings", reason));
        }
    }))
}

fn member<T: Typed>(name: &str, key: &str, from: &mut Settings) -> Result<T> {
    let key = format!("{name}.{key}");
    let missing = || Error::config("settings", message!("'{}' is missing", &key));
    typed(&key, from.take(&key).ok_or_else(missing)?)
}

/// A key that files from before there was a choice do not have.
fn later<T: Typed + Default>(name: &str, key: &str, from: &mut Settings) -> Result<T> {
    let key = format!("{name}.{key}");
    from.take(&key).map_or_else(|| Ok(T::default()), |value| typed(&key, value))
}
