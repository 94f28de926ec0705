//! The forward pass: scores of what follows, and the loss.
//!
//! Training runs it as ops, which record the backward pass; writing text runs it on plain rows with
//! a cache, step for step the same. As ops without a graph, a position of a small model would take
//! a quarter longer to write; so there are two, side by side, and a test holds them together.

use super::block::{norm, norm_rows};
use super::recompute::recomputed;
use super::{Batch, Context, Growing, Mode, Origin, Place, Probe, TinyGPT, Workspace};
use crate::autograd::no_grad;
use crate::base::{Error, Result, TokenId};
use crate::buffer::Tokens;
use crate::kernels::dropout::Dropout;
use crate::kernels::rows;
use crate::listing::Fact;
use crate::ops;
use crate::profile::enter;
use crate::tensor::Tensor;
use std::ops::Range;

impl TinyGPT {
    /// Scores of every next token at every position.
    ///
    /// # Shapes
    /// `tokens` flat, of `[B, T]`, T ≤ seq_len; result `[B, T, V]`.
    ///
    /// # Errors
    /// [`Error::Shape`] when T is 0 or longer than the context or there are not B·T tokens,
    /// [`Error::TokenOutOfRange`].
    pub fn logits(&self, tokens: &[TokenId], shape: [usize; 2]) -> Result<Tensor> {
        self.run(tokens, shape, None, None)
    }

    /// [`TinyGPT::logits`], with a probe that is shown every block's numbers and may change them.
    ///
    /// # Errors
    /// As [`TinyGPT::logits`].
    pub fn forward(
        &self,
        tokens: &[TokenId],
        shape: [usize; 2],
        probe: Option<&dyn Probe>,
    ) -> Result<Tensor> {
        self.run(tokens, shape, probe, None)
    }

    fn run(
        &self,
        tokens: &[TokenId],
        shape: [usize; 2],
        probe: Option<&dyn Probe>,
        dropout: Option<Dropout>,
    ) -> Result<Tensor> {
        self.read_out(&self.stream(tokens, shape, probe, dropout)?)
    }

    /// The residual stream behind the last block, `[B, T, C]`.
    fn stream(
        &self,
        tokens: &[TokenId],
        [b, t]: [usize; 2],
        probe: Option<&dyn Probe>,
        dropout: Option<Dropout>,
    ) -> Result<Tensor> {
        let most = self.config().seq_len;
        let expected = format_args!("1 to {most} tokens in a row");
        Error::unless_shaped((1..=most).contains(&t), "model", expected, &[b, t])?;
        let expected = format_args!("the shape [B, T] of {} tokens, not none", tokens.len());
        let fits = !tokens.is_empty() && b.checked_mul(t) == Some(tokens.len());
        Error::unless_shaped(fits, "model", expected, &[b, t])?;
        let mut h = ops::embedding_of("tokens", &self.wte, tokens, &[b, t])?; // [B, T, C]
        if let Some(ngrams) = &self.ngrams {
            for table in self.config().ngram_tables() {
                let rows = table.rows(tokens, t);
                let says =
                    || vec![("rows", Fact::Ids(rows.clone())), ("ngrams", Fact::Ngrams(table))];
                h = ops::add(&h, &ops::embedding_that_says(&says, ngrams, &rows, &[b, t])?)?;
            }
        }
        if let Some(wpe) = &self.wpe {
            let mut positions = Tokens::stale(b * t);
            positions.iter_mut().enumerate().for_each(|(i, p)| *p = (i % t) as TokenId);
            h = ops::add(&h, &ops::embedding_of("places", wpe, &positions, &[b, t])?)?;
        }
        h = ops::dropout(&h, dropout.map(|masks| masks.at(Place::Embedding, t)))?;
        for (layer, block) in self.blocks.iter().enumerate() {
            let ctx = Context::new(layer).with_probe(probe).with_dropout(dropout);
            let ctx = ctx.with_norm_eps(self.config().norm_eps);
            h = match self.recompute && probe.is_none() {
                false => block.forward(&h, &**self.attention(), self.config(), &ctx)?,
                true => recomputed(block, &h, self.attention(), self.config(), &ctx)?,
            };
        }
        Ok(h)
    }

    /// The scores that follow from a residual stream, logits = norm(h)·W_lm + b_lm: those of the model behind
    /// its last block; behind an earlier one, what it would say there (a "logit lens").
    ///
    /// # Shapes
    /// `h [B, T, C]` to `[B, T, V]`.
    ///
    /// # Errors
    /// [`Error::Shape`] when h is not of that shape.
    ///
    /// # Reference
    /// nostalgebraist, "interpreting GPT: the logit lens", 2020.
    pub fn read_out(&self, h: &Tensor) -> Result<Tensor> {
        self.head(&norm(h, self.config(), [&self.lnf_g, &self.lnf_b])?)
    }

