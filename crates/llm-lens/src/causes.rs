//! Activation patching: which part of a model carries an answer from where it is told to where it is said.
//!
//! A pair is two texts of the same length that ask for two answers. With d the difference of both answers'
//! scores at the end, a part that is put from the other text into the clean one carries the share
//!
//! ```text
//! put in     (d_clean − d_patched) / (d_clean − d_other)
//! taken out  (d_patched − d_other) / (d_clean − d_other)    the clean part put into the other text
//! ```
//!
//! A share of 0 changes nothing, one of 1 is the whole answer; parts that lie one behind the other may have
//! the same share. Put in says that a part is enough, taken out that it is needed.
//!
//! Reference: Meng et al., "Locating and Editing Factual Associations in GPT", 2022; Wang et al.,
//! "Interpretability in the Wild", 2022, for paths.

use crate::inside::{Inside, values, values_with};
use crate::patch::{Patch, Patches, With, head_columns};
use crate::rounded::first_choice;
use llm_core::base::memory;
use llm_core::model::Site;
use llm_core::{Error, Result, TinyGPT, TokenId, message};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// Two texts, equally long, and what the next token should be in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The text whose answer is looked for.
    pub clean: Vec<TokenId>,
    /// The text with another answer.
    pub other: Vec<TokenId>,
    /// The tokens that answer the clean and the other text.
    pub answers: [TokenId; 2],
}

impl Pair {
    /// The positions at which the texts differ.
    pub fn changed(&self) -> Vec<usize> {
        let both = self.clean.iter().zip(&self.other).enumerate();
        both.filter(|(_, (a, b))| a != b).map(|(i, _)| i).collect()
    }

    /// The positions of a place, from first to last.
    pub fn positions(&self, at: At) -> Vec<usize> {
        let (t, changed) = (self.clean.len(), self.changed());
        match at {
            At::Last => (0..t).last().into_iter().collect(),
            At::All => (0..t).collect(),
            At::Changed => changed,
            At::Between => (0..t.saturating_sub(1)).filter(|i| !changed.contains(i)).collect(),
            At::Position(i) => vec![i],
        }
    }

    fn check(&self) -> Result<()> {
        let refused = |why| Err(Error::config("patch", why));
        let (a, b) = (self.clean.len(), self.other.len());
        match () {
            () if a != b => {
                refused(message!("the texts have {} and {} tokens, not equally many", a, b))
            }
            () if self.clean == self.other => refused(message!("both texts are the same")),
            () if self.answers[0] == self.answers[1] => {
                refused(message!("both answers begin with the same token"))
            }
            () => Ok(()),
        }
    }
}

/// Positions of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum At {
    /// The last position, from which the answer is said.
    Last,
    /// Every position.
    All,
    /// Positions at which the texts differ.
    Changed,
    /// Positions that are the same in both texts, the last left out.
    Between,
    /// One position.
    Position(usize),
}

/// A part of a model, at some positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part {
    /// Number of the block, from 0.
    pub layer: usize,
    /// Which part of the block.
    pub what: What,
    /// Positions of the part.
    pub at: At,
}

/// A part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    /// What one head gives.
    Head(usize),
    /// What all heads give.
    Heads,
    /// What the MLP adds to the stream.
    Mlp,
    /// The stream before the block: all that was found out so far.
    Stream,
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (what, head) = match self.what {
            What::Head(head) => ("head", Some(head)),
            What::Heads => ("heads", None),
            What::Mlp => ("mlp", None),
            What::Stream => ("stream", None),
        };
        let at = match self.at {
            At::Last => "last".to_string(),
            At::All => "all".into(),
            At::Changed => "changed".into(),
            At::Between => "between".into(),
            At::Position(i) => i.to_string(),
        };
        let mut part = to.serialize_struct("Part", 4)?;
        part.serialize_field("layer", &self.layer)?;
        part.serialize_field("what", what)?;
        part.serialize_field("head", &head)?;
        part.serialize_field("at", &at)?;
        part.end()
    }
}

