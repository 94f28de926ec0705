//! A trainer of one's own: it learns a text in a folder, keeps the last state and the best, goes on
//! where it was stopped when it is started again, writes a page, and speaks English or Chinese.
//!
//! `cargo run --release -p own-trainer -- README.md my-run zh`

use llm_core::base::Message;
use llm_core::base::escape::safe_lines;
use llm_core::settings::Value;
use llm_core::threads;
use llm_report::Reporter;
use llm_run::models::{BASELINE, Heads, Models};
use llm_run::options::Options;
use llm_run::training::{self, Event, Identity};
use llm_variant_mha::MultiHead;
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Multi-head attention.
const MODELS: Models = Models {
    name: "own-trainer",
    heads: Heads::Many { default: 4 },
    attention: MultiHead::NAME,
    from_spec: |spec| Ok(Arc::new(MultiHead::from_spec(spec)?)),
    ..BASELINE
};

fn train(text: &str, folder: &str, say: impl Fn(&Message) + Sync) -> llm_run::Result<()> {
    let mut options = Options::in_folder(Path::new(folder));
    if options.load.is_none() {
        options.data = vec![text.into()];
        options.given = [("steps", 120), ("dmodel", 64)].map(|(k, n)| (k, Value::Whole(n))).into();
    }
    (options.habits.save_every, options.habits.eval_every) = (Some(20), Some(20));
    let who = Identity::of(MODELS.name, threads::count());
    let tell = |event: &Event<'_>| llm_messages::event(event).iter().for_each(&say);
    training::run(&MODELS, &options, who, None, &mut Reporter::new(tell))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let [_, text, folder, language @ ..] = &words[..] else { return ExitCode::from(2) };
    let say = |message: &Message| {
        let chinese = (language == ["zh"]).then(|| message.said(llm_messages::chinese()));
        let line = safe_lines(&chinese.unwrap_or_else(|| message.to_string()));
        let _ = writeln!(stdout(), "{line}"); // who reads may leave, the run goes on
    };
    let trained = train(text, folder, say);
    trained.as_ref().err().iter().for_each(|e| say(&e.message()));
    ExitCode::from(u8::from(trained.is_err()))
}