    /// [`TinyGPT::run`] for the next positions of texts: several of one, or one of each. Leaves the residual
    /// stream of each in `work`, and what the attention keeps in the texts' caches.
    ///
    /// # Errors
    /// As [`Attention::decode`](super::Attention::decode).
    pub(crate) fn run_rows(&self, texts: &mut [Unread<'_>], work: &mut Workspace) -> Result<()> {
        let c = work.d_model;
        let positions =
            texts.iter().flat_map(|t| (t.before..t.tokens.len()).map(|i| (t.tokens, i)));
        for ((tokens, i), h) in positions.zip(work.stream.chunks_exact_mut(c)) {
            h.copy_from_slice(&self.wte.row(tokens[i] as usize));
            if let Some(ngrams) = &self.ngrams {
                for table in self.config().ngram_tables() {
                    rows::add_each(h, &ngrams.row(table.row(tokens, i) as usize));
                }
            }
            if let Some(wpe) = &self.wpe {
                rows::add_each(h, &wpe.row(i));
            }
        }
        work.scratch.products.apart = texts.len() > 1;
        for (layer, block) in self.blocks.iter().enumerate() {
            let of_layer = texts.iter_mut().map(|Unread { tokens, before, cache }| Growing {
                before: *before,
                new: tokens.len() - *before,
                cache: &mut cache[layer],
            });
            let texts = of_layer.collect();
            block.forward_rows(&**self.attention(), self.config(), layer, texts, work)?;
        }
        Ok(())
    }

    /// `[B, T, C]` to `[B, T, V]`.
    fn head(&self, h: &Tensor) -> Result<Tensor> {
        match &self.w_lm {
            Some(w) => ops::linear_lastdim(h, w, self.b_lm.as_ref()),
            None => ops::linear_tied(h, &self.wte, self.b_lm.as_ref()),
        }
    }

    /// [`TinyGPT::head`] of some rows of the stream, each of another text, behind the final norm:
    /// `[rows, V]`, flat.
    pub(crate) fn head_rows<'w>(&self, rows: Range<usize>, work: &'w mut Workspace) -> &'w [f32] {
        let (c, v, n) = (work.d_model, self.config().vocab_size, rows.len());
        let Workspace { stream, x, stats, logits, scratch, .. } = work;
        let (h, x) = (&stream[rows.start * c..rows.end * c], &mut x[..n * c]);
        norm_rows(x, stats, h, c, self.config(), [&self.lnf_g, &self.lnf_b]);
        if logits.len() < n * v {
            logits.resize(n * v, 0.0); // at all positions of a prompt
        }
        let logits = &mut logits[..n * v];
        match &self.b_lm {
            Some(bias) => rows::fill(logits, bias.data()),
            None => logits.fill(0.0),
        }
        scratch.products.apart = true;
        match &self.w_lm {
            Some(w) => scratch.products.add_linear(logits, x, w, n),
            None => scratch.products.add_dots(logits, x, &self.wte, n),
        }
        logits
    }

    /// Mean cross entropy of the batch's targets, in nats, each times its weight where they have some. In training with dropout, if the settings
    /// ask for it; the masks follow from the batch's origin.
    ///
    /// # Shapes
    /// Result `[1]`.
    ///
    /// # Errors
    /// As [`TinyGPT::logits`].
    pub fn loss(&self, batch: &Batch, mode: Mode) -> Result<Tensor> {
        let _span = enter("loss");
        let Origin { seed, step, first_row, .. } = batch.origin;
        let dropout = match mode {
            Mode::Training => Dropout::new(self.config().dropout, seed, step, first_row),
            Mode::Evaluation => None,
        };
        let weights = batch.weights.as_deref();
        if self.adapter().is_some() {
            let (h, (w, tied)) = (self.before_head(batch, dropout)?, self.head_matrix());
            return ops::head_loss(&h, w, self.b_lm.as_ref(), tied, &batch.targets, weights);
        }
        let logits = self.run(&batch.inputs, batch.shape, None, dropout)?;
        let rows = ops::reshape(&logits, &[batch.inputs.len(), self.config().vocab_size])?;
        drop(logits); // now the gradient may be written over them
        ops::weighted_cross_entropy(&rows, &batch.targets, weights)
    }

    /// ln p of each target of the batch, in nats, and 0 where one is [`Batch::IGNORED`]; without dropout, and
    /// nothing is recorded.
    ///
    /// # Shapes
    /// Result `[B·T]`.
    ///
    /// # Errors
    /// As [`TinyGPT::logits`].
    pub fn log_probs(&self, batch: &Batch) -> Result<Vec<f32>> {
        let mut all = vec![0.0; batch.targets.len()];
        no_grad(|| self.score_rows(batch, |place, loss, _| all[place] = -loss))?;
        Ok(all)
    }

    /// Shows `each` position that has a target, with −ln p of that and all scores there, some positions at a time:
    /// the scores of all are never there together.
    ///
    /// # Errors
    /// As [`TinyGPT::logits`].
    pub(crate) fn score_rows(
        &self,
        batch: &Batch,
        each: impl FnMut(usize, f32, &[f32]),
    ) -> Result<()> {
        let (h, (w, tied)) = (self.before_head(batch, None)?, self.head_matrix());
        ops::head_rows(&h, w, self.b_lm.as_ref(), tied, &batch.targets, each)
    }

    /// What the head is given, `[B·T, C]`.
    fn before_head(&self, batch: &Batch, dropout: Option<Dropout>) -> Result<Tensor> {
        let h = self.stream(&batch.inputs, batch.shape, None, dropout)?;
        let h = norm(&h, self.config(), [&self.lnf_g, &self.lnf_b])?;
        ops::reshape(&h, &[batch.inputs.len(), self.config().d_model])
    }

    /// The matrix of the head, and whether it is the table of tokens.
    fn head_matrix(&self) -> (&Tensor, bool) {
        (self.w_lm.as_ref().unwrap_or(&self.wte), self.w_lm.is_none())
    }
}

