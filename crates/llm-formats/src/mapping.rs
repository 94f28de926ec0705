//! Which tensors of another program each of our parameters is, and their numbers both ways.
//!
//! A matrix is `[in, out]` here. Theirs is `[out, in]` but for tables and GPT-2's `Conv1D`: it is
//! turned. Queries, keys and values stand side by side in one of ours, and so do gate and value of a
//! gated MLP: each of theirs is some columns of ours.

use crate::error::{FormatError, Result};
use crate::imported::{Tensors, parameter};
use crate::safetensors::Fill;
use llm_core::model::{Param, ParamList, Start, parameter_list};
use llm_core::{AttentionSpec, Config, Tensor, TinyGPT, message};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Names of theirs for a name of ours.
type Table = &'static [(&'static str, &'static [&'static str])];

/// Names and layout of the tensors of a kind of model.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// Text before every name but the output head's, in files that have that head.
    pub(crate) prefix: &'static str,
    /// Text before the number of a block.
    pub(crate) blocks: &'static str,
    /// Names outside the blocks; the token table first.
    pub(crate) rest: Table,
    /// Names within a block.
    pub(crate) block: Table,
    pub(crate) head: &'static str,
    /// Tensors of a block that older files have besides, which follow from the settings.
    pub(crate) constants: &'static [&'static str],
    /// The matrices of blocks are as ours.
    pub(crate) conv1d: bool,
    /// Channels 2i and 2i + 1 of a head's queries and keys are a pair, in place of i and i + D/2.
    pub(crate) neighbours: bool,
}

/// A tensor of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) name: String,
    /// The columns of ours that it is.
    pub(crate) columns: Range<usize>,
    pub(crate) shape: Vec<usize>,
    /// Rows of theirs are columns of ours.
    pub(crate) turned: bool,
    /// D where its rows are in the order of neighbours.
    pub(crate) neighbours: Option<usize>,
}

/// The names of a model's tensors, and their widths.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    map: &'static Mapping,
    /// Name of the kind of model, for messages.
    kind: &'static str,
    /// Columns of queries, and of keys or values.
    heads: [usize; 2],
    head_dim: usize,
    inner: usize,
}

impl Names {
    pub(crate) fn new(
        map: &'static Mapping,
        kind: &'static str,
        config: &Config,
        attention: &AttentionSpec,
    ) -> Names {
        let c = config.d_model;
        let heads = [attention.heads_width(c), attention.cache_row(c) / 2];
        Names { map, kind, heads, head_dim: attention.head_dim(c), inner: config.inner() }
    }

    /// The tensors that one of our parameters is made of.
    ///
    /// # Errors
    /// [`FormatError::Content`] for a parameter that theirs do not have.
    pub(crate) fn sources(&self, ours: &str, shape: &[usize], prefix: &str) -> Result<Vec<Source>> {
        let none = || FormatError::content(message!("{} has no {}", self.kind, ours));
        let block = ours.strip_prefix("blocks.").and_then(|rest| rest.split_once('.'));
        let (table, name, before) = match block {
            None => (self.map.rest, ours, prefix.to_string()),
            Some((i, name)) => (self.map.block, name, format!("{prefix}{}{i}.", self.map.blocks)),
        };
        let found = table.iter().find(|(known, _)| *known == name).map(|(_, theirs)| *theirs);
        let (found, before) = match found {
            None if ours == "w_lm" => (&[self.map.head][..], String::new()),
            found => (found.ok_or_else(none)?, before),
        };
        let columns = shape.last().copied().unwrap_or(0);
        let [q, kv] = self.heads;
        let widths = match found.len() {
            3 => vec![q, kv, kv],
            2 => vec![self.inner; 2],
            _ => vec![columns],
        };
        if widths.iter().fold(0, |sum: usize, n| sum.saturating_add(*n)) != columns {
            return Err(none());
        }
        let is_table = ["wte", "wpe"].contains(&ours);
        let turned = shape.len() > 1 && !is_table && (ours == "w_lm" || !self.map.conv1d);
        // Queries and keys are turned by their positions, values are not.
        let paired = |i: usize| self.map.neighbours && found.len() == 3 && i < 2;
        let mut first = 0;
        let source = |(i, (name, width)): (usize, (&&str, usize))| {
            let columns = first..first + width;
            first += width;
            let shape = match (turned, shape) {
                (true, [rows, _]) => vec![width, *rows],
                (_, [rows, _]) => vec![*rows, width],
                _ => vec![width],
            };
            let neighbours = paired(i).then_some(self.head_dim);
            Source { name: format!("{before}{name}"), columns, shape, turned, neighbours }
        };
        Ok(found.iter().zip(widths).enumerate().map(source).collect())
    }

    /// Text before every name but the output head's.
    pub(crate) fn prefix(&self) -> &'static str {
        self.map.prefix
    }

    /// [`Names::sources`] of a whole list, each with the place of our parameter in it.
    pub(crate) fn all(&self, list: &ParamList, prefix: &str) -> Result<Vec<(usize, Source)>> {
        let mut all = Vec::new();
        for (i, (ours, p)) in list.iter().enumerate() {
            all.extend(self.sources(ours, &p.shape, prefix)?.into_iter().map(|source| (i, source)));
        }
        Ok(all)
    }

    /// Whether it is a redundant tensor of older files.
    pub(crate) fn is_constant(&self, theirs: &str, prefix: &str, n_layers: usize) -> bool {
        let name = theirs.strip_prefix(prefix).and_then(|name| name.strip_prefix(self.map.blocks));
        let Some((i, name)) = name.and_then(|rest| rest.split_once('.')) else { return false };
        i.parse().is_ok_and(|i: usize| i < n_layers) && self.map.constants.contains(&name)
    }
}