impl Part {
    /// The parts that a table shows: every head and MLP and all heads together, at the end and at all
    /// positions, and the stream before each block where the texts differ, at the end, and elsewhere.
    pub fn all(model: &TinyGPT) -> Vec<Part> {
        let heads = model.attention().spec().n_heads;
        let of_layer = |layer| {
            let ends = [At::Last, At::All].into_iter().flat_map(move |at| {
                let whats = (0..heads).map(What::Head).chain([What::Heads, What::Mlp]);
                whats.map(move |what| Part { layer, what, at })
            });
            let stream = [At::Changed, At::Between, At::Last];
            ends.chain(stream.map(|at| Part { layer, what: What::Stream, at }))
        };
        (0..model.config().n_layers).flat_map(of_layer).collect()
    }

    /// Every head and MLP, and all heads together, at the end.
    pub fn at_the_end(model: &TinyGPT) -> Vec<Part> {
        let is_there = |part: &Part| part.at == At::Last && part.what != What::Stream;
        Part::all(model).into_iter().filter(is_there).collect()
    }

    /// The stream before each block at each of the first `t` positions.
    pub fn every_position(model: &TinyGPT, t: usize) -> Vec<Part> {
        let layers = 0..model.config().n_layers;
        let of =
            |layer| (0..t).map(move |i| Part { layer, what: What::Stream, at: At::Position(i) });
        layers.flat_map(of).collect()
    }

    /// The patch that puts this part of another run there.
    ///
    /// # Errors
    /// [`Error::Config`] naming a block that the model does not have.
    fn patch<'a>(&self, model: &TinyGPT, pair: &Pair, from: &'a Inside) -> Result<Patch<'a>> {
        let there = from.blocks.get(self.layer);
        let there = there
            .ok_or_else(|| Error::config("patch", message!("there is no layer {}", self.layer)))?;
        let (site, head) = match self.what {
            What::Head(head) => (Site::Heads, Some(head)),
            What::Heads => (Site::Heads, None),
            What::Mlp => (Site::Mlp, None),
            What::Stream => (Site::Before, None),
        };
        Ok(Patch {
            layer: self.layer,
            site,
            columns: head.map(|head| head_columns(model, head)),
            positions: pair.positions(self.at),
            with: With::Run(there.at(site).view()),
        })
    }
}

/// What a part carries of one pair's answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The other text's part put into the clean one.
    pub put_in: f64,
    /// The clean part put into the other text.
    pub taken_out: f64,
    /// Whether the clean text's first choice becomes the other answer.
    pub turns: bool,
}

/// What heads read from one head of an earlier block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sender {
    /// The head that writes, `(layer, head)`.
    pub from: [usize; 2],
    /// The share that each receiver reads; `None` where it does not lie behind.
    pub shares: Vec<Option<f64>>,
}

/// A pair as a model reads it.
#[derive(Debug)]
pub struct Reading<'m> {
    model: &'m TinyGPT,
    pair: &'m Pair,
    /// Everything computed for the clean and the other text.
    runs: [Inside; 2],
    /// d_clean and d_other.
    ends: [f64; 2],
}

/// Sequences that are patched at once.
const TOGETHER: usize = 16;

