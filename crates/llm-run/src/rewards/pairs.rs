//! Pairs of answers, of which one is better: what is learned from them, and how those are judged that are not.

use super::objective::compared;
use super::questions::{Manner, passages};
use super::writing::answered;
use crate::data::{Data, Input};
use crate::error::{Result, RunError, usage};
use crate::log::Compared;
use llm_core::base::thousands;
use llm_core::data::{TokenDataset, Window};
use llm_core::model::{Batch, Origin};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Work;
use llm_core::{TinyGPT, TokenId, message};
use std::collections::HashSet;
use std::sync::Arc;

/// Most unseen pairs that a measurement compares.
const MOST_UNSEEN: usize = 512;

/// The tokens of a question and those of two answers, the better one's first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pair {
    prompt: Vec<TokenId>,
    answers: [Vec<TokenId>; 2],
}

/// The pairs of a run.
#[derive(Clone, Debug)]
pub struct Pairs {
    learned: Vec<Pair>,
    unseen: Vec<Pair>,
    /// The numbers of those that are learned, each twice, as passages: they come in the order of these.
    numbers: TokenDataset,
    beta: f32,
}

/// The pairs of a run, and its data: the better answers.
///
/// # Errors
/// [`RunError::Usage`] where there are no pairs; [`RunError::Data`] where none fits into a window.
pub fn pairs(
    input: Input,
    recipe: &Recipe,
    tokenizer: &Arc<dyn Tokenizer>,
) -> Result<(Data, Pairs)> {
    let Input::Files(files) = input else {
        return usage(message!("{dpo} needs pairs of answers: name them with {data}"));
    };
    let (name, manner) = (files.name.clone(), Manner::of(&**tokenizer));
    let mut all = Vec::new();
    for (turns, answers) in files.chats.iter().flat_map(|chats| chats.pairs()) {
        let prompt = manner.prompt(&turns, &**tokenizer)?;
        let [better, worse] = answers.map(|answer| manner.answer(answer, &**tokenizer));
        all.push(Pair { prompt, answers: [better?, worse?] });
    }
    let most = recipe.seq_len;
    let (count, longest) = (all.len(), |of: &Pair| of.answers.iter().map(Vec::len).max());
    all.retain(|of| of.prompt.len() + longest(of).unwrap_or(0) <= most + 1);
    let left_out = count - all.len();
    if all.is_empty() {
        return Err(RunError::Data(message!(
            "{} has no pair of answers that fits into {seq} {}",
            name,
            most
        )));
    }
    let unseen = (all.len() as f64 * recipe.val_frac).ceil() as usize;
    let mut unseen = all.split_off(all.len() - unseen.min(all.len() - 1));
    let label = message!(
        "{}: {} pairs of answers, {} of them unseen",
        name,
        thousands((all.len() + unseen.len()) as u64),
        thousands(unseen.len() as u64)
    );
    let label = match left_out {
        0 => label,
        n => message!("{}; {} longer ones left out", label, thousands(n as u64)),
    };
    let known: HashSet<&Pair> = all.iter().collect();
    let label = match unseen.iter().filter(|of| known.contains(of)).count() {
        0 => label,
        n => message!("{}; {} of the unseen ones are among those that are learned", label, n),
    };
    unseen.truncate(MOST_UNSEEN);
    let better = all.iter().map(|of| (of.prompt.clone(), of.answers[0].clone()));
    let train = passages(&better.collect::<Vec<_>>())?;
    let data = Data { train, val: None, label, opening: None, chats: None };
    let windows = (0..all.len()).map(|i| Window { start: 2 * i, len: 1 }).collect();
    let twice: Vec<TokenId> = (0..all.len()).flat_map(|i| [i as TokenId; 2]).collect();
    let are_targets = vec![true; twice.len()];
    let numbers = TokenDataset::from_tokens(twice).with_passages(windows, are_targets)?;
    Ok((data, Pairs { learned: all, unseen, numbers, beta: recipe.beta }))
}

impl Pairs {
    /// Most tokens of a row.
    pub fn longest(&self) -> usize {
        let len = |of: &Pair| of.prompt.len() + of.answers.iter().map(Vec::len).max().unwrap_or(0);
        self.learned.iter().chain(&self.unseen).map(len).max().unwrap_or(0)
    }

    /// The batch of a step in which each token of an answer has its weight, and sums over its pairs.
    pub(super) fn learned(
        &self,
        [model, start]: [&TinyGPT; 2],
        origin: Origin,
        count: usize,
    ) -> llm_core::Result<(Batch, Compared)> {
        let numbers = self.numbers.rows(origin, [count, 1])?.inputs;
        let some: Vec<&Pair> = numbers.iter().map(|&i| &self.learned[i as usize]).collect();
        let (batch, sums) = self.compared([model, start], &some)?;
        Ok((Batch { origin, step_targets: Some(origin.step_rows), ..batch }, sums))
    }

    /// Some pairs compared by a model and by that of the start.
    fn compared(
        &self,
        models: [&TinyGPT; 2],
        some: &[&Pair],
    ) -> llm_core::Result<(Batch, Compared)> {
        let rows = some.iter().flat_map(|of| of.answers.iter().map(|a| (&of.prompt[..], &a[..])));
        let batch = answered(&rows.collect::<Vec<_>>());
        let [now, start] = models.map(|model| model.log_probs(&batch));
        Ok(compared(batch, [&now?, &start?], self.beta))
    }

    /// How many unseen pairs a measurement compares.
    pub fn unseen_count(&self) -> usize {
        self.unseen.len()
    }

    /// What a model makes of the first `most` of the unseen pairs, `count` at a time, which those who work deal out
    /// among them; nothing where there are none.
    ///
    /// # Errors
    /// As [`TinyGPT::log_probs`]; [`Error::Crew`](llm_core::Error::Crew).
    pub fn measured(
        &self,
        models: [&TinyGPT; 2],
        [count, most]: [usize; 2],
        work: &mut dyn Work,
    ) -> llm_core::Result<Option<Compared>> {
        let unseen: Vec<&Pair> = self.unseen.iter().take(most).collect();
        let (rank, size) = (work.rank(), work.size());
        let rounds = unseen.len().div_ceil(count * size);
        let mut mine = Vec::new();
        for some in unseen.chunks(count).skip(rank).step_by(size) {
            mine.extend(self.compared(models, some)?.1.bytes());
        }
        mine.resize(rounds * Compared::BYTES, 0);
        if mine.is_empty() {
            return Ok(None);
        }
        let all = work.gather(&mine)?;
        let ranks: Vec<&[u8]> = all.chunks_exact(mine.len()).collect();
        let part = |i: usize| &ranks[i % size][i / size * Compared::BYTES..][..Compared::BYTES];
        Ok(Some(Compared::mean(&(0..rounds * size).flat_map(part).copied().collect::<Vec<u8>>())))
    }
}
