//! Files as one sequence, and its tokens.

use super::folder::{self, DataPath};
use super::reading::{self, Held, Looked, Reading, Wrapping, look, look_at, shown};
use crate::defaults::in_memory;
use crate::error::{Result, RunError};
use llm_core::base::{Message, memory, with_causes};
use llm_core::data::{ByteFiles, TokenDataset};
use llm_core::message;
use llm_core::recipe::{DataForm, DataSource, EndOfText};
use llm_core::tokenizer::{END_OF_TEXT, Tokenizer};
use llm_core::{Error, counted};
use llm_formats::FormatError;
use llm_formats::encode::PART;
use llm_formats::nano_gpt::META;
use llm_formats::text::Text;
use llm_formats::texts::{NoTokens, Texts};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// Text of which so much is learnt is not unseen.
const MOST_REPEATED: f64 = 0.5;

/// Files as one text, or as one sequence of token numbers, in order.
pub struct Files {
    texts: Texts,
    /// What to call them all.
    pub name: Message,
    /// What was done to them, to be said.
    pub changes: Vec<Message>,
    /// What to call each.
    names: Vec<Message>,
    /// The file that says which characters they are, if there is one beside them.
    meta: Option<PathBuf>,
    of_model: bool,
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
        let folder = if let [one] = paths { Some(one).filter(|path| path.is_dir()) } else { None };
        Files::looked_at(files, &left_out, folder, reading)
    }

    /// See [`Input::of_bytes`](super::Input::of_bytes).
    pub(super) fn of_bytes(path: PathBuf, bytes: Vec<u8>, reading: Reading) -> Result<Files> {
        let found = DataPath { path, in_folder: false };
        let looked = look_at(&found, &reading, Held::Memory(bytes), memory::available())?;
        let files = looked.into_iter().map(|looked| (found.path.clone(), looked)).collect();
        Files::looked_at(files, &[], None, reading)
    }

    fn looked_at(
        mut files: Vec<(PathBuf, Looked)>,
        left_out: &[PathBuf],
        folder: Option<&PathBuf>,
        reading: Reading,
    ) -> Result<Files> {
        let equal = without_equals(&mut files)?;
        let name = match (folder, &files[..]) {
            (Some(folder), several) => {
                message!("{} ({})", shown(folder), counted!(several.len(), "file"))
            }
            (None, [(one, _)]) => shown(one),
            (None, several) => message!("{} files", several.len()),
        };
        let form = one_form(&files)?;
        let mut changes = changes(&files, left_out);
        if !equal.is_empty() {
            let paths: Vec<&Path> = equal.iter().map(PathBuf::as_path).collect();
            let n = paths.len();
            changes.push(message!("equal to another and taken once: {} ({})", n, named(&paths)));
        }
        let names = files.iter().map(|(path, _)| shown(path)).collect();
        let lengths: Vec<u64> = files.iter().map(|(_, looked)| looked.held.len()).collect();
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
            changes.push(message!(
                "{} in its beginning {} times, learnt as letters ({end_of_text} marked)",
                END_OF_TEXT,
                marks
            ));
        }
        if form == DataForm::U16 {
            files.iter().try_for_each(|(path, looked)| check_pairs(path, &looked.held))?;
        }
        let numbers = form == DataForm::U16;
        let text = text_of(files, reading.in_parts || numbers)?;
        let texts = Texts::new(text, lengths, end_of_text, numbers)?;
        let len = texts.text().len() as u64;
        if len == 0 {
            return Err(RunError::Data(message!("{} is empty; a run needs some text", name)));
        }
        let source = DataSource::Files { len, blake3: texts.blake3()?, form, end_of_text };
        Ok(Files { texts, name, changes, names, meta, of_model: reading.of_model, source })
    }

    /// What a checkpoint remembers of them.
    pub(super) fn source(&self) -> &DataSource {
        &self.source
    }

    /// Their text, and what of it is unseen.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// nanoGPT's `meta.pkl` beside them, when they are token numbers.
    pub fn meta(&self) -> Option<&Path> {
        self.meta.as_deref()
    }

    /// Refuses to be judged on a file that is learnt, by whatever name, or on passages of it.
    ///
    /// # Errors
    /// [`RunError::Data`] naming both.
    pub(super) fn are_unseen(&self, learnt: &Files) -> Result<()> {
        if let Some((own, other)) = self.texts.equal_file(&learnt.texts)? {
            return Err(RunError::Data(message!(
                "{} of {val} is learnt too, as {}: nothing in it is unseen; take it out of {data}, or \
                 leave {val} out",
                self.names[own],
                learnt.names[other]
            )));
        }
        let again = self.texts.repeated_in(&learnt.texts)?;
        if again < MOST_REPEATED {
            return Ok(());
        }
        Err(RunError::Data(message!(
            "{} of {val}: {:.0} % of its passages are learnt too, word for word, in {}; take them out \
             of {data}, or leave {val} out",
            self.name,
            100.0 * again,
            learnt.name
        )))
    }

    /// Is the text on the disk, to be read where it is needed?
    pub fn on_disk(&self) -> bool {
        matches!(self.texts.text(), Text::Disk(_))
    }

    /// The tokens of what is learnt and of the `share` that is not, see [`Texts::divided`].
    ///
    /// # Errors
    /// As [`Files::tokens`].
    pub(super) fn divided(
        self,
        share: f64,
        tokenizer: &dyn Tokenizer,
    ) -> Result<(TokenDataset, TokenDataset)> {
        self.made(tokenizer, |texts, part_size| texts.divided(share, tokenizer, part_size))
    }

    /// The text as tokens.
    ///
    /// # Errors
    /// [`RunError::Data`] naming the file and a character that the vocabulary does not have;
    /// [`RunError::Memory`].
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
            return Err(RunError::Data(message!(
                "{} holds token {}, but the vocabulary has {} tokens; these \
                 numbers are of another vocabulary",
                name,
                largest,
                vocab_size
            )));
        }
        let part_size = usize::try_from(in_memory()).unwrap_or(PART);
        make(texts, part_size).map_err(|NoTokens { file, why }| match (why, file) {
            (FormatError::LongRun(e), _) => {
                RunError::Memory(e, message!("the length of what has no white space in {data}"))
            }
            (FormatError::Core(e @ Error::Memory { .. }), _) => {
                RunError::Memory(e, message!("the size of {data}"))
            }
            (FormatError::Core(e @ Error::UnknownUnit { .. }), Some(file)) => {
                let name = &names[file];
                RunError::Data(match of_model {
                    true => message!(
                        "{}: {}; take it out of the text, or convert the text if it is in \
                         another encoding (iconv -t UTF-8)",
                        name,
                        with_causes(&e)
                    ),
                    false => message!(
                        "{}: {}; take it out of the text, or train with {tokenizer} byte",
                        name,
                        with_causes(&e)
                    ),
                })
            }
            (FormatError::Core(e), _) => e.into(),
            (other, _) => RunError::Data(with_causes(&other)),
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

/// What all files are.
fn one_form(files: &[(PathBuf, Looked)]) -> Result<DataForm> {
    let form = files.first().map_or(DataForm::Text, |(_, first)| first.form);
    // What was said to be bytes may be text as well.
    let same = |other: DataForm| (form == DataForm::U16) == (other == DataForm::U16);
    match files.iter().find(|(_, other)| !same(other.form)) {
        Some((path, _)) => {
            let (first, other) = (shown(&files[0].0), shown(path));
            Err(RunError::Data(message!(
                "{} and {}: one holds text, the other token numbers; give one kind",
                first,
                other
            )))
        }
        None => Ok(files.iter().map(|f| f.1.form).find(|f| *f != DataForm::Text).unwrap_or(form)),
    }
}

/// What was done to so many of the files, and to which.
fn changes(files: &[(PathBuf, Looked)], left_out: &[PathBuf]) -> Vec<Message> {
    let changed = Wrapping::ALL.iter().filter_map(|change| {
        let of = files.iter().filter(|(_, looked)| looked.changes.contains(change));
        let paths: Vec<&Path> = of.map(|(path, _)| path.as_path()).collect();
        match paths.len() {
            0 => None,
            n if n == files.len() => Some(change.message()),
            n => Some(message!("{} {}: {}", n, change.message(), named(&paths))),
        }
    });
    let paths: Vec<&Path> = left_out.iter().map(PathBuf::as_path).collect();
    let left_out = match paths.len() {
        0 => None,
        n => Some(message!("left out as no text: {} ({})", n, named(&paths))),
    };
    changed.chain(left_out).collect()
}

/// The first of some files by name.
fn named(paths: &[&Path]) -> String {
    const MOST: usize = 3;
    let names = paths.iter().take(MOST).map(|path| shown(path).to_string());
    let names: Vec<String> = names.collect();
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

/// Refuses a file whose last number is half a one.
fn check_pairs(path: &Path, held: &Held) -> Result<()> {
    match held.len() {
        len if len.is_multiple_of(2) => Ok(()),
        len => Err(RunError::Data(message!(
            "{} has {} bytes: no whole number of tokens of 16 bits; leave out {data_as} u16",
            shown(path),
            len
        ))),
    }
}
