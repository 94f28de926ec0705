//! Files as one sequence, and its tokens.

use super::folder;
use super::reading::{self, Held, Looked, Reading, Wrapping, look, shown};
use crate::defaults::in_memory;
use crate::error::{CliError, Result};
use crate::messages::count;
use llm_core::base::memory;
use llm_core::data::{ByteFiles, TokenDataset};
use llm_core::recipe::{DataForm, DataSource, EndOfText};
use llm_core::tokenizer::{ByteTokenizer, END_OF_TEXT, Tokenizer};
use llm_core::{Error, TokenId};
use llm_formats::FormatError;
use llm_formats::encode::{Ends, PART, in_parts};
use llm_formats::nano_gpt::META;
use llm_formats::text::Text;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Files as one text, or as one sequence of token numbers, in order.
pub struct Files {
    text: Text,
    /// What to call them all.
    pub name: String,
    /// What was done to them, to be said.
    pub changes: Vec<String>,
    /// The largest of token numbers, when that is what they are.
    largest: Option<TokenId>,
    /// The file that says which characters they are, if there is one beside them.
    meta: Option<PathBuf>,
    /// What to call each, and the place after its last byte.
    ends: Vec<(String, u64)>,
    end_of_text: EndOfText,
    source: DataSource,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Files { name, source, .. } = self;
        let mut fields = f.debug_struct("Files");
        fields.field("name", name).field("source", source).finish_non_exhaustive()
    }
}

impl Files {
    /// See [`Input::files`](super::Input::files).
    pub(super) fn read(paths: &[PathBuf], reading: Reading) -> Result<Files> {
        let (mut files, mut left_out, mut held) = (Vec::new(), Vec::new(), 0);
        for found in folder::expand(paths)? {
            match look(&found, &reading, held)? {
                Some(looked) => {
                    held +=
                        if let Held::Memory(bytes) = &looked.held { bytes.len() as u64 } else { 0 };
                    files.push((found.path, looked));
                }
                None => left_out.push(found.path),
            }
        }
        let equal = without_equals(&mut files)?;
        let name = match (paths, &files[..]) {
            ([folder], several) if folder.is_dir() => {
                format!("{} ({})", shown(folder), count(several.len(), "file"))
            }
            (_, [(one, _)]) => shown(one),
            (_, several) => format!("{} files", several.len()),
        };
        let form = one_form(&files)?;
        let mut changes = changes(&files, &left_out);
        if !equal.is_empty() {
            let paths: Vec<&Path> = equal.iter().map(PathBuf::as_path).collect();
            let n = count(paths.len(), "file");
            changes.push(format!("{n} equal to another, taken once ({})", named(&paths)));
        }
        let place = |end: &mut u64, (path, looked): &(PathBuf, Looked)| {
            *end += looked.held.len();
            Some((shown(path), *end))
        };
        let ends: Vec<_> = files.iter().scan(0, place).collect();
        let meta = match (form, &files[..]) {
            (DataForm::U16, [(first, _), ..]) => Some(first.with_file_name(META)),
            _ => None,
        };
        let meta = meta.filter(|path| path.is_file());
        let end_of_text = match (reading.end_of_text, form, files.len()) {
            // Numbers have their ends among them.
            (_, DataForm::U16, _) | (EndOfText::Files, _, 0..=1) => EndOfText::None,
            (asked, ..) => asked,
        };
        let marks: usize = files.iter().map(|(_, looked)| looked.marks).sum();
        if marks > 0 && end_of_text != EndOfText::Marked {
            changes.push(format!(
                "{} in its beginning {marks} times, learnt as letters (--end-of-text marked)",
                END_OF_TEXT
            ));
        }
        let text = text_of(files, reading.in_parts || form == DataForm::U16)?;
        let (len, blake3) = (text.len(), blake3_of(&text, &ends_of(end_of_text, &ends))?);
        if len == 0 {
            return Err(CliError::Data(format!("{name} is empty; a run needs some text")));
        }
        let largest = if form == DataForm::U16 { Some(largest(&text, &name)?) } else { None };
        let source = DataSource::Files { len: len as u64, blake3, form, end_of_text };
        Ok(Files { text, name, changes, largest, meta, ends, end_of_text, source })
    }

