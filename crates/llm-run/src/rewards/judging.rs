//! The step of a run that learns from rewards: the model writes answers in place of the data's, they are judged, and
//! whoever works on steps learns from them.

use super::objective::{sums, weighed};
use super::program::{Program, told};
use super::writing::{Attempt, advantages, answers, learned};
use super::{Judge, Pairs, Questions};
use crate::error::{Kind, RunError};
use crate::log::{Compared, Rewarded, Said};
use llm_core::autograd::Gradients;
use llm_core::model::{Batch, Origin};
use llm_core::optim::{Optimizer, clip_scale};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::{Batches, NonFinite, StepSum, Work};
use llm_core::{Error, Result, TinyGPT, message};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What a step found out: the rewards of its answers, or what the model makes of its pairs.
pub type Found = (Option<Rewarded>, Option<Compared>);

/// What the last step found out, for whoever reports it; taken once.
#[derive(Clone, Debug, Default)]
pub struct Latest(Arc<Mutex<Found>>);

impl Latest {
    /// What the last step found out, if it was not taken.
    pub fn take(&self) -> Found {
        self.with(std::mem::take)
    }

    fn with<T>(&self, change: impl FnOnce(&mut Found) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a run learns from in place of its data.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// Questions that are answered; none where it learns from pairs.
    pub questions: Option<Arc<Questions>>,
    /// Pairs of answers.
    pub pairs: Option<Arc<Pairs>>,
    /// The weights of its start, where something is compared with them.
    pub start: Option<TinyGPT>,
}

impl Ground {
    /// The weights of the start, where no other file holds them: those under a new adapter are its base's.
    pub fn own_start(&self, now: &TinyGPT) -> Option<&TinyGPT> {
        self.start.as_ref().filter(|start| start.adapter().is_some() == now.adapter().is_some())
    }
}

/// Workers of a step, with answers and their rewards, or pairs of answers, in place of data.
pub struct Judging<'a> {
    work: &'a mut dyn Work,
    ground: Ground,
    tokenizer: Arc<dyn Tokenizer>,
    group: usize,
    scaled: bool,
    updates: u32,
    /// ε of ratios, and β.
    limits: [f32; 2],
    /// The largest norm of a gradient.
    clip: f32,
    /// The answers of this step, for its other updates.
    kept: Vec<Kept>,
    step: u64,
    /// Micro-batches of a step, and questions of each.
    shape: [usize; 2],
    judge: Judge,
    program: Option<Program>,
    /// What a program said in an earlier command, by step.
    known: BTreeMap<u64, Vec<Said>>,
    latest: Latest,
}

impl fmt::Debug for Judging<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = &mut f.debug_struct("Judging");
        fields.field("work", &self.work).field("judge", &self.judge).finish_non_exhaustive()
    }
}

/// Tokens of the answers to a micro-batch, and the sum of their entropies.
type Length = [f64; 2];

/// What a rank has of a step.
#[derive(Default)]
struct Part {
    answers: Vec<Vec<Attempt>>,
    said: Vec<Said>,
}

/// Answers whose weights are the advantages, and ln p of their tokens.
struct Kept {
    batch: Batch,
    /// By the weights that wrote them.
    old: Vec<f32>,
    /// By those of the start, where they count.
    start: Vec<f32>,
}

