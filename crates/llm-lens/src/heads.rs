//! What each head does, measured over many windows.

use crate::maps::does_not_show;
use crate::marks::{Marks, Piece};
use crate::roles::{Column, N, Role, role_of};
use crate::spread::{Spreads, Sums, projected};
use llm_core::model::{Probe, Site};
use llm_core::ndarray::{Array3, ArrayView2, ArrayView3};
use llm_core::tokenizer::Tokenizer;
use llm_core::{Error, Tensor, TinyGPT, no_grad};
use std::cell::{Cell, RefCell};

/// What one head was measured to do.
#[derive(Clone, Debug)]
pub struct MeasuredHead {
    /// Number of the block, from 0.
    pub layer: usize,
    /// Number of the head in the block, from 0.
    pub head: usize,
    /// Mean weights on the places of each [`Role`] that occurred, then the entropy and its share.
    pub scores: Vec<(Column, f64)>,
    /// What the head does most; none when nothing stands out.
    pub role: Option<Role>,
    /// Whether the head is switched off in this model: its output is not used.
    pub is_off: bool,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct HeadsReport {
    /// Each head, layer by layer.
    pub rows: Vec<MeasuredHead>,
    /// What attention that is spread evenly would have in each column.
    pub uniform: Vec<(Column, f64)>,
    /// The heads' outputs before and after the projection, of each block.
    pub spreads: Vec<Spreads>,
    /// Windows measured.
    pub windows: u64,
    /// Tokens in them.
    pub tokens: u64,
}

impl HeadsReport {
    /// The score that a head's role rests on, and what even attention has there.
    pub fn evidence(&self, row: &MeasuredHead) -> Option<(f64, f64)> {
        let wanted = Column::Weight(row.role?);
        let of = |columns: &[(Column, f64)]| Some(columns.iter().find(|(of, _)| *of == wanted)?.1);
        Some((of(&row.scores)?, of(&self.uniform)?))
    }
}

/// Sums over all queries but the first of each window.
#[derive(Clone, Default)]
struct Tally {
    weight: [f64; N],
    entropy: f64,
    entropy_share: f64,
}

impl Tally {
    /// Adds P of one head, `probs [T, T]`.
    fn add(&mut self, probs: ArrayView2<'_, f32>, marks: &Marks) {
        for i in 1..marks.len {
            let mut entropy = 0.0;
            for (&p, &kinds) in probs.row(i).iter().zip(marks.row(i)) {
                let p = f64::from(p);
                for r in 0..N {
                    if kinds >> r & 1 == 1 {
                        self.weight[r] += p;
                    }
                }
                if p != 0.0 {
                    entropy -= p * p.ln();
                }
            }
            self.entropy += entropy;
            self.entropy_share += entropy / ((i + 1) as f64).ln();
        }
    }
}

/// How many queries have places of each kind, and what even attention would give them.
#[derive(Clone, Default)]
struct Even {
    queries: u64,
    with: [u64; N],
    weight: [f64; N],
    entropy: f64,
}

impl Even {
    fn add(&mut self, marks: &Marks) {
        for i in 1..marks.len {
            self.queries += 1;
            self.entropy += ((i + 1) as f64).ln();
            for (r, &count) in marks.counts(i).iter().enumerate() {
                self.with[r] += u64::from(count > 0);
                self.weight[r] += f64::from(count) / (i + 1) as f64;
            }
        }
    }

    /// Means over the queries that have such places; none where no query has.
    fn means(&self, sums: &[f64; N]) -> [Option<f64>; N] {
        std::array::from_fn(|r| (self.with[r] > 0).then(|| sums[r] / self.with[r] as f64))
    }

