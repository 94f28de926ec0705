//! `eval`: how well a model predicts a whole file, or answers questions.

mod rows;
mod task;

use super::devices;
use super::loaded::loaded;
use super::scored::{batch_of, scored_on};
use super::written::{check_place, save, say_written};
use crate::args::EvalArgs;
use crate::console::{note, print, show};
use crate::error::{Result, RunError, usage};
use crate::events::{self, BesideF32, Event};
use crate::messages::{Tell, said};
use crate::program::Program;
use crate::progress::{Watching, scored_in_time};
use crate::signals::Signals;
use llm_core::base::{Message, real_path, thousands};
use llm_core::data::Window;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::{OneProcess, Scored, Work};
use llm_core::{TinyGPT, message};
use llm_formats::npz::{self, ScoredTokens};
use llm_lens::FirstChoices;
use llm_messages::unit;
use llm_report::fact_label;
use llm_run::data::{Report, Validation};
use llm_run::device::measuring;
use llm_run::plan::{Loaded, about_training_data};
use llm_run::training::measure;
use rows::TokenRows;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Loads the model and scores the data, or asks its questions.
///
/// # Errors
/// What loading or scoring refuses.
pub fn eval(program: &Program, args: &EvalArgs) -> Result<()> {
    let for_the_cpu = [
        ("--task", args.task.is_some()),
        ("--weights", args.weights.flatten().is_some()),
        ("--per-token", args.per_token.is_some()),
        ("--npz", args.npz.is_some()),
    ];
    let json = args.json || args.output.json();
    let Some(device) = devices::chosen(args.device.as_ref(), json, &for_the_cpu)? else {
        return Ok(());
    };
    let signals = Signals::listen();
    let (path, loaded) = loaded(program, &args.load, &args.apart, &args.output)?;
    let batch = batch_of(&loaded, args.batch)?;
    if let Some(file) = &args.task {
        return task::ask(args, file, loaded, batch, &signals);
    }
    let none = message!("eval needs --data: a file to score");
    let files = (&args.data[..], args.data_as);
    let (val, about) = scored_on(&loaded, &path, files, none, |input| match input {
        Some(input) => about_training_data(input, &loaded.run.recipe),
        None => Some(message!("data    the run's own unseen text")),
    })?;
    let Loaded { mut run, tokenizer, .. } = loaded;
    let mut details = Details::new(args, val.tokens(), run.model.config().vocab_size)?;
    let (quiet, mut beside) = (args.output.quiet(), None);
    about.filter(|_| !quiet).into_iter().for_each(note);
    signals.heed();
    if let Some(kind) = args.weights.flatten() {
        let mut choices = FirstChoices::default();
        let each = |_, scored: &Scored<'_>| choices.remember(scored);
        let exact = score((&val, &run.model), &mut OneProcess, batch, quiet, &signals, each)?;
        run.model = run.model.rounded(kind)?;
        beside = Some((kind, choices, exact.evaluation.loss));
    }
    let mut there = measuring(&device, &run.model)?;
    let work: &mut dyn Work = match &mut there {
        Some(there) => there.as_mut(),
        None => &mut OneProcess,
    };
    let report = score((&val, &run.model), work, batch, quiet, &signals, |window, scored| {
        beside.iter_mut().for_each(|(_, choices, _)| choices.compare(scored));
        details.rows.iter_mut().for_each(|rows| rows.add(window, scored));
        details.arrays.iter_mut().for_each(|arrays| arrays.add(window, scored));
    })?;
    details.write(args, tokenizer.as_ref())?;
    let beside = beside.map(|(kind, choices, f32_loss)| BesideF32 {
        weights: kind.name(),
        f32_loss,
        same_first_choice: choices.same(),
    });
    let more = beside.as_ref().map_or(String::new(), |beside| said(lines(beside, &report)));
    if details.on_stdout() {
        // The means on standard error, where the other output has the rows.
        if !quiet {
            note((table(&report) + &more).trim_end().to_string());
        }
        return Ok(());
    }
    if json {
        let (step, report) = (run.step, &report);
        return print(events::line(&Event::Eval { step, report, beside }));
    }
    show(&(table(&report) + &more))
}