impl<'a> Judging<'a> {
    /// Has `work` learn from rewards, or pairs. `known` is what a program said in earlier commands of this run; the
    /// first rank's counts.
    pub fn new(
        work: &'a mut dyn Work,
        recipe: &Recipe,
        ground: Ground,
        tokenizer: Arc<dyn Tokenizer>,
        known: Vec<Rewarded>,
    ) -> Judging<'a> {
        let judge = Judge::of(&recipe.reward);
        let known = known.into_iter().filter(|of| !of.said.is_empty());
        Judging {
            work,
            ground,
            tokenizer,
            group: recipe.group as usize,
            scaled: recipe.scaled,
            updates: recipe.updates,
            limits: [recipe.clip_ratio, recipe.beta],
            clip: recipe.clip,
            kept: Vec::new(),
            step: 0,
            shape: [recipe.accum as usize, recipe.batch_size],
            judge,
            program: None,
            known: known.map(|of| (of.step, of.said)).collect(),
            latest: Latest::default(),
        }
    }

    /// Where the answers of each step can be taken.
    pub fn latest(&self) -> Latest {
        self.latest.clone()
    }

    /// Answers of a micro-batch.
    const fn rows(&self) -> usize {
        self.shape[1] * self.group
    }

    /// What is known of a step, of all micro-batches: rank 0 says it.
    fn known(&mut self, step: u64) -> Result<Vec<Said>> {
        if !matches!(self.judge, Judge::Program(_)) {
            return Ok(Vec::new());
        }
        let (micro_batches, rows) = (self.shape[0], self.rows());
        let fits = |said: &Vec<Said>| {
            said.len() == micro_batches && said.iter().all(|of| of.rewards.len() == rows)
        };
        let mine = self.known.remove(&(step + 1)).filter(fits).unwrap_or_default();
        let mut bytes = vec![u8::from(!mine.is_empty())];
        let unknown = Said { asked: 0, rewards: vec![0.0; rows] };
        bytes.extend((0..micro_batches).flat_map(|i| to_bytes(mine.get(i).unwrap_or(&unknown))));
        self.work.broadcast(&mut bytes)?;
        let is_known = bytes[0] == 1;
        let all = bytes[1..].chunks_exact(8 * (1 + rows)).filter(|_| is_known);
        Ok(all.map(from_bytes).collect())
    }

    /// The answers of this rank's micro-batches, judged.
    fn judged(
        &mut self,
        model: &TinyGPT,
        questions: &Questions,
        batches: &[Batch],
        known: &[Said],
    ) -> Result<Part> {
        let mut part = Part::default();
        for batch in batches {
            let Judging { tokenizer, group, .. } = self;
            let written = answers(model, batch, *group, questions, &**tokenizer)?;
            let said = self.said(questions, &written, known).map_err(|why| {
                let Judge::Program(command) = &self.judge else {
                    return Error::Hook(why.to_string().into());
                };
                RunError::Data(message!("{reward} '{}': {}", command.clone(), why)).in_hook()
            })?;
            part.answers.push(written);
            part.said.push(said);
        }
        Ok(part)
    }

    fn said(
        &mut self,
        questions: &Questions,
        written: &[Attempt],
        known: &[Said],
    ) -> Result<Said, llm_core::base::Message> {
        let Judge::Program(command) = &self.judge else {
            let right = |of: &Attempt| of.is_right(questions) == Some(true);
            let rewards = written.iter().map(|of| f64::from(u8::from(right(of)))).collect();
            return Ok(Said { asked: 0, rewards });
        };
        let told = told(written, questions);
        let asked = u64::from_le_bytes(
            *blake3::hash(told.as_bytes()).as_bytes().first_chunk().unwrap_or(&[0; 8]),
        );
        if let Some(known) = known.iter().find(|of| of.asked == asked) {
            return Ok(known.clone());
        }
        let program = match &mut self.program {
            Some(program) => program,
            None => self.program.insert(Program::start(command)?),
        };
        Ok(Said { asked, rewards: program.judge(&told, written.len())? })
    }

    /// What all ranks have of a step; an error of one ends all.
    fn together(
        &mut self,
        mine: &Result<Part>,
        stopped: bool,
        micro_batches: usize,
    ) -> Result<Option<Vec<(Said, Length)>>> {
        let code = match mine {
            _ if stopped => STOPPED,
            Ok(_) => 0,
            Err(Error::Hook(_)) => Kind::BadData.code(),
            Err(_) => Kind::Diverged.code(),
        };
        let unknown = Said { asked: 0, rewards: vec![0.0; self.rows()] };
        let mut bytes = vec![code];
        for i in 0..micro_batches {
            let part = mine.as_ref().ok();
            bytes.extend(to_bytes(part.and_then(|part| part.said.get(i)).unwrap_or(&unknown)));
            let answers = part.and_then(|part| part.answers.get(i));
            let answers = || answers.into_iter().flatten();
            let tokens: usize = answers().map(|of| of.tokens.len()).sum();
            bytes.extend((tokens as f64).to_le_bytes());
            bytes.extend(answers().map(|of| of.entropy).sum::<f64>().to_le_bytes());
        }
        let all = self.work.gather(&bytes)?;
        let ranks = || all.chunks_exact(bytes.len());
        if let Some(failed) = ranks().map(|of| of[0]).find(|code| ![0, STOPPED].contains(code)) {
            return Err(RunError::Elsewhere(failed).in_hook());
        }
        if ranks().any(|of| of[0] == STOPPED) {
            return Ok(None);
        }
        let size = 8 * (3 + self.rows());
        let of_rank = |of: &'_ [u8]| {
            of[1..]
                .chunks_exact(size)
                .map(|of| {
                    let (said, length) = of.split_at(size - 16);
                    let number = |bytes: &[u8]| {
                        bytes.first_chunk().map_or(0.0, |of| f64::from_le_bytes(*of))
                    };
                    (from_bytes(said), [number(length), number(&length[8..])])
                })
                .collect::<Vec<_>>()
        };
        Ok(Some(ranks().flat_map(of_rank).collect()))
    }

    fn report(&self, step: u64, all: Vec<(Said, Length)>) {
        let rewards = || all.iter().flat_map(|(said, _)| &said.rewards);
        let n = rewards().count().max(1) as f64;
        let sum = |of: usize| all.iter().map(|(_, length)| length[of]).sum::<f64>();
        let groups: Vec<&[f64]> =
            all.iter().flat_map(|(said, _)| said.rewards.chunks_exact(self.group)).collect();
        let differ = groups.iter().filter(|of| of.iter().any(|r| r != &of[0])).count();
        let rewarded = Rewarded {
            step: step + 1,
            reward: rewards().sum::<f64>() / n,
            differ: differ as f64 / groups.len().max(1) as f64,
            length: sum(0) / n,
            entropy: sum(1) / sum(0).max(1.0),
            said: match self.judge {
                Judge::Program(_) => all.into_iter().map(|(said, _)| said).collect(),
                Judge::Exact | Judge::Pairs => Vec::new(),
            },
            kl: None,
            clipped: None,
        };
        self.latest.with(|found| found.0 = Some(rewarded));
    }

    /// Learns from the questions of batches: answers are written and judged.
    fn of_questions(
        &mut self,
        model: &TinyGPT,
        questions: &Questions,
        of: &mut Batches<'_>,
        step: u64,
    ) -> Result<StepSum> {
        let count = of.len();
        let (mut batches, mut stopped) = (Vec::new(), false);
        for batch in of {
            match batch {
                Err(Error::Stopped { .. }) => stopped = true,
                batch => batches.push(batch?),
            }
            if stopped {
                break;
            }
        }
        let known = self.known(step)?;
        let mine = match stopped {
            true => Ok(Part::default()),
            false => self.judged(model, questions, &batches, &known),
        };
        let all = self.together(&mine, stopped, count);
        let part = mine?;
        let Some(all) = all? else { return Err(Error::Stopped { step }) };
        let (group, scaled, most) = (self.group, self.scaled, questions.most);
        let each = batches.iter().zip(&part.answers).zip(&part.said);
        let learned = each.map(|((batch, answers), said)| {
            let Origin { first_row, step_rows, .. } = batch.origin;
            let [first_row, step_rows] = [first_row, step_rows].map(|rows| rows * group as u64);
            let origin = Origin { first_row, step_rows, ..batch.origin };
            learned(answers, &advantages(&said.rewards, group, scaled), origin, most)
        });
        let learned: Vec<Batch> = learned.collect();
        self.report(step, all);
        if self.updates == 1 && self.ground.start.is_none() {
            return self.work.gradients(model, &mut learned.into_iter().map(Ok), step);
        }
        let kept = learned.into_iter().map(|batch| {
            let start = self.ground.start.as_ref().map(|start| start.log_probs(&batch));
            let (old, start) = (model.log_probs(&batch)?, start.unwrap_or(Ok(Vec::new()))?);
            Ok(Kept { batch, old, start })
        });
        (self.kept, self.step) = (kept.collect::<Result<_>>()?, step);
        self.update_of_kept(model, true)
    }

    /// The gradient of an update of the kept answers, of which `first` is by the weights that wrote them.
    fn update_of_kept(&mut self, model: &TinyGPT, first: bool) -> Result<StepSum> {
        let mut mine = Vec::new();
        let batches = self.kept.iter().map(|Kept { batch, old, start }| {
            let now = if first { old.clone() } else { model.log_probs(batch)? };
            let (batch, sums) = weighed(batch.clone(), [&now, old, start], self.limits);
            mine.extend(sums.iter().flat_map(|x| x.to_le_bytes()));
            Ok(batch)
        });
        let batches: Vec<Result<Batch>> = batches.collect();
        let all = batches.iter().flatten().find_map(|batch| batch.step_targets);
        let (gradients, _, n) = self.work.gradients(model, &mut batches.into_iter(), self.step)?;
        let ([kl, beyond, tokens, sum], updates) =
            (sums(&self.work.gather(&mine)?), f64::from(self.updates - 1));
        let compares = self.ground.start.is_some();
        self.latest.with(|(found, _)| {
            let Some(found) = found else { return };
            if first && compares {
                found.kl = Some(kl / tokens.max(1.0));
            }
            if updates > 0.0 {
                *found.clipped.get_or_insert(0.0) += beyond / tokens.max(1.0) / updates;
            }
        });
        Ok((gradients, sum / all.unwrap_or(1).max(1) as f64, n))
    }

    /// Learns from the pairs whose numbers are in the place of batches.
    fn of_pairs(
        &mut self,
        model: &TinyGPT,
        pairs: &Pairs,
        of: &mut Batches<'_>,
        step: u64,
    ) -> Result<StepSum> {
        let why = message!("pairs without the weights of their start");
        let start = self.ground.start.as_ref().ok_or_else(|| Error::config("beta", why))?;
        let (count, mut mine) = (self.shape[1], Vec::new());
        let mut batches = of.map(|batch| {
            let (batch, sums) = pairs.learned([model, start], batch?.origin, count)?;
            mine.extend(sums.bytes());
            Ok(batch)
        });
        let (gradients, _, n) = self.work.gradients(model, &mut batches, step)?;
        let all = self.work.gather(&mine)?;
        let found = Compared::mean(&all);
        self.latest.with(|latest| latest.1 = Some(found));
        Ok((gradients, found.loss, n))
    }
}

