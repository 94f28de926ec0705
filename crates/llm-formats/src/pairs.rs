//! A and B of an adapter as other programs have them: a pair for each tensor of theirs that something is added
//! to.
//!
//! ```text
//! theirs [out, in] ← theirs + s·B·A,   A [r, in],  B [out, r]
//! ```
//!
//! Ours are the other way round, `[in, r]` and `[r, out]`, those of queries, keys and values side by side. Rows
//! of B stand in the order of the tensor's rows, whatever that is; those of A never change places.

use crate::error::{FormatError, Result};
use crate::mapping::{Names, Source, without_heads};
use crate::safetensors::Fill;
use llm_core::model::Part;
use llm_core::{TinyGPT, message};
use std::ops::Range;

/// Where A and B of one tensor of theirs lie in ours.
#[derive(Clone, Debug)]
pub(crate) struct Thin {
    /// Name of the tensor.
    pub(crate) name: String,
    pub(crate) a: Source,
    pub(crate) b: Source,
    pub(crate) part: Part,
}

impl Thin {
    /// The pairs of the tensors that one matrix of ours is made of, whose parts they are. Those of rank 0 have
    /// none.
    fn all(sources: Vec<Source>, parts: &[Part], inputs: usize) -> Result<Vec<Thin>> {
        let widths = sources.iter().map(|source| source.columns.len());
        if !widths.eq(parts.iter().map(|part| part.columns)) {
            let why = message!("its adapter has other parts than these programs have");
            return Err(FormatError::content(why));
        }
        let mut first = 0;
        let thin = |(Source { name, columns, neighbours, .. }, part): (Source, &Part)| {
            let ranks = first..first + part.rank;
            first = ranks.end;
            let turned = |columns: Range<usize>, width, neighbours| Source {
                name: String::new(),
                shape: vec![columns.len(), width],
                columns,
                turned: true,
                neighbours,
            };
            let (a, b) = (turned(ranks, inputs, None), turned(columns, part.rank, neighbours));
            Thin { name, a, b, part: *part }
        };
        let all = sources.into_iter().zip(parts).map(thin);
        Ok(all.filter(|thin| thin.part.rank > 0).collect())
    }

    /// Puts their A and B into ours, `[in, Σ rᵢ]` and `[max rᵢ, out]`.
    pub(crate) fn put(
        &self,
        [a, b]: [&[f32]; 2],
        ours: [&mut Vec<f32>; 2],
        shapes: [[usize; 2]; 2],
    ) {
        let [into_a, into_b] = ours;
        self.a.put(0, a, into_a, &shapes[0]);
        let (mut rows, columns) = (Vec::new(), shapes[1][1]);
        self.b.put(0, b, &mut rows, &[self.part.rank, columns]);
        into_b.resize(shapes[1].iter().product(), 0.0);
        into_b.iter_mut().zip(&rows).for_each(|(ours, x)| *ours += x);
    }
}

/// A pair to be written.
pub(crate) struct Outgoing<'m> {
    /// Name of the tensor that it is added to.
    pub(crate) name: String,
    pub(crate) part: Part,
    /// Shape and numbers of A, then of B.
    pub(crate) tensors: [(Vec<usize>, Fill<'m>); 2],
}

/// The pairs of the model's adapter, for tensors with these names.
///
/// # Errors
/// [`FormatError::Content`] when it has none, or one of other parts than their tensors.
pub(crate) fn outgoing<'m>(model: &'m TinyGPT, names: &Names) -> Result<Vec<Outgoing<'m>>> {
    let (mut all, spec) = (Vec::new(), model.attention().spec());
    for (ours, p) in model.parameters() {
        let Some(pair) = p.adapter() else { continue };
        let sources = names.sources(&ours, p.shape(), names.prefix())?;
        let (ranks, columns) = (pair.a.shape()[1], pair.b.shape()[1]);
        let a = without_heads(&ours, &pair.a, &spec);
        for Thin { name, a: of_a, b: of_b, part } in Thin::all(sources, &pair.parts, p.shape()[0])?
        {
            let (values, rows) = (a.clone(), &pair.b.data()[..part.rank * columns]);
            let shapes = [&of_a, &of_b].map(|source| source.shape.clone());
            let fills: [Fill<'m>; 2] = [
                Box::new(move |first, out| of_a.take(first, out, &values, ranks)),
                Box::new(move |first, out| of_b.take(first, out, rows, columns)),
            ];
            let [a, b] = shapes;
            let [fill_a, fill_b] = fills;
            all.push(Outgoing { name, part, tensors: [(a, fill_a), (b, fill_b)] });
        }
    }
    match all.is_empty() {
        true => Err(FormatError::content(message!("it has no adapter"))),
        false => Ok(all),
    }
}

/// The pairs that a matrix `[inputs, ..]` of ours has beside it, by tensor of theirs; `part` has rank and scale of
/// each.
pub(crate) fn incoming(
    sources: Vec<Source>,
    inputs: usize,
    part: impl FnMut(&Source) -> Result<Part>,
) -> Result<(Vec<Part>, Vec<Thin>)> {
    let parts = sources.iter().map(part).collect::<Result<Vec<_>>>()?;
    let thin = Thin::all(sources, &parts, inputs)?;
    Ok((parts, thin))
}
