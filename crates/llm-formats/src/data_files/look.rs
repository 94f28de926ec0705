//! What is in a file that is given, and its text out of what it is wrapped in.

use super::folder::DataPath;
use super::held::{Held, is_stdin, refused, shown, unreadable};
use super::kind::{Kind, before_numbers, gunzip, utf16};
use super::reading::Reading;
use super::wrapping::Wrapping;
use crate::error::{FormatError, Result, refuse};
use crate::files::{SAMPLE, UTF8_MARK, is_named};
use crate::first_look::Look;
use crate::json_look::{Holds, JsonLook};
use crate::nano_gpt::META;
use flate2::read::MultiGzDecoder;
use llm_core::base::{bytes, memory, with_causes};
use llm_core::recipe::DataForm;
use llm_core::tokenizer::END_OF_TEXT;
use llm_core::{Error, message};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Most bytes of standard input that are read.
const MOST_OF_STREAM: u64 = 4 << 30;

/// One file, inspected.
pub(super) struct Looked {
    pub(super) path: PathBuf,
    pub(super) form: DataForm,
    pub(super) changes: Vec<Wrapping>,
    /// How often its beginning says itself that a text ends.
    pub(super) marks: usize,
    pub(super) held: Held,
}

impl Looked {
    /// A file as it is, with nothing to say about it.
    fn plain(path: &Path, form: DataForm, held: Held) -> Looked {
        Looked { path: path.into(), form, changes: Vec::new(), marks: 0, held }
    }

    /// A text that begins with `sample` and is called `name`. Unless it is conversations, its bytes
    /// are trained on as they are, which in another encoding are other characters, or none.
    fn text(path: &Path, name: &Path, sample: &[u8], held: Held, reading: &Reading) -> Looked {
        if are_chats(name, sample, reading.said) {
            // What begins as no JSON is refused by its beginning, which may have no end.
            let start = sample.trim_ascii_start().first();
            let is_json = start.is_none_or(|first| matches!(first, b'{' | b'['));
            let held = if is_json { held } else { Held::Memory(sample.to_vec()) };
            return Looked::plain(path, DataForm::Chats, held);
        }
        // The beginning may end within a character.
        let broken = std::str::from_utf8(sample).is_err_and(|e| e.error_len().is_some());
        let besides = Wrapping::of_text(name, sample);
        let changes = broken.then_some(Wrapping::NotUtf8).into_iter().chain(besides).collect();
        let mark = END_OF_TEXT.as_bytes();
        let marks = sample.windows(mark.len()).filter(|window| *window == mark).count();
        Looked { changes, marks, ..Looked::plain(path, DataForm::Text, held) }
    }

    /// The same file, taken out of a wrapping.
    fn out_of(self, wrapping: Wrapping) -> Looked {
        Looked { changes: [&[wrapping], &self.changes[..]].concat(), ..self }
    }
}

/// What a file holds; `None` for one in a folder that is no text. `held` bytes are in memory
/// already.
///
/// # Errors
/// [`FormatError::Core`] for what cannot be read or is too large, [`FormatError::Content`] for what is
/// no text and was not said to be what it is.
pub(super) fn look(found: &DataPath, reading: &Reading, held: u64) -> Result<Option<Looked>> {
    let path = &found.path;
    let room = memory::available().saturating_sub(held);
    let whole = match is_stdin(path) {
        true => Held::Memory(stream(path, io::stdin().lock(), reading, room)?),
        false => Held::Disk { skipped: 0, len: regular_length(path)? },
    };
    look_at(found, reading, whole, room)
}

/// [`look`] of a file whose bytes, or whose length, are known.
///
/// # Errors
/// As [`look`].
pub(super) fn look_at(
    found: &DataPath,
    reading: &Reading,
    whole: Held,
    room: u64,
) -> Result<Option<Looked>> {
    let path = &found.path;
    let sample = &whole.beginning(path, SAMPLE)?;
    let kind = match Kind::of(sample) {
        Kind::Foreign(Look::WebPage) if is_named(path, &["html", "htm", "xhtml"]) => Kind::Text,
        kind => kind,
    };
    let looked = match (reading.said, kind) {
        (Some(DataForm::U16), _) => after_header(path, sample, whole)?,
        (Some(DataForm::Bytes), Kind::Text) => Looked::plain(path, DataForm::Text, whole),
        (_, Kind::Text) => Looked::text(path, path, sample, whole, reading),
        (Some(DataForm::Bytes), _) => Looked::plain(path, DataForm::Bytes, whole),
        (_, Kind::Binary { .. }) if is_numbers(path, reading) => after_header(path, sample, whole)?,
        (_, Kind::Foreign(_) | Kind::Binary { .. }) if found.in_folder => return Ok(None),
        _ => unwrap(path, reading, sample, whole, room)?,
    };
    Ok(Some(looked))
}

/// Whether a text is conversations: by its beginning or its name, unless something else was said.
fn are_chats(name: &Path, sample: &[u8], said: Option<DataForm>) -> bool {
    let holds = || JsonLook::of(sample).is_some_and(|look| look.holds() == Holds::Chats);
    match said {
        Some(said) => said == DataForm::Chats,
        None => is_named(name, &["jsonl", "ndjson"]) || holds(),
    }
}

/// Token numbers, without what llm.c writes before them.
fn after_header(path: &Path, sample: &[u8], whole: Held) -> Result<Looked> {
    let before = before_numbers(shown(path), sample).map_err(FormatError::Content)?;
    let looked = Looked::plain(path, DataForm::U16, whole.after(before));
    Ok(if before > 0 { looked.out_of(Wrapping::Headed) } else { looked })
}