/// Says that a rank was asked to stop, where others say a code.
const STOPPED: u8 = u8::MAX;

fn to_bytes(said: &Said) -> Vec<u8> {
    let rewards = said.rewards.iter().flat_map(|r| r.to_le_bytes());
    said.asked.to_le_bytes().into_iter().chain(rewards).collect()
}

fn from_bytes(bytes: &[u8]) -> Said {
    let (words, _) = bytes.as_chunks::<8>();
    let rewards = words.iter().skip(1).map(|r| f64::from_le_bytes(*r)).collect();
    Said { asked: words.first().map_or(0, |of| u64::from_le_bytes(*of)), rewards }
}

impl Work for Judging<'_> {
    fn gradients(&mut self, model: &TinyGPT, of: &mut Batches<'_>, step: u64) -> Result<StepSum> {
        match (self.ground.pairs.clone(), self.ground.questions.clone()) {
            (Some(pairs), _) => self.of_pairs(model, &pairs, of, step),
            (None, questions) => self.of_questions(model, &questions.unwrap_or_default(), of, step),
        }
    }

    fn rewards(&self) -> bool {
        true
    }

    fn norm(&mut self, model: &TinyGPT, gradients: &Gradients) -> Result<f64> {
        self.work.norm(model, gradients)
    }

    fn first_non_finite(&mut self, model: &TinyGPT, gradients: &Gradients) -> Result<NonFinite> {
        self.work.first_non_finite(model, gradients)
    }

    fn update(
        &mut self,
        model: &mut TinyGPT,
        optimizer: &mut dyn Optimizer,
        gradients: &Gradients,
        lr: f32,
        scale: f32,
    ) -> Result<()> {
        self.work.update(model, optimizer, gradients, lr, scale)?;
        for _ in 1..self.updates {
            let (gradients, loss, _) = self.update_of_kept(model, false)?;
            let norm = self.work.norm(model, &gradients)?;
            if !(loss.is_finite() && norm.is_finite()) {
                let (what, value) = (message!("the gradient norm"), norm as f32);
                let step = self.step + 1;
                return Err(Error::Diverged { what, value, step, lr, grad_norm: value });
            }
            self.work.update(model, optimizer, &gradients, lr, clip_scale(norm, self.clip))?;
        }
        Ok(())
    }

    fn check(&mut self, model: &TinyGPT, step: u64) -> Result<()> {
        self.work.check(model, step)
    }

    fn score(&mut self, model: &TinyGPT, batch: &Batch) -> Result<Option<(Vec<f32>, Vec<bool>)>> {
        self.work.score(model, batch)
    }

    fn fetch(&mut self, model: &mut TinyGPT, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.work.fetch(model, optimizer)
    }

    fn before_saving(&mut self, model: &TinyGPT, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.work.before_saving(model, optimizer)
    }

    fn rank(&self) -> usize {
        self.work.rank()
    }

    fn size(&self) -> usize {
        self.work.size()
    }

    fn gather(&mut self, mine: &[u8]) -> Result<Vec<u8>> {
        self.work.gather(mine)
    }

    fn broadcast(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.work.broadcast(bytes)
    }
}