impl<'m> Reading<'m> {
    /// Reads both texts.
    ///
    /// # Errors
    /// [`Error::Config`] for texts of different lengths, equal texts or equal answers; as
    /// [`TinyGPT::logits`].
    pub fn new(model: &'m TinyGPT, pair: &'m Pair) -> Result<Reading<'m>> {
        pair.check()?;
        let within = pair.answers.iter().all(|token| (*token as usize) < model.config().vocab_size);
        Error::unless(within, "patch", message!("an answer is no token of the model"))?;
        let runs = [values(model, &pair.clean)?, values(model, &pair.other)?];
        let ends = [0, 1].map(|i| difference(pair, last_row(&runs[i])));
        Ok(Reading { model, pair, runs, ends })
    }

    /// Whether the model's first choice is the right answer to both texts.
    pub fn is_right(&self) -> bool {
        let first = |run: &Inside| first_choice(last_row(run));
        [first(&self.runs[0]), first(&self.runs[1])] == self.pair.answers
    }

    /// d_clean and d_other: scores of the clean text's answer less those of the other's.
    pub fn differences(&self) -> [f64; 2] {
        self.ends
    }

    /// What each part carries.
    ///
    /// # Errors
    /// As [`TinyGPT::logits`]; [`Error::Config`] naming a part that the model does not have, or saying that
    /// both texts have the same scores.
    pub fn shares(&self, parts: &[Part]) -> Result<Vec<Share>> {
        let [clean, other] = &self.runs;
        let put_in = self.patched(&self.pair.clean, &self.lists(parts, other)?)?;
        let taken_out = self.patched(&self.pair.other, &self.lists(parts, clean)?)?;
        let both = put_in.into_iter().zip(taken_out);
        both.map(|((put_in, turns), (taken_out, _))| {
            let [put_in, taken_out] = [self.put_in(put_in)?, 1.0 - self.put_in(taken_out)?];
            Ok(Share { put_in, taken_out, turns })
        })
        .collect()
    }

    /// By how much each part moves d, d_clean − d_patched in nats, when it is put into the clean text. That has a
    /// meaning where d_clean and d_other are still the same, too.
    ///
    /// # Errors
    /// As [`TinyGPT::logits`]; [`Error::Config`] naming a part that the model does not have.
    pub fn moves(&self, parts: &[Part]) -> Result<Vec<f64>> {
        let patched = self.patched(&self.pair.clean, &self.lists(parts, &self.runs[1])?)?;
        Ok(patched.into_iter().map(|(d, _)| self.ends[0] - d).collect())
    }

    /// The share that `receivers`, heads at the end, read from what each head of an earlier block writes: the
    /// sender is the other text's, all heads between are as in the clean text, and what the receiver then gives
    /// is put into the clean text.
    ///
    /// # Errors
    /// As [`Reading::shares`].
    pub fn paths(&self, receivers: &[[usize; 2]]) -> Result<Vec<Sender>> {
        let heads = self.model.attention().spec().n_heads;
        let last = receivers.iter().map(|[layer, _]| *layer).max().unwrap_or(0);
        let senders = (0..last).flat_map(|layer| (0..heads).map(move |head| [layer, head]));
        senders.map(|from| Ok(Sender { from, shares: self.from(from, receivers)? })).collect()
    }

    fn from(
        &self,
        [layer, head]: [usize; 2],
        receivers: &[[usize; 2]],
    ) -> Result<Vec<Option<f64>>> {
        let ([clean, other], t) = (&self.runs, self.pair.clean.len());
        let part = |what| Part { layer, what, at: At::All };
        let sender = part(What::Head(head)).patch(self.model, self.pair, other)?;
        receivers
            .iter()
            .map(|&[to, receiver]| {
                if to <= layer {
                    return Ok(None);
                }
                // Heads between keep what they gave.
                let held = (layer + 1..to).map(|layer| {
                    Part { layer, what: What::Heads, at: At::All }
                        .patch(self.model, self.pair, clean)
                });
                let list: Result<Vec<_>> =
                    std::iter::once(Ok(sender.clone())).chain(held).collect();
                let patches = Patches::new(self.model, vec![list?])?;
                let seen = values_with(self.model, &self.pair.clean, Some(&patches))?;
                let given = Patch {
                    layer: to,
                    site: Site::Heads,
                    columns: Some(head_columns(self.model, receiver)),
                    positions: vec![t - 1],
                    with: With::Run(seen.blocks[to].heads.view()),
                };
                let patched = self.patched(&self.pair.clean, &[vec![given]])?;
                self.put_in(patched[0].0).map(Some)
            })
            .collect()
    }

    /// For each part the one patch that puts it there from another run.
    fn lists<'a>(&self, parts: &[Part], from: &'a Inside) -> Result<Vec<Vec<Patch<'a>>>> {
        parts.iter().map(|part| Ok(vec![part.patch(self.model, self.pair, from)?])).collect()
    }

    fn put_in(&self, patched: f64) -> Result<f64> {
        let [clean, other] = self.ends;
        let why = message!("both texts have the same scores: there is nothing to explain");
        Error::unless(clean != other, "patch", why)?;
        Ok((clean - patched) / (clean - other))
    }

    /// d, and whether the first choice is the other answer, of a text under each list of patches.
    fn patched<'p>(
        &'p self,
        text: &[TokenId],
        lists: &[Vec<Patch<'p>>],
    ) -> Result<Vec<(f64, bool)>> {
        let (t, v) = (text.len(), self.model.config().vocab_size);
        let mut found = Vec::with_capacity(lists.len());
        memory::require(self.model.inference_memory(TOGETHER.min(lists.len()), t))?;
        for lists in lists.chunks(TOGETHER) {
            let b = lists.len();
            let logits =
                Patches::new(self.model, lists.to_vec())?.logits(&text.repeat(b), [b, t])?;
            for all in logits.data().chunks_exact(t * v) {
                let last = &all[(t - 1) * v..];
                let turns = first_choice(last) == self.pair.answers[1];
                found.push((difference(self.pair, last), turns));
            }
        }
        Ok(found)
    }
}

