//! Several texts at once: each step reads the weights once for all.

use super::reader::{PIECE, Read, Reader};
use super::{Choice, Sampling, check_prompt};
use crate::base::{Error, Result, TokenId};
use crate::kernels::small::SmallKind;
use crate::message;
use crate::model::TinyGPT;
use std::fmt;
use std::mem::swap;

/// Writes several texts, each of which comes and goes at any step.
///
/// A text is the one that a [`Generator`](super::Generator) of its prompt writes, in the same bits, whoever else
/// writes beside it. Prompts are read in pieces, one a step, so that no other text waits for a long one. What was
/// read stays when a text has ended, and a prompt that begins alike is read from there on.
///
/// ```
/// use llm_core::generate::{Sampling, Writers, generate};
/// use llm_core::{Config, TinyGPT};
///
/// let model = TinyGPT::new(Config::new(256, 64, 32, 2), 1)?;
/// let mut writers = Writers::new(&model, None, 8)?;
/// let prompts = [[111, 110], [97, 98]];
/// for prompt in &prompts {
///     writers.join(prompt, 5, Sampling::greedy(), false)?;
/// }
/// let mut texts = [vec![], vec![]];
/// while !writers.is_empty() {
///     writers.step(|writer, choice, _| texts[writer as usize].extend(choice.map(|c| c.token)))?;
/// }
/// assert_eq!(texts[1], generate(&model, &prompts[1], 5, Sampling::greedy())?);
/// # Ok::<(), llm_core::Error>(())
/// ```
pub struct Writers<'m> {
    reader: Reader<'m>,
    places: Vec<Place>,
    /// Most places.
    most: usize,
    /// Writers that came so far: the number of the next one.
    came: u64,
}

/// Room for a text: a writer's, or one of which what was read may be of use.
struct Place {
    writer: Option<Writer>,
    read: Read,
    /// Number of first tokens that were read as a prompt, cut into pieces.
    as_prompt: usize,
    /// The scores behind them, `[V]`; nothing where a prompt is not at its end.
    of_prompt: Vec<f32>,
    /// When it was last a writer's.
    used: u64,
}

struct Writer {
    number: u64,
    /// The prompt, and what was written.
    tokens: Vec<TokenId>,
    prompt_len: usize,
    /// Tokens that are still to be written.
    left: usize,
    sampling: Sampling,
    /// Whether scores at all positions of the prompt are wanted.
    scored: bool,
    /// Whether it has looked for a text that begins alike.
    begun: bool,
    /// `[V]`: of the token that comes next; nothing before the prompt was read.
    scores: Vec<f32>,
}

impl fmt::Debug for Writers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Writers");
        fields.field("room", &self.room()).field("came", &self.came).finish_non_exhaustive()
    }
}

