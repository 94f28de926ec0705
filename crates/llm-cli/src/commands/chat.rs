//! `chat`: a conversation with a model, in a terminal or line by line.

use super::loaded::loaded;
use crate::args::{ChatArgs, SamplingArgs};
use crate::console::{Out, note};
use crate::error::{Result, RunError, usage};
use crate::events;
use crate::next_commands;
use crate::program::Program;
use crate::signals::Signals;
use llm_core::base::escape::{Printer, Show};
use llm_core::generate::{Finish, Sampling};
use llm_core::message;
use llm_run::plan::Loaded;
use llm_run::talk::{Answer, Talk};
use std::io::{self, BufRead, IsTerminal, Read};

/// Most tokens of an answer.
const ANSWER: usize = 512;
const TEMPERATURE: f32 = 0.7;
const TOP_P: f32 = 0.95;
/// Most bytes of a question, its line's end among them: more than a context holds.
const MOST_BYTES: u64 = 1 << 20;

/// Loads the model, and answers every line.
///
/// # Errors
/// What loading refuses; [`RunError::Signal`] after a signal while it waits for a line.
pub fn chat(program: &Program, args: &ChatArgs) -> Result<()> {
    let signals = Signals::listen();
    let (_, loaded) = loaded(program, &args.load, &args.apart, &args.output)?;
    let Loaded { mut run, tokenizer, .. } = loaded;
    let sampling = Sampling {
        temperature: args.temp.unwrap_or(TEMPERATURE),
        top_k: args.topk.unwrap_or(0),
        top_p: args.top_p.unwrap_or(TOP_P),
        seed: args.seed.unwrap_or(run.recipe.seed),
        ..Sampling::default()
    };
    sampling.check().map_err(SamplingArgs::refused)?;
    let n = args.n.unwrap_or(ANSWER);
    if n == 0 {
        return usage("-n 0: an answer needs a token");
    }
    let weights = args.weights.flatten();
    if let Some(kind) = weights {
        run.model = run.model.rounded(kind)?;
    }
    let system = args.system.as_deref();
    let mut talk = Talk::new(&run.model, tokenizer.clone(), system, sampling, weights)?;
    let mut answering = Answering {
        out: Out::default(),
        printer: Printer::new(Show::Safe),
        printed: 0,
        json: args.output.json(),
        quiet: args.output.quiet(),
        typed: io::stdin().is_terminal(),
    };
    answering.greet(program, args, talk.has_template());
    for turn in 0.. {
        answering.prompt();
        let Some(question) = signals.reading(line)? else { break };
        if question.trim().is_empty() {
            continue;
        }
        let asked = talk.ask(&question, n, |written| {
            answering.write_on(&written.text);
            !answering.out.is_closed() && signals.pending().is_none()
        });
        match asked {
            // The conversation goes on without the question.
            Err(RunError::Data(why)) if answering.typed => {
                note(why);
                continue;
            }
            asked => answering.end(&question, &asked?, [run.step, turn]),
        }
        if answering.typed {
            signals.forget_interrupt();
        }
        signals.check()?;
        if answering.out.is_closed() {
            break;
        }
    }
    if answering.typed {
        answering.out.write(b"\n");
    }
    answering.out.finish()
}

/// How answers are printed: as they come, or as one event each.
struct Answering {
    out: Out,
    printer: Printer,
    /// Bytes of the answer that are printed.
    printed: usize,
    json: bool,
    quiet: bool,
    /// Whether questions are typed in a terminal.
    typed: bool,
}

impl Answering {
    fn greet(&self, program: &Program, args: &ChatArgs, has_template: bool) {
        if !self.quiet && !has_template {
            note(message!(
                "the model has learned no conversation: it goes on with a text, for which there \
                 is {} generate{} -p TEXT",
                next_commands::program(program),
                next_commands::load_flag(&args.load)
            ));
        }
        if !self.quiet && self.typed {
            note(
                "ask in a line; Ctrl-C ends an answer, Ctrl-D or Ctrl-C at the prompt the \
                 conversation",
            );
        }
    }

    fn prompt(&mut self) {
        (self.printer, self.printed) = (Printer::new(Show::Safe), 0);
        if self.typed {
            self.out.write(b"> ");
        }
    }

    /// The rest of an answer that has come so far.
    fn write_on(&mut self, text: &[u8]) {
        if !self.json {
            self.out.write(&self.printer.push(&text[self.printed..]));
            self.printed = text.len();
        }
    }

    /// The end of an answer, and what there is to say about it.
    fn end(&mut self, question: &str, answer: &Answer, place: [u64; 2]) {
        self.write_on(&answer.written.text);
        match self.json {
            true => {
                let asked = (question, &answer.prompt[..]);
                self.out.write(&events::sample(place, asked, &answer.written, &[]));
            }
            false => self.out.write(&[&self.printer.finish()[..], b"\n"].concat()),
        }
        if !self.quiet && answer.forgotten > 0 {
            let turns = answer.forgotten;
            note(message!("{} turns no longer fit into the context and are forgotten", turns));
        }
        if !self.quiet && answer.written.finish == Finish::Length {
            note(message!("the answer was cut after {} tokens", answer.written.choices.len()));
        }
    }
}

/// The next line of standard input; none at its end.
fn line() -> Result<Option<String>> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MOST_BYTES + 1).read_until(b'\n', &mut bytes);
    let read = read.map_err(|e| RunError::Input { path: "-".into(), why: e.to_string().into() })?;
    if read as u64 > MOST_BYTES {
        let why = "a question of more than 1 MiB; give each a line of its own";
        return Err(RunError::Data(why.into()));
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok((read > 0).then(|| text.trim_end_matches(['\n', '\r']).to_string()))
}
