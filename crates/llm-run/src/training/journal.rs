//! What a run writes about itself into its folder, see [`log`](crate::log).

use super::causes::Causes;
use super::event::Face;
use super::kinds::{Identity, PageEnding, PageOf};
use crate::config::{Before, Sheet, whole_config};
use crate::data::Report;
use crate::defaults::set_by;
use crate::error::{Result, RunError};
use crate::folder::{BEGINNINGS, REPORT, config_text, is_same, run_of};
use crate::log::{
    self, AnswerMoment, CONFIG, Curves, HeadMoment, PICTURE, Paired, Rewarded, Row, RunInfo,
    RunLog, RunResult, RunState, Sample, StepLine, StepLines,
};
use crate::machine::{kernels, now, processor};
use crate::options::Options;
use crate::plan::Plan;
use crate::rewards::Asking;
use llm_core::TinyGPT;
use llm_core::base::Message;
use llm_core::buffer;
use llm_core::checkpoint::Snapshot;
use llm_core::kernels::peak;
use llm_core::model::Footprint;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::{SpikeGuard, StepReport};
use llm_lens::training_flops;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Shortest time between two pages of a run.
const PAGE_EVERY: Duration = Duration::from_secs(60);
/// Pages take at most one part in this many of the time.
const PAGE_SHARE: u32 = 200;
/// A machine's peak is measured for runs that train longer than this: less says nothing.
const WORTH_A_PEAK: Duration = Duration::from_secs(1);

/// The log of a run in its folder.
pub(super) struct Journal {
    dir: PathBuf,
    /// What `config.toml` holds.
    config: String,
    pub(super) log: RunLog,
    pub(super) samples: StepLines<Sample>,
    heads: StepLines<HeadMoment>,
    rewards: StepLines<Rewarded>,
    /// Rewards of steps that are done again, as they were before.
    ahead: VecDeque<Rewarded>,
    pairs: StepLines<Paired>,
    answers: StepLines<AnswerMoment>,
    asking: Option<Asking>,
    causes: Causes,
    tokens: u64,
    pub(super) info: RunInfo,
    pub(super) time: Time,
    /// The picture shows all steps that are in the log.
    drawn: bool,
}

/// When things were done.
pub(super) struct Time {
    begin: Instant,
    /// Seconds of the commands before this one.
    before: f64,
    /// Seconds of training, without measurements and saves, and the tokens of them.
    pub(super) training: f64,
    trained: u64,
    /// When the next page is due.
    pub(super) page: Instant,
}

impl Journal {
    /// Writes the settings and opens the log for a run that is about to begin or to go on; what there
    /// is to say about what was there comes with it.
    ///
    /// # Errors
    /// [`RunError::Core`] naming the file.
    pub(super) fn open(
        dir: &Path,
        identity: &Identity,
        plan: &Plan,
        options: &Options,
        judged_on: &str,
    ) -> Result<(Journal, Vec<Message>)> {
        let (trainer, dir) = (&plan.trainer, dir.to_path_buf());
        let recipe = &trainer.recipe;
        let mut notes = log::others_aside(&dir, &BEGINNINGS)?;
        let known = RunInfo::read(&dir);
        let config = settings_of(&dir, identity, plan, options, known.as_ref());
        let earlier = known.filter(|_| trainer.step > 0);
        log::put(&dir.join(CONFIG), &config)?;
        let log = RunLog::open(&dir, trainer.step)?;
        notes.extend_from_slice(&log.notes);
        let samples = StepLines::open(&dir, trainer.step)?;
        let (heads, causes) = (StepLines::open(&dir, trainer.step)?, Causes::of(plan));
        // What a program said is not asked again, also of steps after the last save.
        let rewards = StepLines::<Rewarded>::open(
            &dir,
            if trainer.step == 0 && plan.begins { 0 } else { u64::MAX },
        )?;
        let ahead = rewards.all()?.into_iter().filter(|of| of.step > trainer.step).collect();
        if plan.begins {
            log::put(&dir.join(AnswerMoment::NAME), "")?; // those before the first step are another run's
        }
        let (pairs, answers) =
            (StepLines::open(&dir, trainer.step)?, StepLines::open(&dir, trainer.step)?);
        let said = answers.all()?;
        let asking = plan.ground.questions.clone();
        let asking = asking.map(|of| Asking::new(of, plan.tokenizer.clone(), said));
        let before = trainer.step.saturating_mul(recipe.tokens_per_step());
        let tokens = log.tokens.unwrap_or(before);
        let begin = Instant::now();
        let time = Time {
            begin,
            before: earlier.as_ref().map_or(0.0, |info| info.seconds),
            training: 0.0,
            trained: 0,
            page: begin + next_page(Duration::ZERO),
        };
        let info = about_the_run(identity, plan, earlier, judged_on);
        let mut journal = Journal {
            dir,
            config,
            log,
            samples,
            heads,
            rewards,
            ahead,
            pairs,
            answers,
            asking,
            causes,
            tokens,
            info,
            time,
            drawn: false,
        };
        journal.write_info(RunState::Running)?;
        Ok((journal, notes))
    }

