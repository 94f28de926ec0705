//! What a run learns from and is judged on: the built-in stories, or files.

use crate::defaults::{STORY_COUNT, STORY_SEED};
use crate::error::{CliError, Result};
use llm_core::data::stories::GRAMMAR_VERSION;
use llm_core::data::{StoryCorpus, TokenDataset, Window};
use llm_core::model::TinyGPT;
use llm_core::recipe::DataSource;
use llm_core::train::{Evaluation, FactTable, evaluate};
use llm_core::util;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Data as it was read, before it is cut.
pub enum Input {
    /// The built-in stories.
    Stories {
        /// Their seed.
        seed: u64,
        /// How many.
        count: u64,
    },
    /// All bytes of the files.
    Files {
        /// In order, one after the other.
        bytes: Vec<u8>,
        /// What to call them.
        name: String,
    },
}

impl Input {
    /// The stories of a new run.
    pub fn stories() -> Input {
        Input::Stories { seed: STORY_SEED, count: STORY_COUNT }
    }

    /// Reads files in order; `-` is standard input.
    ///
    /// # Errors
    /// [`CliError::Input`] for what cannot be read, [`CliError::Data`] when nothing is in it.
    pub fn files(paths: &[PathBuf]) -> Result<Input> {
        let mut bytes = Vec::new();
        for path in paths {
            read_into(&mut bytes, path)?;
        }
        let name = match paths {
            [one] if one.as_os_str() == "-" => "standard input".to_string(),
            [one] => format!("'{}'", one.display()),
            several => format!("{} files", several.len()),
        };
        if bytes.is_empty() {
            return Err(CliError::Data(format!("{name} is empty; a run needs some text to learn")));
        }
        Ok(Input::Files { bytes, name })
    }

    /// The files that are given, else what a run learnt from if that can be made again; `None`:
    /// it learnt from files, which have to be given.
    ///
    /// # Errors
    /// As [`Input::files`].
    pub fn again(source: &DataSource, files: &[PathBuf]) -> Result<Option<Input>> {
        match source {
            _ if !files.is_empty() => Input::files(files).map(Some),
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
            Input::Files { bytes, .. } => {
                let blake3 = *blake3::hash(bytes).as_bytes();
                DataSource::Files { len: bytes.len() as u64, blake3 }
            }
        }
    }
}

fn read_into(bytes: &mut Vec<u8>, path: &Path) -> Result<()> {
    let unreadable = |why: String| CliError::Input { path: path.to_path_buf(), why };
    let room = util::memory::available().saturating_sub(bytes.len() as u64);
    let too_large = |needed: u64| {
        let error = llm_core::Error::Memory { needed, available: room };
        CliError::Memory(error, "the size of --data")
    };
    if path.as_os_str() == "-" {
        let read = std::io::stdin().lock().take(room).read_to_end(bytes);
        let n = read.map_err(|e| unreadable(e.to_string()))?;
        return if n as u64 == room { Err(too_large(room.saturating_add(1))) } else { Ok(()) };
    }
    let meta = std::fs::metadata(path).map_err(|e| unreadable(system_reason(&e)))?;
    if meta.is_dir() {
        return Err(unreadable("it is a folder; name the files in it".into()));
    }
    if !meta.is_file() {
        return Err(unreadable("it is not a regular file; pipe a stream into --data -".into()));
    }
    if meta.len() > room {
        return Err(too_large(meta.len()));
    }
    let file = std::fs::File::open(path).map_err(|e| unreadable(system_reason(&e)))?;
    bytes.reserve_exact(meta.len() as usize);
    // What a file grows by while it is read does not count.
    file.take(meta.len()).read_to_end(bytes).map_err(|e| unreadable(e.to_string()))?;
    Ok(())
}

/// The system's reason, without its number and without the name of a temporary file.
pub fn system_reason(e: &std::io::Error) -> String {
    plain_reason(&e.to_string())
}

/// [`system_reason`] of a message.
pub fn plain_reason(text: &str) -> String {
    let plain = text.split(" (os error").next().unwrap_or(text);
    let mut chars = plain.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

/// Data ready for use.
pub struct Data {
    /// What is learnt.
    pub train: TokenDataset,
    /// What it is judged on, if there is any.
    pub val: Option<Validation>,
    /// For the banner.
    pub label: String,
    /// First words of an unseen story, to prompt with.
    pub opening: Option<String>,
}

/// Unseen data with the windows that are scored.
pub struct Validation {
    data: TokenDataset,
    windows: Vec<Window>,
    /// With the built-in stories.
    pub stories: Option<StoryValidation>,
}

/// What is known about unseen stories.
pub struct StoryValidation {
    corpus: StoryCorpus,
    /// No model's expected loss can be lower, in nats per byte.
    pub floor: f64,
    /// Share of facts right by the most frequent word of the kind.
    pub most_frequent: f64,
    /// Share of facts right by the last-mentioned candidate.
    pub last_mentioned: f64,
}

/// What an evaluation found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Loss and accuracy.
    pub evaluation: Evaluation,
    /// With the built-in stories.
    pub facts: Option<FactTable>,
}

