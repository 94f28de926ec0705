//! What is in a file that is given, and its text out of what it is wrapped in.

use super::folder::DataPath;
use crate::error::{Result, RunError};
use llm_core::Error;
use llm_core::base::{self, Message, memory, system_reason, with_causes};
use llm_core::message;
use llm_core::recipe::{DataForm, DataSource, EndOfText};
use llm_core::tokenizer::{END_OF_TEXT, IdsTokenizer, Tokenizer};
use llm_formats::data_file::{
    Dress, Kind, NoNumbers, SAMPLE, UTF8_MARK, before_numbers, gunzip, utf16,
};
use llm_formats::first_look::Look;
use llm_formats::nano_gpt::META;
use llm_formats::tokenizers::reads_in_parts;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of standard input that are read.
const MOST_OF_STREAM: u64 = 4 << 30;

/// How files are to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Can text be made into tokens part by part, so that it may stay on the disk?
    pub(super) in_parts: bool,
    /// What they are said to be.
    said: Option<DataForm>,
    /// May what is no text be token numbers?
    numbers: bool,
    /// Where a text ends in them.
    pub(super) end_of_text: EndOfText,
    /// The vocabulary is that of a model, and cannot be another.
    pub(super) of_model: bool,
    /// Can nobody say what they are, or have other files made? Then a refusal gives no advice.
    silent: bool,
}

impl Reading {
    /// For a tokenizer of this kind; all files are one text.
    pub fn new(kind: &str, data_as: Option<DataForm>) -> Reading {
        let numbers = kind == IdsTokenizer::NAME;
        let (in_parts, said) = (reads_in_parts(kind), data_as);
        let end_of_text = EndOfText::None;
        Reading { in_parts, said, numbers, end_of_text, of_model: false, silent: false }
    }

    /// The same where no options can be given: a refusal names none.
    pub fn without_options(self) -> Reading {
        Reading { silent: true, ..self }
    }

    /// A refusal, with what to do.
    pub(super) fn refusal(&self, why: Message, advice: Message) -> RunError {
        RunError::Data(if self.silent { why } else { message!("{}; {}", why, advice) })
    }

    /// The same with texts that end there.
    pub fn ending(self, end_of_text: EndOfText) -> Reading {
        Reading { end_of_text, ..self }
    }

    /// As the data of a run were read, for its tokenizer's kind.
    pub fn again(kind: &str, run: &DataSource, data_as: Option<DataForm>) -> Reading {
        let reading = Reading::new(kind, data_as);
        let DataSource::Files { form, end_of_text, .. } = run else { return reading };
        let reading = reading.ending(*end_of_text);
        match form {
            DataForm::Bytes => Reading { said: reading.said.or(Some(DataForm::Bytes)), ..reading },
            DataForm::U16 => Reading { numbers: true, ..reading },
            DataForm::Text => reading,
        }
    }

    /// As [`Reading::again`] for a model that is there. One from elsewhere has learnt how texts end,
    /// if it has a token for that.
    pub fn for_model(
        tokenizer: &dyn Tokenizer,
        run: &DataSource,
        data_as: Option<DataForm>,
    ) -> Reading {
        let reading = Reading { of_model: true, ..Reading::again(tokenizer.name(), run, data_as) };
        match *run == DataSource::NONE && tokenizer.end_of_text().is_some() {
            true => reading.ending(EndOfText::Files),
            false => reading,
        }
    }
}

/// What a text was taken out of, or rid of, before it is learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapping {
    Unmarked,
    Converted,
    Unpacked,
    /// The numbers of llm.c before its tokens.
    Headed,
    /// Nothing was done to it: it is in another encoding, or in none.
    NotUtf8,
    /// Nothing was done to it: it is more than text.
    Dressed(Dress),
}

impl Wrapping {
    pub(super) const ALL: [Wrapping; 9] = [
        Wrapping::Unpacked,
        Wrapping::Converted,
        Wrapping::Unmarked,
        Wrapping::Headed,
        Wrapping::NotUtf8,
        Wrapping::Dressed(Dress::JsonLines),
        Wrapping::Dressed(Dress::Json),
        Wrapping::Dressed(Dress::Table),
        Wrapping::Dressed(Dress::Windows),
    ];