    /// The run's folder, with all that is in it, has another name now.
    pub(super) fn moved_to(&mut self, dir: &Path) {
        self.log.moved_to(dir);
        self.samples.moved_to(dir);
        self.heads.moved_to(dir);
        self.rewards.moved_to(dir);
        self.pairs.moved_to(dir);
        self.answers.moved_to(dir);
        self.dir = dir.to_path_buf();
    }

    /// Makes the log again, in the folder `dir` that was made again after `done` steps: the rows up
    /// to there went with the old folder.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub(super) fn begin_again(&mut self, dir: &Path, done: u64) -> Result<()> {
        self.dir = dir.to_path_buf();
        log::put(&self.dir.join(CONFIG), &self.config)?;
        self.log = RunLog::open(&self.dir, done)?;
        self.samples = StepLines::open(&self.dir, done)?;
        self.heads = StepLines::open(&self.dir, done)?;
        self.rewards = StepLines::open(&self.dir, done)?;
        self.ahead.clear();
        self.pairs = StepLines::open(&self.dir, done)?;
        self.answers = StepLines::open(&self.dir, done)?;
        self.asking.iter_mut().for_each(Asking::begin_again);
        self.write_info(RunState::Running)
    }

    /// The run has `steps` steps from now on.
    ///
    /// # Errors
    /// [`RunError::Core`] naming the file.
    pub(super) fn planned_again(&mut self, steps: u64) -> Result<()> {
        // The horizon is among them where it is that of the run.
        for name in ["steps", "decay_steps"] {
            let [before, now] = [self.info.steps, steps].map(|of| format!("\n{name} = {of}\n"));
            self.config = self.config.replacen(&before, &now, 1);
        }
        self.info.steps = steps;
        log::put(&self.dir.join(CONFIG), &self.config)?;
        self.write_info(RunState::Running)
    }

    /// Tells the guard what the last steps were, so that it goes on as if it had seen them.
    pub(super) fn remind(&self, guard: &mut SpikeGuard) {
        let rows = log::rows(&self.dir).into_iter().flatten();
        rows.flatten().for_each(|row| guard.remember(row.loss, row.grad_norm));
    }

    /// After each step.
    ///
    /// # Errors
    /// [`RunError::Core`] naming the file, once.
    pub(super) fn step(&mut self, report: &StepReport, tokens_per_s: f64) -> Result<()> {
        let StepReport { step, loss, lr, grad_norm, tokens, skipped: _ } = *report;
        self.tokens = self.tokens.saturating_add(tokens);
        if tokens_per_s > 0.0 {
            self.time.training += tokens as f64 / tokens_per_s;
            self.time.trained += tokens;
        }
        (self.info.step, self.drawn) = (step, false);
        let (tokens, memory_bytes) = (self.tokens, self.log.memory);
        let tokens_per_s = tokens_per_s as f32;
        let row =
            Row { step, tokens, loss, val_loss: None, lr, grad_norm, tokens_per_s, memory_bytes };
        self.log.row(row).map_err(RunError::from)
    }

    /// After each step of a run that learns from rewards. What a step that is done again had before stays where it
    /// is; where it comes to something else, that and what followed goes.
    ///
    /// # Errors
    /// As [`StepLines::push`].
    pub(super) fn rewarded(&mut self, of: &Rewarded) -> Result<()> {
        match self.ahead.pop_front() {
            Some(before) if before == *of => return Ok(()),
            Some(_) => {
                self.ahead.clear();
                self.rewards = StepLines::open(&self.dir, of.step - 1)?;
            }
            None => {}
        }
        Ok(self.rewards.push(of)?)
    }

    /// After each step of a run that learns from pairs, and after each look at the unseen ones.
    ///
    /// # Errors
    /// As [`StepLines::push`].
    pub(super) fn paired(&self, of: &Paired) -> llm_core::Result<()> {
        self.pairs.push(of)
    }

    /// Asks the questions that stay the same, and writes down what is answered; nothing where there are none, or
    /// where that was done after this step.
    ///
    /// # Errors
    /// What the model says; as [`StepLines::push`].
    pub(super) fn ask(&mut self, run: Snapshot<'_>) -> llm_core::Result<Option<AnswerMoment>> {
        let Some(asking) = &mut self.asking else { return Ok(None) };
        let Some(mut moment) = asking.moment(run.model, run.step, run.recipe.seed)? else {
            return Ok(None);
        };
        self.answers.push(&moment)?;
        moment.first.clear();
        Ok(Some(moment))
    }

    /// Whether the heads are looked at after a step.
    pub(super) fn looks_at_heads(&self, step: u64) -> bool {
        self.causes.are_asked_at(step)
    }

    /// Writes down what the heads do after a step; nothing where there is nothing to ask them, or where they do
    /// not show themselves.
    ///
    /// # Errors
    /// As [`StepLines::push`].
    pub(super) fn look_at_heads(&self, step: u64, model: &TinyGPT) -> llm_core::Result<()> {
        match self.causes.moment(step, model) {
            Ok(Some(moment)) => self.heads.push(&moment),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Writes the page of the run, its picture and what it is, and says where; nowhere without a page.
    ///
    /// # Errors
    /// [`RunError::Core`] naming the file; nothing else is lost by it.
    pub(super) fn report<'a>(
        &mut self,
        run: Snapshot<'a>,
        ending: PageEnding<'a>,
        state: RunState,
        face: &mut dyn Face,
    ) -> Result<Option<PathBuf>> {
        let begin = Instant::now();
        self.log.flush(false)?;
        self.write_info(state)?;
        let curves = self.curves()?;
        let (samples, heads) = (self.samples.all()?, self.heads.all()?);
        let (mut rewards, pairs, answers) =
            (self.rewards.all()?, self.pairs.all()?, self.answers.all()?);
        rewards.retain(|of| of.step <= run.step);
        // Texts of many lengths are read for the page: their buffers shall not come on top of those
        // of training, nor stay among them.
        buffer::release_pool();
        let (folder, tokens) = (&*self.dir, self.tokens);
        let of =
            PageOf { folder, run, curves, samples, heads, rewards, pairs, answers, tokens, ending };
        let page = face.page(&of);
        buffer::release_pool();
        self.put(PICTURE, face.picture(&of.curves))?;
        self.drawn = true;
        let path = self.put(REPORT, page)?;
        self.time.page = Instant::now() + next_page(begin.elapsed());
        Ok(path)
    }

    /// However a run ends, its picture shows all of its steps.
    pub(super) fn draw(&mut self, face: &mut dyn Face) {
        let _ = self.log.flush(false);
        if self.drawn {
            return;
        }
        if let Ok(curves) = self.curves() {
            let _ = self.put(PICTURE, face.picture(&curves));
        }
    }

    /// Writes a text, if there is one, into a file of the folder; an older one stays when that fails.
    fn put(&self, name: &str, text: Option<String>) -> llm_core::Result<Option<PathBuf>> {
        let Some(text) = text else { return Ok(None) };
        let path = self.dir.join(name);
        log::put(&path, &text).map(|()| Some(path))
    }

    fn curves(&self) -> llm_core::Result<Curves> {
        Curves::read(&self.dir, self.info.vocab_size, self.info.entropy_floor)
    }

    /// What came of the measurement after the last step.
    pub(super) fn result(&mut self, step: u64, report: &Report) {
        self.info.result = Some(RunResult {
            step,
            val_loss: report.evaluation.loss,
            scored: report.evaluation.tokens,
            accuracy: report.evaluation.accuracy,
            bits_per_byte: report.bits_per_byte(),
            facts: report.facts_share(),
        });
    }

    /// Says what the run is and how it stands.
    ///
    /// # Errors
    /// [`RunError::Core`] naming the file; nothing else is lost by it.
    pub(super) fn write_info(&mut self, state: RunState) -> Result<()> {
        let Journal { info, time, .. } = self;
        info.state = state;
        info.written = now();
        info.seconds = time.before + time.begin.elapsed().as_secs_f64();
        if time.training > 0.0 {
            info.tokens_per_s = time.trained as f64 / time.training;
            info.gflops = info.flops_per_token * info.tokens_per_s / 1e9;
        }
        let ended = state != RunState::Running;
        // The peak is the processor's.
        if ended && info.device.is_empty() && time.training > WORTH_A_PEAK.as_secs_f64() {
            let peak = peak::gflops();
            (info.peak_gflops, info.mfu) = (Some(peak), Some(info.gflops / peak));
        }
        info.write(&self.dir).map_err(RunError::from)
    }

    /// Before a checkpoint is saved: it must not know a step that the log does not.
    ///
    /// # Errors
    /// [`RunError::Core`] naming the file, once.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.log.flush(true).map_err(RunError::from)
    }
}

