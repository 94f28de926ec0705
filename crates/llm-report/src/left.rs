//! What a run left in its folder: for lists of runs and for pages about them. The program that made
//! it may have been killed, or be an older one.

use llm_core::train::Best;
use llm_core::{Error, IoAction};
use llm_run::folder::{config, is_at_work, is_run, setting};
use llm_run::log::{RunInfo, RunState, rows};
use llm_run::{Result, RunError};
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A run's folder, read.
#[derive(Clone, Debug, Default)]
pub struct RunFolder {
    /// Where it is.
    pub path: PathBuf,
    /// What it says about itself, or what its log and its settings say.
    pub info: RunInfo,
    /// The settings by their keys, as `--config` takes them.
    pub settings: Vec<(String, String)>,
    /// The file or the folder that is trained on, where it is one and that is known.
    pub learned: Option<String>,
    /// Whether no process works on it, and none has said how it ended.
    pub is_cut_off: bool,
}

impl RunFolder {
    /// Reads it. What is not there, or not to be understood, says nothing.
    pub fn read(path: &Path) -> RunFolder {
        let config = config(path).unwrap_or_default();
        let settings = settings(&config);
        // What an older program left is as if it still ran.
        let mut info = RunInfo::read(path).unwrap_or_else(|| of_settings(&settings));
        if info.state == RunState::Running {
            of_log(path, &mut info);
        }
        let is_cut_off = info.state == RunState::Running && !is_at_work(path);
        let learned = learned(&config, &info.data);
        RunFolder { path: path.into(), info, settings, learned, is_cut_off }
    }

    /// How it stands, in a word.
    pub fn state(&self) -> &'static str {
        match (self.is_cut_off, self.info.step) {
            // An older program said nothing, also when all was well.
            (true, step) if step > 0 && step == self.info.steps => RunState::Done.name(),
            (true, _) => "cut off",
            (false, _) => self.info.state.name(),
        }
    }
}

/// The run that `folder` is, or those in it and in the folders of comparisons in it, by name. What
/// cannot be looked into is left out, and `lost` is called with the reason.
///
/// # Errors
/// [`RunError::Core`] when it cannot be looked into itself.
pub fn below(folder: &Path, mut lost: impl FnMut(RunError)) -> Result<Vec<PathBuf>> {
    if is_run(folder) {
        return Ok(vec![folder.to_path_buf()]);
    }
    let mut found = Vec::new();
    for inner in folders_in(folder)? {
        if is_run(&inner) {
            found.push(inner);
            continue;
        }
        match folders_in(&inner) {
            Ok(folders) => found.extend(folders.into_iter().filter(|dir| is_run(dir))),
            Err(e) => lost(e.into()),
        }
    }
    found.sort();
    Ok(found)
}

fn folders_in(folder: &Path) -> llm_core::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|e| Error::io(IoAction::Read, folder, e))?;
    Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
}

/// The keys and values of the settings, without the tables that they stand in.
fn settings(tables: &Table) -> Vec<(String, String)> {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let of_table = |table: &Value| match table {
        Value::Table(table) => {
            table.iter().map(|(key, value)| (key.clone(), plain(value))).collect()
        }
        _ => Vec::new(),
    };
    tables.values().flat_map(of_table).collect()
}

/// The file or folder among those in the settings that gives the data its name.
fn learned(config: &Table, data: &str) -> Option<String> {
    let mut paths = setting(config, "data")?.as_array()?.iter().filter_map(Value::as_str);
    paths.find(|path| data.starts_with(&*format!("'{path}'"))).map(String::from)
}

/// What the settings of an older program's run say.
fn of_settings(settings: &[(String, String)]) -> RunInfo {
    let text = |key: &str| settings.iter().find(|(name, _)| name == key).map(|(_, v)| v.clone());
    let number = |key: &str| text(key).and_then(|value| value.parse().ok()).unwrap_or(0);
    RunInfo {
        data: text("data").unwrap_or_else(|| "built-in stories".into()),
        tokenizer: text("tokenizer").unwrap_or_default(),
        seq_len: number("seq"),
        d_model: number("dmodel"),
        n_layers: number("layers"),
        n_heads: number("heads"),
        steps: number("steps") as u64,
        ..RunInfo::default()
    }
}

/// How far the log knows it to be.
fn of_log(run: &Path, info: &mut RunInfo) {
    for row in rows(run).into_iter().flatten().flatten() {
        info.step = row.step;
        let (step, lowest) = (row.step, info.best.map_or(f64::INFINITY, |best| best.val_loss));
        if let Some(val_loss) = row.val_loss.filter(|&loss| loss < lowest) {
            info.best = Some(Best { step, val_loss });
        }
    }
}