    pub(super) fn message(self) -> Message {
        match self {
            Wrapping::Unpacked => message!("unpacked (gzip)"),
            Wrapping::Converted => message!("converted from UTF-16"),
            Wrapping::Unmarked => message!("without the byte order mark"),
            Wrapping::Headed => message!("without the header of llm.c"),
            Wrapping::NotUtf8 => message!("not UTF-8 and learnt byte by byte (iconv converts it)"),
            Wrapping::Dressed(Dress::JsonLines) => message!(
                "JSON lines, learnt with their braces and keys (jq -r .text takes the texts out)"
            ),
            Wrapping::Dressed(Dress::Json) => message!(
                "JSON, learnt with its braces and keys (jq takes texts out: jq -r '.[].text')"
            ),
            Wrapping::Dressed(Dress::Table) => {
                message!("a table, learnt with its separators (csvcut -c text takes a column out)")
            }
            Wrapping::Dressed(Dress::Windows) => message!(
                "line ends of Windows, learnt as two characters (tr -d '\\r' makes them one)"
            ),
        }
    }
}

/// One file, looked at.
pub(super) struct Looked {
    pub(super) form: DataForm,
    pub(super) changes: Vec<Wrapping>,
    /// How often its beginning says itself that a text ends.
    pub(super) marks: usize,
    pub(super) held: Held,
}

/// Where its bytes are.
pub(super) enum Held {
    /// In the file, after so many that are left out.
    Disk {
        skipped: u64,
        len: u64,
    },
    Memory(Vec<u8>),
}