/// What `config.toml` is to hold: where a run goes on in its own folder, all of the run.
fn settings_of(
    dir: &Path,
    identity: &Identity,
    plan: &Plan,
    options: &Options,
    known: Option<&RunInfo>,
) -> String {
    let own = plan.continued().and_then(run_of).is_some_and(|run| is_same(&run, dir));
    let before = known
        .filter(|info| own && info.steps > 0) // an older program did not say how many
        .and_then(|info| Some(Before { text: config_text(dir)?, planned: info.steps }));
    let Identity { head, threads, beside, changed, .. } = identity;
    let (decided, beside) = (plan.decided(), || beside.clone());
    let whole = before.and_then(|before| {
        whole_config(head, &decided, options, *threads, beside(), &before, changed)
    });
    whole.unwrap_or_else(|| Sheet::of(&decided, options, *threads, beside()).text(head))
}

/// What there is to say about a run when it begins, or goes on.
fn about_the_run(of: &Identity, plan: &Plan, earlier: Option<RunInfo>, judged_on: &str) -> RunInfo {
    let (model, recipe) = (&plan.trainer.model, &plan.trainer.recipe);
    let config = model.config();
    let footprint = Footprint::new(config, model.attention().as_ref());
    RunInfo {
        program: of.face.into(),
        version: of.version.clone(),
        started: earlier.as_ref().map_or_else(now, |info| info.started.clone()),
        processor: processor(),
        kernels: kernels(recipe.matmul),
        threads: of.threads,
        device: of.device.clone(),
        data: plan.data.as_ref().map_or_else(String::new, |data| data.label.to_string()),
        judged_on: judged_on.into(),
        tokenizer: plan.tokenizer.name().into(),
        vocab_size: config.vocab_size,
        seq_len: config.seq_len,
        d_model: config.d_model,
        n_layers: config.n_layers,
        n_heads: model.attention().spec().n_heads,
        parameters: model.parameter_count(),
        tokens_per_step: recipe.tokens_per_step(),
        step: plan.trainer.step,
        steps: recipe.total_steps,
        entropy_floor: plan.floor(),
        flops_per_token: training_flops(&footprint, recipe.seq_len),
        best: earlier.filter(|info| info.judged_on == judged_on).and_then(|info| info.best),
        ..RunInfo::default()
    }
}

/// See [`RunInfo::judged_on`].
pub(super) fn judged_on(recipe: &Recipe, tokenizer: &dyn Tokenizer) -> String {
    let Recipe { data, val_data, val_frac, .. } = recipe;
    let mut hash = blake3::Hasher::new();
    hash.update(format!("{data:?} {val_data:?} {val_frac} {}", tokenizer.name()).as_bytes());
    hash.update(&tokenizer.blob());
    hash.finalize().to_hex()[..16].to_string()
}

/// How long it is until the next page, after one that took so long. The environment variable
/// `LLM_PAGE_MS` sets another time, for tests.
fn next_page(took: Duration) -> Duration {
    set_by("LLM_PAGE_MS").map_or(PAGE_EVERY.max(took * PAGE_SHARE), Duration::from_millis)
}