    /// What a checkpoint remembers of them.
    pub(super) fn source(&self) -> &DataSource {
        &self.source
    }

    /// The largest token, when the files hold token numbers of 16 bits.
    pub fn largest(&self) -> Option<TokenId> {
        self.largest
    }

    /// nanoGPT's `meta.pkl` beside them, when they are token numbers.
    pub fn meta(&self) -> Option<&Path> {
        self.meta.as_deref()
    }

    /// Refuses to be judged on a file that is learnt, by whatever name.
    ///
    /// # Errors
    /// [`CliError::Data`] naming both.
    pub(super) fn are_unseen(&self, learnt: &Files) -> Result<()> {
        for (name, range) in self.ranges().filter(|(_, range)| !range.is_empty()) {
            let same_length = |(_, other): &(&str, Range<usize>)| other.len() == range.len();
            for (other, place) in learnt.ranges().filter(same_length) {
                if hash(&self.text, range.clone())? == hash(&learnt.text, place)? {
                    return Err(CliError::Data(format!(
                        "{name} of --val is learnt too, as {other}: nothing in it is unseen; take it \
                         out of --data, or leave --val out"
                    )));
                }
            }
        }
        Ok(())
    }

    /// What to call each, and the bytes that are its own.
    fn ranges(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.ends.iter().scan(0, |start, (name, end)| {
            let range = *start..*end as usize;
            *start = range.end;
            Some((name.as_str(), range))
        })
    }

    /// Where a text ends in them.
    pub fn end_of_text(&self) -> EndOfText {
        self.end_of_text
    }

    /// How many texts they are said to be, where marks do not count.
    pub(super) fn texts(&self) -> usize {
        ends_of(self.end_of_text, &self.ends).len().max(1)
    }

    /// Bytes in all.
    pub fn len(&self) -> u64 {
        self.ends.last().map_or(0, |(_, end)| *end)
    }

    /// Whether there is none; never so after [`Input::files`](super::Input::files).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is the text on the disk, to be read where it is needed?
    pub fn on_disk(&self) -> bool {
        matches!(self.text, Text::Disk(_))
    }

    /// The text, or the bytes of the numbers.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// The text without its last `val_frac`, or evenly spaced parts of that which are no more than
    /// `most` bytes.
    ///
    /// # Errors
    /// What reading says.
    pub fn parts(&self, val_frac: f64, most: Option<usize>) -> Result<Cow<'_, [u8]>> {
        let len = self.text.len();
        let end = len - (len as f64 * val_frac.clamp(0.0, 1.0)) as usize;
        Ok(self.text.sample(end, most.unwrap_or(len))?)
    }

    /// The text as tokens.
    ///
    /// # Errors
    /// [`CliError::Data`] naming the file and a character that the vocabulary does not have;
    /// [`CliError::Memory`].
    pub fn tokens(self, tokenizer: &dyn Tokenizer) -> Result<TokenDataset> {
        if let Some(largest) = self.largest {
            return numbers(self.text, largest, &self.name, tokenizer);
        }
        let places = ends_of(self.end_of_text, &self.ends);
        let marked = self.end_of_text == EndOfText::Marked;
        let made = match (self.text, tokenizer.name(), tokenizer.end_of_text()) {
            (Text::Disk(files), ByteTokenizer::NAME, end) if !marked => {
                return with_ends(TokenDataset::from_files(files), places, end);
            }
            (Text::Memory(text), ByteTokenizer::NAME, end) if !marked => {
                return with_ends(TokenDataset::from_bytes(text), places, end);
            }
            (text, ..) => {
                let part_size = usize::try_from(in_memory()).unwrap_or(PART);
                in_parts(&text, Ends { places: &places, marked }, tokenizer, part_size)
            }
        };
        made.map_err(|e| match e {
            FormatError::LongRun(e) => {
                CliError::Memory(e, "the length of what has no white space in --data")
            }
            FormatError::Core(e @ Error::Memory { .. }) => {
                CliError::Memory(e, "the size of --data")
            }
            FormatError::Core(Error::UnknownUnit { unit, position }) => {
                let file = self.ends.partition_point(|(_, end)| *end <= position);
                let start = file.checked_sub(1).map_or(0, |before| self.ends[before].1);
                let name = self.ends.get(file).map_or("", |(name, _)| name);
                let e = Error::UnknownUnit { unit, position: position - start };
                CliError::Data(format!(
                    "{name}: {e}; take it out of the text, or train with --tokenizer byte"
                ))
            }
            FormatError::Core(e) => e.into(),
            other => CliError::Data(other.to_string()),
        })
    }
}

