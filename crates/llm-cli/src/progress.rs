//! How training is watched: a bar on a terminal, lines elsewhere, objects for programs.

use crate::args::OutputArgs;
use crate::console::{Out, bar, eta, note};
use crate::events::{self, Event};
use crate::lang::Lang;
use crate::messages::{said, train as say};
use indicatif::ProgressBar;
use llm_core::base::{Message, thousands};
use llm_core::message;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::StepReport;
use llm_run::data::Report;
use llm_run::training::Scored;
use std::time::{Duration, Instant};

/// Reports steps and measurements.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    json: bool,
    val_loss: Option<f64>,
}

impl Progress {
    /// For `total` steps. The bar stands on a terminal only.
    pub fn new(args: &OutputArgs, total: u64) -> Progress {
        // A terminal that cannot move its cursor gets lines.
        let style = format!("{{spinner}} [{{wide_bar}}] {{pos}}/{{len}}  {{msg}}  {}", eta());
        let bar = bar(total, &style, args.quiet() || total == 0);
        Progress { bar, quiet: args.quiet(), json: args.json(), val_loss: None }
    }

    /// Before the first step: no bar.
    pub fn silent(args: &OutputArgs) -> Progress {
        Progress { bar: None, quiet: args.quiet(), json: args.json(), val_loss: None }
    }

    /// A bar on a terminal, and nothing else.
    pub fn bar_alone(total: u64) -> Progress {
        let shown = Progress::new(&OutputArgs::default(), total);
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

    /// After each step; of `local` steps and all of them, the first counts from 1.
    pub fn step(
        &mut self,
        [local, total]: [u64; 2],
        report: &StepReport,
        rate: f64,
        due: bool,
        out: &mut Out,
    ) {
        if let Some(bar) = &self.bar {
            bar.set_position(local);
            let lang = Lang::chosen();
            let val = |loss| say::on_the_way(format!("{loss:.3}")).text(lang);
            let val = self.val_loss.map_or_else(String::new, val);
            let rate = thousands(rate as u64);
            bar.set_message(say::at_work(format!("{:.3}", report.loss), val, rate).text(lang));
        }
        if !due {
            return;
        }
        let StepReport { step, loss, lr, grad_norm, tokens: _, skipped } = *report;
        if self.bar.is_none() {
            let line = message!(
                "step {}  ({}/{})  loss={:.4}  lr={:.2e}  norm={:.2}  tok/s={}",
                step,
                local,
                total,
                loss,
                lr,
                grad_norm,
                thousands(rate as u64)
            );
            self.line(if skipped { message!("{}  skipped", line) } else { line });
        }
        if self.json {
            let event = Event::Step { step, loss, lr, grad_norm, tokens_per_s: rate, skipped };
            out.write(&events::line(&event));
        }
    }

    /// After a measurement.
    pub fn eval(&mut self, step: u64, report: &Report, out: &mut Out) {
        self.val_loss = Some(report.evaluation.loss);
        // A loss per token says nothing about another tokenizer's; in bits per byte they compare.
        let bits = report.bits_per_byte().filter(|_| report.unit != ByteTokenizer::NAME);
        let mut line = message!("eval  step {}  val_loss={:.4}", step, report.evaluation.loss);
        line = bits.map_or(line.clone(), |bits| message!("{}  bits/byte={:.3}", line, bits));
        if let Some(facts) = &report.facts {
            line = message!("{}  facts={:.1} %", line, 100.0 * facts.total().share());
        }
        self.line(line);
        if self.json {
            out.write(&events::line(&Event::Eval { step, scores: report.into(), beside: None }));
        }
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Between two lines where there is no bar, and before the first: what ends sooner says nothing.
const LINES: Duration = Duration::from_secs(5);

/// A measurement that may take long: a bar on a terminal, lines elsewhere.
#[derive(Debug)]
pub struct Watching {
    total: u64,
    bar: Option<ProgressBar>,
    /// When the next line is due; `None`: there are none.
    due: Option<Instant>,
}

impl Watching {
    /// Of so many tokens.
    pub fn new(total: u64, quiet: bool) -> Watching {
        let style = format!("{{spinner}} [{{wide_bar}}] {{msg}}  {}", eta());
        let bar = bar(total, &style, quiet);
        let due = (bar.is_none() && !quiet).then(|| Instant::now() + LINES);
        Watching { total, bar, due }
    }

    /// So many are scored.
    pub fn position(&mut self, scored: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(scored);
            bar.set_message(said(message!("scoring {}", self.share(scored))));
        }
        let now = Instant::now();
        if self.due.is_some_and(|due| due <= now) {
            self.due = Some(now + LINES);
            note(message!("scored {}", self.share(scored)));
        }
    }

    fn share(&self, scored: u64) -> Message {
        message!("{} of {} unseen tokens", thousands(scored), thousands(self.total))
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What a measurement did not score.
pub fn scored_in_time(of: &Scored, say: impl FnOnce(Message)) {
    let Scored { report, total, wanted } = of;
    let scored = report.evaluation.tokens;
    let of_all = || message!("{} of {} tokens", thousands(scored), thousands(*wanted));
    if scored < *total {
        say(message!(
            "the measurement was cut after {}: loss {:.4} so far",
            of_all(),
            report.evaluation.loss
        ));
    } else if total < wanted {
        say(message!("--max-time leaves room for a measurement of {}", of_all()));
    }
}
