//! Files that are given for training or validation: found, inspected, taken out of what they are
//! wrapped in, and made one sequence.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `held` | where the bytes of a file are, and reading them |
//! | `folder` | folders among the files that are given |
//! | `reading` | how files are to be read |
//! | [`kind`] | the kind of a file by its beginning: text, packed text, none |
//! | `wrapping` | what a text was taken out of, or is besides, in words |
//! | `look` | what is in a file, and its text |

mod held;

mod folder;

mod reading;

pub mod kind;

mod wrapping;

mod look;

pub use held::is_stdin;
pub use reading::Reading;

use crate::chat::Conversations;
use crate::chat::exported::Exports;
use crate::error::{FormatError, Result, refuse};
use crate::files::SAMPLE;
use crate::json_look::{Holds, JsonLook};
use crate::nano_gpt::META;
use crate::texts::{NoTokens, PART, Text, Texts};
use folder::DataPath;
use held::{Held, shown};
use llm_core::base::{Message, memory, with_causes};
use llm_core::data::{ByteFiles, TokenDataset};
use llm_core::recipe::{DataForm, DataSource, EndOfText};
use llm_core::tokenizer::{END_OF_TEXT, Tokenizer};
use llm_core::{Error, counted, message};
use look::{Looked, look, look_at};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use wrapping::Wrapping;

/// Bytes of data files that are read into memory; larger ones stay on the disk. The environment
/// variable `LLM_DATA_IN_MEMORY` sets another number, for tests.
pub fn in_memory() -> u64 {
    let set = std::env::var("LLM_DATA_IN_MEMORY").ok().and_then(|number| number.parse().ok());
    set.unwrap_or(256 << 20)
}

/// Files as one text, or as one sequence of token numbers, in order.
pub struct Files {
    /// The texts of the files, and what of them is unseen.
    pub texts: Texts,
    /// What to call them all.
    pub name: Message,
    /// What was done to them, to be said.
    pub changes: Vec<Message>,
    /// What to call each.
    pub names: Vec<Message>,
    /// nanoGPT's `meta.pkl` next to them, when they are token numbers.
    pub meta: Option<PathBuf>,
    /// What a checkpoint remembers of them.
    pub source: DataSource,
    /// The conversations in them, when that is what they are.
    pub chats: Option<Conversations>,
    of_model: bool,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Files { name, source, .. } = self;
        let mut fields = f.debug_struct("Files");
        fields.field("name", name).field("source", source).finish_non_exhaustive()
    }
}

impl Files {
    /// Reads files in order, those of a folder too; `-` is standard input. What is larger than
    /// [`in_memory`] stays on the disk, if it can be read in parts; a stream cannot, nor what is
    /// converted, and neither do files next to them.
    ///
    /// # Errors
    /// [`FormatError::Core`] for what cannot be read or is too large, [`FormatError::Content`] for what
    /// is no text, and when nothing is in it.
    pub fn read(paths: &[PathBuf], reading: Reading) -> Result<Files> {
        let (mut files, mut left_out, mut held) = (Vec::new(), Vec::new(), 0);
        for found in folder::expand(paths)? {
            match look(&found, &reading, held)? {
                Some(looked) => {
                    held += if let Held::Memory(_) = looked.held { looked.held.len() } else { 0 };
                    files.push(looked);
                }
                None => left_out.push(found.path),
            }
        }
        let folder = if let [one] = paths { Some(one).filter(|path| path.is_dir()) } else { None };
        Files::looked_at(files, &left_out, folder, reading)
    }

    /// One file whose bytes are here, by its name.
    ///
    /// # Errors
    /// As [`Files::read`].
    pub fn of_bytes(name: String, bytes: Vec<u8>, reading: Reading) -> Result<Files> {
        let found = DataPath { path: name.into(), in_folder: false };
        let looked = look_at(&found, &reading, Held::Memory(bytes), memory::available())?;
        Files::looked_at(looked.into_iter().collect(), &[], None, reading)
    }

