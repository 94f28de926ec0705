//! What is said of a run while it goes: lines, a bar, objects for programs.

use super::super::banner;
use super::super::eval::facts_table;
use super::alone::refuse_prompt_alone;
use crate::args::TrainArgs;
use crate::console::{Out, note, noted};
use crate::error::{Result, sentence};
use crate::events::{self, Event as Json};
use crate::generation::{Request, To};
use crate::messages::{in_both, lasting, spelled};
use crate::next_commands;
use crate::probes;
use crate::program::Program;
use crate::progress::{Progress, Watching, scored_in_time, watched};
use crate::signals::Signals;
use llm_core::base::{Message, escape, thousands};
use llm_core::checkpoint::Snapshot;
use llm_core::train::StepReport;
use llm_core::{TinyGPT, TokenDataset, message};
use llm_lens::Probes;
use llm_report::About;
use llm_run::folder::Target;
use llm_run::log::{Curves, Forgotten, Sample};
use llm_run::note::Note;
use llm_run::plan::Plan;
use llm_run::training::{
    Estimate, Event, Face, Identity, Kept, MakePlan, Overfit, PageOf, advice_on_rate,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A loss this far above that of new weights, in nats per token, is not noise.
const WORSE_THAN_EVEN: f64 = 0.5;

/// Where a run speaks, and how.
pub(super) struct Speaker {
    pub(super) out: Out,
    json: bool,
    quiet: bool,
    /// One of several: the others' command speaks for it.
    is_one_of_many: bool,
}

/// A run as the command line shows it.
pub(super) struct Shown<'a> {
    program: &'a Program,
    args: &'a TrainArgs,
    threads: usize,
    pub(super) speaker: Speaker,
    signals: Signals,
    pub(super) progress: Progress,
    watching: Option<Watching>,
    request: Option<Request>,
    probes: Option<Probes>,
    pub(super) about: Option<About>,
    /// Whether the other processes make the same calls.
    pub(super) together: Arc<AtomicBool>,
}

/// What differs from the run that goes on, in words.
pub(super) fn changed(plan: &Plan) -> Vec<String> {
    let changes = |note: &&Note| matches!(note, Note::Replaces { .. } | Note::NewCourse { .. });
    let changed = plan.notes.iter().filter(changes);
    changed.map(|note| spelled(&llm_messages::note(note))).collect()
}

impl Speaker {
    /// What a command is run for, on standard output, however quiet it is to be.
    pub(super) fn tell(&mut self, line: impl Into<Message>) {
        if self.json || self.is_one_of_many {
            return self.say(line);
        }
        self.out.line(line);
    }

    pub(super) fn say(&self, line: impl Into<Message>) {
        if !self.quiet {
            note(line);
        }
    }

    pub(super) fn emit(&mut self, event: &Json<'_>) {
        if self.json {
            self.out.write(&events::line(event));
        }
    }
}