/// Takes out each file that is equal to one before it.
fn without_equals(files: &mut Vec<(PathBuf, Looked)>) -> Result<Vec<PathBuf>> {
    let mut lengths = BTreeMap::new();
    for (_, looked) in files.iter() {
        *lengths.entry(looked.held.len()).or_insert(0) += 1;
    }
    let (mut seen, mut equal, mut kept) = (BTreeSet::new(), Vec::new(), Vec::new());
    for (path, looked) in files.drain(..) {
        let len = looked.held.len();
        // Only those of one length are read for this.
        let alone = len == 0 || lengths[&len] == 1;
        match alone || seen.insert(*reading::hash(&path, &looked.held)?.as_bytes()) {
            true => kept.push((path, looked)),
            false => equal.push(path),
        }
    }
    *files = kept;
    Ok(equal)
}

/// Of some bytes of a text.
fn hash(text: &Text, range: Range<usize>) -> Result<blake3::Hash> {
    const PART: usize = 1 << 20;
    let mut hash = blake3::Hasher::new();
    for place in range.clone().step_by(PART) {
        hash.update(&text.read(place, PART.min(range.end - place))?);
    }
    Ok(hash.finalize())
}

/// What all files are.
fn one_form(files: &[(PathBuf, Looked)]) -> Result<DataForm> {
    let form = files.first().map_or(DataForm::Text, |(_, first)| first.form);
    // What was said to be bytes may be text as well.
    let same = |other: DataForm| (form == DataForm::U16) == (other == DataForm::U16);
    match files.iter().find(|(_, other)| !same(other.form)) {
        Some((path, _)) => {
            let (first, other) = (shown(&files[0].0), shown(path));
            Err(CliError::Data(format!(
                "{first} and {other}: one holds text, the other token numbers; give one kind"
            )))
        }
        None => Ok(files.iter().map(|f| f.1.form).find(|f| *f != DataForm::Text).unwrap_or(form)),
    }
}

/// What was done to so many of the files, and to which.
fn changes(files: &[(PathBuf, Looked)], left_out: &[PathBuf]) -> Vec<String> {
    let changed = Wrapping::ALL.iter().filter_map(|(change, name)| {
        let of = files.iter().filter(|(_, looked)| looked.changes.contains(change));
        let paths: Vec<&Path> = of.map(|(path, _)| path.as_path()).collect();
        match paths.len() {
            0 => None,
            n if n == files.len() => Some(name.to_string()),
            n => Some(format!("{n} {name}: {}", named(&paths))),
        }
    });
    let paths: Vec<&Path> = left_out.iter().map(PathBuf::as_path).collect();
    let left_out = match paths.len() {
        0 => None,
        n => Some(format!("{} left out: no text ({})", count(n, "file"), named(&paths))),
    };
    changed.chain(left_out).collect()
}

/// The first of some files by name.
fn named(paths: &[&Path]) -> String {
    const MOST: usize = 3;
    let names: Vec<String> = paths.iter().take(MOST).map(|path| shown(path)).collect();
    let more = if paths.len() > MOST { " .." } else { "" };
    names.join(" ") + more
}