impl<'m> Writers<'m> {
    /// Room for `most` texts, with small weights where a `kind` of them is given, see
    /// [`Decoder::with_weights`](super::Decoder::with_weights).
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Config`] naming a matrix with a number that does not fit.
    pub fn new(model: &'m TinyGPT, kind: Option<SmallKind>, most: usize) -> Result<Writers<'m>> {
        let reader = Reader::new(model, kind, most.max(1))?;
        Ok(Writers { reader, places: Vec::new(), most: most.max(1), came: 0 })
    }

    /// Writers that may still join.
    pub fn room(&self) -> usize {
        self.most - self.places.iter().filter(|place| place.writer.is_some()).count()
    }

    /// Whether there is no writer.
    pub fn is_empty(&self) -> bool {
        self.room() == self.most
    }

    /// One that continues `prompt` by `n` tokens and then leaves; its number, which counts from 0. With
    /// `scored` the scores at all positions of the prompt are heard, too.
    ///
    /// # Errors
    /// [`Error::Config`] for settings outside their ranges and where no place is free, [`Error::Shape`] for an
    /// empty prompt, or one that is too long to be continued by `n` tokens; [`Error::TokenOutOfRange`].
    pub fn join(
        &mut self,
        prompt: &[TokenId],
        n: usize,
        sampling: Sampling,
        scored: bool,
    ) -> Result<u64> {
        sampling.check()?;
        let config = self.reader.model.config();
        check_prompt(prompt, config.vocab_size)?;
        // The last token is not read.
        let most = config.seq_len.saturating_sub(n.saturating_sub(1));
        let expected = format_args!("a prompt of at most {most} tokens, for {n} more");
        Error::unless_shaped(prompt.len() <= most, "writers", expected, &[prompt.len()])?;
        Error::unless(self.room() > 0, "writers", message!("all {} places are taken", self.most))?;
        if self.places.len() < self.most {
            let read = Read::new(self.reader.model);
            self.places.push(Place {
                writer: None,
                read,
                as_prompt: 0,
                of_prompt: vec![],
                used: 0,
            });
        }
        let number = self.came;
        self.came += 1;
        let (tokens, prompt_len) = (prompt.to_vec(), prompt.len());
        let (left, begun, scores) = (n, false, Vec::new());
        let writer = Writer { number, tokens, prompt_len, left, sampling, scored, begun, scores };
        let free = self.places.iter_mut().filter(|place| place.writer.is_none());
        if let Some(place) = free.min_by_key(|place| place.used) {
            (place.writer, place.used) = (Some(writer), self.came);
        }
        Ok(number)
    }

    /// Ends a text, if it has not ended.
    pub fn leave(&mut self, number: u64) {
        for place in &mut self.places {
            place.writer.take_if(|writer| writer.number == number);
        }
    }

    /// Reads a piece of the oldest prompt that was not read, and writes a token of each text whose prompt was.
    /// `hear` is told the writer, the token, and the scores `[V]` from which it was drawn; or no token, and
    /// the scores `[n, V]` that follow from the next positions of its prompt.
    ///
    /// # Errors
    /// [`Error::Logits`] when a score is not finite or no token is allowed.
    pub fn step(&mut self, mut hear: impl FnMut(u64, Option<Choice>, &[f32])) -> Result<()> {
        self.read_written()?;
        self.read_prompt(&mut hear)?;
        for place in &mut self.places {
            let Some(writer) = place.writer.as_mut().filter(|w| !w.scores.is_empty()) else {
                continue;
            };
            if writer.left > 0 {
                let index = (writer.tokens.len() - writer.prompt_len) as u64;
                let choice = writer.sampling.choose(&writer.scores, &writer.tokens, index)?;
                writer.tokens.push(choice.token);
                writer.left -= 1;
                hear(writer.number, Some(choice), &writer.scores);
            }
            place.writer.take_if(|writer| writer.left == 0);
        }
        Ok(())
    }

    /// Reads the tokens that were written, each beside the others.
    fn read_written(&mut self) -> Result<()> {
        let Writers { reader, places, .. } = self;
        let with_unread = |place: &&mut Place| {
            let read = place.read.tokens.len();
            place.writer.as_ref().is_some_and(|w| read >= w.prompt_len && read < w.tokens.len())
        };
        let mut writing: Vec<&mut Place> = places.iter_mut().filter(with_unread).collect();
        if writing.is_empty() {
            return Ok(());
        }
        let next = writing.iter_mut().filter_map(|place| {
            let token = *place.writer.as_ref()?.tokens.last()?;
            Some((&mut place.read, token))
        });
        let next: Vec<_> = next.collect();
        let n = next.len();
        let scores = reader.awake(false, |reader| {
            reader.read_next(next.into_iter())?;
            Ok::<_, Error>(reader.scores(0..n).to_vec())
        })?;
        for (place, scores) in writing.into_iter().zip(scores.chunks_exact(scores.len() / n)) {
            if let Some(writer) = &mut place.writer {
                writer.scores.copy_from_slice(scores);
            }
        }
        Ok(())
    }

    /// Reads a piece of a prompt, if there is one.
    fn read_prompt(&mut self, hear: &mut impl FnMut(u64, Option<Choice>, &[f32])) -> Result<()> {
        let v = self.reader.model.config().vocab_size;
        while let Some(i) = self.oldest_unread() {
            self.begin(i);
            let Writers { reader, places, .. } = self;
            let Place { writer, read, as_prompt, of_prompt, .. } = &mut places[i];
            let Some(writer) = writer else { return Ok(()) };
            let before = read.tokens.len();
            let end = (before + PIECE).min(writer.prompt_len);
            if before == end {
                writer.scores.clone_from(of_prompt);
                continue;
            }
            of_prompt.clear();
            let piece = &writer.tokens[before..end];
            reader.awake(true, |reader| reader.read_piece(read, piece))?;
            *as_prompt = end;
            let first = if writer.scored { 0 } else { piece.len() - 1 };
            if writer.scored || end == writer.prompt_len {
                let scores = reader.scores(first..piece.len());
                if writer.scored {
                    hear(writer.number, None, scores);
                }
                if end == writer.prompt_len {
                    of_prompt.extend_from_slice(&scores[scores.len() - v..]);
                    writer.scores.clone_from(of_prompt);
                }
            }
            break;
        }
        Ok(())
    }

    /// The place of the writer that came first of those whose prompts were not read.
    fn oldest_unread(&self) -> Option<usize> {
        let unread = self.places.iter().enumerate().filter_map(|(i, place)| {
            let writer = place.writer.as_ref().filter(|writer| writer.scores.is_empty())?;
            Some((writer.number, i))
        });
        unread.min().map(|(_, i)| i)
    }

    /// Takes over what was read of a text that begins alike: whole pieces, or all of the same prompt.
    fn begin(&mut self, i: usize) {
        let Some(writer) = self.places[i].writer.as_mut().filter(|writer| !writer.begun) else {
            return;
        };
        writer.begun = true;
        let (prompt, scored) = (writer.tokens.clone(), writer.scored);
        let common = |place: &Place| {
            let read = &place.read.tokens[..place.as_prompt];
            let common = read.iter().zip(&prompt).take_while(|(a, b)| a == b).count();
            let whole = read.len() == common && !place.of_prompt.is_empty();
            match common == prompt.len() && whole {
                _ if scored => 0,
                true => common,
                // Some token is left to be read, for what follows from it.
                false => common.min(prompt.len() - 1) / PIECE * PIECE,
            }
        };
        // Its own place first, then one without a writer, from which nothing need be copied.
        let taken = |j: usize| j != i && self.places[j].writer.is_some();
        let key = |&(j, common): &(usize, usize)| (common, j == i, !taken(j));
        let all = self.places.iter().map(common).enumerate();
        let (from, common) = all.max_by_key(key).unwrap_or((i, 0));
        let copied = common > 0 && taken(from);
        if let Ok([own, other]) = self.places.get_disjoint_mut([i, from])
            && common > 0
        {
            if copied {
                own.read.tokens.clone_from(&other.read.tokens);
                for (own, other) in own.read.cache.iter_mut().zip(&other.read.cache) {
                    own.copy_from_slice(other);
                }
                own.of_prompt.clone_from(&other.of_prompt);
            } else {
                swap(&mut own.read, &mut other.read);
                swap(&mut own.of_prompt, &mut other.of_prompt);
                swap(&mut own.as_prompt, &mut other.as_prompt);
            }
        }
        let own = &mut self.places[i];
        own.read.tokens.truncate(common);
        own.as_prompt = common;
        if common < prompt.len() {
            own.of_prompt.clear();
        }
    }
}