/// Whether a file that is no text is one of token numbers, as nanoGPT has them.
fn is_numbers(path: &Path, reading: &Reading) -> bool {
    let named = path.extension().is_some_and(|ext| ext == "bin");
    reading.numbers || named && path.with_file_name(META).is_file()
}

/// The text of what is not simply text, in a file that begins with `sample`.
fn unwrap(path: &Path, reading: &Reading, sample: &[u8], whole: Held, room: u64) -> Result<Looked> {
    // The name of what is packed, without that of the packing.
    let packed = path.extension().is_some_and(|ext| ext == "gz");
    let named = if packed { path.with_extension("") } else { path.to_path_buf() };
    let text = |sample: &[u8], held| Looked::text(path, &named, sample, held, reading);
    let name = shown(path);
    match Kind::of(sample) {
        Kind::MarkedUtf8 => {
            let mark = UTF8_MARK.len();
            Ok(text(&sample[mark..], whole.after(mark as u64)).out_of(Wrapping::Unmarked))
        }
        Kind::Text => Ok(text(sample, whole)),
        Kind::Utf16 { big, mark } => {
            let bytes = whole.in_memory(path, room)?;
            let converted = utf16(&bytes[mark..], big).ok_or_else(|| {
                reading.refusal(
                    message!("{} begins as UTF-16 and goes on as something else", name),
                    message!("convert it to UTF-8, or take it as it is with {data_as} bytes"),
                )
            })?;
            let bytes = converted.into_bytes();
            let sample = bytes[..bytes.len().min(SAMPLE)].to_vec();
            Ok(text(&sample, Held::Memory(bytes)).out_of(Wrapping::Converted))
        }
        Kind::Gzip => {
            let sample = beginning(MultiGzDecoder::new(whole.reader(path)?));
            let inner = Kind::of(&sample);
            if matches!(inner, Kind::Foreign(_) | Kind::Binary { .. }) {
                return unwrap(path, reading, &sample, Held::Memory(sample.clone()), room);
            }
            let unpacked = gunzip(whole.reader(path)?, room).map_err(|e| {
                FormatError::content(message!("{}: gzip: {}", name, with_causes(&e)))
            })?;
            let needed = room.saturating_add(1);
            let bytes = unpacked.ok_or(Error::Memory { needed, available: room })?;
            if inner == Kind::Gzip {
                return refuse(message!("{} is packed twice; unpack it once", name));
            }
            let room = room.saturating_sub(bytes.len() as u64);
            let looked = unwrap(path, reading, &sample, Held::Memory(bytes), room)?;
            Ok(looked.out_of(Wrapping::Unpacked))
        }
        Kind::Foreign(look) => {
            let look = match look {
                Look::Zip => Look::of_zip(&whole.ending(path, SAMPLE)?),
                look => look,
            };
            let advice = match look.converter() {
                Some(converter) => {
                    message!("{} makes text of it; {data_as} bytes learns it as it is", converter)
                }
                None => message!(
                    "give the text in it, token numbers of 16 bits and nothing else \
                     ({data_as} u16), or insist with {data_as} bytes"
                ),
            };
            Err(reading.refusal(message!("{} is no text: {}", name, look.message()), advice))
        }
        Kind::Binary { controls } => Err(reading.refusal(
            message!(
                "{} is no text: {:.0} % of its first bytes are control characters",
                name,
                100.0 * controls
            ),
            message!(
                "if it holds token numbers of 16 bits add {data_as} u16, to learn its bytes as \
                 they are {data_as} bytes"
            ),
        )),
    }
}

/// A stream: no more of it than its beginning where that is refused.
fn stream(path: &Path, mut stream: impl Read, reading: &Reading, room: u64) -> Result<Vec<u8>> {
    let sample = beginning(&mut stream);
    let is_text = !matches!(Kind::of(&sample), Kind::Foreign(_) | Kind::Binary { .. });
    let forced = matches!(reading.said, Some(DataForm::Bytes | DataForm::U16)) || reading.numbers;
    if is_text || forced { all_of(path, sample.chain(stream), room) } else { Ok(sample) }
}

/// What comes first, as far as it can be read: what is wrong with the rest is said when that is.
fn beginning(stream: impl Read) -> Vec<u8> {
    let mut sample = Vec::new();
    let _ = stream.take(SAMPLE as u64).read_to_end(&mut sample);
    sample
}

/// A stream up to its end, which it may not have.
fn all_of(path: &Path, stream: impl Read, room: u64) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    // Half of the memory: what is made of it needs some too.
    let most = MOST_OF_STREAM.min(room / 2);
    let read = stream.take(most.saturating_add(1)).read_to_end(&mut all);
    if read.map_err(|e| unreadable(path, e))? as u64 <= most {
        return Ok(all);
    }
    let why = message!(
        "it goes on after {}, the most that is read of a stream here; put it into a file",
        bytes(most)
    );
    Err(refused(path, why).into())
}

/// The length of a file that can be read as often as one likes.
fn regular_length(path: &Path) -> Result<u64> {
    let meta = std::fs::metadata(path).map_err(|e| unreadable(path, e))?;
    if !meta.is_file() {
        let why = message!("it is not a regular file; pipe a stream into {data} -");
        return Err(refused(path, why).into());
    }
    Ok(meta.len())
}