impl<'a> Shown<'a> {
    /// A run that is about to be planned.
    pub(super) fn new(program: &'a Program, args: &'a TrainArgs, threads: usize) -> Shown<'a> {
        let (json, quiet) = (args.output.json(), args.output.quiet());
        let speaker = Speaker { out: Out::default(), json, quiet, is_one_of_many: false };
        Shown {
            program,
            args,
            threads,
            speaker,
            signals: Signals::default(),
            progress: Progress::default(),
            watching: None,
            request: None,
            probes: None,
            about: None,
            together: Arc::default(),
        }
    }

    /// The same run as one of several: a bar is all that is seen of it.
    pub(super) fn bar_alone(self, signals: Signals) -> Shown<'a> {
        let speaker = Speaker { json: false, quiet: true, is_one_of_many: true, ..self.speaker };
        Shown { speaker, signals, ..self }
    }

    /// The text after the run, and the checks before the text.
    fn ask(&mut self, plan: &Plan) -> Result<()> {
        let (text, tokenizer, learned) = (&plan.text, &plan.tokenizer, &plan.trainer.recipe.data);
        let sampling = &self.args.sampling;
        let mut request = Request::new(sampling, text, tokenizer, plan.sample_seed, learned)?;
        let question = plan.data.as_ref().and_then(|data| data.chats.as_ref()?.question.as_ref());
        if let (Some(turns), None) = (question, sampling.prompt.flag()) {
            request.ask(turns)?;
        }
        request.check_slide(plan.trainer.model.config().seq_len)?;
        request.window = plan.trainer.model.attention().spec().window;
        self.request = Some(request);
        self.probes = probes::new(&self.args.probes, plan)?;
        Ok(())
    }

    /// `--overfit`: whether the batch was memorised.
    fn overfit(&mut self, found: &Overfit) {
        self.progress.finish();
        let (Overfit { tokens, first_loss, last_loss }, learned) = (*found, found.is_memorised());
        self.speaker.emit(&Json::Overfit { tokens, first_loss, last_loss, learned });
        self.speaker.tell(message!(
            "overfit loss of one batch of {} tokens: {:.4} at first, {:.4} at last; {}; nothing is saved",
            tokens,
            first_loss,
            last_loss,
            match learned {
                true => message!("the batch was memorised"),
                false => message!("the batch was not memorised"),
            }
        ));
    }

    /// `--dry-run`: how long the run would take.
    fn estimated(&mut self, of: &Estimate, steps: u64) {
        let (seconds, step_ms) = (of.seconds, 1e3 * of.step);
        let event = Json::Estimate { seconds, step_ms, measurement_seconds: of.measurement };
        self.speaker.emit(&event);
        let here = message!("about {} here", lasting(seconds));
        let here = if of.is_cut { message!("{}, then --max-time ends it", here) } else { here };
        let (steps, rest) = (banner::steps(steps), lasting(of.rest));
        self.speaker.tell(message!(
            "time    {}: {} of {:.1} ms, {} for measurements and the beginning",
            here,
            steps,
            step_ms,
            rest
        ));
    }

    /// A line among the reports.
    fn say(&self, line: impl Into<Message>) {
        self.progress.aside(|| self.speaker.say(line));
    }

    /// The measurement after the last step.
    fn result(&mut self, line: Option<Message>, event: &Event<'_>) {
        let Event::Result { step, report, on, model, clipped } = event else { return };
        self.speaker.emit(&Json::Eval { step: *step, report, beside: None });
        line.into_iter().for_each(|line| self.speaker.tell(line));
        let even = model.config().first_loss();
        if report.evaluation.loss > even + WORSE_THAN_EVEN {
            self.say(message!(
                "        nothing was learned: a model that has seen no text has about {:.2}; {}",
                even,
                advice_on_rate(*clipped)
            ));
        }
        let (scored, all) = (report.evaluation.tokens, on.tokens() as u64);
        if scored < all {
            let [n, of] = [scored, all].map(thousands);
            self.say(message!(
                "        on {} of {} unseen tokens, evenly spaced; eval takes all",
                n,
                of
            ));
        }
        let facts = report.facts.as_ref().filter(|f| !f.kinds.is_empty());
        if let (Some(found), Some(known)) = (facts, &on.stories) {
            self.say(message!(
                "facts   {:.1} % right on unseen stories · one place {:.1} % · two places {:.1} %",
                100.0 * found.total().share(),
                100.0 * found.with_places(1).share(),
                100.0 * found.with_places(2).share()
            ));
            self.say(message!(
                "        without reading: most frequent word {:.1} %, last mentioned {:.1} %",
                100.0 * known.most_frequent,
                100.0 * known.last_mentioned
            ));
            if !self.speaker.quiet {
                self.progress.aside(|| facts_table(found).lines().for_each(noted));
            }
        }
    }

    /// What became of what the model knew: a table.
    fn forgotten(&mut self, found: &Forgotten) {
        self.speaker.emit(&Json::Forgotten(found));
        let Forgotten { unseen, file, bits_per_byte: [was, is] } = found;
        self.speaker.tell(message!("forget  before  after"));
        if let Some([was, is]) = unseen {
            self.speaker.tell(message!(
                "        {:.4}  {:.4}  unseen text, nats per token",
                was,
                is
            ));
        }
        let file = escape::path(Path::new(file));
        self.speaker.tell(message!("        {:.4}  {:.4}  '{}', bits per byte", was, is, file));
    }

    /// The text to give again with `--load`. A run's folder remembers its files; what came through
    /// a pipe cannot be read again by its name.
    fn data_flags(&self, target: Option<&Target>) -> String {
        let [data, val] = [&self.args.files.data, &self.args.files.val];
        let piped = data.iter().chain(val).any(|path| path.as_os_str() == "-");
        let remembered = target.is_some_and(|t| t.run.is_some()) && !piped;
        if remembered { String::new() } else { next_commands::data(data, val) }
    }

    fn interrupted(&self, step: u64, kept: &Kept<'_>) {
        match (kept.file(), kept.load_name()) {
            (Some(path), Some(load)) => note(message!(
                "interrupted at step {}, saved '{}'; go on with {}{}",
                step,
                escape::path(path),
                next_commands::load(self.program, load),
                self.data_flags(kept.target)
            )),
            _ => note(message!("interrupted at step {}, nothing saved (--no-save)", step)),
        }
    }

    /// What there is now.
    fn done(&mut self, line: Option<Message>, event: &Event<'_>) {
        let Event::Done { plan, seconds, report, kept } = event else { return };
        let path = kept.file().map(|path| path.display().to_string());
        let (step, checkpoint) = (plan.trainer.step, path.as_deref());
        self.speaker.emit(&Json::Done { step, report: *report, seconds: *seconds, checkpoint });
        let Some(line) = line else { return };
        self.say(line);
        let Some(path) = kept.file() else { return };
        let saved = message!("saved   {}", escape::path(path));
        if self.speaker.quiet {
            self.speaker.tell(saved)
        } else {
            self.say(saved)
        }
        if let Some((best, path)) = &kept.best {
            let (path, step, loss) = (escape::path(path), best.step, best.val_loss);
            self.say(message!(
                "best    {} of step {}, measured validation loss {:.4}",
                path,
                step,
                loss
            ));
        }
    }

    /// What to type next.
    fn next(&self, plan: &Plan, kept: &Kept<'_>) {
        let Some(load) = kept.load_name() else { return };
        let data = plan.data.as_ref();
        let opening = data.and_then(|d| d.opening.as_deref());
        let prompt = next_commands::prompt(opening, plan.tokenizer.as_ref());
        let (name, load) = (next_commands::program(self.program), next_commands::load_flag(load));
        self.say(match data.is_some_and(|data| data.chats.is_some()) {
            true => message!("next    {} chat{}", name, load),
            false => message!("next    {} generate{}{} -n 200", name, load, prompt),
        });
        let data = self.data_flags(kept.target);
        self.say(message!("        {}{}{} --steps 500", name, load, data));
    }
}