    fn columns(&self, weight: &[f64; N], entropies: [f64; 2]) -> Vec<(Column, f64)> {
        let means = self.means(weight);
        let roles = Role::ALL.into_iter().zip(means);
        let kinds = roles.filter_map(|(role, mean)| Some((Column::Weight(role), mean?)));
        let n = self.queries.max(1) as f64;
        let [entropy, share] = entropies.map(|sum| sum / n);
        kinds.chain([(Column::Entropy, entropy), (Column::EntropyShare, share)]).collect()
    }
}

/// Reads every piece with the model and measures its heads. `stop` is asked after each; the
/// measures are then of what was read.
///
/// # Errors
/// What reading the pieces says; as [`TinyGPT::logits`]; [`Error::Config`] naming an attention that
/// does not show its weights, or has no `w_proj [H·D, C]` to mix its heads with.
pub fn measure_heads<'a, E: From<Error>>(
    model: &TinyGPT,
    tokenizer: &dyn Tokenizer,
    pieces: impl Iterator<Item = Result<Piece<'a>, E>>,
    mut stop: impl FnMut() -> bool,
) -> Result<HeadsReport, E> {
    let spec = model.attention().spec();
    let (layers, heads) = (model.config().n_layers, spec.n_heads);
    let (mut tallies, mut even) = (vec![Tally::default(); layers * heads], Even::default());
    let mut sums = vec![[Sums::default(); 2]; layers];
    let joined = spec.heads_width(model.config().d_model); // H·D
    let (mut windows, mut tokens) = (0, 0);
    for piece in pieces {
        let piece = piece?;
        let marks = Marks::new(&piece, tokenizer);
        let inputs = &piece.tokens[..marks.len];
        let measure = Measure {
            marks: &marks,
            heads,
            shown: Cell::new(0),
            tallies: RefCell::new(&mut tallies),
            outputs: RefCell::new(Vec::new()),
        };
        no_grad(|| model.forward(inputs, [1, inputs.len()], Some(&measure)))?;
        if measure.shown.get() != layers * heads {
            return Err(does_not_show(model).into());
        }
        for (layer, a) in measure.outputs.into_inner() {
            let [before, after] = &mut sums[layer];
            before.add(&a);
            let a = Tensor::from_vec(&[inputs.len(), joined], a)?;
            let [w_proj] = model.blocks[layer].attention.named(["w_proj"])?;
            after.add(no_grad(|| projected(a, w_proj))?.data());
        }
        even.add(&marks);
        windows += 1;
        tokens += inputs.len() as u64;
        if stop() {
            break;
        }
    }
    let means = even.means(&even.weight);
    let row = |(i, tally): (usize, &Tally)| MeasuredHead {
        layer: i / heads,
        head: i % heads,
        scores: even.columns(&tally.weight, [tally.entropy, tally.entropy_share]),
        role: role_of(&even.means(&tally.weight), &means),
        is_off: spec.head_mask.get(i) == Some(&false),
    };
    let spreads = |[a, b]: &[Sums; 2]| Spreads { concatenated: a.spread(), projected: b.spread() };
    Ok(HeadsReport {
        rows: tallies.iter().enumerate().map(row).collect(),
        uniform: even.columns(&even.weight, [even.entropy, even.queries as f64]),
        spreads: sums.iter().map(spreads).collect(),
        windows,
        tokens,
    })
}

/// Measures while the model reads one window.
struct Measure<'a> {
    marks: &'a Marks,
    heads: usize,
    /// Heads of this window.
    shown: Cell<usize>,
    tallies: RefCell<&'a mut Vec<Tally>>,
    outputs: RefCell<Vec<(usize, Vec<f32>)>>,
}

