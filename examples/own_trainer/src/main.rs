//! A trainer of one's own: it learns a text in a folder, keeps the last state and the best, goes on
//! where it was stopped when it is started again, writes a page, and speaks English or Chinese.
//!
//! `cargo run --release -p own-trainer -- README.md my-run zh`

use llm_core::base::Message;
use llm_core::base::escape::safe_lines;
use llm_core::settings::Value;
use llm_core::threads;
use llm_report::{About, Bilingual, html, loss_picture, page};
use llm_run::log::Curves;
use llm_run::models::{BASELINE, Heads, Models};
use llm_run::options::Options;
use llm_run::plan::Plan;
use llm_run::training::{self, Event, Face, Identity, PageOf};
use llm_variant_mha::MultiHead;
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Multi-head attention.
const MODELS: Models = Models {
    name: "own-trainer",
    heads: Heads::Many { default: 4 },
    attention: |flags| Arc::new(MultiHead::new(flags.n_heads)),
    from_spec: |spec| Ok(Arc::new(MultiHead::from_spec(spec)?)),
    ..BASELINE
};

/// Says what happens, and makes the page.
struct Teller {
    chinese: bool,
    about: Option<About>,
}

impl Teller {
    fn say(&self, message: &Message) {
        let chinese = self.chinese.then(|| message.said(llm_messages::chinese()));
        let text = chinese.unwrap_or_else(|| message.to_string());
        let _ = writeln!(stdout(), "{}", safe_lines(&text)); // who reads may leave, the run goes on
    }
}

impl Face for Teller {
    fn event(&mut self, event: &Event<'_>) {
        llm_messages::event(event).iter().for_each(|line| self.say(line));
    }

    fn page(&mut self, of: &PageOf<'_>) -> Option<String> {
        let early = of.ending.early.map(|why| Bilingual::of(&llm_messages::early(why)));
        html(&page(self.about.as_ref()?, of, early)).ok()
    }

    fn picture(&mut self, curves: &Curves) -> Option<String> {
        loss_picture(curves)
    }
}

fn train(text: &str, folder: &str, teller: &mut Teller) -> llm_run::Result<()> {
    let mut options = Options::in_folder(Path::new(folder));
    if options.load.is_none() {
        options.data = vec![text.into()];
        options.given = [("steps", 120), ("dmodel", 64)].map(|(k, n)| (k, Value::Whole(n))).into();
    }
    (options.habits.save_every, options.habits.eval_every) = (Some(20), Some(20));
    let mut plan = Plan::new(&MODELS, &options, &|_, _| ())?;
    plan.notes.iter().for_each(|note| teller.say(&llm_messages::note(note)));
    let who = Identity::of(MODELS.name, threads::count());
    teller.about = Some(About::of(&who, &plan)?);
    training::run(&mut plan, &options, &who, teller)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let [_, text, folder, language @ ..] = &words[..] else { return ExitCode::from(2) };
    let mut teller = Teller { chinese: language == ["zh"], about: None };
    match train(text, folder, &mut teller) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(e) => teller.say(&e.message()),
    }
    ExitCode::FAILURE
}
