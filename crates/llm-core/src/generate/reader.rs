//! A model that reads texts, and what it keeps of them.

use crate::base::{Result, TokenId, memory};
use crate::kernels::parallel;
use crate::kernels::small::SmallKind;
use crate::model::{TinyGPT, Unread, Workspace};
use std::ops::Range;

/// Most tokens of a text that are read together. A text is cut at multiples of it, so that what is computed of
/// a beginning does not depend on what follows.
pub(super) const PIECE: usize = 64;
/// A layer of this many weights is shared between threads, so that they had better be awake.
const LARGE: usize = 1 << 18;

/// What was read of a text.
pub(super) struct Read {
    /// The tokens of the positions that are filled.
    pub tokens: Vec<TokenId>,
    /// For each block `[seq_len, cache_row]`: what its attention keeps.
    pub cache: Vec<Vec<f32>>,
}

impl Read {
    /// Nothing yet.
    pub fn new(model: &TinyGPT) -> Read {
        let config = model.config();
        let numbers = config.seq_len * model.attention().cache_row(config);
        let cache = (0..config.n_layers).map(|_| vec![0.0; numbers]).collect();
        Read { tokens: Vec::with_capacity(config.seq_len), cache }
    }

    /// Adds tokens, which the caller is going to read.
    fn add(&mut self, tokens: &[TokenId]) -> Unread<'_> {
        let before = self.tokens.len();
        self.tokens.extend_from_slice(tokens);
        Unread { tokens: &self.tokens, before, cache: &mut self.cache }
    }
}

/// A model and room to work in.
pub(super) struct Reader<'m> {
    pub model: &'m TinyGPT,
    pub work: Workspace,
}

impl<'m> Reader<'m> {
    /// Room for as many texts, whose next tokens are read together.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) when there is no room for it, the texts' caches and the small
    /// weights; [`Error::Config`](crate::Error::Config) naming a matrix with a number that does not fit.
    pub fn new(model: &'m TinyGPT, kind: Option<SmallKind>, texts: usize) -> Result<Reader<'m>> {
        let config = model.config();
        let n = PIECE.min(config.seq_len).max(texts);
        let row = model.attention().cache_row(config);
        let n_heads = model.attention().spec().n_heads.max(1);
        let kept = ((config.n_layers * config.seq_len) as u64).saturating_mul(row as u64);
        let room = Workspace::numbers(config, [n, texts], n_heads);
        let numbers = kept.saturating_mul(texts as u64).saturating_add(room);
        let small = kind.map_or(0, |kind| model.small_bytes(kind));
        memory::require(numbers.saturating_mul(4).saturating_add(small))?;
        let mut work = Workspace::new(config, n, texts);
        if let Some(kind) = kind {
            work.scratch.products.small = model.small_weights(kind)?;
        }
        Ok(Reader { model, work })
    }

    /// Scores of the last row that [`Reader::scores`] was asked for, or the first of several.
    pub fn logits(&self) -> &[f32] {
        &self.work.logits[..self.model.config().vocab_size]
    }

    /// Does `f`, while threads stay awake if that pays: for `many` rows, or large matrices.
    pub fn awake<T: Send>(&mut self, many: bool, f: impl FnOnce(&mut Self) -> T + Send) -> T {
        let c = self.model.config().d_model;
        if many || c * c * 4 >= LARGE { parallel::awake(|| f(self)) } else { f(self) }
    }

    /// Reads on in one text. Leaves the scores of the token that follows.
    pub fn read(&mut self, text: &mut Read, tokens: &[TokenId]) -> Result<()> {
        for piece in tokens.chunks(PIECE) {
            self.read_piece(text, piece)?;
        }
        let last = (tokens.len() - 1) % PIECE;
        self.scores(last..last + 1);
        Ok(())
    }

    /// Reads at most [`PIECE`] tokens more.
    pub fn read_piece(&mut self, text: &mut Read, piece: &[TokenId]) -> Result<()> {
        let before = text.tokens.len();
        let run = self.model.run_rows(&mut [text.add(piece)], &mut self.work);
        run.inspect_err(|_| text.tokens.truncate(before))
    }

    /// Reads one token more of each text. Each has then the numbers that it would have alone.
    pub fn read_next<'t>(
        &mut self,
        texts: impl Iterator<Item = (&'t mut Read, TokenId)>,
    ) -> Result<()> {
        let mut texts: Vec<_> = texts.map(|(text, token)| text.add(&[token])).collect();
        self.model.run_rows(&mut texts, &mut self.work)
    }

    /// Scores of what follows the positions that were read last, `[rows, V]`.
    pub fn scores(&mut self, rows: Range<usize>) -> &[f32] {
        self.model.head_rows(rows, &mut self.work)
    }
}
