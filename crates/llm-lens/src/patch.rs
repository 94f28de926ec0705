//! A block's numbers with others in their place: zeros, a mean, those of another text.

use llm_core::model::{Probe, Site};
use llm_core::ndarray::{Array3, ArrayView1, ArrayView2, ArrayView3};
use llm_core::{Error, Result, Tensor, TinyGPT, TokenId, message, no_grad};
use std::ops::Range;

/// Numbers of a block that are replaced in one sequence.
#[derive(Clone, Debug)]
pub struct Patch<'a> {
    /// Number of the block, from 0.
    pub layer: usize,
    /// Which of the block's numbers.
    pub site: Site,
    /// Columns, see [`head_columns`]; none: all.
    pub columns: Option<Range<usize>>,
    /// Positions of the text, from 0.
    pub positions: Vec<usize>,
    /// What stands there.
    pub with: With<'a>,
}

/// What stands in the place of a block's numbers.
#[derive(Clone, Copy, Debug)]
pub enum With<'a> {
    /// Nothing: zeros.
    Zeros,
    /// One row `[N]` at every position, such as a mean over texts.
    Row(ArrayView1<'a, f32>),
    /// `[T, N]`: the numbers of another run, at the same positions.
    Run(ArrayView2<'a, f32>),
}

impl With<'_> {
    /// The row for a position, or `None` for zeros.
    fn row(&self, position: usize) -> Option<ArrayView1<'_, f32>> {
        match self {
            With::Zeros => None,
            With::Row(row) => Some(row.view()),
            With::Run(run) => Some(run.row(position)),
        }
    }
}

/// The columns of a head among those of [`Site::Heads`].
pub fn head_columns(model: &TinyGPT, head: usize) -> Range<usize> {
    let d = model.attention().spec().head_dim(model.config().d_model);
    head * d..(head + 1) * d
}

/// A probe that patches: a list for each sequence of the batch.
///
/// ```
/// use llm_core::model::Site;
/// use llm_core::{Config, TinyGPT};
/// use llm_lens::{Patch, Patches, With, head_columns};
///
/// let model = TinyGPT::new(Config::new(256, 8, 16, 2), 1)?;
/// let tokens = b"once".map(u32::from);
/// let last = Patch {
///     layer: 1,
///     site: Site::Heads,
///     columns: Some(head_columns(&model, 0)),
///     positions: vec![3],
///     with: With::Zeros,
/// };
/// let patched = Patches::new(&model, vec![vec![last]])?.logits(&tokens, [1, 4])?;
/// let plain = model.logits(&tokens, [1, 4])?;
/// assert_eq!(patched.data()[..3 * 256], plain.data()[..3 * 256]);
/// assert_ne!(patched.data()[3 * 256..], plain.data()[3 * 256..]);
/// # Ok::<(), llm_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Patches<'a> {
    model: &'a TinyGPT,
    lists: Vec<Vec<Patch<'a>>>,
}

impl<'a> Patches<'a> {
    /// Patches of a model.
    ///
    /// # Errors
    /// [`Error::Config`] naming the layer, position, column or width that the model, or what stands in
    /// the place of its numbers, does not have: a patch that meets nothing would change nothing in silence.
    pub fn new(model: &'a TinyGPT, lists: Vec<Vec<Patch<'a>>>) -> Result<Patches<'a>> {
        lists.iter().flatten().try_for_each(|patch| check(model, patch))?;
        Ok(Patches { model, lists })
    }

    /// [`TinyGPT::logits`] with the patches, without a graph.
    ///
    /// # Shapes
    /// `tokens` flat, of `[B, T]`, B lists; result `[B, T, V]`.
    ///
    /// # Errors
    /// As [`TinyGPT::logits`]; [`Error::Config`] for another number of sequences than of lists.
    pub fn logits(&self, tokens: &[TokenId], shape: [usize; 2]) -> Result<Tensor> {
        let lists = self.lists.len();
        let why = message!("{} lists are for as many sequences, not for {}", lists, shape[0]);
        Error::unless(shape[0] == lists, "patch", why)?;
        no_grad(|| self.model.forward(tokens, shape, Some(self)))
    }
}

fn check(model: &TinyGPT, patch: &Patch<'_>) -> Result<()> {
    let (config, wrong) = (model.config(), |why| Err(Error::config("patch", why)));
    let width = match patch.site {
        Site::Heads => model.attention().spec().heads_width(config.d_model),
        Site::Hidden => config.inner(),
        _ => config.d_model,
    };
    let rows = match patch.with {
        With::Run(run) => run.nrows(),
        _ => config.seq_len,
    };
    let given = match patch.with {
        With::Zeros => width,
        With::Row(row) => row.len(),
        With::Run(run) => run.ncols(),
    };
    if patch.layer >= config.n_layers {
        return wrong(message!("there is no layer {}", patch.layer));
    }
    if let Some(columns) = patch.columns.as_ref().filter(|c| c.end > width || c.is_empty()) {
        return wrong(message!("there are no columns {} to {}", columns.start, columns.end));
    }
    if let Some(position) = patch.positions.iter().find(|position| **position >= rows) {
        return wrong(message!("there is no position {}", *position));
    }
    if given != width {
        return wrong(message!("{} numbers stand in the place of {}", given, width));
    }
    Ok(())
}

impl Probe for Patches<'_> {
    fn wants_heads(&self) -> bool {
        false
    }

    fn value(&self, layer: usize, site: Site, x: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
        let is_here = |patch: &&Patch<'_>| (patch.layer, patch.site) == (layer, site);
        self.lists.iter().flatten().find(is_here)?;
        let (mut y, (_, t, width)) = (x.to_owned(), x.dim());
        for (mut y, list) in y.outer_iter_mut().zip(&self.lists) {
            for patch in list.iter().filter(is_here) {
                let columns = patch.columns.clone().unwrap_or(0..width);
                // A text that is being written may not have come so far.
                for &position in patch.positions.iter().filter(|position| **position < t) {
                    let row = patch.with.row(position);
                    for column in columns.clone() {
                        y[[position, column]] = row.map_or(0.0, |row| row[column]);
                    }
                }
            }
        }
        Some(y)
    }
}