impl Held {
    pub(super) fn len(&self) -> u64 {
        match self {
            Held::Disk { len, .. } => *len,
            Held::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Without the first `n` bytes of a whole file.
    fn after(self, n: u64) -> Held {
        match self {
            Held::Disk { skipped, len } => {
                Held::Disk { skipped: skipped + n, len: len.saturating_sub(n) }
            }
            Held::Memory(mut bytes) => {
                bytes.drain(..n as usize);
                Held::Memory(bytes)
            }
        }
    }
}

pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

pub(super) fn shown(path: &Path) -> Message {
    if is_stdin(path) { message!("standard input") } else { message!("'{}'", path.display()) }
}

/// What a file holds; `None` for one in a folder that is no text. `held` bytes are in memory
/// already.
///
/// # Errors
/// [`RunError::Input`] for what cannot be read, [`RunError::Data`] for what is no text and was not
/// said to be what it is, [`RunError::Memory`].
pub(super) fn look(found: &DataPath, reading: &Reading, held: u64) -> Result<Option<Looked>> {
    let path = &found.path;
    let room = memory::available().saturating_sub(held);
    let whole = match is_stdin(path) {
        true => Held::Memory(all_of(path, io::stdin().lock(), room)?),
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
    let sample = &match &whole {
        Held::Memory(bytes) => bytes[..bytes.len().min(SAMPLE)].to_vec(),
        Held::Disk { .. } => beginning(path)?,
    };
    let kind = match Kind::of(sample) {
        Kind::Foreign(Look::WebPage) if is_named_html(path) => Kind::Text,
        kind => kind,
    };
    let form = match (reading.said, kind) {
        (Some(DataForm::U16), _) => DataForm::U16,
        (_, Kind::Text) => DataForm::Text,
        (Some(DataForm::Bytes), _) => DataForm::Bytes,
        (_, Kind::Binary { .. }) if is_numbers(path, reading) => DataForm::U16,
        (_, Kind::Foreign(_) | Kind::Binary { .. }) if found.in_folder => return Ok(None),
        _ => return unwrap(path, reading, kind, whole, room).map(Some),
    };
    let insists = reading.said == Some(DataForm::Bytes);
    if form == DataForm::U16 {
        return after_header(path, sample, whole).map(Some);
    }
    let of_text = form == DataForm::Text && !insists;
    let changes = if of_text { changes_of_text(path, sample) } else { Vec::new() };
    let marks = if of_text { marks_in(sample) } else { 0 };
    Ok(Some(Looked { form, changes, marks, held: whole }))
}

fn is_named_html(path: &Path) -> bool {
    let named = |ext: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ext));
    ["html", "htm", "xhtml"].into_iter().any(named)
}

/// How often a text that begins so says itself that one ends.
fn marks_in(sample: &[u8]) -> usize {
    let mark = END_OF_TEXT.as_bytes();
    sample.windows(mark.len()).filter(|window| *window == mark).count()
}

/// Token numbers, without what llm.c writes before them.
fn after_header(path: &Path, sample: &[u8], whole: Held) -> Result<Looked> {
    let name = shown(path);
    let before = before_numbers(sample).map_err(|why| {
        RunError::Data(match why {
            NoNumbers::Foreign(Look::NumPy) => message!(
                "{} is a NumPy array, and not token numbers alone; numpy.load(FILE).astype('<u2')\
                 .tofile('tokens.bin') makes them",
                name
            ),
            NoNumbers::Foreign(look) => {
                message!("{} is {}, and not token numbers of 16 bits", name, look.message())
            }
            NoNumbers::Wide => message!(
                "{} has token numbers of 32 bits or more, not of 16; numpy.fromfile(FILE, '<u4')\
                 .astype('<u2').tofile('tokens.bin') makes them where they are below 65536",
                name
            ),
            NoNumbers::BigEndian => message!(
                "{} has the high byte of each token number first (big-endian); \
                 numpy.fromfile(FILE, '>u2').astype('<u2').tofile('tokens.bin') turns them",
                name
            ),
        })
    })?;
    let changes = if before > 0 { vec![Wrapping::Headed] } else { Vec::new() };
    Ok(Looked { form: DataForm::U16, changes, marks: 0, held: whole.after(before) })
}

/// What there is to say about a text that begins so: its bytes are learnt as they are, which in
/// another encoding are other characters, or none.
fn changes_of_text(path: &Path, sample: &[u8]) -> Vec<Wrapping> {
    // The beginning may end within a character.
    let broken = std::str::from_utf8(sample).is_err_and(|e| e.error_len().is_some());
    let dress = Dress::of(path, sample).into_iter().map(Wrapping::Dressed);
    broken.then_some(Wrapping::NotUtf8).into_iter().chain(dress).collect()
}

/// Is a file that is no text one of token numbers, as nanoGPT has them?
fn is_numbers(path: &Path, reading: &Reading) -> bool {
    let named = path.extension().is_some_and(|ext| ext == "bin");
    reading.numbers || named && path.with_file_name(META).is_file()
}

/// The text of what is not simply text.
fn unwrap(path: &Path, reading: &Reading, kind: Kind, whole: Held, room: u64) -> Result<Looked> {
    let text = |changes, held| Looked { form: DataForm::Text, changes, marks: 0, held };
    let name = shown(path);
    match (kind, whole) {
        (Kind::MarkedUtf8, held) => {
            Ok(text(vec![Wrapping::Unmarked], held.after(UTF8_MARK.len() as u64)))
        }
        (Kind::Text, Held::Memory(bytes)) => {
            let sample = &bytes[..bytes.len().min(SAMPLE)];
            // The name of what is packed, without that of the packing.
            let packed = path.extension().is_some_and(|ext| ext == "gz");
            let path = if packed { path.with_extension("") } else { path.to_path_buf() };
            let (changes, marks) = (changes_of_text(&path, sample), marks_in(sample));
            Ok(Looked { marks, ..text(changes, Held::Memory(bytes)) })
        }
        (Kind::Text, held) => Ok(text(Vec::new(), held)),
        (Kind::Utf16 { big, mark }, held) => {
            let bytes = in_memory(path, held, room)?;
            let converted = utf16(&bytes[mark..], big).ok_or_else(|| {
                reading.refusal(
                    message!("{} begins as UTF-16 and goes on as something else", name),
                    message!("convert it to UTF-8, or take it as it is with {data_as} bytes"),
                )
            })?;
            Ok(text(vec![Wrapping::Converted], Held::Memory(converted.into_bytes())))
        }
        (Kind::Gzip, held) => {
            let unpacked = match held {
                Held::Disk { .. } => gunzip(open(path)?, room),
                Held::Memory(bytes) => gunzip(&bytes[..], room),
            };
            let unpacked = unpacked
                .map_err(|e| RunError::Data(message!("{}: gzip: {}", name, with_causes(&e))))?;
            let bytes = unpacked.ok_or_else(|| too_large(room.saturating_add(1), room))?;
            let inner = Kind::of(&bytes[..bytes.len().min(SAMPLE)]);
            if inner == Kind::Gzip {
                return Err(RunError::Data(message!("{} is packed twice; unpack it once", name)));
            }
            let room = room.saturating_sub(bytes.len() as u64);
            let mut looked = unwrap(path, reading, inner, Held::Memory(bytes), room)?;
            looked.changes.insert(0, Wrapping::Unpacked);
            Ok(looked)
        }
        (Kind::Foreign(look), _) => Err(reading.refusal(
            message!("{} is no text: {}", name, look.message()),
            message!(
                "give the text in it, token numbers as 16-bit numbers and nothing else \
                 ({data_as} u16), or insist with {data_as} bytes"
            ),
        )),
        (Kind::Binary { controls }, _) => Err(reading.refusal(
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

/// Refuses what no run can learn from.
fn too_large(needed: u64, available: u64) -> RunError {
    RunError::Memory(Error::Memory { needed, available }, message!("the size of {data}"))
}

/// The bytes, in memory.
pub(super) fn in_memory(path: &Path, held: Held, room: u64) -> Result<Vec<u8>> {
    match held {
        Held::Memory(bytes) => Ok(bytes),
        Held::Disk { skipped, len } if len <= room => {
            let unreadable = |e: io::Error| input(path, system_reason(&e));
            let mut bytes = Vec::new();
            bytes.reserve_exact(len as usize);
            let file = open_after(path, skipped)?;
            // What a file grows by while it is read does not count.
            file.take(len).read_to_end(&mut bytes).map_err(unreadable)?;
            Ok(bytes)
        }
        Held::Disk { len, .. } => Err(too_large(len, room)),
    }
}

/// Of the bytes of a file.
pub(super) fn hash(path: &Path, held: &Held) -> Result<blake3::Hash> {
    let mut hash = blake3::Hasher::new();
    match held {
        Held::Memory(bytes) => drop(hash.update(bytes)),
        Held::Disk { skipped, len } => {
            let read = hash.update_reader(open_after(path, *skipped)?.take(*len));
            read.map_err(|e| input(path, system_reason(&e)))?;
        }
    }
    Ok(hash.finalize())
}

fn all_of(path: &Path, stream: impl Read, room: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A stream may have no end. Half of the memory: what is made of it needs some too.
    let most = MOST_OF_STREAM.min(room / 2);
    let read = stream.take(most.saturating_add(1)).read_to_end(&mut bytes);
    let n = read.map_err(|e| input(path, system_reason(&e)))?;
    if n as u64 <= most {
        return Ok(bytes);
    }
    let most = base::bytes(most);
    let why = message!(
        "it goes on after {}, the most that is read of a stream here; put it into a file",
        most
    );
    Err(input(path, why))
}

fn open(path: &Path) -> Result<File> {
    base::open_regular(path).map(|(file, _)| file).map_err(|e| input(path, system_reason(&e)))
}

/// A file behind its first bytes.
fn open_after(path: &Path, skipped: u64) -> Result<File> {
    let mut file = open(path)?;
    let read = io::copy(&mut (&mut file).take(skipped), &mut io::sink());
    read.map(|_| file).map_err(|e| input(path, system_reason(&e)))
}

fn beginning(path: &Path) -> Result<Vec<u8>> {
    let mut sample = Vec::new();
    let read = open(path)?.take(SAMPLE as u64).read_to_end(&mut sample);
    read.map(|_| sample).map_err(|e| input(path, system_reason(&e)))
}

fn input(path: &Path, why: Message) -> RunError {
    RunError::Input { path: path.to_path_buf(), why }
}

/// The length of a file that can be read as often as one likes.
fn regular_length(path: &Path) -> Result<u64> {
    let meta = std::fs::metadata(path).map_err(|e| input(path, system_reason(&e)))?;
    if !meta.is_file() {
        let why = message!("it is not a regular file; pipe a stream into {data} -");
        return Err(input(path, why));
    }
    Ok(meta.len())
}