    fn looked_at(
        mut files: Vec<Looked>,
        left_out: &[PathBuf],
        folder: Option<&PathBuf>,
        reading: Reading,
    ) -> Result<Files> {
        let equal = without_equals(&mut files)?;
        let name = match (folder, &files[..]) {
            (Some(folder), several) => {
                message!("{} ({})", shown(folder), counted!(several.len(), "file"))
            }
            (None, [one]) => shown(&one.path),
            (None, several) => message!("{} files", several.len()),
        };
        let form = one_form(&files, reading)?;
        let mut changes = changes(&files, left_out);
        if !equal.is_empty() {
            let n = equal.len();
            changes.push(message!("equal to another and taken once: {} ({})", n, named(&equal)));
        }
        let names: Vec<_> = files.iter().map(|file| shown(&file.path)).collect();
        let lengths: Vec<u64> = files.iter().map(|file| file.held.len()).collect();
        let meta = match (form, &files[..]) {
            (DataForm::U16, [first, ..]) => Some(first.path.with_file_name(META)),
            _ => None,
        };
        let meta = meta.filter(|path| path.is_file());
        let end_of_text = match (reading.end_of_text, form, files.len()) {
            // Numbers have their ends among them.
            (_, DataForm::U16, _) => EndOfText::None,
            (EndOfText::Files, form, 0..=1) if form != DataForm::Chats => EndOfText::None,
            (EndOfText::Marked, DataForm::Chats, _) => EndOfText::Files,
            (asked, ..) => asked,
        };
        let marks: usize = files.iter().map(|file| file.marks).sum();
        if marks > 0 && end_of_text != EndOfText::Marked {
            changes.push(message!(
                "{} in its beginning {} times, learned as letters ({end_of_text} marked)",
                END_OF_TEXT,
                marks
            ));
        }
        let numbers = form == DataForm::U16;
        if numbers {
            files.iter().try_for_each(check_pairs)?;
        }
        let chats = form == DataForm::Chats;
        // What is said in them is taken out, beside them.
        let (needed, available) =
            (lengths.iter().sum::<u64>().saturating_mul(2), memory::available());
        if chats && needed > available {
            return Err(Error::Memory { needed, available }.into());
        }
        let text = text_of(files, (reading.in_parts || numbers) && !chats)?;
        let texts = Texts::new(text, lengths, end_of_text, numbers)?;
        let chats = if chats { Some(conversations(&texts, &names, reading)?) } else { None };
        let len = texts.text().len() as u64;
        if len == 0 {
            return refuse(message!("{} is empty; a run needs some text", name));
        }
        let source = DataSource::Files { len, blake3: texts.blake3()?, form, end_of_text };
        Ok(Files { texts, name, changes, names, meta, chats, of_model: reading.of_model, source })
    }

    /// The tokens for training and of the `share` that is kept out of it, see [`Texts::divided`].
    ///
    /// # Errors
    /// As [`Files::tokens`].
    pub fn divided(self, share: f64, tokenizer: &dyn Tokenizer) -> Result<[TokenDataset; 2]> {
        self.made(tokenizer, |texts, part_size| texts.divided(share, tokenizer, part_size))
    }

    /// The text as tokens.
    ///
    /// # Errors
    /// [`FormatError::Content`] naming the file and a character that the vocabulary does not have;
    /// [`FormatError::LongRun`], [`FormatError::Core`].
    pub fn tokens(self, tokenizer: &dyn Tokenizer) -> Result<TokenDataset> {
        self.made(tokenizer, |texts, part_size| texts.tokens(tokenizer, part_size))
    }

