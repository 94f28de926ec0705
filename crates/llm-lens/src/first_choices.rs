//! The token that comes next, by the model and in the text.

use llm_core::base::rng::{below, stream};
use llm_core::generate::{Decoder, Sampling};
use llm_core::{Error, TinyGPT, TokenDataset, TokenId};

/// Places of a text where the model's first choice is held against the token that comes.
#[derive(Clone, Copy, Debug)]
pub struct Probes {
    /// Tokens before the one that is predicted.
    pub ctx: usize,
    /// Where contexts may start, 0..room: so that all of them lie in the text.
    pub room: usize,
    /// One place only.
    pub offset: Option<usize>,
    /// How many places.
    pub count: usize,
    /// Seed of the draws of places.
    pub seed: u64,
}

/// What was found at one place.
#[derive(Clone, Debug)]
pub struct Probed {
    /// Where the context starts.
    pub start: usize,
    /// Tokens that the model has read.
    pub context: Vec<TokenId>,
    /// The one that comes.
    pub target: TokenId,
    /// Tokens that may come next, with the model's probabilities, the likeliest first.
    pub choices: Vec<(TokenId, f64)>,
}

impl Probed {
    /// The model's first choice.
    pub fn top1(&self) -> TokenId {
        self.choices.first().map_or(0, |choice| choice.0)
    }
}

impl Probes {
    /// Each place after the other. It can be read as soon as it is measured.
    ///
    /// # Errors
    /// [`Error::Memory`] for the model's cache; of a place what reading the data and the model says.
    pub fn of<'a>(
        &'a self,
        model: &'a TinyGPT,
        data: &'a TokenDataset,
    ) -> Result<impl Iterator<Item = Result<Probed, Error>> + 'a, Error> {
        let mut decoder = Decoder::new(model)?;
        Ok((0..self.count as u64).map(move |i| {
            let drawn = || below(&mut stream(self.seed, b"probe\0\0\0", i, 0), self.room);
            let start = self.offset.unwrap_or_else(drawn);
            let mut context = data.tokens(start, self.ctx + 1)?;
            let target = context.pop().unwrap_or_default();
            decoder.rewind(0);
            let choices = Sampling::default().distribution(decoder.feed(&context)?, &[])?;
            Ok(Probed { start, context, target, choices })
        }))
    }
}