/// The bytes of all, on the disk if they are many and `may_stay`.
fn text_of(files: Vec<(PathBuf, Looked)>, may_stay: bool) -> Result<Text> {
    let skipped = |(path, looked): &(PathBuf, Looked)| match looked.held {
        Held::Disk { skipped, .. } => Some((path.clone(), skipped)),
        Held::Memory(_) => None,
    };
    let total = files.iter().fold(0u64, |sum, (_, looked)| sum.saturating_add(looked.held.len()));
    if may_stay
        && total > in_memory()
        && let Some(paths) = files.iter().map(skipped).collect::<Option<Vec<_>>>()
    {
        return Ok(Text::Disk(ByteFiles::open_after(&paths)?));
    }
    let mut text = Vec::new();
    for (path, looked) in files {
        let room = memory::available().saturating_sub(text.len() as u64);
        let bytes = reading::in_memory(&path, looked.held, room)?;
        // Not copied where it is the only one.
        if text.is_empty() { text = bytes } else { text.extend_from_slice(&bytes) }
    }
    Ok(Text::Memory(text))
}

/// The largest of numbers of 16 bits.
fn largest(text: &Text, name: &str) -> Result<TokenId> {
    const PART: usize = 1 << 20;
    if !text.len().is_multiple_of(2) {
        return Err(CliError::Data(format!(
            "{name} has {} bytes: no whole number of tokens of 16 bits; leave out --data-as u16",
            text.len()
        )));
    }
    let mut largest = 0;
    for place in (0..text.len()).step_by(PART) {
        let part = text.read(place, PART)?;
        let tokens = part.as_chunks().0.iter().map(|&pair| u16::from_le_bytes(pair));
        largest = tokens.fold(largest, u16::max);
    }
    Ok(largest.into())
}

/// Numbers of 16 bits as tokens of this vocabulary.
fn numbers(
    text: Text,
    largest: TokenId,
    name: &str,
    tokenizer: &dyn Tokenizer,
) -> Result<TokenDataset> {
    let vocab_size = tokenizer.vocab_size();
    if largest as usize >= vocab_size {
        return Err(CliError::Data(format!(
            "{name} holds token {largest}, but the vocabulary has {vocab_size} tokens; these \
             numbers are of another vocabulary"
        )));
    }
    Ok(match text {
        Text::Disk(files) => TokenDataset::from_narrow_files(files),
        Text::Memory(bytes) => {
            let tokens = bytes.as_chunks().0.iter().map(|&pair| u16::from_le_bytes(pair));
            TokenDataset::from_narrow_tokens(tokens.collect())
        }
    })
}

/// Bytes as tokens, with the token `end` after each of the places.
fn with_ends(
    bytes: TokenDataset,
    places: Vec<usize>,
    end: Option<TokenId>,
) -> Result<TokenDataset> {
    match end {
        _ if places.is_empty() => Ok(bytes),
        Some(end) => Ok(bytes.with_ends(places, end)?),
        None => Err(CliError::Internal("texts end, and no token says so".into())),
    }
}

/// The places after the last byte of each text; none where all is one.
fn ends_of(end_of_text: EndOfText, ends: &[(String, u64)]) -> Vec<usize> {
    if end_of_text == EndOfText::None || ends.len() < 2 {
        return Vec::new();
    }
    let mut places: Vec<_> = ends.iter().map(|(_, end)| *end as usize).collect();
    places.dedup(); // an empty file is no text
    places.retain(|&end| end > 0);
    places
}

/// The hash of all bytes, and of the places where a text ends, if there are such.
fn blake3_of(text: &Text, ends: &[usize]) -> Result<[u8; 32]> {
    let bytes = match text {
        Text::Memory(bytes) => blake3::hash(bytes).into(),
        Text::Disk(files) => files.blake3()?,
    };
    if ends.is_empty() {
        return Ok(bytes);
    }
    let mut hash = blake3::Hasher::new();
    hash.update(&bytes);
    for &end in ends {
        hash.update(&(end as u64).to_le_bytes());
    }
    Ok(hash.finalize().into())
}