impl Probe for Measure<'_> {
    fn head(&self, layer: usize, _: usize, head: usize, probs: ArrayView2<'_, f32>) {
        if let Some(tally) = self.tallies.borrow_mut().get_mut(layer * self.heads + head) {
            tally.add(probs, self.marks);
            self.shown.set(self.shown.get() + 1);
        }
    }

    fn value(&self, layer: usize, site: Site, y: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
        if site == Site::Heads {
            self.outputs.borrow_mut().push((layer, y.iter().copied().collect()));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::ndarray::Array2;
    use llm_core::tokenizer::ByteTokenizer;
    use llm_core::{Config, Result};

    const TEXT: &[u8] = b"Ann met Bob. Ann had a cup. Bob had a key. Ann met Bob.\n";

    fn piece() -> Piece<'static> {
        Piece { tokens: TEXT.iter().map(|&b| b.into()).collect(), known: None }
    }

    fn pieces(n: usize) -> impl Iterator<Item = Result<Piece<'static>>> {
        (0..n).map(|_| Ok(piece()))
    }

    /// Scores of a head whose row i is what `weights` makes of the numbers of i's places.
    fn scores(weights: impl Fn(usize, usize) -> f32) -> (Vec<(Column, f64)>, Option<Role>) {
        let marks = Marks::new(&piece(), &ByteTokenizer);
        let mut probs =
            Array2::from_shape_fn(
                (marks.len, marks.len),
                |(i, j)| {
                    if j <= i { weights(i, j) } else { 0.0 }
                },
            );
        for mut row in probs.rows_mut() {
            let sum = row.sum();
            row.mapv_inplace(|w| w / sum);
        }
        let (mut tally, mut even) = (Tally::default(), Even::default());
        tally.add(probs.view(), &marks);
        even.add(&marks);
        let role = role_of(&even.means(&tally.weight), &even.means(&even.weight));
        (even.columns(&tally.weight, [tally.entropy, tally.entropy_share]), role)
    }

    fn of(scores: &[(Column, f64)], name: &str) -> f64 {
        scores.iter().find(|s| s.0.name() == name).unwrap().1
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-5
    }

    #[test]
    fn a_perfect_head_scores_one() {
        let text = |i: usize| TEXT[i];
        let earlier = |i: usize, j: usize| u8::from(j > 0 && text(j - 1) == text(i));
        let next = |i: usize, j: usize| u8::from(text(j) == text(i + 1));
        let own =
            |i: usize, j: usize| u8::from(j < i && TEXT[j..=i].iter().all(u8::is_ascii_alphabetic));
        type Weights<'a> = &'a dyn Fn(usize, usize) -> f32;
        let heads: [(&str, Weights<'_>); 7] = [
            ("previous", &|i, j| f32::from(u8::from(j + 1 == i || i == 0))),
            ("first", &|_, j| f32::from(u8::from(j == 0))),
            ("itself", &|i, j| f32::from(u8::from(j == i))),
            // Where there is no such place, everywhere alike.
            ("word", &|i, j| 1e-9 + f32::from(own(i, j))),
            ("after", &|i, j| 1e-9 + f32::from(earlier(i, j))),
            ("copy", &|i, j| 1e-9 + f32::from(next(i, j))),
            ("separator", &|_, j| 1e-9 + f32::from(u8::from(!text(j).is_ascii_alphanumeric()))),
        ];
        for (name, weights) in heads {
            let (scores, role) = scores(weights);
            assert!(near(of(&scores, name), 1.0), "{name}: {scores:?}");
            assert_eq!(role.unwrap().name(), name);
        }
    }

    #[test]
    fn even_attention_has_the_even_scores_and_no_role() {
        let (scores, role) = scores(|_, _| 1.0);
        let mut even = Even::default();
        even.add(&Marks::new(&piece(), &ByteTokenizer));
        let uniform = even.columns(&even.weight, [even.entropy, even.queries as f64]);
        for ((name, score), (_, want)) in scores.iter().zip(&uniform) {
            assert!(near(*score, *want), "{name:?}: {score}, not {want}");
        }
        assert_eq!(role, None);
        assert!(near(of(&scores, "entropy_share"), 1.0));
    }

    #[test]
    fn one_place_has_no_entropy() {
        let (scores, _) = scores(|i, j| f32::from(u8::from(j == i)));
        assert_eq!((of(&scores, "entropy"), of(&scores, "entropy_share")), (0.0, 0.0));
    }

    #[test]
    fn a_model_is_measured_over_all_pieces() {
        let model = TinyGPT::new(Config::new(256, 64, 8, 2), 3).unwrap();
        let measure =
            |n: usize| measure_heads(&model, &ByteTokenizer, pieces(n), || false).unwrap();
        let (one, three) = (measure(1), measure(3));
        assert_eq!((three.windows, three.tokens), (3, 3 * (TEXT.len() as u64 - 1)));
        assert_eq!(three.rows.len(), 2);
        for (a, b) in one.rows.iter().zip(&three.rows) {
            for (x, y) in a.scores.iter().zip(&b.scores) {
                assert!(near(x.1, y.1), "{x:?} {y:?}");
            }
        }
        let stopped = measure_heads(&model, &ByteTokenizer, pieces(9), || true);
        assert_eq!(stopped.unwrap().windows, 1);
    }

    #[test]
    fn outputs_are_shown_before_and_after_the_projection() {
        let mut model = TinyGPT::new(Config::new(256, 64, 8, 1), 3).unwrap();
        let spreads = |model: &TinyGPT| {
            measure_heads(model, &ByteTokenizer, pieces(1), || false).unwrap().spreads[0]
        };
        let before = spreads(&model);
        model.blocks[0]
            .attention
            .get_mut("w_proj")
            .unwrap()
            .data_mut()
            .iter_mut()
            .for_each(|w| *w *= 3.0);
        let after = spreads(&model);
        assert_eq!(before.concatenated.std, after.concatenated.std);
        assert!((after.projected.std / before.projected.std - 3.0).abs() < 1e-4);
        assert!(before.concatenated.std != before.projected.std);
    }
}
