//! The files with the weights: one, or the parts that an index names.

use super::{INDEX, WEIGHTS};
use crate::error::{FormatError, Result, refuse, said, shown};
use crate::files::{read_file, read_small};
use crate::safetensors::{Contents, MAX_HEADER, MAX_TENSORS};
use llm_core::message;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Component, Path, PathBuf};

/// Most files of one model.
const MAX_FILES: usize = 1 << 10;

/// All tensors of a folder, and the file that what is wrong with them as a whole is said about.
pub(super) fn open_all(folder: &Path) -> Result<(PathBuf, Contents<BufReader<File>>)> {
    let (whole, index) = (folder.join(WEIGHTS), folder.join(INDEX));
    let there = |name: &str| folder.join(name).exists();
    if whole.exists() {
        let contents = read_file(&whole, Contents::open)?;
        return Ok((whole, contents));
    }
    if index.exists() {
        let text = read_small(&index, MAX_HEADER).map_err(|e| e.at(&index))?;
        let places = parse(&text).map_err(|e| e.at(&index))?;
        let contents = open_parts(folder, &index, &places)?;
        return Ok((index, contents));
    }
    if there("pytorch_model.bin") || there("pytorch_model.bin.index.json") {
        let advice = message!(
            "pytorch_model.bin is not read: save the model as safetensors (save_pretrained of a \
             current transformers)"
        );
        return Err(FormatError::Missing { advice }.at(&whole));
    }
    let error = io::Error::new(io::ErrorKind::NotFound, message!("no such file"));
    Err(FormatError::Io(error).at(&whole))
}

/// The parts one behind the other; what is in each must be what the index says.
fn open_parts(
    folder: &Path,
    index: &Path,
    places: &BTreeMap<String, String>,
) -> Result<Contents<BufReader<File>>> {
    let mut all: Option<Contents<_>> = None;
    for name in places.values().collect::<BTreeSet<_>>() {
        let path = folder.join(name);
        let part = read_file(&path, Contents::open)?;
        if let Some(row) = part.rows.iter().find(|row| places.get(&row.name) != Some(name)) {
            let why = message!("tensor {} is not where {} says", shown(&row.name), INDEX);
            return Err(FormatError::content(why).at(&path));
        }
        all = Some(match all {
            Some(all) => all.and(part).map_err(|e| e.at(&path))?,
            None => part,
        });
    }
    let all = all.ok_or_else(|| FormatError::content(message!("it names no file")).at(index))?;
    let found: BTreeSet<&str> = all.rows.iter().map(|row| row.name.as_str()).collect();
    match places.iter().find(|(tensor, _)| !found.contains(tensor.as_str())) {
        Some((tensor, file)) => {
            let why = message!("tensor {} is not in {}", shown(tensor), shown(file));
            Err(FormatError::content(why).at(index))
        }
        None => Ok(all),
    }
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// Which tensor is in which file of the folder.
///
/// # Errors
/// [`FormatError::Content`] for what is no index, or names a file elsewhere.
pub(crate) fn parse(text: &[u8]) -> Result<BTreeMap<String, String>> {
    let Index { weight_map } = serde_json::from_slice(text)
        .map_err(|e| FormatError::content(message!("no index of tensors: {}", said(&e))))?;
    let files: BTreeSet<&String> = weight_map.values().collect();
    if let Some(name) = files.iter().find(|name| !is_plain(name)) {
        return refuse(message!("'{}' is not the name of a file beside it", shown(name)));
    }
    if weight_map.len() > MAX_TENSORS || files.len() > MAX_FILES {
        let (tensors, files) = (weight_map.len(), files.len());
        return refuse(message!(
            "{} tensors in {} files, the limits are {} and {}",
            tensors,
            files,
            MAX_TENSORS,
            MAX_FILES
        ));
    }
    Ok(weight_map)
}

/// Whether the name stays in its folder.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let one = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    one && !name.contains(['/', '\\', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_index_names_files_beside_it_and_nothing_else() {
        let of = |file: &str| parse(json!({"weight_map": {"a": file}}).to_string().as_bytes());
        assert_eq!(of("part-1.safetensors").unwrap()["a"], "part-1.safetensors");
        for file in ["", ".", "..", "../x", "/x", "x/y", "x/", "./x", "c:\\x", "x\\y"] {
            let refused = of(file).unwrap_err().to_string();
            assert!(refused.contains("not the name of a file beside it"), "{refused}");
        }
        for text in ["", "[]", "{}", "{\"weight_map\":[]}", "{\"weight_map\":{\"a\":1}}"] {
            let refused = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(refused.starts_with("no index of tensors: "), "{refused}");
        }
        let many: BTreeMap<_, _> =
            (0..=MAX_FILES).map(|i| (i.to_string(), i.to_string())).collect();
        let refused = parse(json!({"weight_map": many}).to_string().as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("1025 files"), "{refused}");
    }
}