impl Data {
    /// Cuts the input into training and validation parts for windows of `seq_len`.
    ///
    /// # Errors
    /// [`CliError::Data`] when the training part has no room for one window.
    pub fn new(input: Input, val_frac: f64, seq_len: usize) -> Result<Data> {
        match input {
            Input::Stories { seed, count } => Ok(Data::of_stories(seed, count, val_frac, seq_len)),
            Input::Files { bytes, name } => Data::of_files(bytes, &name, val_frac, seq_len),
        }
    }

    fn of_stories(seed: u64, count: u64, val_frac: f64, seq_len: usize) -> Data {
        let cut = count - (count as f64 * val_frac) as u64;
        let train = StoryCorpus::new(seed, 0..cut);
        let label = format!(
            "built-in stories, grammar {GRAMMAR_VERSION}: {} to learn ({}), {} unseen",
            util::thousands(cut),
            util::bytes(train.data.len() as u64),
            util::thousands(count - cut)
        );
        let val = (cut < count).then(|| Validation::of_stories(seed, cut..count, &train, seq_len));
        // The story after the last one: nobody learns it.
        let unseen = llm_core::data::stories::story(seed, count).text;
        let opening = unseen.split_inclusive(' ').take(2).collect::<String>().trim().to_string();
        Data { train: train.data, val, label, opening: Some(opening) }
    }

    fn of_files(bytes: Vec<u8>, name: &str, val_frac: f64, seq_len: usize) -> Result<Data> {
        let label = format!("{name}, {}", util::bytes(bytes.len() as u64));
        let (train, val) = TokenDataset::from_bytes(bytes).split(val_frac);
        if let Err(e) = train.check_room("the training part", seq_len) {
            let most = train.len().saturating_sub(1);
            let advice = match most {
                0 | 1 => "give more text".to_string(),
                n => format!("give more text, or --seq {n} or less"),
            };
            return Err(CliError::Data(format!("{name} is too small: {e}; {advice}")));
        }
        let windows = val.windows(seq_len);
        let val = Validation { data: val, windows, stories: None };
        let val = (!val.windows.is_empty()).then_some(val);
        Ok(Data { train, val, label, opening: None })
    }

    /// All of the input as something to be judged on.
    pub fn whole(input: Input, seq_len: usize) -> Result<Validation> {
        match input {
            Input::Stories { seed, count } => {
                let data = Data::of_stories(seed, count, 0.1, seq_len);
                data.val.ok_or_else(|| CliError::Internal("no unseen stories".into()))
            }
            Input::Files { bytes, name } => {
                let data = TokenDataset::from_bytes(bytes);
                if data.len() < 2 {
                    let why = format!("{name} is too small: one byte predicts nothing");
                    return Err(CliError::Data(why));
                }
                Ok(Validation { windows: data.windows(seq_len), data, stories: None })
            }
        }
    }
}

impl Validation {
    fn of_stories(
        seed: u64,
        range: std::ops::Range<u64>,
        train: &StoryCorpus,
        seq_len: usize,
    ) -> Validation {
        let corpus = StoryCorpus::new(seed, range);
        let windows = corpus.data.windows(seq_len);
        let cheap = corpus.cheap_predictors(train);
        Validation {
            data: corpus.data.clone(),
            stories: Some(StoryValidation {
                floor: corpus.entropy_floor(&windows),
                most_frequent: cheap.most_frequent_share(),
                last_mentioned: cheap.last_mentioned_share(),
                corpus,
            }),
            windows,
        }
    }

    /// Scores at most `limit` tokens, in evenly spaced windows. `stop` is asked after each window.
    ///
    /// # Errors
    /// What [`evaluate`] refuses.
    pub fn score(
        &self,
        model: &TinyGPT,
        batch_size: usize,
        limit: usize,
        mut stop: impl FnMut() -> bool,
    ) -> Result<Report> {
        let windows = llm_core::data::evenly_spaced(&self.windows, limit);
        let mut facts = self.stories.as_ref().map(|_| FactTable::default());
        let evaluation = evaluate(model, &self.data, &windows, batch_size, |scored| {
            if let (Some(facts), Some(stories)) = (&mut facts, &self.stories) {
                let window = windows[scored.window];
                // Windows are one for each story, in order: find the story by its start.
                let index = self.windows.partition_point(|w| w.start < window.start);
                facts.add(&stories.corpus.stories[index], window, &scored);
            }
            if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(Report { evaluation, facts })
    }
}
