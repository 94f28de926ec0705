//! Which part of the model carries an answer from where it is told to where it is said.

use crate::arrays::{array, whole};
use crate::given::{Read, read};
use crate::state::Inner;
use crate::trainer::{Trainer, named};
use crate::writing::piece;
use llm_core::generate::next_logits;
use llm_core::{TokenId, message};
use llm_lens::{
    At, Carried, Pair, Part, Reading, Sender, Share, What, explain, first_choice, follow,
    receivers, verdict,
};
use llm_run::data::unseen_twins;
use llm_run::{Result, RunError};
use llm_stories::FactKind;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An answer: a text, of which the first token counts, or a token number.
fn answer(given: &Bound<'_, PyAny>) -> PyResult<Read> {
    match given.extract::<i128>() {
        Ok(_) => Ok(Read::Tokens(vec![whole(given)?], vec![1])),
        Err(_) => read(given),
    }
}

/// A column of a table: its name, and what a row has there.
type Column<R, T> = (&'static str, fn(&R) -> T);

/// Columns of a table: numbers, and what is or is not so.
struct Columns<R: 'static> {
    numbers: &'static [Column<R, f64>],
    flags: &'static [Column<R, bool>],
}

/// Columns of one pair.
const OF_A_PAIR: Columns<Share> = Columns {
    numbers: &[("put_in", |of| of.put_in), ("taken_out", |of| of.taken_out)],
    flags: &[("turned", |of| of.turns)],
};

/// Columns over several pairs.
const OF_PAIRS: Columns<Carried> = Columns {
    numbers: &[
        ("put_in", |of| of.put_in),
        ("put_in_sd", |of| of.put_in_sd),
        ("taken_out", |of| of.taken_out),
        ("taken_out_sd", |of| of.taken_out_sd),
        ("turned", |of| of.turned),
    ],
    flags: &[("carries", |of| of.carries)],
};

impl<R> Columns<R> {
    /// The columns of some rows, as arrays; `[.., width]` where there is a width.
    fn arrays<'py>(
        &self,
        py: Python<'py>,
        rows: &[&R],
        width: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let shape = width.map_or(vec![rows.len()], |n| vec![rows.len() / n.max(1), n]);
        let all = PyDict::new(py);
        for (name, of) in self.numbers {
            let numbers: Vec<f64> = rows.iter().map(|row| of(row)).collect();
            all.set_item(name, array(py, &shape, numbers)?)?;
        }
        for (name, of) in self.flags {
            let flags: Vec<bool> = rows.iter().map(|row| of(row)).collect();
            all.set_item(name, array(py, &shape, flags)?)?;
        }
        Ok(all)
    }
}

/// Rows of a table, one for each part.
struct Rows<'a, R: 'static> {
    parts: &'a [Part],
    rows: &'a [R],
    heads: usize,
    columns: Columns<R>,
}

impl<R> Rows<'_, R> {
    /// The columns of some parts, layer by layer.
    fn arrays<'py>(
        &self,
        py: Python<'py>,
        at: At,
        what: impl Fn(What) -> bool,
        width: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let of = self.parts.iter().zip(self.rows);
        let of = of.filter(|(part, _)| part.at == at && what(part.what)).map(|(_, row)| row);
        self.columns.arrays(py, &of.collect::<Vec<_>>(), width)
    }

    /// Heads and MLPs, at the end and everywhere.
    fn put<'py>(&self, py: Python<'py>, into: &Bound<'py, PyDict>) -> PyResult<()> {
        for (name, at) in [("end", At::Last), ("everywhere", At::All)] {
            let heads = |what| matches!(what, What::Head(_));
            let all = PyDict::new(py);
            all.set_item("heads", self.arrays(py, at, heads, Some(self.heads))?)?;
            all.set_item("all_heads", self.arrays(py, at, |what| what == What::Heads, None)?)?;
            all.set_item("mlps", self.arrays(py, at, |what| what == What::Mlp, None)?)?;
            into.set_item(name, all)?;
        }
        Ok(())
    }
}