    fn made<T>(
        self,
        tokenizer: &dyn Tokenizer,
        make: impl FnOnce(Texts, usize) -> std::result::Result<T, NoTokens>,
    ) -> Result<T> {
        let Files { texts, name, names, of_model, .. } = self;
        let vocab_size = tokenizer.vocab_size();
        if let Some(largest) = texts.largest().filter(|token| *token as usize >= vocab_size) {
            return refuse(message!(
                "{} holds token {}, but the vocabulary has {} tokens; these \
                 numbers are of another vocabulary",
                name,
                largest,
                vocab_size
            ));
        }
        let part_size = usize::try_from(in_memory()).unwrap_or(PART);
        make(texts, part_size).map_err(|NoTokens { file, why }| match (why, file) {
            (FormatError::Core(e @ Error::UnknownUnit { .. }), Some(file)) => {
                let (name, why) = (&names[file], with_causes(&e));
                FormatError::Content(match of_model {
                    true => message!(
                        "{}: {}; take it out of the text, or convert the text if it is in \
                         another encoding (iconv -t UTF-8)",
                        name,
                        why
                    ),
                    false => message!(
                        "{}: {}; take it out of the text, or train with {tokenizer} byte",
                        name,
                        why
                    ),
                })
            }
            (other, _) => other,
        })
    }
}

/// The conversations in files, which apps may have exported; `-` is standard input.
///
/// # Errors
/// As [`Files::read`], and what [`Exports::read`] says.
pub fn exported(paths: &[PathBuf]) -> Result<Exports> {
    // What is read, what is kept of it, and what is made of that.
    const TIMES: u64 = 8;
    let reading = Reading::new("", Some(DataForm::Text)).without_options();
    let Files { texts, names, .. } = Files::read(paths, reading)?;
    let text = texts.text().read(0, texts.text().len())?;
    let (needed, available) = (text.len() as u64 * TIMES, memory::available());
    if needed > available {
        return Err(Error::Memory { needed, available }.into());
    }
    let files = names.into_iter().zip(texts.ranges().map(|range| &text[range]));
    Exports::read(files).map_err(FormatError::Content)
}

/// Takes out each file that is equal to one before it.
fn without_equals(files: &mut Vec<Looked>) -> Result<Vec<PathBuf>> {
    let mut lengths = BTreeMap::new();
    for file in files.iter() {
        *lengths.entry(file.held.len()).or_insert(0) += 1;
    }
    let (mut seen, mut equal, mut kept) = (BTreeSet::new(), Vec::new(), Vec::new());
    for file in files.drain(..) {
        let len = file.held.len();
        // Only those of one length are read for this.
        let alone = len == 0 || lengths[&len] == 1;
        match alone || seen.insert(*file.held.hash(&file.path)?.as_bytes()) {
            true => kept.push(file),
            false => equal.push(file.path),
        }
    }
    *files = kept;
    Ok(equal)
}

/// What all files are.
fn one_form(files: &[Looked], reading: Reading) -> Result<DataForm> {
    let Some(first) = files.first() else { return Ok(DataForm::Text) };
    // What was said to be bytes may be text as well.
    let kind = |file: &Looked| match file.form {
        DataForm::Text | DataForm::Bytes => message!("text"),
        DataForm::U16 => message!("token numbers"),
        DataForm::Chats => message!("conversations"),
    };
    match files.iter().find(|file| kind(file) != kind(first)) {
        Some(other) => {
            let [a, b] = [first, other].map(|file| (shown(&file.path), kind(file)));
            let numbers = [first, other].iter().any(|file| file.form == DataForm::U16);
            let advice = match numbers {
                true => message!("give one kind"),
                false => message!("give one kind, or learn all as text with {data_as} text"),
            };
            Err(reading.refusal(message!("{} holds {}, and {} {}", a.0, a.1, b.0, b.1), advice))
        }
        None => {
            let form = files.iter().map(|file| file.form).find(|form| *form != DataForm::Text);
            Ok(form.unwrap_or(DataForm::Text))
        }
    }
}

