//! What was given to learn from or to be judged on, before it is cut into tokens.

use crate::defaults::{STORY_COUNT, STORY_SEED, in_memory};
use crate::error::{CliError, Result, system_reason};
use llm_core::base::{self, memory};
use llm_core::data::{ByteFiles, TokenDataset};
use llm_core::recipe::DataSource;
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use llm_core::{Error, TokenId};
use llm_formats::encode::{PART, in_parts};
use llm_formats::text::Text;
use llm_formats::{FormatError, bpe};
use llm_stories::GRAMMAR_VERSION;
use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most bytes of standard input that are read.
const MOST_OF_STREAM: u64 = 4 << 30;

/// Data as it was given.
#[derive(Debug)]
pub enum Input {
    /// The built-in stories.
    Stories {
        /// Their seed.
        seed: u64,
        /// How many.
        count: u64,
    },
    /// Files of one's own.
    Files(Files),
}

/// Files as one text, in order.
pub struct Files {
    text: Text,
    /// What to call them all.
    pub name: String,
    /// What to call each, and the place after its last byte.
    ends: Vec<(String, u64)>,
    source: DataSource,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Files { name, source, .. } = self;
        let mut fields = f.debug_struct("Files");
        fields.field("name", name).field("source", source).finish_non_exhaustive()
    }
}

impl Input {
    /// The stories of a new run.
    pub fn stories() -> Input {
        Input::Stories { seed: STORY_SEED, count: STORY_COUNT }
    }

    /// Reads files in order; `-` is standard input. What is larger than [`in_memory`] stays on the
    /// disk, if it can be read `in_parts`; a stream cannot, and neither do files beside it.
    ///
    /// # Errors
    /// [`CliError::Input`] for what cannot be read, [`CliError::Data`] when nothing is in it.
    pub fn files(paths: &[PathBuf], in_parts: bool) -> Result<Input> {
        let mut lengths = Vec::with_capacity(paths.len());
        for path in paths {
            lengths.push(if is_stdin(path) { None } else { Some(regular_length(path)?) });
        }
        let total = lengths.iter().try_fold(0u64, |sum, &length| sum.checked_add(length?));
        let (text, lengths) = match total {
            Some(total) if in_parts && total > in_memory() => {
                (Text::Disk(ByteFiles::open(paths)?), lengths.into_iter().flatten().collect())
            }
            _ => read_all(paths)?,
        };
        let place = |end: &mut u64, (path, length): (&PathBuf, u64)| {
            *end += length;
            Some((shown(path), *end))
        };
        let ends: Vec<_> = paths.iter().zip(lengths).scan(0, place).collect();
        let name = match &ends[..] {
            [(one, _)] => one.clone(),
            several => format!("{} files", several.len()),
        };
        let (len, blake3) = (text.len(), blake3_of(&text)?);
        if len == 0 {
            return Err(CliError::Data(format!("{name} is empty; a run needs some text")));
        }
        let source = DataSource::Files { len: len as u64, blake3 };
        Ok(Input::Files(Files { text, name, ends, source }))
    }

    /// The files that are given, else what a run learnt from if that can be made again; `None`:
    /// it learnt from files, which have to be given.
    ///
    /// # Errors
    /// As [`Input::files`].
    pub fn again(source: &DataSource, files: &[PathBuf], in_parts: bool) -> Result<Option<Input>> {
        match source {
            _ if !files.is_empty() => Input::files(files, in_parts).map(Some),
            DataSource::Stories { seed, count, .. } => {
                Ok(Some(Input::Stories { seed: *seed, count: *count }))
            }
            DataSource::Files { .. } => Ok(None),
        }
    }

    /// What a checkpoint remembers of it.
    pub fn source(&self) -> DataSource {
        match self {
            Input::Stories { seed, count } => {
                DataSource::Stories { version: GRAMMAR_VERSION, seed: *seed, count: *count }
            }
            Input::Files(files) => files.source.clone(),
        }
    }
}

impl Files {
    /// Bytes in all.
    pub fn len(&self) -> u64 {
        self.ends.last().map_or(0, |(_, end)| *end)
    }

    /// Whether there is none; never so after [`Input::files`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is the text on the disk, to be read where it is needed?
    pub fn on_disk(&self) -> bool {
        matches!(self.text, Text::Disk(_))
    }