/// The heads that carry most, and what each reads from heads of earlier blocks: `paths[from][to]`.
fn put_paths(into: &Bound<'_, PyDict>, to: &[[usize; 2]], paths: &[Sender]) -> PyResult<()> {
    let pair = |[layer, head]: [usize; 2]| (layer, head);
    into.set_item("receivers", to.iter().map(|to| pair(*to)).collect::<Vec<_>>())?;
    let all = PyDict::new(into.py());
    for Sender { from, shares } in paths {
        let of = PyDict::new(into.py());
        for (to, share) in to.iter().zip(shares) {
            share.map_or(Ok(()), |share| of.set_item(pair(*to), share))?;
        }
        all.set_item(pair(*from), of)?;
    }
    into.set_item("paths", all)
}

/// What was found for one pair.
struct OfPair {
    pair: Pair,
    pieces: [Vec<String>; 2],
    answer_texts: [String; 2],
    differences: [f64; 2],
    is_right: bool,
    parts: Vec<Part>,
    shares: Vec<Share>,
    /// The stream before each block at each position.
    stream: Vec<Share>,
    receivers: Vec<[usize; 2]>,
    paths: Vec<Sender>,
    heads: usize,
}

/// Measures one pair.
fn measured(inner: &Inner, texts: [Read; 2], answers: Option<[Read; 2]>) -> Result<OfPair> {
    let (model, tokenizer) = (&inner.plan.trainer.model, &*inner.plan.tokenizer);
    let [clean, other] = texts.map(|text| text.row(tokenizer));
    let (clean, other) = (clean?, other?);
    let by_itself = answers.is_none();
    let answers: [Result<TokenId>; 2] = match answers {
        Some(given) => given.map(|answer| Ok(answer.row(tokenizer)?[0])),
        None => [&clean, &other].map(|text| Ok(first_choice(&next_logits(model, text)?))),
    };
    let [first, second] = answers;
    let (first, second) = (first?, second?);
    if by_itself && first == second {
        return Err(RunError::Usage(message!(
            "after both texts the model would say {}: answers=(.., ..) names what should follow each",
            format!("{:?}", piece(tokenizer, first))
        )));
    }
    let pair = Pair { clean, other, answers: [first, second] };
    let (parts, positions) = (Part::all(model), Part::every_position(model, pair.clean.len()));
    let reading = Reading::new(model, &pair)?;
    let (shares, stream) = (reading.shares(&parts)?, reading.shares(&positions)?);
    let receivers = receivers(&verdict(&parts, std::slice::from_ref(&shares)));
    let paths = reading.paths(&receivers)?;
    let (differences, is_right) = (reading.differences(), reading.is_right());
    drop(reading);
    let text = |token: &TokenId| piece(tokenizer, *token);
    let pieces = [&pair.clean, &pair.other].map(|tokens| tokens.iter().map(text).collect());
    let answer_texts = pair.answers.each_ref().map(text);
    let heads = model.attention().spec().n_heads;
    Ok(OfPair {
        pair,
        pieces,
        answer_texts,
        differences,
        is_right,
        parts,
        shares,
        stream,
        receivers,
        paths,
        heads,
    })
}

/// Two of something.
fn two<'py>(given: &Bound<'py, PyAny>) -> PyResult<[Bound<'py, PyAny>; 2]> {
    let expected = || PyTypeError::new_err("answers: expected a pair of texts or token numbers");
    let all: PyResult<Vec<_>> = given.try_iter().map_err(|_| expected())?.collect();
    all?.try_into().map_err(|_| expected())
}

