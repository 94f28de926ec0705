//! `eval --task`: how often the answers to a set of questions are right.

use crate::args::EvalArgs;
use crate::commands::written::{check_place, save, say_written};
use crate::console::{json_line, note, print, show};
use crate::error::{Result, RunError, usage};
use crate::events::{self, Event};
use crate::messages::{Tell, said};
use crate::progress::Watching;
use crate::signals::Signals;
use llm_core::base::escape::escaped_token;
use llm_core::base::{Message, thousands};
use llm_core::tokenizer::Tokenizer;
use llm_core::{TinyGPT, counted, message};
use llm_formats::chat::ChatFormat;
use llm_run::plan::Loaded;
use llm_run::tasks::{Answers, Task};
use std::path::Path;

/// How a file of answers begins.
const BEGINS: &[u8] = b"{\"line\":";

/// Asks a loaded model the questions of a file.
///
/// # Errors
/// What the file or the model refuses.
pub(super) fn ask(
    args: &EvalArgs,
    file: &Path,
    loaded: Loaded,
    batch: usize,
    signals: &Signals,
) -> Result<()> {
    let task = Task::read(file)?;
    let Loaded { run, tokenizer, .. } = loaded;
    if let Some(file) = &args.per_question {
        check_place(file, |start| start.starts_with(BEGINS))?;
    }
    let quiet = args.output.quiet();
    let own = ChatFormat::own(&*tokenizer);
    if !quiet && own.is_some() && !args.apply_chat_template {
        note(
            "the questions are texts to go on with: --apply-chat-template asks them in a conversation",
        );
    }
    let chat = own.filter(|_| args.apply_chat_template);
    if args.apply_chat_template && chat.is_none() {
        return usage(message!("--apply-chat-template: this model has no chat template"));
    }
    signals.heed();
    let of = |model: &TinyGPT| {
        answers(&task, model, (&*tokenizer, chat.as_ref()), batch, quiet, signals)
    };
    let mut found = of(&run.model)?;
    let mut beside = None;
    if let Some(kind) = args.weights.flatten() {
        let rounded = of(&run.model.rounded(kind)?)?;
        beside = Some((kind.name(), std::mem::replace(&mut found, rounded)));
    }
    if !quiet {
        asked_as(&found, &*tokenizer);
    }
    if let Some(file) = &args.per_question {
        let mut rows = found.questions.iter().map(json_line);
        save(file, |out| rows.try_for_each(|row| out.write_all(row.as_bytes())))?;
        say_written(file, quiet);
    }
    if args.output.json() || args.json {
        let (step, task) = (run.step, &*file.to_string_lossy());
        let (weights, f32) = beside.as_ref().map(|(kind, f32)| (*kind, f32)).unzip();
        return print(events::line(&Event::Task { step, task, answers: &found, weights, f32 }));
    }
    show(&table(&found, beside.as_ref().map(|(_, f32)| f32)))
}

/// # Errors
/// What asking refuses; a signal.
fn answers(
    task: &Task,
    model: &TinyGPT,
    (tokenizer, chat): (&dyn Tokenizer, Option<&ChatFormat>),
    batch: usize,
    quiet: bool,
    signals: &Signals,
) -> Result<Answers> {
    let mut shown = None;
    let answers = task.ask(model, tokenizer, batch, chat, &mut |done, total| {
        shown.get_or_insert_with(|| Watching::new(total, quiet, None)).position(done);
        signals.pending().is_some()
    });
    drop(shown);
    let answers = answers?;
    signals.check()?;
    // Nothing but a signal stops it.
    answers.ok_or(RunError::Signal(0))
}

/// What of the asking does not stand in the file.
fn asked_as(found: &Answers, tokenizer: &dyn Tokenizer) {
    if let Some(token) = found.begins_with {
        let text = escaped_token(tokenizer.bytes_of(token));
        note(message!("texts that nothing stands before begin after token {} ({})", token, text));
    }
    if let Some(most) = found.most_written {
        note(message!("answers are written with at most {} tokens", most));
    }
    if found.cut > 0 {
        let texts = counted!(found.cut, "question");
        note(message!("{} did not fit into the context: the beginning was left out", texts));
    }
}

/// The shares as a person reads them, with those of the weights as they are beside rounded ones.
fn table(found: &Answers, f32: Option<&Answers>) -> String {
    let count = thousands(found.questions.len() as u64);
    let mut text = said(message!("questions      {} ({})\n", count, found.shape.name()));
    if let Some(guessing) = found.guessing {
        text.tell(message!("guessing       {:.4}\n", guessing));
    }
    let wide = found.rates.iter().map(|rate| rate.name.len() + 1).fold(14, usize::max);
    for rate in &found.rates {
        let (name, [low, high]) = (format!("{:wide$}", rate.name), rate.interval());
        let than = match found.guessing {
            None => Message::from(""),
            Some(guessing) if guessing < low => message!(", above guessing"),
            Some(guessing) if guessing > high => message!(", below guessing"),
            Some(_) => message!(", guessing is within"),
        };
        let share = rate.share();
        text.tell(message!("{} {:.4}   {:.4} to {:.4} (95 %){}\n", name, share, low, high, than));
    }
    for rate in f32.into_iter().flat_map(|f32| &f32.rates) {
        text.tell(message!("in f32         {} {:.4}\n", rate.name, rate.share()));
    }
    text
}
