//! A trainer of your own: it learns a text in a folder, keeps the last state and the best, goes on
//! where it was stopped when it is started again, writes a page, and speaks English or Chinese.
//!
//! `cargo run --release -p own-trainer -- README.md my-run zh`
//!
//! It knows an optimizer of its own besides those of the library, with a number of its own:
//!
//! `cargo run --release -p own-trainer -- README.md my-run en sgd momentum=0.8`

mod sgd;

use llm_core::base::Message;
use llm_core::base::escape::safe_lines;
use llm_core::optim::{AdamW, Lion, Muon};
use llm_core::settings::Value;
use llm_core::threads;
use llm_report::Reporter;
use llm_run::models::{AttentionKind, BASELINE, Heads, Models};
use llm_run::options::Options;
use llm_run::training::{self, Event, Identity};
use llm_variant_mha::MultiHead;
use sgd::Sgd;
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Multi-head attention, trained with one of four optimizers.
const MODELS: Models = Models {
    name: "own-trainer",
    heads: Heads::Many { default: 4 },
    attentions: &[AttentionKind::plain(MultiHead::NAME, |spec| {
        Ok(Arc::new(MultiHead::from_spec(spec)?))
    })],
    optimizers: &[AdamW::ROW, Lion::ROW, Muon::ROW, Sgd::ROW],
    ..BASELINE
};

fn train(
    [text, folder]: [&str; 2],
    optimizer: &[String],
    say: impl Fn(&Message) + Sync,
) -> llm_run::Result<()> {
    let mut options = Options::in_folder(Path::new(folder));
    if options.load.is_none() {
        options.data = vec![text.into()];
        options.given = [("steps", 120), ("dmodel", 64)].map(|(k, n)| (k, Value::Whole(n))).into();
    }
    if let [name, numbers @ ..] = optimizer {
        options.given.insert("optimizer", Value::Text(name.clone()));
        options.optimizer_set = numbers.to_vec();
    }
    (options.habits.save_every, options.habits.eval_every) = (Some(20), Some(20));
    let who = Identity::of(MODELS.name, threads::count());
    let tell = |event: &Event<'_>| llm_messages::event(event).iter().for_each(&say);
    training::run(&MODELS, &options, who, None, &mut Reporter::new(tell))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let [_, text, folder, more @ ..] = &words[..] else { return ExitCode::from(2) };
    let (language, optimizer) = more.split_at(more.len().min(1));
    let say = |message: &Message| {
        let chinese = (language == ["zh"]).then(|| message.said(llm_messages::chinese()));
        let line = safe_lines(&chinese.unwrap_or_else(|| message.to_string()));
        let _ = writeln!(stdout(), "{line}"); // who reads may leave, the run goes on
    };
    let trained = train([text, folder], optimizer, say);
    trained.as_ref().err().iter().for_each(|e| say(&e.message()));
    ExitCode::from(u8::from(trained.is_err()))
}