/// What was done to how many of the files, and to which.
fn changes(files: &[Looked], left_out: &[PathBuf]) -> Vec<Message> {
    let all: BTreeSet<Wrapping> = files.iter().flat_map(|file| file.changes.clone()).collect();
    let changed = all.into_iter().map(|change| {
        let of = files.iter().filter(|file| file.changes.contains(&change));
        let paths: Vec<_> = of.map(|file| &file.path).collect();
        match paths.len() {
            n if n == files.len() => change.message(),
            n => message!("{} {}: {}", n, change.message(), named(&paths)),
        }
    });
    let left_out = (!left_out.is_empty())
        .then(|| message!("left out as no text: {} ({})", left_out.len(), named(left_out)));
    changed.chain(left_out).collect()
}

/// The first of some files by name.
fn named(paths: &[impl AsRef<Path>]) -> String {
    const MOST: usize = 3;
    let names = paths.iter().take(MOST).map(|path| shown(path.as_ref()).to_string());
    let more = (paths.len() > MOST).then(|| "..".to_string());
    names.chain(more).collect::<Vec<_>>().join(" ")
}

/// The bytes of all, on the disk if they are many and `may_stay`.
fn text_of(files: Vec<Looked>, may_stay: bool) -> Result<Text> {
    let skipped = |file: &Looked| match file.held {
        Held::Disk { skipped, .. } => Some((file.path.clone(), skipped)),
        Held::Memory(_) => None,
    };
    let total = files.iter().fold(0u64, |sum, file| sum.saturating_add(file.held.len()));
    if may_stay
        && total > in_memory()
        && let Some(paths) = files.iter().map(skipped).collect::<Option<Vec<_>>>()
    {
        return Ok(Text::Disk(ByteFiles::open_after(&paths)?));
    }
    let mut text = Vec::new();
    for file in files {
        let room = memory::available().saturating_sub(text.len() as u64);
        let bytes = file.held.in_memory(&file.path, room)?;
        // Not copied where it is the only one.
        if text.is_empty() { text = bytes } else { text.extend_from_slice(&bytes) }
    }
    Ok(Text::Memory(text))
}

/// The conversations in files.
fn conversations(texts: &Texts, names: &[Message], reading: Reading) -> Result<Conversations> {
    let text = texts.text().read(0, texts.text().len())?;
    let of = |range| &text[range];
    let files = names.iter().cloned().zip(texts.ranges().map(of));
    Conversations::read(files, reading.pairs).map_err(|(file, why)| {
        let broken = texts.ranges().nth(file).map(of).unwrap_or_default();
        let helps = if reading.pairs { message!("mend the line") } else { what_helps(broken) };
        reading.refusal(why, helps)
    })
}

/// What makes conversations of a file that holds others, or none.
fn what_helps(file: &[u8]) -> Message {
    let Some(look) = JsonLook::of(&file[..file.len().min(SAMPLE)]) else {
        return message!("mend the line, or learn the file as text with {data_as} text");
    };
    let filter = match look.holds() {
        Holds::Export(_) => return message!("the verb import chats makes conversations of it"),
        Holds::Chats if !look.is_judged() => return message!("mend the line"),
        _ if look.has_texts() => return message!("mend the line"),
        Holds::Texts(filter) => Some(filter),
        Holds::Chats | Holds::Other => None,
    };
    match (look.pairs(), filter) {
        (Some(pairs), _) if look.is_judged() => message!(
            "{dpo} learns which of two answers is better, or jq -c '{}' makes conversations of it",
            pairs
        ),
        (Some(pairs), _) => message!("jq -c '{}' makes conversations of it", pairs),
        (None, Some(filter)) => message!("jq -r {} takes the texts out", filter),
        (None, None) => message!("mend the line"),
    }
}

/// Refuses a file whose last number is half a one.
fn check_pairs(file: &Looked) -> Result<()> {
    match file.held.len() {
        len if len.is_multiple_of(2) => Ok(()),
        len => refuse(message!(
            "{} has {} bytes: no whole number of tokens of 16 bits; leave out {data_as} u16",
            shown(&file.path),
            len
        )),
    }
}