impl Face for Shown<'_> {
    fn plan(&mut self, make: &mut MakePlan<'_>) -> Result<Plan> {
        refuse_prompt_alone(self.program, self.args)?;
        let foreign = self.args.nano_gpt.notes(&self.program.models)?;
        let mut plan = watched(self.args.output.quiet(), |watch| make(watch))?;
        plan.notes.extend(foreign.into_iter().map(Note::Said));
        self.ask(&plan)?;
        Ok(plan)
    }

    fn begins(&mut self, plan: &Plan, target: Option<&Target>, of: &mut Identity) -> Result<()> {
        self.signals = Signals::listen();
        self.signals.heed();
        let words = banner::chosen(plan);
        self.speaker.emit(&banner::start_event(self.program, plan, &words, self.threads));
        banner::loaded(plan).iter().for_each(|line| self.speaker.say(line));
        of.changed = changed(plan);
        if plan.steps > 0 && target.is_some_and(|target| target.run.is_some()) {
            self.about = Some(About::of(of, plan)?);
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) {
        let line = llm_messages::event(event);
        if !matches!(event, Event::Scoring { .. }) {
            self.watching = None;
        }
        match event {
            Event::Planned(plan) => {
                let lines = banner::lines(self.program, plan, self.threads);
                lines.iter().for_each(|line| self.speaker.say(line));
            }
            Event::Estimated { estimate, steps } => self.estimated(estimate, *steps),
            Event::Overfit(found) => self.overfit(found),
            Event::Begin(steps) => {
                let Speaker { quiet, is_one_of_many, .. } = self.speaker;
                self.progress = Progress::new(*steps, " {msg}", quiet && !is_one_of_many);
            }
            Event::PlannedAgain { steps, before, total } => {
                self.progress.planned_again(*total);
                self.speaker.emit(&Json::PlannedAgain { steps: *steps, before: *before });
            }
            Event::Noted(note) => return self.say(*note),
            Event::Step { report, done, rate, rewards, pairs, .. } => {
                let shown = self.progress.step(*done, report, *rate);
                let Some(line) = line else { return };
                if !shown {
                    self.say(line);
                }
                let StepReport { step, loss, lr, grad_norm, tokens: _, skipped } = **report;
                let tokens_per_s = *rate;
                let [reward, differ, length, entropy] = rewards.map_or([None; 4], |of| {
                    [of.reward, of.differ, of.length, of.entropy].map(Some)
                });
                let event = Json::Step {
                    step,
                    loss,
                    lr,
                    grad_norm,
                    tokens_per_s,
                    skipped,
                    reward,
                    differ,
                    length,
                    entropy,
                    kl: rewards.and_then(|of| of.kl),
                    clipped: rewards.and_then(|of| of.clipped),
                    margin: pairs.map(|of| of.margin),
                    accuracy: pairs.map(|of| of.accuracy),
                };
                return self.speaker.emit(&event);
            }
            Event::Asked(moment) => self.speaker.emit(&Json::Answers(moment)),
            Event::Measured { step, report } => {
                self.progress.measured(report.evaluation.loss);
                line.into_iter().for_each(|line| self.say(line));
                return self.speaker.emit(&Json::Eval { step: *step, report, beside: None });
            }
            Event::Compared { step, unseen } => {
                self.progress.measured(unseen.loss);
                line.into_iter().for_each(|line| self.say(line));
                return self.speaker.emit(&Json::Pairs { step: *step, of: unseen });
            }
            Event::Scoring { scored, total } => {
                let steps = self.progress.bar.as_ref();
                let new = || Watching::new(*total, self.speaker.quiet, steps);
                self.watching.get_or_insert_with(new).position(*scored);
                if scored >= total {
                    self.watching = None;
                }
            }
            Event::Scored(scored) => {
                scored_in_time(scored, |line| self.speaker.say(line));
            }
            Event::Saved { step, path, .. } => {
                let path = &path.display().to_string();
                self.speaker.emit(&Json::Saved { step: *step, path });
            }
            Event::Ended { .. } => self.progress.finish(),
            Event::Result { .. } => return self.result(line, event),
            Event::Forgotten(found) => self.forgotten(found),
            Event::Refused { .. } => {
                return self.progress.aside(|| line.into_iter().for_each(note));
            }
            Event::NoPage(e) => note(message!("no report: {}", sentence(e))),
            Event::Interrupted { step, kept } => {
                self.progress.finish();
                self.interrupted(*step, kept);
            }
            Event::Done { .. } => return self.done(line, event),
            Event::Next { plan, kept } => self.next(plan, kept),
            _ => {} // its line is all
        }
        line.into_iter().for_each(|line| self.say(line));
    }

    fn signal(&self) -> Option<u8> {
        self.signals.pending()
    }

    fn sample(
        &mut self,
        run: Snapshot<'_>,
        keep: &mut dyn FnMut(&Sample) -> Result<()>,
    ) -> Result<()> {
        let Shown { request, progress, speaker, signals, .. } = self;
        let Some(request) = request else { return Ok(()) };
        progress.aside(|| {
            let (step, temperature) = (run.step, request.sampling.temperature);
            speaker.say(message!("sample  after step {}, temperature {}:", step, temperature));
            let keep = |sample: &Sample| {
                if let Err(e) = keep(sample) {
                    note(message!("a sample is not kept: {}", sentence(&e)));
                }
            };
            let to = To { out: &mut speaker.out, signals, json: speaker.json, step };
            request.write(run.model, to, keep)
        })
    }

    fn writes(&self, steps: u64) -> bool {
        let wanted = self.args.sampling.asked() || (steps > 0 && !self.speaker.quiet);
        wanted && self.request.as_ref().is_some_and(|request| request.n > 0)
    }

    fn check(&mut self, model: &TinyGPT, data: &TokenDataset) -> Result<()> {
        let (Some(probes), Some(request)) = (&self.probes, &self.request) else { return Ok(()) };
        let Speaker { out, json, .. } = &mut self.speaker;
        let tokenizer = request.tokenizer.as_ref();
        probes::run(probes, &self.args.probes, tokenizer, model, data, out, *json)
    }

    fn page(&mut self, of: &PageOf<'_>) -> Option<String> {
        let early = of.ending.early.map(|why| in_both(llm_messages::early(why)));
        llm_report::html(&llm_report::page(self.about.as_ref()?, of, early)).ok()
    }

    fn picture(&mut self, curves: &Curves) -> Option<String> {
        llm_report::loss_picture(curves)
    }

    fn together(&mut self, together: bool) {
        self.together.store(together, Ordering::Relaxed);
    }
}