/// A text of which some tokens were not read yet.
pub(crate) struct Unread<'a> {
    /// All of it.
    pub tokens: &'a [TokenId],
    /// Tokens that were read.
    pub before: usize,
    /// One buffer for each block: what the attention keeps of a position.
    pub cache: &'a mut [Vec<f32>],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Config;

    #[test]
    fn a_context_that_is_too_long_is_refused() {
        let model = TinyGPT::new(Config::new(13, 6, 8, 1), 1).unwrap();
        assert!(model.logits(&[1; 7], [1, 7]).is_err());
        assert!(model.logits(&[], [1, 0]).is_err());
        assert!(matches!(model.logits(&[13], [1, 1]), Err(Error::TokenOutOfRange { .. })));
        assert!(model.logits(&[1; 3], [1, 3]).is_ok());
    }

    /// Rows of n-grams that are all alike are one more row of every token.
    #[test]
    fn rows_of_n_grams_are_added_to_those_of_tokens() {
        let plain = Config::new(11, 6, 8, 2);
        let tables = Config { ngrams: vec![2, 3], ngram_rows: 50, ..plain.clone() };
        let [mut plain, mut tables] =
            [plain, tables].map(|config| TinyGPT::new(config, 1).unwrap());
        let tokens = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8];
        let logits = |model: &TinyGPT| model.logits(&tokens, [2, 6]).unwrap();
        assert_eq!(logits(&plain).data(), logits(&tables).data());
        let row = |i: usize| (i % 8) as f32 / 16.0;
        for (i, x) in tables.ngrams.as_mut().unwrap().data_mut().iter_mut().enumerate() {
            *x = row(i);
        }
        plain.wte.data_mut().iter_mut().enumerate().for_each(|(i, x)| *x += 2.0 * row(i));
        let both = [logits(&plain), logits(&tables)];
        assert!(both[0].data().iter().zip(both[1].data()).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn a_shape_that_is_not_that_of_the_tokens_is_refused() {
        let model = TinyGPT::new(Config::new(13, 6, 8, 1), 1).unwrap();
        assert!(model.logits(&[1; 6], [2, 3]).is_ok());
        for b in [0, 1, 3, 1 << 40, usize::MAX / 2, usize::MAX] {
            let refused = model.logits(&[1; 6], [b, 3]).unwrap_err();
            assert!(matches!(refused, Error::Shape { op: "model", .. }), "{refused}");
        }
        assert!(model.logits(&[], [0, 3]).is_err());
        let batch = Batch::new(vec![1; 6], vec![1; 6], [3, 3]);
        assert!(model.loss(&batch, Mode::Training).is_err());
        let batch = Batch::new(vec![1; 6], vec![1; 5], [2, 3]);
        assert!(model.loss(&batch, Mode::Training).is_err());
    }
}
