//! An adapter in a checkpoint: which matrices have a pair, and the weights that it needs. They are not in the
//! file: it names them by their hash, and says where they were.

use super::limits::Checked;
use crate::base::{CheckpointError, Error, Message, Result, Settings, Value};
use crate::message;
use crate::model::{AdapterSpec, Part, TinyGPT};
use std::path::{Component, Path, PathBuf};

/// What a header says of an adapter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SavedAdapter {
    pub(super) spec: AdapterSpec,
    pub(super) base_blake3: [u8; 32],
    /// From the folder of the checkpoint, with `/` between its parts.
    pub(super) base_file: String,
}

const BLAKE3: &str = "adapter.base_blake3";
const FILE: &str = "adapter.base_file";
/// Before the number of a run of blocks whose matrices of one name have the same parts.
const MATRICES: &str = "adapter.matrices.";

impl SavedAdapter {
    /// What a checkpoint at a path will say of the model.
    pub(super) fn of(model: &TinyGPT, at: &Path) -> Checked<Option<SavedAdapter>> {
        let (Some(spec), Some((base_blake3, file))) = (model.adapter(), model.base()) else {
            return Ok(None);
        };
        model.check_base()?;
        let unknown = message!("the file of the frozen weights was not named");
        let file = file.ok_or_else(|| Error::config("adapter", unknown))?;
        Ok(Some(SavedAdapter { spec, base_blake3: *base_blake3, base_file: relative(file, at) }))
    }

    /// Writes the keys and values: `w_fc 0-11 64*16*2,64*16*2`, matrix, blocks, and columns, rank and scale of each
    /// part.
    pub(super) fn write(&self, into: &mut Settings) -> Result<()> {
        into.insert(BLAKE3, Value::Bytes(self.base_blake3.into()))?;
        into.insert(FILE, Value::Text(self.base_file.clone()))?;
        let mut lines: Vec<(&str, [usize; 2], &[Part])> = Vec::new();
        for (name, parts) in &self.spec.0 {
            let Some((block, own)) = of_block(name) else { continue };
            let same = |line: &&mut (&str, [usize; 2], &[Part])| {
                line.0 == own && line.1[1] + 1 == block && line.2 == &parts[..]
            };
            match lines.iter_mut().find(same) {
                Some(line) => line.1[1] = block,
                None => lines.push((own, [block; 2], parts)),
            }
        }
        for (i, (own, [first, last], parts)) in lines.into_iter().enumerate() {
            let part = |p: &Part| format!("{}*{}*{}", p.columns, p.rank, p.scale);
            let parts: Vec<String> = parts.iter().map(part).collect();
            let line = format!("{own} {first}-{last} {}", parts.join(","));
            into.insert(&format!("{MATRICES}{i:03}"), Value::Text(line))?;
        }
        Ok(())
    }

    /// Takes these keys; nothing where there are none.
    pub(super) fn read(from: &mut Settings) -> Result<Option<SavedAdapter>> {
        let Some(hash) = from.take(BLAKE3) else { return Ok(None) };
        let refused = |key: &str| Error::config("settings", message!("'{}' cannot be read", key));
        let base_blake3 = (&hash).try_into().map_err(|()| refused(BLAKE3))?;
        let file = from.take(FILE).and_then(|file| String::try_from(&file).ok());
        let base_file = file.ok_or_else(|| refused(FILE))?;
        let keys: Vec<String> = from
            .iter()
            .map(|(key, _)| key)
            .filter(|key| key.starts_with(MATRICES))
            .map(String::from)
            .collect();
        let mut spec = AdapterSpec::default();
        for key in keys {
            let line = from.take(&key).and_then(|line| String::try_from(&line).ok());
            let pairs = line.and_then(|line| matrices(&line)).ok_or_else(|| refused(&key))?;
            spec.0.extend(pairs);
        }
        Ok(Some(SavedAdapter { spec, base_blake3, base_file }))
    }

    /// That the weights under the adapter are not there.
    pub(super) fn missing(&self, file: PathBuf, why: Message) -> CheckpointError {
        CheckpointError::Base { blake3: hex(&self.base_blake3), file, why }
    }
}

/// Block and own name of `blocks.3.w_fc`.
fn of_block(name: &str) -> Option<(usize, &str)> {
    let (block, own) = name.strip_prefix("blocks.")?.split_once('.')?;
    Some((block.parse().ok()?, own))
}

/// The matrices of a line, and their parts.
fn matrices(line: &str) -> Option<Vec<(String, Vec<Part>)>> {
    let mut words = line.split(' ');
    let (own, blocks, parts) = (words.next()?, words.next()?, words.next()?);
    let part = |text: &str| {
        let mut of = text.split('*');
        let (columns, rank) = (of.next()?.parse().ok()?, of.next()?.parse().ok()?);
        let scale = of.next()?.parse().ok()?;
        of.next().is_none().then_some(Part { columns, rank, scale })
    };
    let parts: Vec<Part> = parts.split(',').map(part).collect::<Option<_>>()?;
    let (first, last) = blocks.split_once('-')?;
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    if words.next().is_some() || last < first || last > 1 << 16 {
        return None;
    }
    Some((first..=last).map(|i| (format!("blocks.{i}.{own}"), parts.clone())).collect())
}

/// The first digits of a hash.
pub(super) fn hex(hash: &[u8; 32]) -> String {
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The path of a file as seen from the folder of the file at `at`; where there is no such way, or no `at`,
/// the whole path.
fn relative(file: &Path, at: &Path) -> String {
    let whole = |path: &Path| {
        path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.into())
    };
    let file = whole(file);
    let folder = match at.parent() {
        None => PathBuf::new(),
        Some(folder) if folder.as_os_str().is_empty() => whole(Path::new(".")),
        Some(folder) => whole(folder),
    };
    let (to, from): (Vec<_>, Vec<_>) = (file.components().collect(), folder.components().collect());
    let same = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let rooted = |c: &Component<'_>| matches!(c, Component::Normal(_));
    let nowhere = from.is_empty() || !from.iter().skip(same).all(rooted);
    if !to[..same].iter().any(rooted) && nowhere {
        return file.to_string_lossy().into_owned();
    }
    let up = from[same..].iter().map(|_| "..".into());
    let down = to[same..].iter().map(|c| c.as_os_str().to_string_lossy());
    up.chain(down).collect::<Vec<_>>().join("/")
}