/// The scores at the end.
fn last_row(run: &Inside) -> &[f32] {
    run.logits
        .as_slice()
        .and_then(|all| all.chunks_exact(run.logits.ncols().max(1)).last())
        .unwrap_or_default()
}

fn difference(pair: &Pair, last: &[f32]) -> f64 {
    let [a, b] = pair.answers.map(|token| f64::from(last[token as usize]));
    a - b
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::Config;
    use llm_core::{Tensor, ops};
    use llm_variant_mha::{MultiHead, causal_attention_heads};
    use std::sync::Arc;

    const H: usize = 2;

    fn model(n_layers: usize) -> TinyGPT {
        let attention = Arc::new(MultiHead::new(H));
        TinyGPT::with_attention(Config::new(11, 8, 8, n_layers), attention, 3).unwrap()
    }

    fn pair() -> Pair {
        Pair { clean: vec![3, 1, 4, 1, 5], other: vec![3, 2, 7, 1, 5], answers: [6, 9] }
    }

    /// What the heads of each block give, and d, where `heads` may change them before they are projected:
    /// the blocks op by op, no probe.
    fn naive(
        model: &TinyGPT,
        tokens: &[TokenId],
        heads: impl Fn(usize, &mut [f32]),
    ) -> (Vec<Vec<f32>>, f64) {
        let (t, eps) = (tokens.len(), model.config().norm_eps);
        let places: Vec<TokenId> = (0..t as TokenId).collect();
        let wpe = ops::embedding(model.wpe.as_ref().unwrap(), &places, &[1, t]).unwrap();
        let mut h = ops::add(&ops::embedding(&model.wte, tokens, &[1, t]).unwrap(), &wpe).unwrap();
        let mut given = Vec::new();
        for (layer, block) in model.blocks.iter().enumerate() {
            let x = ops::layernorm_lastdim(&h, eps).unwrap();
            let [w_qkv, b_qkv, w_proj, b_proj] =
                block.attention.named(["w_qkv", "b_qkv", "w_proj", "b_proj"]).unwrap();
            let qkv = ops::linear_lastdim(&x, w_qkv, Some(b_qkv)).unwrap();
            let mut y = causal_attention_heads(&qkv, H, &[], None).unwrap().detach();
            heads(layer, y.data_mut());
            given.push(y.data().to_vec());
            h = ops::add(&h, &ops::linear_lastdim(&y, w_proj, Some(b_proj)).unwrap()).unwrap();
            let x = ops::layernorm_lastdim(&h, eps).unwrap();
            let x = ops::linear_lastdim(&x, &block.w_fc, block.b_fc.as_ref()).unwrap();
            let x = ops::gelu(&x).unwrap();
            let x = ops::linear_lastdim(&x, &block.w_out, block.b_out.as_ref()).unwrap();
            h = ops::add(&h, &x).unwrap();
        }
        let x: Tensor = ops::layernorm_lastdim(&h, eps).unwrap();
        let w = model.w_lm.as_ref().unwrap();
        let logits = ops::linear_lastdim(&x, w, model.b_lm.as_ref()).unwrap();
        let last = &logits.data()[(t - 1) * 11..];
        (given, f64::from(last[6]) - f64::from(last[9]))
    }

    #[test]
    fn shares_are_those_of_the_blocks_by_hand() {
        let (model, pair) = (model(2), pair());
        let reading = Reading::new(&model, &pair).unwrap();
        let (of_clean, clean) = naive(&model, &pair.clean, |_, _| ());
        let (of_other, other) = naive(&model, &pair.other, |_, _| ());
        let near = |a: f64, b: f64| (a - b).abs() < 1e-4 * (clean - other).abs().max(1.0);
        assert!(near(reading.differences()[0], clean) && near(reading.differences()[1], other));
        for (layer, head) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            for (at, rows) in [(At::Last, 4..5), (At::All, 0..5)] {
                let put = |from: &Vec<Vec<f32>>, into: &[TokenId]| {
                    let change = |l: usize, y: &mut [f32]| {
                        for i in rows.clone().filter(|_| l == layer) {
                            let columns = i * 8 + head * 4..i * 8 + (head + 1) * 4;
                            y[columns.clone()].copy_from_slice(&from[l][columns]);
                        }
                    };
                    naive(&model, into, change).1
                };
                let part = Part { layer, what: What::Head(head), at };
                let share = reading.shares(&[part]).unwrap()[0];
                let all = clean - other;
                assert!(near(share.put_in * all, clean - put(&of_other, &pair.clean)), "{part:?}");
                assert!(near(share.taken_out * all, put(&of_clean, &pair.other) - other));
                assert!(near(reading.moves(&[part]).unwrap()[0], share.put_in * all));
            }
        }
    }

    /// What a block's attention reads is all in the stream, and at the end of one block all in its heads.
    #[test]
    fn everything_put_in_is_the_other_text() {
        let (one, two, pair) = (model(1), model(2), pair());
        let share = |model: &TinyGPT, layer, what, at| {
            let reading = Reading::new(model, &pair).unwrap();
            reading.shares(&[Part { layer, what, at }]).unwrap()[0]
        };
        for (model, what, at) in [
            (&two, What::Stream, At::All),
            (&two, What::Stream, At::Changed),
            (&one, What::Heads, At::Last),
        ] {
            let Share { put_in, taken_out, .. } = share(model, 0, what, at);
            assert!(
                (put_in - 1.0).abs() < 1e-4 && (taken_out - 1.0).abs() < 1e-4,
                "{what:?} {at:?}"
            );
        }
        let none = share(&two, 0, What::Stream, At::Between);
        assert_eq!((none.put_in, none.taken_out), (0.0, 0.0));
    }

    /// With one block between nothing, all that a head reads through heads comes from those of the block before.
    #[test]
    fn a_path_goes_from_a_sender_to_a_receiver() {
        let (model, pair) = (model(2), pair());
        let reading = Reading::new(&model, &pair).unwrap();
        let paths = reading.paths(&[[1, 0], [0, 1]]).unwrap();
        assert_eq!(paths.iter().map(|path| path.from).collect::<Vec<_>>(), [[0, 0], [0, 1]]);
        let (of_other, other) = naive(&model, &pair.other, |_, _| ());
        let (_, clean) = naive(&model, &pair.clean, |_, _| ());
        for (head, path) in paths.iter().enumerate() {
            assert_eq!(path.shares[1], None); // it does not lie behind
            let columns = |i: usize| i * 8 + head * 4..i * 8 + (head + 1) * 4;
            let (sent, _) = naive(&model, &pair.clean, |layer, y| {
                for i in (0..5).filter(|_| layer == 0) {
                    y[columns(i)].copy_from_slice(&of_other[0][columns(i)]);
                }
            });
            let (_, received) = naive(&model, &pair.clean, |layer, y| {
                if layer == 1 {
                    y[4 * 8..4 * 8 + 4].copy_from_slice(&sent[1][4 * 8..4 * 8 + 4]);
                }
            });
            let want = (clean - received) / (clean - other);
            assert!((path.shares[0].unwrap() - want).abs() < 1e-3, "{path:?}, not {want}");
        }
    }

    #[test]
    fn texts_and_parts_that_do_not_fit_are_refused() {
        let (model, right) = (model(1), pair());
        let refused = |pair: Pair| Reading::new(&model, &pair).unwrap_err().to_string();
        for (pair, needle) in [
            (Pair { other: vec![1, 2], ..right.clone() }, "not equally many"),
            (Pair { other: right.clean.clone(), ..right.clone() }, "the same"),
            (Pair { answers: [6, 6], ..right.clone() }, "the same token"),
            (Pair { answers: [6, 11], ..right.clone() }, "no token of the model"),
        ] {
            assert!(refused(pair).contains(needle), "{needle}");
        }
        let reading = Reading::new(&model, &right).unwrap();
        for part in [
            Part { layer: 1, what: What::Heads, at: At::Last },
            Part { layer: 0, what: What::Head(2), at: At::Last },
            Part { layer: 0, what: What::Mlp, at: At::Position(5) },
        ] {
            assert!(reading.shares(&[part]).is_err(), "{part:?}");
        }
    }
}