    /// The text, when it is in memory.
    pub fn text(&self) -> Option<&[u8]> {
        match &self.text {
            Text::Memory(bytes) => Some(bytes),
            Text::Disk(_) => None,
        }
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
        let bytes = match (self.text, tokenizer.name()) {
            (Text::Disk(files), ByteTokenizer::NAME) => return Ok(TokenDataset::from_files(files)),
            (Text::Memory(text), ByteTokenizer::NAME) => return Ok(TokenDataset::from_bytes(text)),
            (text, bpe::NAME) => return bpe_tokens(&text, tokenizer),
            (Text::Memory(text), _) => text,
            (text, _) => text.read(0, text.len())?.into_owned(),
        };
        let most = (bytes.len() as u64).saturating_mul(size_of::<TokenId>() as u64);
        memory::require(most).map_err(|e| CliError::Memory(e, "the size of --data"))?;
        match tokenizer.encode(&bytes) {
            Ok(tokens) => Ok(TokenDataset::from_tokens(tokens)),
            Err(Error::UnknownUnit { unit, position }) => {
                let file = self.ends.partition_point(|(_, end)| *end <= position);
                let start = file.checked_sub(1).map_or(0, |before| self.ends[before].1);
                let name = self.ends.get(file).map_or("", |(name, _)| name);
                let e = Error::UnknownUnit { unit, position: position - start };
                Err(CliError::Data(format!(
                    "{name}: {e}; take it out of the text, or train with --tokenizer byte"
                )))
            }
            Err(e) => Err(e.into()),
        }
    }
}

/// The tokens of a BPE tokenizer, of a text that need not fit into memory.
fn bpe_tokens(text: &Text, tokenizer: &dyn Tokenizer) -> Result<TokenDataset> {
    let part_size = usize::try_from(in_memory()).unwrap_or(PART);
    in_parts(text, tokenizer, part_size).map_err(|e| match e {
        FormatError::LongRun(e) => {
            CliError::Memory(e, "the length of what has no white space in --data")
        }
        FormatError::Core(e @ Error::Memory { .. }) => CliError::Memory(e, "the size of --data"),
        FormatError::Core(e) => e.into(),
        other => CliError::Data(other.to_string()),
    })
}

fn blake3_of(text: &Text) -> Result<[u8; 32]> {
    Ok(match text {
        Text::Memory(bytes) => blake3::hash(bytes).into(),
        Text::Disk(files) => files.blake3()?,
    })
}

/// Refuses to read standard input more than once.
///
/// # Errors
/// [`CliError::Usage`].
pub fn one_stdin<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    if paths.into_iter().filter(|path| is_stdin(path)).nth(1).is_none() {
        return Ok(());
    }
    Err(CliError::Usage("standard input (-) can be read only once; name a file".into()))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn shown(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { format!("'{}'", path.display()) }
}

/// The length of a file that can be read as often as one likes.
fn regular_length(path: &Path) -> Result<u64> {
    let unreadable = |why: String| CliError::Input { path: path.to_path_buf(), why };
    let meta = std::fs::metadata(path).map_err(|e| unreadable(system_reason(&e)))?;
    if meta.is_dir() {
        return Err(unreadable("it is a folder; name the files in it".into()));
    }
    if !meta.is_file() {
        return Err(unreadable("it is not a regular file; pipe a stream into --data -".into()));
    }
    Ok(meta.len())
}

/// All files in memory, and the length of each.
fn read_all(paths: &[PathBuf]) -> Result<(Text, Vec<u64>)> {
    let (mut text, mut lengths) = (Vec::new(), Vec::with_capacity(paths.len()));
    for path in paths {
        let before = text.len();
        read_into(&mut text, path)?;
        lengths.push((text.len() - before) as u64);
    }
    Ok((Text::Memory(text), lengths))
}

fn read_into(bytes: &mut Vec<u8>, path: &Path) -> Result<()> {
    let unreadable = |why: String| CliError::Input { path: path.to_path_buf(), why };
    let room = memory::available().saturating_sub(bytes.len() as u64);
    let too_large = |needed: u64| {
        let error = Error::Memory { needed, available: room };
        CliError::Memory(error, "the size of --data")
    };
    if is_stdin(path) {
        // A stream may have no end. Half of the memory: what is made of it needs some too.
        let most = MOST_OF_STREAM.min(room / 2);
        let read = std::io::stdin().lock().take(most.saturating_add(1)).read_to_end(bytes);
        let n = read.map_err(|e| unreadable(e.to_string()))?;
        return if n as u64 > most {
            let most = base::bytes(most);
            let why = format!("it goes on after {most}, the most that is read of a stream here");
            Err(unreadable(why + "; put it into a file"))
        } else {
            Ok(())
        };
    }
    let length = regular_length(path)?;
    if length > room {
        return Err(too_large(length));
    }
    let file = std::fs::File::open(path).map_err(|e| unreadable(system_reason(&e)))?;
    bytes.reserve_exact(length as usize);
    // What a file grows by while it is read does not count.
    file.take(length).read_to_end(bytes).map_err(|e| unreadable(e.to_string()))?;
    Ok(())
}