#[pymethods]
impl Trainer {
    /// Activation patching: two texts (or tokens `[T]`) of the same length that ask for two answers, and which
    /// part of the model carries the answer. `answers` is a pair of texts, of which the first tokens count, or
    /// of token numbers; by default what the model would say. With d the score of the clean text's answer less
    /// that of the other's, what a part computes for the other text is put into the clean one: `put_in` is the
    /// share by which d goes over to the other text's; `taken_out` is the same the other way round; `turned`,
    /// whether the first choice becomes the other answer.
    ///
    /// Returns a dict: `clean` and `other`, the tokens' texts; `answers`, token numbers; `answer_texts`;
    /// `differences`, d of both; `right`, whether both answers are the model's first choices. `end` (the last
    /// token) and `everywhere` have `heads` `[L, H]`, and `all_heads` of a block together and `mlps` `[L]`;
    /// `stream` `[L, T]` is what stands before each block at each token. `receivers` are the heads that carry
    /// most, (layer, head), and `paths[from][to]` is the share that one reads from a head of an earlier block.
    #[pyo3(signature = (clean, other, answers=None))]
    fn patch<'py>(
        &self,
        py: Python<'py>,
        clean: &Bound<'py, PyAny>,
        other: &Bound<'py, PyAny>,
        answers: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let texts = [read(clean)?, read(other)?];
        let answers = match answers.map(two).transpose()? {
            Some([a, b]) => Some([answer(&a)?, answer(&b)?]),
            None => None,
        };
        let found = self.worker.work(py, move |inner, _| measured(inner, texts, answers))?;
        let rows = Rows {
            parts: &found.parts,
            rows: &found.shares,
            heads: found.heads,
            columns: OF_A_PAIR,
        };
        let stream: Vec<&Share> = found.stream.iter().collect();
        let [d, d_other] = found.differences;
        let [a, b] = found.pair.answers;
        let [of_a, of_b] = &found.answer_texts;
        let all = PyDict::new(py);
        all.set_item("clean", &found.pieces[0])?;
        all.set_item("other", &found.pieces[1])?;
        all.set_item("answers", (a, b))?;
        all.set_item("answer_texts", (of_a, of_b))?;
        all.set_item("differences", (d, d_other))?;
        all.set_item("right", found.is_right)?;
        rows.put(py, &all)?;
        all.set_item("stream", OF_A_PAIR.arrays(py, &stream, Some(found.pair.clean.len()))?)?;
        put_paths(&all, &found.receivers, &found.paths)?;
        Ok(all)
    }

    /// `patch` over pairs of unseen built-in stories, each with its twin, in which one fact of this kind is
    /// another: `thing`, `found-item`, `spot`, `he-she`, `receiver`, `who-has`, `other-person` or `other-item`.
    ///
    /// Returns a dict: `kind`; `tried`, how many pairs; `right`, those that the model answers right on both
    /// sides, which are measured. `end` and `everywhere` are those of `patch`, as means over pairs with their
    /// standard deviations, `put_in_sd` and `taken_out_sd`; `turned` is a share of pairs; `carries`, whether
    /// both shares are above a tenth beyond chance. `stream` has `changed` (where the texts differ), `between`
    /// and `end` `[L]`. `receivers` and `paths` are those of `patch`.
    #[pyo3(signature = (kind="other-person", pairs=64))]
    fn explain_facts<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        #[pyo3(from_py_with = whole)] pairs: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let kind = named("kind", Some(kind), &FactKind::ALL, FactKind::name)?;
        let kind = kind.unwrap_or(FactKind::OtherPerson);
        if pairs == 0 {
            return Err(PyValueError::new_err("pairs 0: expected one or more"));
        }
        let (heads, found, receivers, paths) = self.worker.work(py, move |inner, stop| {
            let (model, tokenizer) = (&inner.plan.trainer.model, &*inner.plan.tokenizer);
            let (data, seq_len) = (&inner.plan.trainer.recipe.data, model.config().seq_len);
            let Some(pairs) = unseen_twins(data, kind, tokenizer, seq_len, pairs) else {
                return Err(RunError::Data(message!(
                    "this model has not learned the built-in stories: patch(clean, other) explains two \
                     texts of your own"
                )));
            };
            if pairs.is_empty() {
                return Err(RunError::Data(message!(
                    "kind {}: no story and its twin are equally long in tokens of this vocabulary, and no \
                     longer than the context",
                    kind.name()
                )));
            }
            let found = explain(model, &pairs, &Part::all(model), || stop.is_set())?;
            let receivers = receivers(&found.rows);
            let right = found.right.iter().map(|i| &pairs[*i]);
            let paths = follow(model, right, &receivers, || stop.is_set())?;
            Ok((model.attention().spec().n_heads, found, receivers, paths))
        })?;
        let parts: Vec<Part> = found.rows.iter().map(|row| row.part).collect();
        let rows = Rows { parts: &parts, rows: &found.rows, heads, columns: OF_PAIRS };
        let all = PyDict::new(py);
        all.set_item("kind", kind.name())?;
        all.set_item("tried", found.tried)?;
        all.set_item("right", found.right.len())?;
        rows.put(py, &all)?;
        let stream = PyDict::new(py);
        for (name, at) in [("changed", At::Changed), ("between", At::Between), ("end", At::Last)] {
            stream.set_item(name, rows.arrays(py, at, |what| what == What::Stream, None)?)?;
        }
        all.set_item("stream", stream)?;
        put_paths(&all, &receivers, &paths)?;
        Ok(all)
    }
}