/// Rows of ours that are filled together: 64 bytes of a row of theirs.
const AT_ONCE: usize = 16;

impl Source {
    /// Our column of their row r.
    fn column(&self, r: usize) -> usize {
        self.columns.start
            + match self.neighbours {
                None => r,
                Some(d) => r - r % d + r % 2 * (d / 2) + r % d / 2,
            }
    }

    /// Puts rows of theirs, from a first one on, into our parameter of this shape.
    pub(crate) fn put(&self, first: usize, rows: &[f32], ours: &mut Vec<f32>, shape: &[usize]) {
        let all = shape.last().copied().unwrap_or(0);
        ours.resize(shape.iter().product(), 0.0);
        match *self.shape {
            [_, width] if self.turned => {
                // Some rows of ours a time, so that what is read of theirs is still at hand for the
                // next one.
                ours.par_chunks_mut(AT_ONCE * all).enumerate().for_each(|(n, ours)| {
                    for (r, row) in rows.chunks_exact(width).enumerate() {
                        let cells = ours.iter_mut().skip(self.column(first + r)).step_by(all);
                        cells.zip(&row[n * AT_ONCE..]).for_each(|(cell, x)| *cell = *x);
                    }
                });
            }
            [_, width] => ours[first * width..][..rows.len()].copy_from_slice(rows),
            _ => rows.iter().enumerate().for_each(|(r, x)| ours[self.column(r)] = *x),
        }
    }

    /// Takes rows of theirs, from a first one on, out of our parameter with this many columns.
    pub(crate) fn take(&self, first: usize, rows: &mut [f32], ours: &[f32], all: usize) {
        match *self.shape {
            [_, width] if self.turned => {
                let columns = (first..).map(|r| self.column(r)).take(rows.len() / width);
                let columns: Vec<usize> = columns.collect();
                for (i, ours) in ours.chunks_exact(all).enumerate() {
                    for (column, row) in columns.iter().zip(rows.chunks_exact_mut(width)) {
                        row[i] = ours[*column];
                    }
                }
            }
            [_, width] => rows.copy_from_slice(&ours[first * width..][..rows.len()]),
            _ => rows.iter_mut().enumerate().for_each(|(r, x)| *x = ours[self.column(r)]),
        }
    }
}

/// The parameters of a list, whose numbers were put together.
pub(crate) fn finished(list: ParamList, made: Vec<Vec<f32>>) -> Result<Tensors> {
    let finished = |((name, p), values): ((String, Param), _)| {
        let p = parameter(&p.shape, values)?;
        Ok((name, p))
    };
    list.into_iter().zip(made).map(finished).collect()
}

/// The tensors of a model as one of theirs with these settings, which may have more than ours: gains
/// are then 1 and biases 0, and what reads a head that is switched off is 0. The function is the same.
///
/// # Errors
/// As [`Names::sources`].
pub(crate) fn outgoing<'m>(
    model: &'m TinyGPT,
    names: &Names,
    config: &Config,
    attention: &AttentionSpec,
) -> Result<Vec<(Source, Fill<'m>)>> {
    let ours: HashMap<String, &Tensor> = model.parameters().collect();
    let mut all: Vec<(Source, Fill<'m>)> = Vec::new();
    for (name, p) in parameter_list(config, &attention.parameters(config)) {
        let columns = p.shape.last().copied().unwrap_or(0);
        let values = ours.get(&name).map(|ours| without_heads(&name, ours, attention));
        let usual = if p.start == Start::One { 1.0 } else { 0.0 };
        for source in names.sources(&name, &p.shape, names.prefix())? {
            let (from, values) = (source.clone(), values.clone());
            let fill = move |first: usize, rows: &mut [f32]| match &values {
                Some(values) => from.take(first, rows, values, columns),
                None => rows.fill(usual),
            };
            all.push((source, Box::new(fill)));
        }
    }
    Ok(all)
}

/// The numbers of a parameter. In `w_proj [H·D, C]` rows h·D..(h+1)·D are 0 for every head h that is
/// switched off: what that head computes is then added to nothing, as if it were not there.
pub(crate) fn without_heads<'a>(name: &str, p: &'a Tensor, spec: &AttentionSpec) -> Cow<'a, [f32]> {
    let mut values = Cow::Borrowed(p.data());
    let block = name.strip_suffix(".w_proj").and_then(|block| block.split('.').nth(1));
    let mask = block.and_then(|i| i.parse().ok()).map_or(&[][..], |i: usize| spec.used(i));
    for (h, _) in mask.iter().enumerate().filter(|(_, used)| !**used) {
        let rows = p.numel() / spec.n_heads; // D·C numbers
        values.to_mut()[h * rows..(h + 1) * rows].fill(0.0);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_llama_head_by_hand() {
        // Two heads of 6 channels, behind 100 others: rows 0 and 1 are the pair (0, 3), and so on.
        let source = Source {
            name: "q".into(),
            columns: 100..112,
            shape: vec![12, 1],
            turned: true,
            neighbours: Some(6),
        };
        let columns: Vec<_> = (0..12).map(|r| source.column(r)).collect();
        assert_eq!(columns[..6], [100, 103, 101, 104, 102, 105]);
        assert_eq!(columns[6..], [106, 109, 107, 110, 108, 111]);
        let ours: Vec<f32> = (0..200).map(|x| x as f32).collect();
        let mut rows = [0.0; 4];
        source.take(4, &mut rows, &ours, 200);
        assert_eq!(rows, [102.0, 105.0, 106.0, 109.0]);
        let mut again = Vec::new();
        source.put(4, &rows, &mut again, &[1, 200]);
        assert_eq!((again[105], again[106], again[103]), (105.0, 106.0, 0.0));
    }
}
