//! How training is watched: a bar on a terminal, lines elsewhere, objects for programs.

use crate::args::OutputArgs;
use crate::console::{Out, bar, note};
use crate::events::{self, Event};
use crate::lang::Lang;
use crate::messages::train as say;
use crate::signals::Signals;
use indicatif::ProgressBar;
use llm_core::base::{Message, thousands};
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::{Hooks, StepReport};
use llm_run::data::Report;
use llm_run::defaults::LOG_EVERY;
use std::time::Instant;

/// Reports steps and measurements.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    json: bool,
    log_every: u64,
    total: u64,
    val_loss: Option<f64>,
    clock: Clock,
}

/// Training with nothing but its progress shown, until a signal comes.
#[derive(Debug)]
pub struct Shown {
    progress: Progress,
    signals: Signals,
    out: Out,
    done: u64,
}

impl Shown {
    /// Reports go to `progress` and to `out`.
    pub fn new(progress: Progress, signals: Signals, out: Out) -> Shown {
        Shown { progress, signals, out, done: 0 }
    }

    /// Reports a step.
    pub fn step(&mut self, report: &StepReport) {
        self.done += 1;
        self.progress.step(self.done, report, &mut self.out);
    }

    /// The last report, and the output back.
    pub fn finish(mut self) -> Out {
        self.progress.finish();
        self.out
    }
}

impl Hooks for Shown {
    fn interrupted(&mut self) -> bool {
        self.signals.pending().is_some()
    }
}

/// Time spent training, without evaluations and saves.
#[derive(Debug)]
struct Clock {
    since: Instant,
    tokens: u64,
    rate: f64,
}

impl Progress {
    /// For `total` steps. The bar stands on a terminal only.
    pub fn new(args: &OutputArgs, log_every: u64, total: u64) -> Progress {
        // A terminal that cannot move its cursor gets lines.
        let style = "{spinner} [{wide_bar}] {pos}/{len}  {msg}  eta {eta}";
        let bar = bar(total, style, args.quiet() || total == 0);
        let clock = Clock { since: Instant::now(), tokens: 0, rate: 0.0 };
        let (quiet, json) = (args.quiet(), args.json());
        Progress { bar, quiet, json, log_every, total, val_loss: None, clock }
    }

    /// A bar on a terminal, and nothing else.
    pub fn bar_alone(total: u64) -> Progress {
        let shown = Progress::new(&OutputArgs::default(), LOG_EVERY, total);
        Progress { quiet: true, ..shown }
    }

    /// Runs `f`, which may print, with the bar out of the way.
    pub fn aside<T>(&self, f: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(f),
            None => f(),
        }
    }

    /// A line among the reports.
    pub fn line(&self, text: impl Into<Message>) {
        if !self.quiet {
            self.aside(|| note(text));
        }
    }

    /// After each step; `local` counts from 1.
    pub fn step(&mut self, local: u64, report: &StepReport, out: &mut Out) {
        self.clock.tokens += report.tokens;
        let ends = local == 1 || local == self.total;
        // The speed is written down also where nothing is reported.
        let every = if self.log_every > 0 { self.log_every } else { LOG_EVERY };
        let measured = ends || local.is_multiple_of(every);
        let due = self.log_every > 0 && measured;
        if measured {
            let seconds = self.clock.since.elapsed().as_secs_f64().max(1e-9);
            self.clock.rate = self.clock.tokens as f64 / seconds;
            self.resume();
        }
        if let Some(bar) = &self.bar {
            bar.set_position(local);
            let lang = Lang::chosen();
            let val = |loss| say::on_the_way(format!("{loss:.3}")).text(lang);
            let val = self.val_loss.map_or_else(String::new, val);
            let rate = thousands(self.clock.rate as u64);
            bar.set_message(say::at_work(format!("{:.3}", report.loss), val, rate).text(lang));
        }
        if !due {
            return;
        }
        let StepReport { step, loss, lr, grad_norm, tokens: _, skipped } = *report;
        if self.bar.is_none() {
            self.line(&format!(
                "step {step}  ({local}/{})  loss={loss:.4}  lr={lr:.2e}  norm={grad_norm:.2}  tok/s={}{}",
                self.total,
                thousands(self.clock.rate as u64),
                if skipped { "  skipped" } else { "" }
            ));
        }
        if self.json {
            let tokens_per_s = self.clock.rate;
            let event = Event::Step { step, loss, lr, grad_norm, tokens_per_s, skipped };
            out.write(&events::line(&event));
        }
    }

    /// After a measurement.
    pub fn eval(&mut self, step: u64, report: &Report, out: &mut Out) {
        self.val_loss = Some(report.evaluation.loss);
        let facts = report
            .facts
            .as_ref()
            .map_or(String::new(), |f| format!("  facts={:.1} %", 100.0 * f.total().share()));
        // A loss per token says nothing about another tokenizer's; in bits per byte they compare.
        let bits = match (report.unit, report.bits_per_byte()) {
            (ByteTokenizer::NAME, _) | (_, None) => String::new(),
            (_, Some(bits)) => format!("  bits/byte={bits:.3}"),
        };
        let loss = report.evaluation.loss;
        self.line(&format!("eval  step {step}  val_loss={loss:.4}{bits}{facts}"));
        if self.json {
            out.write(&events::line(&Event::Eval { step, scores: report.into(), beside: None }));
        }
    }

    /// Tokens a second, as last reported.
    pub fn rate(&self) -> f64 {
        self.clock.rate
    }

    /// Time from now on counts as training.
    pub fn resume(&mut self) {
        self.clock.since = Instant::now();
        self.clock.tokens = 0;
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
