//! A run whose progress is one line of this program's, written again at every step.
//!
//! `cargo run --release -p own-bar`

use llm_core::settings::Value;
use llm_core::threads;
use llm_run::models::BASELINE;
use llm_run::options::Options;
use llm_run::training::{self, Event, Face, Identity};
use std::io::{Write, stdout};

const WIDTH: u64 = 30;

/// The line: how far the run is, the last loss, the last measurement.
#[derive(Default)]
struct Bar {
    val_loss: Option<f64>,
}

impl Face for Bar {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Step { report, done, total, .. } => {
                let full = (WIDTH * done / total) as usize;
                let bar = "#".repeat(full) + &".".repeat(WIDTH as usize - full);
                let val = self.val_loss.map_or("?".into(), |loss| format!("{loss:.3}"));
                // A line that is not seen stops no run.
                let (mut out, loss) = (stdout(), report.loss);
                let _ = write!(out, "\r[{bar}] {done}/{total}  loss {loss:.3}  unseen {val}");
                let _ = out.flush();
            }
            Event::Measured { report, .. } => self.val_loss = Some(report.evaluation.loss),
            Event::Result { report, .. } => {
                let loss = report.evaluation.loss;
                let _ = writeln!(stdout(), "\nunseen text: {loss:.3} nats a byte");
            }
            _ => {} // whatever else happens is not said here
        }
    }
}

fn main() -> llm_run::Result<()> {
    // The built-in stories, and nothing is kept.
    let given =
        [("steps", Value::Whole(60)), ("seq", Value::Whole(64)), ("dmodel", Value::Whole(32))];
    let mut options = Options { given: given.into(), no_save: Some(true), ..Options::default() };
    options.habits.eval_every = Some(20);
    let who = Identity::of("own-bar", threads::count());
    training::run(&BASELINE, &options, who, None, &mut Bar::default())
}