/// Scores all of it, and says how far it is; `seen` is given each window and what the model said
/// about it.
///
/// # Errors
/// What scoring refuses; [`RunError::Signal`] after a signal.
fn score(
    (val, model): (&Validation, &TinyGPT),
    work: &mut dyn Work,
    batch: usize,
    quiet: bool,
    signals: &Signals,
    mut seen: impl FnMut(Window, &Scored<'_>),
) -> Result<Report> {
    let mut shown = Watching::new(val.tokens() as u64, quiet, None);
    let sizes = [batch, usize::MAX];
    let scored = measure(work, val, model, sizes, None, &mut |tokens, _, of| {
        if let Some((window, scored)) = of {
            shown.position(tokens);
            seen(window, scored);
        }
        signals.pending().is_some()
    });
    drop(shown);
    let scored = scored?;
    scored_in_time(&scored, |line| {
        if !quiet {
            note(line)
        }
    });
    signals.check()?;
    Ok(scored.report)
}

/// Whether rounding changes what the model would say.
fn lines(beside: &BesideF32, report: &Report) -> Message {
    let change = 100.0 * (report.evaluation.loss / beside.f32_loss - 1.0);
    message!(
        "in f32         {:.4} nats per {}: {} changes it by {:+.3} %\n\
         same choice    {:.2} %\n",
        beside.f32_loss,
        unit(report),
        beside.weights,
        change,
        100.0 * beside.same_first_choice
    )
}

/// What is written besides the means.
struct Details {
    rows: Option<TokenRows>,
    arrays: Option<ScoredTokens>,
    /// Where the rows go; `None`: to standard output.
    file: Option<PathBuf>,
}

impl Details {
    fn new(args: &EvalArgs, tokens: usize, vocab: usize) -> Result<Details> {
        let file = args.per_token.clone().filter(|file| file != Path::new("-"));
        if args.per_token.is_some() && file.is_none() && args.output.json() {
            let what = "--per-token on standard output: --message-format json writes there too; \
                        name a file";
            return usage(what);
        }
        if let (Some(rows), Some(npz)) = (&file, &args.npz)
            && real_path(rows) == real_path(npz)
        {
            return usage("--per-token and --npz name the same file");
        }
        if let Some(file) = &file {
            check_place(file, |start| rows::BEGINS.iter().any(|begin| start.starts_with(begin)))?;
        }
        let arrays = args.npz.as_ref().map(|path| {
            check_place(path, |start| npz::begins_with(start, "tokens"))?;
            let lower = "the length of --data, as --npz keeps every logit";
            ScoredTokens::of(tokens, vocab).map_err(|e| RunError::Memory(e, lower.into()))
        });
        let rows = args.per_token.as_ref().map(|_| TokenRows::for_tokens(tokens));
        Ok(Details { rows: rows.transpose()?, arrays: arrays.transpose()?, file })
    }

    fn on_stdout(&self) -> bool {
        self.rows.is_some() && self.file.is_none()
    }

    fn write(&self, args: &EvalArgs, tokenizer: &dyn Tokenizer) -> Result<()> {
        let quiet = args.output.quiet();
        if let (Some(arrays), Some(path)) = (&self.arrays, &args.npz) {
            save(path, |out| arrays.write(out))?;
            say_written(path, quiet);
        }
        let Some(rows) = &self.rows else { return Ok(()) };
        let write = |out: &mut dyn Write| rows.write(out, tokenizer, args.json);
        let Some(path) = &self.file else {
            let mut text = Vec::new();
            write(&mut text).map_err(RunError::Output)?;
            return print(text);
        };
        save(path, write)?;
        say_written(path, quiet);
        Ok(())
    }
}

/// The measurement as a person reads it.
fn table(report: &Report) -> String {
    let e = &report.evaluation;
    let mut text = said(message!(
        "tokens         {}\nloss           {:.4} nats per {}\nperplexity     {:.3}\n",
        thousands(e.tokens),
        e.loss,
        unit(report),
        e.perplexity()
    ));
    if let Some(bits) = report.bits_per_byte() {
        text.tell(message!("bits per byte  {:.4}\n", bits));
    }
    text.tell(message!("top-1          {:.2} %\n", 100.0 * e.accuracy));
    if let Some(facts) = &report.facts {
        text.push_str(&facts_table(facts));
    }
    text
}

/// Facts by kind.
pub(super) fn facts_table(facts: &llm_stories::FactTable) -> String {
    if facts.kinds.is_empty() {
        return String::new();
    }
    let mut text = said("facts          right       of  places  kind\n");
    for (kind, score) in &facts.kinds {
        text.push_str(&format!(
            "             {:5.1} % {:>8}       {}  {}{}\n",
            100.0 * score.share(),
            thousands(score.all),
            kind.places(),
            said(fact_label(*kind)),
            if kind.is_last_mentioned() { " *" } else { "" }
        ));
    }
    let total = facts.total();
    text + &format!(
        "             {:5.1} % {:>8}          {}\n{}",
        100.0 * total.share(),
        thousands(total.all),
        said("all"),
        said("               * always the last one mentioned: right without reading\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_stories::{FactKind, FactScores, FactTable};

    #[test]
    fn numbers_end_where_their_headings_end() {
        let kinds = [(FactKind::Thing, 8569), (FactKind::OtherItem, 9)];
        let kinds = kinds.map(|(kind, all)| (kind, FactScores { right: 0, all }));
        let text = facts_table(&FactTable { kinds: kinds.into() });
        let ends: Vec<_> = ["of", "8,569", "9", "8,578"]
            .iter()
            .zip(text.lines())
            .map(|(cell, line)| line.find(&format!(" {cell} ")).map(|at| at + 1 + cell.len()))
            .collect();
        assert_eq!(ends, [Some(29); 4], "{text}");
    }
}
